// What the theme, MathJax and ipywidgets leave out for readers who use a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  const each = (selector, repair) => document.querySelectorAll(selector).forEach(repair);

  // the text says more than the label: "Search Ctrl+K", "Show code cell source"
  each(".search-button-field, summary", (element) => element.removeAttribute("aria-label"));
  each(".citation-list > *", (entry) => entry.setAttribute("role", "listitem")); // as a list demands

  const repair = () => {
    // the button has a name, with which the names of its icons disagree
    each(".theme-switch-button svg", (icon) => {
      icon.querySelector("title")?.remove();
      icon.removeAttribute("aria-labelledby");
      icon.setAttribute("aria-hidden", "true");
    });
    // a formula that is wider than the page scrolls, so the keyboard must reach it
    each("mjx-container[display], math[display=block]", (box) =>
      box.scrollWidth > box.clientWidth ? box.setAttribute("tabindex", 0) : box.removeAttribute("tabindex"));
    // an ipywidgets slider is drawn beside its label, and not tied to it
    each(".jupyter-widgets [role=slider]:not([aria-label])", (slider) => {
      const label = slider.closest(".widget-inline-hbox, .widget-inline-vbox")?.querySelector("label");
      slider.setAttribute("aria-label", label?.textContent || "value");
    });
  };
  let timer;
  const soon = () => { // once after a burst: measuring forces a layout
    clearTimeout(timer);
    timer = setTimeout(repair, 200);
  };
  repair();
  new MutationObserver(soon).observe(document.getElementById("main-content"), { childList: true, subtree: true });
  window.addEventListener("resize", soon);
});
