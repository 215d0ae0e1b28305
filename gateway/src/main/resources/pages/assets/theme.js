// Before the first paint: the theme that was chosen here, if any. Without a choice the system's applies.
(() => {
  "use strict";
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") {
      document.documentElement.dataset.theme = theme;
    }
  } catch {
    // Storage may be forbidden; then the system's theme applies.
  }
})();
