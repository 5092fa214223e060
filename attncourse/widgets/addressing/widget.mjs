import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, svg, uniqueId, widget } from "../lib/dom.mjs";
import { NTM } from "../lib/ntm.mjs";
import { plane, planeGrid } from "../lib/plane.mjs";
import { draggable } from "../lib/point.mjs";
import { radios } from "../lib/radios.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { argmax, softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "../lib/marks.css";
import "./widget.css";

const SLOTS = 8;
const ORDER = ["content", "interpolate", "shift", "sharpen"]; // the functions of attncourse.mechanisms.ntm
const FORMULAS = {
  previous: "<i>w</i><sub><i>t</i>−1</sub>, where the head was",
  content: "<i>w<sub>c</sub></i> = softmax(<i>β</i> cos(<i>k</i>, <i>M<sub>i</sub></i>))",
  interpolate: "<i>w<sub>g</sub></i> = <i>g w<sub>c</sub></i> + (1 − <i>g</i>) <i>w</i><sub><i>t</i>−1</sub>",
  shift: "<i>w̃</i>(<i>i</i>) = Σ<sub><i>j</i></sub> <i>w<sub>g</sub></i>(<i>j</i>) <i>s</i>(<i>i</i> − <i>j</i>)",
  sharpen: "<i>w</i> = <i>w̃</i><sup><i>γ</i></sup> / Σ <i>w̃</i><sup><i>γ</i></sup>",
};

// One number as moves -reach … reach: its two neighbouring integers share it, 6.7 gives 0.3 on 6 and 0.7 on 7
export function scalarMoves(scalar, reach) {
  return Array.from({ length: 2 * reach + 1 }, (_, m) => Math.max(0, 1 - Math.abs(scalar - (m - reach))));
}

export function address({ memory, key, previous, strength, gate, encoding, logits, scalar, power }) {
  const moves = encoding === "softmax" ? Array.from(softmax(logits)) : scalarMoves(scalar, SLOTS - 1);
  const content = NTM.content(key, strength, memory);
  const interpolate = NTM.interpolate(content, previous, gate);
  const shift = NTM.shift(interpolate, moves);
  return { moves, content, interpolate, shift, sharpen: NTM.sharpen(shift, power) };
}

// ---- the memory ----

// Slots and key as points; a ray from the origin to each, because only directions count
function board(model, change) {
  const extent = model.get("extent");
  const { node, toPixel, toPlane } = plane(extent, "Memory: eight slots and the key in the plane");
  const handle = (name, label, get, set, ...shape) => {
    const point = svg("g", { class: name }, svg("circle", { r: 22, class: "attn-touch" }), ...shape);
    draggable(point, { label, extent, toPlane, get, set });
    return point;
  };
  const replaced = (i, position) => model.get("memory").map((slot, j) => (j === i ? position : slot));
  const slots = Array.from({ length: SLOTS }, (_, i) =>
    handle(
      "attn-slot",
      `slot ${i}`,
      () => model.get("memory")[i],
      (position) => change("memory", replaced(i, position)),
      svg("circle", { r: 14 }),
      svg("text", {}, i),
    ),
  );
  const key = handle(
    "attn-slot attn-asking",
    "key k",
    () => model.get("key"),
    (position) => change("key", position),
    svg("rect", { x: -12, y: -12, width: 24, height: 24, rx: 4, transform: "rotate(45)" }),
    svg("text", {}, "k"),
  );
  const rays = [...slots, key].map((_, i) =>
    svg("line", { x1: 200, y1: 200, class: i < SLOTS ? "attn-ray" : "attn-ray attn-asking" }),
  );
  node.append(planeGrid(extent), ...rays, ...slots, key);
  node.draw = (content) =>
    [...model.get("memory"), model.get("key")].forEach((position, i) => {
      const [[x, y], point] = [toPixel(position), i < SLOTS ? slots[i] : key];
      point.setAttribute("transform", `translate(${x} ${y})`);
      point.tell(position);
      rays[i].setAttribute("x2", x);
      rays[i].setAttribute("y2", y);
      if (i < SLOTS) rays[i].setAttribute("stroke-width", (1.5 + 12 * content[i]).toFixed(2));
    });
  return node;
}

// ---- the stages ----

// A weighting as eight bars with their numbers; all charts have the same columns, so a slot is followed downwards.
// With `onpick` each column is a radio button: the one slot that the head is on.
function bars(name, onpick) {
  const group = uniqueId("slot");
  const hidden = (text) => html("span", { class: "attn-hidden" }, text);
  const columns = Array.from({ length: SLOTS }, (_, i) => {
    const [fill, number] = [html("i", {}), html("span", { class: "attn-number" })];
    const inside = [
      html("small", {}, hidden("slot "), i, hidden(": ")),
      html("span", { class: "attn-track" }, fill),
      number,
    ];
    if (!onpick) return { fill, number, node: html("li", {}, ...inside) };
    const input = html("input", {
      type: "radio",
      name: group,
      value: i,
      "aria-label": `slot ${i}`,
      onchange: () => onpick(i),
    });
    return { fill, number, input, node: html("li", {}, html("label", {}, input, ...inside)) };
  });
  const node = html("ol", { class: "attn-weights", "aria-label": `weights: ${name}` }, ...columns.map((c) => c.node));
  node.draw = (weights) =>
    columns.forEach(({ fill, number, input }, i) => {
      fill.style.height = `${(100 * weights[i]).toFixed(1)}%`;
      number.textContent = weights[i] < 0.005 ? "0" : fixed(weights[i], 2);
      if (input) input.checked = weights[i] > 0.9995;
    });
  return node;
}

function stage(name, chart, ...controls) {
  return html(
    "section",
    { class: "attn-stage" },
    html(
      "p",
      { class: "attn-title" },
      html("code", {}, name),
      " ",
      html("span", { class: "attn-formula", markup: FORMULAS[name] }),
    ),
    chart,
    html("div", { class: "attn-knobs" }, ...controls),
  );
}

const signed = (m) => (m > 0 ? `+${m}` : fixed(m, 0));

// "0.30 on +6, 0.70 on +7"
function shares(moves) {
  const reach = (moves.length - 1) / 2;
  return moves.flatMap((share, m) => (share < 0.005 ? [] : [`${fixed(share, 2)} on ${signed(m - reach)}`])).join(", ");
}

// Over how many slots is the weighting spread? exp of the entropy
function spread(weights) {
  return Math.exp(-weights.reduce((h, w) => (w > 0 ? h + w * Math.log(w) : h), 0));
}

function sentence(found, { strength, gate, power }) {
  const most = (name) => `slot ${argmax(found[name])} (${fixed(Math.max(...found[name]), 2)})`;
  return (
    `By content (β = ${fixed(strength, 1)}) the head looks most at ${most("content")}. Interpolation keeps ` +
    `${fixed(1 - gate, 2)} of the previous weighting, so it looks most at ${most("interpolate")}. The shift puts ` +
    `${shares(found.moves)}, which leads to ${most("shift")}. Sharpening (γ = ${fixed(power, 1)}) ends at ` +
    `${most("sharpen")}, spread over ${fixed(spread(found.sharpen), 1)} of ${SLOTS} slots.`
  );
}

// Both encodings of the shift; only the chosen one is shown
function shifter(model, change) {
  const pick = radios(
    "moves s",
    [
      ["softmax", "a softmax"],
      ["scalar", "one number"],
    ],
    (value) => change("encoding", value),
  );
  const three = [-1, 0, 1].map((m, i) =>
    numberSlider(signed(m), [-6, 6, 0.1], (value) =>
      change(
        "logits",
        model.get("logits").map((logit, j) => (j === i ? value : logit)),
      ),
    ),
  );
  const group = html("div", { class: "attn-three", role: "group", "aria-label": "logits of the moves" }, ...three);
  const one = numberSlider("shift by", [1 - SLOTS, SLOTS - 1, 0.1], (value) => change("scalar", value));
  const split = html("p", { class: "attn-moves" });
  const node = html("div", {}, pick, group, one, split);
  node.draw = (moves) => {
    const scalar = model.get("encoding") === "scalar";
    pick.choose(model.get("encoding"));
    [group.hidden, one.hidden] = [scalar, !scalar];
    if (!scalar)
      three.forEach((knob, i) => {
        knob.choose(model.get("logits")[i], fixed(moves[i], 2));
      });
    one.choose(model.get("scalar"), fixed(model.get("scalar"), 1));
    split.textContent = scalar ? shares(moves) : "";
  };
  return node;
}

function render({ model, el }) {
  const change = (name, value) => setTraits(model, { [name]: value });
  const names = ["memory", "key", "previous", "strength", "gate", "encoding", "logits", "scalar", "power"];
  const start = Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const memory = board(model, change);
  const charts = Object.fromEntries(
    Object.keys(FORMULAS).map((name) => [
      name,
      bars(
        name,
        name === "previous" &&
          ((slot) =>
            change(
              "previous",
              Array.from({ length: SLOTS }, (_, i) => Number(i === slot)),
            )),
      ),
    ]),
  );
  const [strength, gate, power] = [
    ["strength β", [0, 20, 0.1]],
    ["gate g", [0, 1, 0.01]],
    ["power γ", [1, 20, 0.1]],
  ].map(([label, limits]) => numberSlider(label, limits, (value) => change(label.split(" ")[0], value)));
  let found = null;
  const onward = pushButton("next step: previous ← w", () => change("previous", Array.from(found.sharpen)), {
    class: "attn-control",
  });
  const again = pushButton("start again", () => setTraits(model, start), { class: "attn-link attn-control" });
  const moving = shifter(model, change);
  const state = words();
  const title = html(
    "p",
    { class: "attn-title" },
    html("code", {}, "memory"),
    " ",
    html("i", {}, "M"),
    ", eight slots, and a key ",
    html("i", {}, "k"),
  );
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Drag a slot or the key k, or move it with the arrow keys (further with Shift). Each chart is one stage, and a slot ",
    "has the same column in all of them.",
  );
  const root = widget(
    el,
    "addressing",
    "Addressing bench: how a head finds its slots",
    challenge(model),
    hint,
    html(
      "div",
      { class: "attn-bench" },
      html("div", { class: "attn-memory" }, title, memory, again, state),
      html(
        "div",
        { class: "attn-stages" },
        stage(
          "previous",
          charts.previous,
          html("p", { class: "attn-moves attn-control" }, "Click a slot to say that the head was there."),
          onward,
        ),
        stage("content", charts.content, strength),
        stage("interpolate", charts.interpolate, gate),
        stage("shift", charts.shift, moving),
        stage("sharpen", charts.sharpen, power),
      ),
    ),
  );

  const draw = () => {
    const traits = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    found = address(traits);
    memory.draw(found.content);
    charts.previous.draw(traits.previous);
    for (const name of ORDER) charts[name].draw(found[name]);
    strength.choose(traits.strength, fixed(traits.strength, 2));
    gate.choose(traits.gate, fixed(traits.gate, 2));
    power.choose(traits.power, fixed(traits.power, 2));
    moving.draw(found.moves);
    root.result = Object.fromEntries(Object.entries(found).map(([name, w]) => [name, Array.from(w)]));
    state.say(sentence(found, traits));
  };
  draw();
  return follow(model, names, draw);
}

export default { render };
