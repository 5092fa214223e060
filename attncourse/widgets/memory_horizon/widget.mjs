import { challenge } from "../lib/challenge.mjs";
import { html, svg, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "../lib/marks.css";
import "./widget.css";

const NAMES = [
  ["rnn", "RNN"],
  ["lstm", "LSTM"],
  ["bytenet", "dilated convolutions"],
];
const CHANCE = 0.25;

// The row of a flattened lower triangle: inputs 0 ... step
function rowOf(flat, step) {
  const from = (step * (step + 1)) / 2;
  return flat.slice(from, from + step + 1);
}

// One column per input: its letter, and above it its share of the row
function bars(text) {
  const [width, height] = [20, 120];
  const size = { viewBox: `0 0 ${width * text.length} ${height + 44}`, role: "img", class: "attn-bars" };
  const node = svg("svg", size);
  const columns = Array.from(text, (letter, s) => {
    const bar = svg("rect", { x: s * width + 3, width: width - 6, class: "attn-cell" });
    const name = svg("text", { x: (s + 0.5) * width, y: height + 16 }, letter);
    const frame = svg("rect", { x: s * width + 0.75, width: width - 1.5, y: 1, height: height + 23, rx: 3 });
    node.append(frame, bar, name);
    return { bar, name, frame };
  });
  const line = svg("line", { x1: 0, x2: width * text.length, y1: height + 0.5, y2: height + 0.5, class: "attn-base" });
  const now = svg("text", { y: height + 38, class: "attn-now" }, "▲ now");
  node.append(line, now);
  node.draw = (row, step, source, label) => {
    const top = Math.max(...row, 1);
    columns.forEach(({ bar, name, frame }, s) => {
      const tall = s <= step ? (row[s] / top) * (height - 6) : 0;
      bar.setAttribute("y", height - tall);
      bar.setAttribute("height", tall);
      bar.dataset.share = s <= step ? row[s] : "";
      frame.setAttribute("class", s === source ? "attn-source" : "attn-none");
      name.setAttribute("class", s > step ? "attn-future" : "");
    });
    now.setAttribute("x", (Math.min(Math.max(step, 1), text.length - 2) + 0.5) * width);
    node.setAttribute("aria-label", label);
  };
  return node;
}

// Accuracy against distance, one line per architecture; the chosen one is thick, the chosen distance marked
function horizon(accuracy, farthest) {
  const [left, right, top, bottom] = [46, 388, 8, 96];
  const x = (d) => left + ((right - left) * (d - 1)) / (farthest - 1);
  const y = (a) => bottom - (bottom - top) * a;
  const node = svg("svg", { viewBox: "0 0 400 124", role: "img", class: "attn-horizon" });
  for (const [value, text] of [
    [1, "1"],
    [CHANCE, "chance"],
    [0, "0"],
  ]) {
    node.append(svg("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "attn-base" }));
    node.append(svg("text", { x: left - 4, y: y(value) + 3, class: "attn-end" }, text));
  }
  for (const d of [1, 10, 20, 30, 40]) node.append(svg("text", { x: x(d), y: bottom + 13 }, d));
  node.append(svg("text", { x: (left + right) / 2, y: bottom + 26 }, "distance"));
  const mark = svg("line", { y1: top, y2: bottom, class: "attn-mark-line" });
  const lines = Object.fromEntries(
    NAMES.map(([name]) => {
      const points = accuracy[name].map((a, i) => `${x(i + 1).toFixed(1)},${y(a).toFixed(1)}`).join(" ");
      return [name, svg("polyline", { points })];
    }),
  );
  node.append(mark, ...Object.values(lines));
  node.draw = (chosen, distance, label) => {
    mark.setAttribute("x1", x(distance));
    mark.setAttribute("x2", x(distance));
    for (const [name, line] of Object.entries(lines))
      line.setAttribute("class", name === chosen ? "attn-line attn-chosen" : "attn-line");
    node.setAttribute("aria-label", label);
  };
  return node;
}

function render({ model, el }) {
  const change = (name, value) => setTraits(model, { [name]: value });
  // a distance that reaches back before the first letter would have nothing to show
  const ask = (d) => setTraits(model, { distance: d, step: Math.max(d, model.get("step")) });
  const text = model.get("text");
  const distances = model.get("distances");
  const architecture = radios("architecture", NAMES, (value) => change("architecture", value));
  const distance = radios(
    "how many steps ago was the letter that it is asked for?",
    distances.map((d) => [String(d), d]),
    (value) => ask(Number(value)),
  );
  const step = numberSlider("time step", [0, text.length - 1, 1], (value) => change("step", value));
  const picture = bars(text);
  const curve = horizon(model.get("accuracy"), model.get("accuracy").rnn.length);
  const state = words();
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "The bars show which inputs the answer at this step depends on: shares of one row of the sequential Jacobian. ",
    "The frame marks the letter that is asked for. The curve below shows how often the answer is right at each distance.",
  );
  const root = widget(
    el,
    "memory-horizon",
    "Memory horizon: one row of a sequential Jacobian",
    challenge(model),
    hint,
    architecture,
    distance,
    step,
    picture,
    state,
    curve,
  );

  const draw = () => {
    const [name, d, t] = ["architecture", "distance", "step"].map((trait) => model.get(trait));
    const which = distances.indexOf(d);
    const row = rowOf(model.get("maps")[name][which], t);
    const source = t - d;
    const [label, right] = [Object.fromEntries(NAMES)[name], model.get("accuracy")[name][d - 1]];
    const most = row.indexOf(Math.max(...row));
    const answer = model.get("answers")[name][which][t];
    const asked =
      source < 0
        ? `At step ${t} there is no letter ${d} steps back yet: move the time step to ${d} or later.`
        : `At step ${t} the ${label} is asked for the letter ${d} steps back, the ${text[source]} at step ${source}.`;
    const verdict = source < 0 ? "" : answer === text[source] ? "right" : "wrong";
    const said = source < 0 ? "" : ` It answers ${answer}, which is ${verdict}.`;
    const share = source < 0 ? "" : `, and ${row[source]}% of the row lies on the letter that is asked for`;
    const sentence =
      `${asked}${said} The answer depends most on step ${most}${share}. ` +
      `At this distance the answer is right ${fixed(100 * right, 0)}% of the time; chance is 25%.`;
    architecture.choose(name);
    distance.choose(String(d));
    step.choose(t);
    picture.draw(row, t, source, sentence);
    curve.draw(name, d, `${label}: right ${fixed(100 * right, 0)}% of the time at distance ${d}`);
    root.dataset.row = row.join(" ");
    root.dataset.verdict = verdict;
    state.say(sentence);
  };
  draw();
  return follow(model, ["architecture", "distance", "step"], draw);
}

export default { render };
