import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { drawn, uniforms } from "../lib/chance.mjs";
import { html, uniqueId, widget } from "../lib/dom.mjs";
import { queryAmongKeys } from "../lib/query_among_keys.mjs";
import { radios } from "../lib/radios.mjs";
import { attend, SCORES } from "../lib/scores.mjs";
import { logSlider } from "../lib/slider.mjs";
import { argmax, tensor } from "../lib/tensor.mjs";
import { fixed, rgb } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "./widget.css";

// The order of widget.py's NAMES
const NAMES = {
  content: ["content", "<i>β</i> cos(<i>q</i>, <i>k</i>)"],
  additive: ["additive", "<i>v</i><sup>⊤</sup>tanh(<i>W<sub>q</sub>q</i> + <i>W<sub>k</sub>k</i>)"],
  location: ["location", "(<i>W<sub>l</sub> q</i>)<sub><i>j</i></sub>, no key in it"],
  general: ["general", "<i>q</i><sup>⊤</sup><i>W k</i>"],
  dot: ["dot", "<i>q</i><sup>⊤</sup><i>k</i>"],
  scaled_dot: ["scaled dot", "<i>q</i><sup>⊤</sup><i>k</i> / √2"],
};

function readers(model) {
  const get = (name) => model.get(name);
  const matrices = ["W", "W_q", "W_k", "places"].map((name) => [name, tensor(get(name))]);
  const given = { ...Object.fromEntries(matrices), v: get("v"), strength: get("strength") };
  const [keys, values, temperature] = ["key_vectors", "values", "temperature"].map(get);
  const read = (name) => (query) => attend(query, keys, values, (q, k, j) => SCORES[name](q, k, given, j), temperature);
  return Object.fromEntries(Object.keys(NAMES).map((name) => [name, read(name)]));
}

// What all six read: soft the mixture, hard the value of the last key drawn; the same random numbers for all.
function results(model) {
  const [query, values, hard] = ["query", "values", "hard"].map((name) => model.get(name));
  const chance = hard ? uniforms(model.get("seed"), model.get("draws")) : [];
  return Object.entries(readers(model)).map(([name, read]) => {
    const soft = { name, ...read(query) };
    if (!hard) return soft;
    const picks = chance.map((u) => drawn(soft.weights, u));
    const shares = Array.from(soft.weights, (_, j) => picks.filter((p) => p === j).length / picks.length);
    const last = picks[picks.length - 1];
    return { ...soft, shares, drawn: last, context: values[last] };
  });
}

// A row for each score, a column for each key: bars to compare by eye, numbers for those who cannot.
function table(pick) {
  const group = uniqueId("six");
  const head = html("tr", {});
  const lines = Object.entries(NAMES).map(([name, [title, formula]]) => {
    const input = html("input", { type: "radio", name: group, value: name, onchange: () => pick(name) });
    const label = html("label", {}, input, html("span", {}, title));
    const shape = html("span", { class: "attn-formula", markup: formula });
    return { name, input, first: html("th", { scope: "row" }, label, shape), row: html("tr", { "data-score": name }) };
  });
  const body = html("tbody", {}, ...lines.map((line) => line.row));
  const caption = html("caption", {}, "Weights under each score; the chosen one is drawn in the plane");
  const node = html("table", { class: "attn-six" }, caption, html("thead", {}, head), body);
  const cell = (colour, weight, share, chosen) => {
    const bar = html("div", { class: "attn-fill", style: `height:${(100 * weight).toFixed(1)}%;background:${colour}` });
    const mark =
      share === undefined ? [] : [html("div", { class: "attn-share", style: `bottom:${(100 * share).toFixed(1)}%` })];
    const number = html("span", { class: "attn-number" }, chosen ? "● " : "", fixed(weight, 2));
    const hidden = chosen ? [html("span", { class: "attn-hidden" }, " drawn")] : [];
    const data = { "data-weight": weight, "data-share": share, class: chosen ? "attn-drawn" : null };
    return html("td", data, html("div", { class: "attn-column-bar" }, bar, ...mark), number, ...hidden);
  };
  node.draw = (values, found, score) => {
    const swatch = (value, i) => html("span", { class: "attn-swatch", style: `background:${rgb(value)}` }, i + 1);
    const column = (...inside) => html("th", { scope: "col" }, ...inside);
    head.replaceChildren(column("score"), ...values.map((value, i) => column(swatch(value, i))), column("reads"));
    found.forEach((result, i) => {
      const cells = Array.from(result.weights, (weight, j) =>
        cell(rgb(values[j]), weight, result.shares?.[j], result.drawn === j),
      );
      const words = Array.from(result.context, (c) => fixed(c, 2)).join(", ");
      const colour = html("div", { class: "attn-context", style: `background:${rgb(result.context)}` });
      const read = html("td", {}, colour, html("span", { class: "attn-hidden" }, `red, green, blue ${words}`));
      const { row, first, input } = lines[i];
      input.checked = result.name === score;
      row.classList.toggle("attn-chosen", input.checked);
      row.dataset.context = Array.from(result.context).join(" ");
      // the first cell stays where it is: taking it out would take the focus with it
      if (!row.contains(first)) row.append(first);
      for (const old of [...row.children].slice(1)) old.remove();
      row.append(...cells, read);
    });
  };
  return node;
}

function sentence(found, score) {
  const best = found.map(({ weights }) => argmax(weights));
  const at = found.findIndex(({ name }) => name === score);
  const same = best.filter((key) => key === best[at]).length;
  const most = `key ${best[at] + 1} (${fixed(found[at].weights[best[at]], 2)})`;
  const first = `Under ${NAMES[score][0]} the query looks most at ${most}; ${same} of the six scores agree.`;
  if (found[at].drawn === undefined) return first;
  return `${first} Drawn: ${found.map((r) => `${NAMES[r.name][0]} ${r.drawn + 1}`).join(", ")}.`;
}

function render({ model, el }) {
  const change = (name, value) => setTraits(model, { [name]: value });
  const kept = ["query", "key_vectors", "score", "temperature", "hard", "seed", "draws"];
  const start = kept.map((name) => [name, model.get(name)]);
  const drawing = queryAmongKeys(model, change);
  const bars = table((name) => change("score", name));
  const temperature = logSlider("temperature", [0.1, 10], (value) => change("temperature", value));
  const ways = [
    ["soft", "soft: the mixture"],
    ["hard", "hard: a draw"],
  ];
  const way = radios("read", ways, (value) => change("hard", value === "hard"));
  const more = (n) => () => change("draws", Math.min(10000, model.get("draws") + n));
  const fresh = () => {
    change("seed", model.get("seed") + 1);
    change("draws", 1);
  };
  const count = html("span", { class: "attn-count" });
  const chance = html(
    "div",
    { class: "attn-chance attn-control" },
    pushButton("draw again", more(1)),
    pushButton("draw 100", more(100)),
    pushButton("new random numbers", fresh),
    count,
  );
  const restart = () => {
    for (const [name, value] of start) change(name, value);
  };
  const again = pushButton("start again", restart, { class: "attn-link attn-control" });
  const state = words();
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Drag the query q or a key, or move it with the arrow keys (further with Shift). ",
    "The plane shows one score, chosen in the table; the background is what a query placed there would read.",
  );
  const side = html("div", { class: "attn-side" }, way, chance, temperature, again);
  const root = widget(
    el,
    "six-scores",
    "Six scores: one query and the same keys under each",
    challenge(model),
    hint,
    html("div", { class: "attn-columns" }, drawing.node, side),
    bars,
    state,
  );

  const draw = () => {
    const [values, score] = [model.get("values"), model.get("score")];
    const found = results(model);
    const shown = found.find(({ name }) => name === score);
    drawing.draw(model.get("query"), shown);
    bars.draw(values, found, score);
    way.choose(model.get("hard") ? "hard" : "soft");
    chance.hidden = !model.get("hard");
    const n = model.get("draws");
    count.textContent = `${n} ${n === 1 ? "draw" : "draws"}; the line marks each key's share`;
    root.dataset.context = Array.from(shown.context).join(" ");
    state.say(sentence(found, score));
  };
  const redraw = () => {
    const n = model.get("key_vectors").length;
    if (n !== model.get("values").length || n > model.get("places").length) return; // the other one is on its way
    temperature.choose(model.get("temperature"));
    drawing.paint(readers(model)[model.get("score")]);
    draw();
  };
  const recolour = () => {
    drawing.rebuild();
    redraw();
  };
  const rest = ["key_vectors", "score", "temperature", "strength", "W", "W_q", "W_k", "v", "places"];
  const ends = [
    follow(model, ["query", "hard", "seed", "draws"], draw),
    follow(model, rest, redraw),
    follow(model, ["values"], recolour),
  ];
  redraw();
  return together(ends);
}

export default { render };
