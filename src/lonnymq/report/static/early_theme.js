// Before the first paint, so that a chosen theme does not flash. A page that shows this one in a frame asks for its own.
(function () {
  var chosen = new URLSearchParams(location.search).get("theme");
  try {
    chosen = chosen || localStorage.getItem("lonnymq.theme");
  } catch (rejected) { /* storage is closed to us: the system's theme it is */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
