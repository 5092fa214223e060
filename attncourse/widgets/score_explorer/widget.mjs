import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, widget } from "../lib/dom.mjs";
import { queryAmongKeys } from "../lib/query_among_keys.mjs";
import { radios } from "../lib/radios.mjs";
import { attend, SCORES } from "../lib/scores.mjs";
import { logSlider } from "../lib/slider.mjs";
import { tensor } from "../lib/tensor.mjs";
import { fixed, rgb } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "./widget.css";

const CHOICES = [
  ["dot", "dot"],
  ["scaled_dot", "scaled dot"],
  ["additive", "additive"],
];
const FORMULA = {
  dot: "<i>q</i><sup>⊤</sup><i>k</i>",
  scaled_dot: "<i>q</i><sup>⊤</sup><i>k</i> / √2",
  additive: "<i>v</i><sup>⊤</sup> tanh(<i>W<sub>q</sub> q</i> + <i>W<sub>k</sub> k</i>)",
};

function reader(model) {
  const names = ["key_vectors", "values", "score", "temperature"];
  const [keys, values, score, temperature] = names.map((name) => model.get(name));
  const additive = { W_q: tensor(model.get("W_q")), W_k: tensor(model.get("W_k")), v: model.get("v") };
  const compare = (query, key) => SCORES[score](query, key, additive);
  return (query) => attend(query, keys, values, compare, temperature);
}

// scores -> weights as a table with bars: the numbers are the text alternative of the picture.
function table() {
  const hidden = html("span", { class: "attn-hidden" }, "weight as a number");
  const head = html("tr", {}, ...["key", "score", "weight", hidden].map((text) => html("th", { scope: "col" }, text)));
  const body = html("tbody", {});
  const node = html("table", { class: "attn-weights" }, html("thead", {}, head), body);
  const bar = (...parts) =>
    html(
      "td",
      {},
      html(
        "div",
        { class: "attn-bar" },
        ...parts.map(([width, colour]) =>
          html("div", { style: `width:${(100 * width).toFixed(2)}%;background:${colour}` }),
        ),
      ),
    );
  const line = (label, score, parts, weight) =>
    html("tr", {}, html("th", { scope: "row" }, label), html("td", {}, score), bar(...parts), html("td", {}, weight));
  node.draw = (values, { scores, weights, context }) => {
    const colours = values.map(rgb);
    const rows = scores.map((score, i) => {
      const name = html("span", { class: "attn-swatch", style: `background:${colours[i]}` }, i + 1);
      const row = line(name, fixed(score, 2), [[weights[i], colours[i]]], fixed(weights[i]));
      row.dataset.weight = weights[i];
      return row;
    });
    const parts = Array.from(weights, (w, i) => [w, colours[i]]);
    const sum = line("sum", "", parts, fixed(weights.reduce((a, b) => a + b, 0)));
    const read = line("context", "", [[1, rgb(context)]], "");
    read.className = sum.className = "attn-total";
    body.replaceChildren(...rows, sum, read);
  };
  return node;
}

function sentence(query, { weights, context }) {
  const order = Array.from(weights.keys())
    .sort((a, b) => weights[b] - weights[a])
    .slice(0, 2);
  const most = order.map((i) => `key ${i + 1} (${fixed(weights[i])})`).join(", then ");
  const [x, y, r, g, b] = [...query, ...context].map((c) => fixed(c, 2));
  return `The query at (${x}, ${y}) reads most from ${most}. Context: red ${r}, green ${g}, blue ${b}.`;
}

function render({ model, el }) {
  const start = ["query", "key_vectors", "score", "temperature"].map((name) => [name, model.get(name)]);
  const change = (name, value) => setTraits(model, { [name]: value });
  const drawing = queryAmongKeys(model, change);
  const formula = html("span", { class: "attn-formula" });
  const score = radios("score", CHOICES, (value) => change("score", value));
  const temperature = logSlider("temperature", [0.1, 10], (value) => change("temperature", value));
  const restart = () => {
    for (const [name, value] of start) change(name, value);
  };
  const again = pushButton("start again", restart, { class: "attn-link attn-control" });
  const weights = table();
  const state = words();
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Drag the query q or a key, or move it with the arrow keys (further with Shift). ",
    "The background shows what a query placed there would read.",
  );
  const side = html("div", { class: "attn-side" }, score, formula, temperature, weights, again);
  const root = widget(
    el,
    "score-explorer",
    "Score explorer: a query among keys",
    challenge(model),
    hint,
    html("div", { class: "attn-columns" }, drawing.node, side),
    state,
  );

  const draw = () => {
    const query = model.get("query");
    const result = reader(model)(query);
    drawing.draw(query, result);
    weights.draw(model.get("values"), result);
    root.dataset.context = Array.from(result.context).join(" ");
    state.say(sentence(query, result));
  };
  const redraw = () => {
    if (model.get("key_vectors").length !== model.get("values").length) return; // the other one is on its way
    score.choose(model.get("score"));
    temperature.choose(model.get("temperature"));
    formula.innerHTML = `score = ${FORMULA[model.get("score")]}`;
    drawing.paint(reader(model));
    draw();
  };
  const recolour = () => {
    drawing.rebuild();
    redraw();
  };
  const rest = ["key_vectors", "score", "temperature", "W_q", "W_k", "v"];
  const ends = [follow(model, ["query"], draw), follow(model, rest, redraw), follow(model, ["values"], recolour)];
  redraw();
  return together(ends);
}

export default { render };
