// Before the first paint, so that a chosen theme does not flash.
(function () {
  try {
    var chosen = localStorage.getItem("lonnymq.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (refused) { /* storage is closed to us: the system's theme it is */ }
})();
