// Before anything is drawn, so that no page flashes in the wrong colours.
(() => {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light")
    document.documentElement.dataset.theme = theme;
})();
