// An ordinary script, run before the first paint, so that a chosen theme does not flash.
(function () {
  try {
    var chosen = localStorage.getItem("lonnymq.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (error) { /* no storage: use the theme of the system */ }
})();
