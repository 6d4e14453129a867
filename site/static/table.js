// Tables: sorting by a click on a head, filters, both kept in the address after `#`.
// A link such as models/x.html#runs?outcome=correct&standing=withdrawn opens a filtered table.
(function () {
  "use strict";

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
    if (!this.table.classList.contains("filterable") || this.rows.length < 6) return;
    var bar = document.createElement("div");
    bar.className = "tools";
    var input = document.createElement("input");
    input.type = "search";
    input.placeholder = "filter";
    input.setAttribute("aria-label", "filter the rows of this table");
    input.addEventListener("input", function () { self.values.q = input.value; self.apply(); self.save(); });
    bar.appendChild(input);
    this.input = input;
    this.chips = {};
    ["outcome", "standing"].forEach(function (key) {
      var counts = {};
      self.rows.forEach(function (row) { var v = row.getAttribute("data-" + key); if (v) counts[v] = (counts[v] || 0) + 1; });
      var names = Object.keys(counts);
      if (names.length < 2) return;
      names.sort(function (a, b) { return counts[b] - counts[a] || (a < b ? -1 : 1); });
      var group = document.createElement("span");
      group.className = "chips";
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", key);
      self.chips[key] = names.map(function (name) {
        var chip = document.createElement("button");
        chip.type = "button";
        chip.textContent = name + " " + counts[name];
        chip.setAttribute("data-name", name);
        chip.setAttribute("aria-pressed", "false");
        chip.addEventListener("click", function () {
          self.values[key] = self.values[key] === name ? "" : name;
          self.apply();
          self.save();
        });
        group.appendChild(chip);
        return chip;
      });
      bar.appendChild(group);
    });
    this.count = document.createElement("span");
    this.count.className = "note";
    this.count.setAttribute("role", "status");
    bar.appendChild(this.count);
    var box = this.table.closest(".wide") || this.table;
    box.parentNode.insertBefore(bar, box);
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
      var ok = (!q || row.textContent.toLowerCase().indexOf(q) >= 0) && ["outcome", "standing"].every(function (key) {
        return !values[key] || row.getAttribute("data-" + key) === values[key];
      });
      row.hidden = !ok;
      if (ok) shown += 1;
    });
    if (this.input) {
      if (this.input.value !== (values.q || "")) this.input.value = values.q || "";
      Object.keys(this.chips).forEach(function (key) {
        self.chips[key].forEach(function (chip) { chip.setAttribute("aria-pressed", String(values[key] === chip.getAttribute("data-name"))); });
      });
      this.count.textContent = shown === this.rows.length ? "" : shown + " of " + this.rows.length;
    }
  };

  Table.prototype.save = function () { if (this.table.id) writeState(this.table.id, this.values); };

  var tables = {};
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
      tables[state.id].apply();
      target.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
