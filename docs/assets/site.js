// Tables that are wider than the page can be scrolled by keyboard, too.
window.addEventListener("load", () => {
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  }
});
