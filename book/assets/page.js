// What the pages share: names that light up together, a veil over what follows a prediction, a search above long tables.
document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector(".bd-article");
  if (!article) return;

  // ---- linked names: pointing at a name in a symbol table or a drawing, or focusing it in the table, lights it in the
  // tables, the drawings and the code that is not folded away; the formulas are left alone ----
  for (const table of article.querySelectorAll("table")) {
    const column = [...table.querySelectorAll("thead th")].findIndex((head) => head.textContent.trim() === "variable");
    for (const code of table.querySelectorAll(`tbody td:nth-child(${column + 1}) code`)) {
      if (!/^[A-Za-z_]\w*$/.test(code.textContent.trim())) continue;
      code.dataset.name = code.textContent.trim();
      code.tabIndex = 0; // the names of a drawing are reached here: an image has nothing to focus
    }
  }
  const named = "td code[data-name], .attn-diagram [data-name]";
  const twins = (name) => [
    ...[...article.querySelectorAll(named)].filter((element) => element.dataset.name === name),
    ...[...article.querySelectorAll('.highlight span[class^="n"]')]
      .filter((token) => token.textContent === name && !token.closest("details:not([open])")),
  ];
  let lit = [];
  let pointed = null;
  let focused = null;
  const light = () => {
    for (const element of lit) element.classList.remove("attn-lit");
    const from = pointed ?? focused;
    lit = from ? twins(from.dataset.name) : [];
    for (const element of lit) element.classList.add("attn-lit");
  };
  const on = (kind, change) => article.addEventListener(kind, (event) => {
    change(event.target.closest(named));
    light();
  });
  on("pointerover", (element) => { pointed = element; });
  on("pointerleave", () => { pointed = null; });
  on("focusin", (element) => { focused = element; });
  on("focusout", () => { focused = null; });

  // ---- a prediction whose result the next sentences tell: they are veiled until the reader has guessed or asked to see
  // it. The veil ends at the next heading, prediction, exercise or explorable; nothing moves ----
  const ends = (element) => element.matches("section") ||
    element.querySelector('.attn-predict, .attn-exercise, script[type="application/vnd.jupyter.widget-view+json"]');
  for (const card of article.querySelectorAll(".attn-predict")) {
    const veiled = [];
    let next = card.closest(".cell")?.nextElementSibling;
    for (; next && !ends(next); next = next.nextElementSibling) veiled.push(next);
    const veil = (on) => {
      for (const element of veiled) {
        element.inert = on;
        element.classList.toggle("attn-veiled", on);
      }
    };
    const asked = () => card.dataset.state === "asking";
    new MutationObserver(() => veil(asked())).observe(card, { attributeFilter: ["data-state"] });
    veil(asked());
    const arrive = () => { // a link may lead to what is veiled
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (target && veiled.some((element) => element.contains(target))) veil(false);
    };
    arrive();
    window.addEventListener("hashchange", arrive);
  }

  // ---- a search above long tables: a row stays if it or its heading holds all the words; empty sections go ----
  for (const place of article.querySelectorAll("[data-filter]")) {
    const rows = [...article.querySelectorAll("section section tbody tr")].map((row) => {
      const part = row.closest("section");
      return { row, part, text: `${part.querySelector("h2").textContent} ${row.textContent}`.toLowerCase() };
    });
    const label = Object.assign(document.createElement("label"), { textContent: `${place.dataset.filter} ` });
    const field = Object.assign(document.createElement("input"), { type: "search", autocomplete: "off" });
    const count = Object.assign(document.createElement("output"), { className: "attn-filter-count" });
    label.append(field);
    place.append(label, count);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter(({ text }) => words.every((word) => text.includes(word)));
      for (const { row, part } of rows) row.hidden = part.hidden = true;
      for (const { row, part } of found) row.hidden = part.hidden = false;
      count.textContent = words.length ? `${found.length} of ${rows.length}` : "";
    });
  }
});
