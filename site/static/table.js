// Tables: sorting by a click on a head, filters, both kept in the address after `#`.
// A link such as models/x.html#runs?outcome=correct&standing=withdrawn opens a filtered table.
(function () {
  "use strict";
  var kbstats = window.kbstats = window.kbstats || {};

  function cellValue(row, index) {
    var cell = row.cells[index];
    if (!cell) return "";
    return cell.hasAttribute("data-v") ? cell.getAttribute("data-v") : cell.textContent.trim();
  }

  function parse(text) {
    if (text === "" || text === "–") return null;
    var number = Number(text.replace(/[,×%$\s]/g, ""));
    return isNaN(number) ? text.toLowerCase() : number;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
  }

  // State of the address: "#id?key=value&…"
  function readState() {
    var text = location.hash.slice(1), at = text.indexOf("?"), state = { id: decodeURIComponent(at < 0 ? text : text.slice(0, at)), values: {} };
    if (at >= 0) text.slice(at + 1).split("&").forEach(function (pair) {
      var eq = pair.indexOf("=");
      if (eq > 0) state.values[decodeURIComponent(pair.slice(0, eq))] = decodeURIComponent(pair.slice(eq + 1).replace(/\+/g, " "));
    });
    return state;
  }

  function writeState(id, values) {
    var parts = Object.keys(values).filter(function (k) { return values[k] !== ""; }).map(function (k) {
      return encodeURIComponent(k) + "=" + encodeURIComponent(values[k]);
    });
    history.replaceState(null, "", "#" + id + (parts.length ? "?" + parts.join("&") : ""));
  }
  kbstats.readState = readState;
  kbstats.writeState = writeState;

  // A data file: a script that calls back. Works from the file system, where fetch does not.
  var loaded = {};
  kbstats.load = function (url, failed) {
    if (loaded[url]) return;
    loaded[url] = true;
    var script = document.createElement("script");
    script.src = url;
    script.onerror = function () { loaded[url] = false; if (failed) failed(); };
    document.head.appendChild(script);
  };

  // The chips of one choice: pressing one chooses it, pressing it again takes the choice back.
  kbstats.chips = function (label, names, words, chosen) {
    var group = document.createElement("span");
    group.className = "chips";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", label);
    group.buttons = names.map(function (name) {
      var chip = document.createElement("button");
      chip.type = "button";
      chip.textContent = words(name);
      chip.setAttribute("data-name", name);
      chip.setAttribute("aria-pressed", "false");
      chip.addEventListener("click", function () { chosen(chip.getAttribute("aria-pressed") === "true" ? "" : name); });
      group.appendChild(chip);
      return chip;
    });
    group.show = function (value) {
      group.buttons.forEach(function (chip) { chip.setAttribute("aria-pressed", String(chip.getAttribute("data-name") === value)); });
    };
    return group;
  };

  // The table on screen as a file: visible rows and columns, numbers as numbers.
  function records(table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[table.tHead.rows.length - 1].cells), out = [];
    var keep = heads.map(function (th, i) { return i; }).filter(function (i) { return !heads[i].classList.contains("nosort") && heads[i].offsetParent !== null; });
    var names = keep.map(function (i) { return heads[i].getAttribute("data-name") || heads[i].textContent.trim() || "column " + (i + 1); });
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      if (row.hidden) return;
      out.push(keep.map(function (i) {
        var cell = row.cells[i], v = cell && cell.hasAttribute("data-v") ? cell.getAttribute("data-v") : null;
        if (v !== null) return v === "" ? null : isNaN(Number(v)) ? v : Number(v);
        var text = cell ? cell.textContent.replace(/\s+/g, " ").trim() : "";
        if (text === "" || text === "–") return null;
        return heads[i].classList.contains("n") && /^[\d,]+$/.test(text) ? Number(text.replace(/,/g, "")) : text;
      }));
    });
    return { names: names, rows: out };
  }
  function csv(data) {
    function field(v) {
      if (v === null) return "";
      var text = String(v);
      if (typeof v === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text; // a spreadsheet must not take text for a formula
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }
    return [data.names].concat(data.rows).map(function (row) { return row.map(field).join(","); }).join("\r\n") + "\r\n";
  }
  function json(data) {
    return JSON.stringify(data.rows.map(function (row) {
      var record = {};
      data.names.forEach(function (name, i) { record[name] = row[i]; });
      return record;
    }), null, 1) + "\n";
  }
  function save(name, type, text) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 10000);
  }
  function downloads(table) {
    var group = document.createElement("span");
    group.className = "downloads";
    [["CSV", "text/csv", csv], ["JSON", "application/json", json]].forEach(function (kind) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = kind[0];
      button.setAttribute("aria-label", "download this table as " + kind[0]);
      button.addEventListener("click", function () { save((table.id || "table") + "." + kind[0].toLowerCase(), kind[1], kind[2](records(table))); });
      group.appendChild(button);
    });
    return group;
  }

  var FACETS = ["outcome", "standing", "level", "variant", "mode", "gpu", "sweep"];

  function Table(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.rows = Array.prototype.slice.call(this.body.rows);
    this.heads = Array.prototype.slice.call(table.tHead.rows[table.tHead.rows.length - 1].cells);
    this.values = {};
    this.tools();
  }

  Table.prototype.tools = function () {
    var self = this;
    this.heads.forEach(function (th, index) {
      if (th.classList.contains("nosort")) return;
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      while (th.firstChild) button.appendChild(th.firstChild);
      th.appendChild(button);
      button.addEventListener("click", function () {
        var down = th.getAttribute("aria-sort") === "descending" ? false : th.getAttribute("aria-sort") === "ascending" ? true : th.classList.contains("n");
        self.values.sort = (down ? "-" : "") + index;
        self.apply();
        self.save();
      });
    });
    if (!this.table.id) return;
    var bar = document.createElement("div");
    bar.className = "tools";
    this.bar = bar;
    this.chips = {};
    if (this.table.classList.contains("filterable") && this.rows.length >= 6) this.filters(bar);
    this.count = document.createElement("span");
    this.count.className = "note";
    this.count.setAttribute("role", "status");
    bar.appendChild(downloads(this.table));
    bar.appendChild(this.count);
    var box = this.table.closest(".wide") || this.table;
    box.parentNode.insertBefore(bar, box);
  };

  Table.prototype.filters = function (bar) {
    var self = this, input = document.createElement("input");
    input.type = "search";
    input.placeholder = "filter";
    input.setAttribute("aria-label", "filter the rows of this table");
    input.addEventListener("input", function () { self.values.q = input.value; self.apply(); self.save(); });
    bar.appendChild(input);
    this.input = input;
    FACETS.forEach(function (key) {
      var counts = {};
      self.rows.forEach(function (row) { var v = row.getAttribute("data-" + key); if (v) counts[v] = (counts[v] || 0) + 1; });
      var names = Object.keys(counts);
      if (names.length < 2) return;
      names.sort(function (a, b) { return counts[b] - counts[a] || (a < b ? -1 : 1); });
      self.chips[key] = kbstats.chips(key === "gpu" ? "hardware" : key, names, function (name) { return name + " " + counts[name]; }, function (name) {
        self.values[key] = name;
        self.apply();
        self.save();
      });
      bar.appendChild(self.chips[key]);
    });
  };

  Table.prototype.apply = function () {
    var self = this, values = this.values, shown = 0, q = (values.q || "").toLowerCase();
    if (values.sort) {
      var down = values.sort.charAt(0) === "-", index = Number(values.sort.replace("-", ""));
      var keyed = this.rows.map(function (row, i) { return { row: row, key: parse(cellValue(row, index)), i: i }; });
      keyed.sort(function (a, b) {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.i - b.i; // unknown comes last
        return (down ? -1 : 1) * compare(a.key, b.key) || a.i - b.i;
      });
      keyed.forEach(function (k) { self.body.appendChild(k.row); });
      this.heads.forEach(function (th, i) {
        if (i === index) th.setAttribute("aria-sort", down ? "descending" : "ascending"); else th.removeAttribute("aria-sort");
      });
    }
    this.rows.forEach(function (row) {
      var ok = (!q || row.textContent.toLowerCase().indexOf(q) >= 0) && FACETS.every(function (key) {
        return !values[key] || !row.hasAttribute("data-" + key) || row.getAttribute("data-" + key) === values[key];
      });
      row.hidden = !ok;
      if (ok) shown += 1;
    });
    if (this.input && this.input.value !== (values.q || "")) this.input.value = values.q || "";
    if (!this.bar) return;
    Object.keys(this.chips).forEach(function (key) { self.chips[key].show(values[key]); });
    this.count.textContent = shown === this.rows.length ? "" : shown + " of " + this.rows.length + this.words();
  };

  // The filters in words, after the count.
  Table.prototype.words = function () {
    var self = this, values = this.values, said = FACETS.filter(function (k) { return values[k] && self.rows.length && self.rows[0].hasAttribute("data-" + k); }).map(function (k) { return (k === "gpu" ? "hardware" : k) + " " + values[k]; });
    if (values.q) said.push("containing “" + values.q + "”");
    return said.length ? ": " + said.join(", ") : "";
  };

  // Other rows in the same table (a board of other filters).
  Table.prototype.replace = function (html) {
    this.body.innerHTML = html;
    this.rows = Array.prototype.slice.call(this.body.rows);
    this.heads.forEach(function (th) { th.removeAttribute("aria-sort"); });
    this.apply();
  };

  Table.prototype.save = function () { if (this.table.id) writeState(this.table.id, this.values); };

  var tables = kbstats.tables = {};
  Array.prototype.forEach.call(document.querySelectorAll("table.sortable"), function (t, i) { tables[t.id || "table-" + i] = new Table(t); });

  // Open what a link points at: a fold around it, the fold of a turn, a filtered table.
  function follow() {
    var state = readState(), target = state.id && document.getElementById(state.id);
    if (!target) return;
    for (var up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    var own = target.querySelector(":scope > details.body");
    if (own && target.classList.contains("turn")) own.open = true;
    if (tables[state.id] && Object.keys(state.values).length) {
      tables[state.id].values = state.values;
      if (tables[state.id].changed) tables[state.id].changed(); else tables[state.id].apply();
      target.scrollIntoView();
    }
  }
  // What scrolls sideways can be reached by the keyboard, and only that.
  function reachable() {
    Array.prototype.forEach.call(document.querySelectorAll(".wide, .chart-box, .strip, pre.near"), function (box) {
      var scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls && !box.hasAttribute("tabindex")) {
        box.setAttribute("tabindex", "0");
        if (box.tagName === "DIV") { box.setAttribute("role", "group"); box.setAttribute("aria-label", "scrolls sideways"); }
      } else if (!scrolls && box.getAttribute("tabindex") === "0") box.removeAttribute("tabindex");
    });
  }
  window.addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  reachable();

  window.addEventListener("hashchange", follow);
  follow();
})();
