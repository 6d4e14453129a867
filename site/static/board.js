// The front page's filters. Boards were computed when the site was built; a selection loads one of them.
(function () {
  "use strict";
  var kbstats = window.kbstats, holder = document.getElementById("board-filters"), table = kbstats.tables.board;
  if (!holder || !table) return;
  var offer = JSON.parse(holder.getAttribute("data-offer")), words = document.getElementById("board-words"), notes = document.getElementById("board-notes");
  var start = { rows: table.body.innerHTML, notes: notes.innerHTML, tail: words.getAttribute("data-tail") };
  var boards = { "": start }, dimensions = Object.keys(offer.options), groups = {}, trusts = ["claimed", "audited", "verified"];

  function key(values) {
    return dimensions.filter(function (d) { return values[d]; }).map(function (d) { return d + "=" + values[d]; }).join("&");
  }
  function without(values, dimension, value) {
    var copy = {};
    dimensions.forEach(function (d) { copy[d] = d === dimension ? value : values[d]; });
    return copy;
  }
  function there(values) { var k = key(values); return k === "" || Object.prototype.hasOwnProperty.call(offer.files, k); }

  function sentence(values, tail) {
    var said = dimensions.filter(function (d) { return values[d]; }).map(function (d) {
      return d === "hardware" ? "on " + values[d] : d === "suite" ? values[d] : d + " " + values[d];
    }).join(", ") || "all runs";
    return said.charAt(0).toUpperCase() + said.slice(1) + ": " + tail + (values.trust ? " Ranked as " + values.trust + "." : "");
  }

  // Ranks and places of a level of trust stand in the rows; nothing is ranked here.
  function trust(level) {
    trusts.forEach(function (t) { table.table.classList.toggle("only-" + t, t === level); });
    if (level === "") return;
    table.rows.forEach(function (row, i) {
      var parts = row.getAttribute("data-" + level).split(" "), cell = row.cells[0];
      row.place = Number(parts[0]) * 1000 + i / 1000;
      cell.textContent = parts[1] || "–";
      cell.setAttribute("data-v", parts[1] || "");
    });
    if (!table.values.sort) table.rows.slice().sort(function (a, b) { return a.place - b.place; }).forEach(function (row) { table.body.appendChild(row); });
  }

  function show(id, data) {
    table.replace(data.rows);
    notes.innerHTML = data.notes;
    words.textContent = sentence(table.values, data.tail);
    trust(table.values.trust || "");
  }

  kbstats.board = function (id, data) {
    boards[id] = data;
    var k = key(table.values);
    if (k && offer.files[k] === id) show(id, data);
  };

  table.changed = function () {
    var values = table.values, k = key(values), id = k === "" ? "" : offer.files[k];
    dimensions.forEach(function (d) {
      groups[d].show(values[d]);
      groups[d].buttons.forEach(function (chip) { chip.disabled = !there(without(values, d, chip.getAttribute("data-name"))) && chip.getAttribute("aria-pressed") !== "true"; });
    });
    groups.trust.show(values.trust);
    if (id === undefined) { words.textContent = "No run has all of these."; table.replace(""); notes.textContent = ""; return; }
    if (boards[id]) show(id, boards[id]); else kbstats.load("boards/" + id + ".js");
  };

  function choose(d) {
    return function (value) { table.values[d] = value; table.changed(); table.save(); };
  }
  dimensions.forEach(function (d) {
    groups[d] = kbstats.chips(d, offer.options[d], String, choose(d));
    holder.appendChild(groups[d]);
  });
  groups.trust = kbstats.chips("trust", trusts, String, choose("trust"));
  holder.appendChild(groups.trust);
  var state = kbstats.readState();
  if (state.id === "board") table.values = state.values;
  table.changed();
})();
