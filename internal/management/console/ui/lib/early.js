// Runs before the first paint, as a classic script: the theme must not flash.
(function () {
  var root = document.documentElement;
  try {
    var theme = JSON.parse(localStorage.getItem('bartleby.theme') || '"auto"');
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    var lang = JSON.parse(localStorage.getItem('bartleby.lang') || '""');
    if (lang) root.lang = lang;
  } catch (e) {
    root.dataset.theme = ''; // no storage, or nonsense in it: the usual theme
  }
})();
