// Two runs side by side. Each run's data is a file that calls `kbstats.side`; the choice stands behind `#`.
(function () {
  "use strict";
  var kbstats = window.kbstats, out = document.getElementById("sides"), pick = document.getElementById("pick");
  if (!out || !pick) return;
  var runs = {}, state = kbstats.readState().values, selects = {};

  function el(tag, text, cls) {
    var node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  }

  // The longest common subsequence of lines, common ends taken off first.
  function diff(a, b) {
    var out = [], start = 0, endA = a.length, endB = b.length, i, j;
    while (start < endA && start < endB && a[start] === b[start]) start += 1;
    while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA -= 1; endB -= 1; }
    for (i = 0; i < start; i += 1) out.push([" ", a[i]]);
    var n = endA - start, m = endB - start;
    if (n * m > 4e6) {
      for (i = start; i < endA; i += 1) out.push(["-", a[i]]);
      for (j = start; j < endB; j += 1) out.push(["+", b[j]]);
    } else {
      var width = m + 1, table = new Uint32Array((n + 1) * width);
      for (i = n - 1; i >= 0; i -= 1) for (j = m - 1; j >= 0; j -= 1)
        table[i * width + j] = a[start + i] === b[start + j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
      i = j = 0;
      while (i < n || j < m) {
        if (i < n && j < m && a[start + i] === b[start + j]) { out.push([" ", a[start + i]]); i += 1; j += 1; }
        else if (j >= m || (i < n && table[(i + 1) * width + j] >= table[i * width + j + 1])) { out.push(["-", a[start + i]]); i += 1; }
        else { out.push(["+", b[start + j]]); j += 1; }
      }
    }
    for (i = endA; i < a.length; i += 1) out.push([" ", a[i]]);
    return out;
  }
  kbstats.diff = diff;

  function table(title, rows, names) {
    var box = el("div", null, "wide"), t = el("table", null, "pair"), head = t.createTHead().insertRow(), body = t.createTBody();
    t.appendChild(el("caption", title));
    ["", names[0], names[1]].forEach(function (n) { var th = el("th", n); th.scope = "col"; if (!n) th.appendChild(el("span", "what", "hide")); head.appendChild(th); });
    rows.forEach(function (row) {
      var tr = body.insertRow(), th = el("th", row[0]);
      th.scope = "row";
      tr.appendChild(th);
      [row[1], row[2]].forEach(function (v) { tr.appendChild(el("td", v === undefined || v === null || v === "" ? "–" : v)); });
      if (row[1] !== row[2]) tr.className = "differs";
    });
    box.appendChild(t);
    return box;
  }

  function joined(a, b) {
    var names = a.map(function (x) { return x[0]; }), left = {}, right = {};
    a.forEach(function (x) { left[x[0]] = x[1]; });
    b.forEach(function (x) { right[x[0]] = x[1]; if (names.indexOf(x[0]) < 0) names.push(x[0]); });
    return names.map(function (n) { return [n, left[n], right[n]]; });
  }

  function show() {
    var a = runs[state.a], b = runs[state.b];
    out.textContent = "";
    ["a", "b"].forEach(function (k) { if (state[k] && !runs[state[k]] && /^[a-z0-9-]+$/.test(state[k])) kbstats.load("sides/" + state[k] + ".js", function () { out.textContent = "This run is not on the site."; }); });
    if (!a || !b) { out.appendChild(el("p", state.a && state.b ? "" : "Choose two runs.", "note")); return; }
    var heads = el("div", null, "heads");
    [a, b].forEach(function (r) {
      var col = el("div"), h = el("h2"), link = el("a", r.title);
      link.href = r.href;
      h.appendChild(link);
      col.appendChild(h);
      var p = el("p", null, "verdict");
      r.lines.forEach(function (line) { p.appendChild(el("span", line[1] + " ", line[0])); });
      col.appendChild(p);
      heads.appendChild(col);
    });
    out.appendChild(heads);
    out.appendChild(table("Run", joined(a.facts, b.facts), [a.title, b.title]));
    if (a.metrics.length || b.metrics.length) out.appendChild(table("Measured by the harness", joined(a.metrics, b.metrics), [a.title, b.title]));
    if (a.kernel && b.kernel) {
      out.appendChild(el("h2", a.kernel === b.kernel ? "Both submitted the same kernel" : "From the first kernel to the second"));
      var pre = el("pre", null, "diff");
      diff(a.kernel.split("\n"), b.kernel.split("\n")).forEach(function (line) {
        pre.appendChild(line[0] === " " ? document.createTextNode("  " + line[1]) : el(line[0] === "+" ? "ins" : "del", line[0] + " " + line[1]));
        pre.appendChild(document.createTextNode("\n"));
      });
      out.appendChild(pre);
    }
  }

  kbstats.side = function (slug, data) { runs[slug] = data; show(); };

  function slugOf(entry) { return entry.to.replace(/^runs\//, "").replace(/\.html$/, ""); }
  kbstats.onindex = function (entries) {
    var list = entries.filter(function (e) { return e.kind === "run"; });
    ["a", "b"].forEach(function (k) {
      var select = selects[k];
      select.textContent = "";
      select.appendChild(new Option("choose a run", ""));
      list.forEach(function (e) { select.appendChild(new Option(e.text + " " + e.note, slugOf(e))); });
      select.value = state[k] || "";
    });
  };
  ["a", "b"].forEach(function (k, i) {
    var label = el("label", i ? "and " : "compare "), select = el("select");
    select.addEventListener("change", function () { state[k] = select.value; kbstats.writeState("runs", state); show(); });
    selects[k] = select;
    label.appendChild(select);
    pick.appendChild(label);
  });
  window.addEventListener("hashchange", function () { state = kbstats.readState().values; ["a", "b"].forEach(function (k) { selects[k].value = state[k] || ""; }); show(); });
  kbstats.load("search/index.js");
  show();
})();
