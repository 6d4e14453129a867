// Loaded before the page is drawn: a stored choice of theme must not flash. All else works without it.
(function () {
  "use strict";
  var root = document.documentElement, stored = null;
  try { stored = localStorage.getItem("kbstats-theme"); } catch (e) { /* storage is off */ }
  if (stored === "dark" || stored === "light") root.setAttribute("data-theme", stored);
  document.addEventListener("DOMContentLoaded", function () {
    var head = document.querySelector("header.top");
    if (!head) return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "theme";
    function dark() {
      var set = root.getAttribute("data-theme");
      return set ? set === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
    }
    function label() { button.textContent = dark() ? "light" : "dark"; button.setAttribute("aria-label", "switch to the " + button.textContent + " theme"); }
    button.addEventListener("click", function () {
      var next = dark() ? "light" : "dark";
      root.setAttribute("data-theme", next);
      try { localStorage.setItem("kbstats-theme", next); } catch (e) { /* the choice lasts for this page */ }
      label();
    });
    label();
    head.appendChild(button);
  });
})();
