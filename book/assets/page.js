// Two small things that the pages share: names that light up together, and a filter above long tables.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector(".bd-article");
  if (!article) return;

  // ---- linked names: pointing at (or focusing) a name in a symbol table or a drawing lights it everywhere it stands:
  // in all tables and drawings of the page, and in the code of the same section ----
  const isName = /^[A-Za-z_]\w*$/;
  const tables = [...article.querySelectorAll("table")].filter((table) =>
    [...table.querySelectorAll("th")].some((head) => head.textContent.trim() === "variable"));
  const inTables = tables.flatMap((table) => [...table.querySelectorAll("td code")])
    .filter((code) => isName.test(code.textContent.trim()));
  for (const code of inTables) {
    code.dataset.name = code.textContent.trim();
    code.tabIndex = 0;
  }
  const section = (element) => {
    let at = element.closest("section");
    while (at?.parentElement?.closest("section section")) at = at.parentElement.closest("section");
    return at ?? article;
  };
  const twins = (element) => {
    const name = element.dataset.name;
    const marked = [...article.querySelectorAll(`[data-name="${CSS.escape(name)}"]`)];
    const code = [...section(element).querySelectorAll(".highlight span")]
      .filter((span) => span.textContent === name && !span.closest("details.hide:not([open])"));
    return [...marked, ...code];
  };
  let lit = [];
  const light = (event) => {
    const element = event.target.closest?.("[data-name]");
    for (const other of lit) other.classList.remove("attn-lit");
    lit = element && article.contains(element) ? twins(element) : [];
    for (const other of lit) other.classList.add("attn-lit");
  };
  article.addEventListener("pointerover", light);
  article.addEventListener("focusin", light);
  article.addEventListener("focusout", light);

  // ---- a filter: rows that do not contain what is typed are hidden, and headings of which nothing is left ----
  for (const place of article.querySelectorAll("[data-filter]")) {
    const label = Object.assign(document.createElement("label"), { textContent: `${place.dataset.label} ` });
    const field = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off" });
    const count = Object.assign(document.createElement("output"), { className: "attn-filter-count" });
    label.append(field);
    place.append(label, count);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of article.querySelectorAll("tbody tr")) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      for (const part of article.querySelectorAll("section section")) {
        part.hidden = words.length > 0 && !part.querySelector("tbody tr:not([hidden])");
      }
      count.textContent = words.length ? ` ${shown} found` : "";
    });
  }
});
