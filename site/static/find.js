// Search over names: models, problems, runs, kernels, errors, classes. The index is a data file, loaded at the first use.
(function () {
  "use strict";
  var kbstats = window.kbstats, root = document.documentElement.getAttribute("data-root") || "", head = document.querySelector("header.top");
  if (!head) return;
  var entries = null, at = -1, shown = [], MOST = 30;
  var box = document.createElement("div"), input = document.createElement("input"), list = document.createElement("ul");
  box.className = "find";
  input.type = "search";
  input.placeholder = "search ( / )";
  input.autocomplete = "off";
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-label", "search models, problems, runs, kernels, errors and classes");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", "found");
  input.setAttribute("aria-autocomplete", "list");
  list.id = "found";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "results");
  list.hidden = true;
  box.appendChild(input);
  box.appendChild(list);
  head.insertBefore(box, head.querySelector(".theme"));

  // Each entry: kind, text, address without its folder's common parts, note.
  kbstats.index = function (data) {
    entries = data.entries.map(function (e) { return { kind: data.kinds[e[0]], text: e[1], to: e[2], note: e[3] || "", low: (e[1] + " " + (e[3] || "")).toLowerCase() }; });
    kbstats.entries = entries;
    if (kbstats.onindex) kbstats.onindex(entries);
    search();
  };

  function score(entry, words, whole) {
    for (var i = 0; i < words.length; i += 1) if (entry.low.indexOf(words[i]) < 0) return -1;
    var where = entry.low.indexOf(whole);
    return (where === 0 ? 0 : where > 0 ? 1 : 2) * 1000 + Math.min(entry.low.length, 999);
  }

  function search() {
    var whole = input.value.trim().toLowerCase(), words = whole.split(/\s+/);
    list.textContent = "";
    at = -1;
    shown = [];
    if (!whole || !entries) { close(); return; }
    var hits = [];
    entries.forEach(function (e, i) { var s = score(e, words, whole); if (s >= 0) hits.push([s, i, e]); });
    hits.sort(function (a, b) { return a[0] - b[0] || a[1] - b[1]; });
    shown = hits.slice(0, MOST).map(function (h) { return h[2]; });
    shown.forEach(function (e, i) {
      var item = document.createElement("li"), kind = document.createElement("span"), note = document.createElement("span");
      item.id = "found-" + i;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.addEventListener("click", function () { location.href = root + e.to; close(); });
      kind.className = note.className = "note";
      kind.textContent = e.kind + " ";
      note.textContent = e.note ? " " + e.note : "";
      item.appendChild(kind);
      item.appendChild(document.createTextNode(e.text));
      item.appendChild(note);
      list.appendChild(item);
    });
    var words_ = document.createElement("li");
    words_.className = "note";
    words_.setAttribute("role", "option");
    words_.setAttribute("aria-disabled", "true");
    words_.textContent = hits.length ? (hits.length > MOST ? MOST + " of " + hits.length : String(hits.length)) + " found" : "nothing found";
    list.appendChild(words_);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function move(by) {
    if (!shown.length) return;
    if (at >= 0) list.children[at].setAttribute("aria-selected", "false");
    at = (at + by + shown.length + (at < 0 && by < 0 ? 1 : 0)) % shown.length;
    list.children[at].setAttribute("aria-selected", "true");
    list.children[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", "found-" + at);
  }

  input.addEventListener("focus", function () { kbstats.load(root + "search/index.js"); if (input.value) search(); });
  input.addEventListener("input", function () { kbstats.load(root + "search/index.js"); search(); });
  input.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape") { input.value = ""; search(); input.blur(); return; }
    else if (event.key === "Enter" && shown.length) { location.href = root + shown[Math.max(at, 0)].to; close(); }
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", function (event) {
    var tag = document.activeElement && document.activeElement.tagName;
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && tag !== "INPUT" && tag !== "SELECT" && tag !== "TEXTAREA") { input.focus(); event.preventDefault(); }
  });
  document.addEventListener("click", function (event) { if (!box.contains(event.target)) close(); });
})();
