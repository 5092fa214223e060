import { challenge } from "../lib/challenge.mjs";
import { html, onWidth, svg, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { dot } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "./widget.css";

// As attncourse.mechanisms.transformer.positions
function encoding(p, d) {
  const out = [];
  for (let e = 0; e < d; e += 2) out.push(Math.sin(p * 10000 ** (-e / d)), Math.cos(p * 10000 ** (-e / d)));
  return out;
}

// The hands that are drawn: at most sixteen of the d/2, spread evenly from the fastest to the slowest
function chosen(d) {
  const [n, most] = [d / 2, Math.min(16, d / 2)];
  return Array.from({ length: most }, (_, i) => Math.round((i * (n - 1)) / (most - 1)));
}

// A hand stands at (sin, cos) of its angle: it starts at the top and turns clockwise, as on a clock
function dial(hand, d, from, to) {
  const at = (pe, length) => [50 + length * pe[2 * hand], 50 - length * pe[2 * hand + 1]];
  const line = (pe, name, length) => {
    const [x2, y2] = at(pe, length);
    return svg("line", { x1: 50, y1: 50, x2, y2, class: name });
  };
  const turn = 2 * Math.PI * 10000 ** ((2 * hand) / d);
  const period = turn < 1000 ? fixed(turn, turn < 100 ? 1 : 0) : `${fixed(turn / 1000, 1)}k`;
  return html(
    "figure",
    {},
    svg(
      "svg",
      { viewBox: "0 0 100 100", "aria-hidden": "true" },
      svg("circle", { cx: 50, cy: 50, r: 46 }),
      line(to, "attn-there", 42),
      line(from, "attn-hand", 34),
    ),
    html("figcaption", {}, `hand ${hand}`, html("br", {}), `turn: ${period}`),
  );
}

function chart(products, distance, farthest, d, width) {
  const [height, left, foot] = [220, 46, 34];
  const low = Math.min(0, ...products);
  const x = (k) => left + ((k + farthest) / (2 * farthest)) * (width - left - 10);
  const y = (v) => 10 + ((d / 2 - v) / (d / 2 - low)) * (height - foot - 10);
  const node = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "attn-clock-chart",
    role: "img",
    "aria-label": `Dot product against distance: ${fixed(d / 2, 0)} at distance 0, falling and rippling on both sides alike`,
  });
  node.append(svg("line", { x1: left, x2: width - 10, y1: y(0), y2: y(0), class: "attn-base" }));
  for (const k of [-farthest, -farthest / 2, 0, farthest / 2, farthest])
    node.append(svg("text", { x: x(k), y: height - 16 }, fixed(k, 0)));
  for (const v of [0, d / 2]) node.append(svg("text", { x: left - 8, y: y(v) + 4, class: "attn-end" }, fixed(v, 0)));
  node.append(svg("text", { x: width / 2, y: height - 2 }, "distance k"));
  const points = products.map((v, i) => `${x(i - farthest).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
  node.append(svg("polyline", { points, class: "attn-curve" }));
  const value = products[distance + farthest];
  node.append(
    svg("line", { x1: x(distance), x2: x(distance), y1: y(value), y2: y(0), class: "attn-drop" }),
    svg("circle", { cx: x(distance), cy: y(value), r: 5, class: "attn-dot" }),
  );
  return node;
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (name) => (value) => setTraits(model, { [name]: value });
  const far = get("farthest");
  const position = numberSlider("position p", [0, 100, 1], change("position"));
  const distance = numberSlider("distance k", [-far, far, 1], change("distance"));
  const size = radios(
    "d_model",
    get("sizes").map((d) => [String(d), String(d)]),
    (d) => change("size")(Number(d)),
  );
  const [dials, stage] = [html("div", { class: "attn-dials" }), html("div", {})];
  const which = html("p", { class: "attn-hint" });
  const state = words();
  const root = widget(
    el,
    "position-clock",
    "Position clock: sinusoids as hands that turn",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Each pair (sin, cos) of the encoding is the hand of a clock. The thick orange hand is position p, as a query; the thin blue one is position ",
      "p + k, as a key. When you move p, both turn, and the angle between them stays as it is.",
    ),
    html("div", { class: "attn-clock-controls" }, position, distance, size),
    dials,
    which,
    stage,
    state,
  );

  let width = 640;
  const draw = () => {
    const [p, k, d] = ["position", "distance", "size"].map(get);
    const [from, to] = [encoding(p, d), encoding(p + k, d)];
    const products = Array.from({ length: 2 * far + 1 }, (_, i) => dot(from, encoding(p + i - far, d)));
    position.choose(p);
    distance.choose(k, fixed(k, 0));
    size.choose(String(d));
    const hands = chosen(d);
    dials.replaceChildren(...hands.map((hand) => dial(hand, d, from, to)));
    which.textContent =
      hands.length === d / 2
        ? `These are all ${d / 2} hands; “turn” is how many positions a hand needs to go round once.`
        : `${hands.length} of the ${d / 2} hands, spread evenly from the fastest to the slowest, because all would not fit; ` +
          "the dot product counts every one. “Turn” is how many positions a hand needs to go round once.";
    stage.replaceChildren(chart(products, k, far, d, width));
    root.result = { from, to, products };
    const slow = 2 * Math.PI * 10000 ** ((d - 2) / d);
    state.say(
      `The dot product of positions ${fixed(p, 0)} and ${fixed(p + k, 0)} is ${fixed(dot(from, to), 2)}, of at most ` +
        `${d / 2}, and it is the same for any two positions ${fixed(Math.abs(k), 0)} apart. The fastest of the ${d / 2} hands ` +
        `turns once in 6.3 positions, the slowest once in ${fixed(slow, 0)}.`,
    );
  };
  draw();
  const fit = (room) => {
    width = Math.min(640, room); // a unit is a pixel at most: the labels stay readable on a phone
    draw();
  };
  return together([onWidth(stage, fit), follow(model, ["position", "distance", "size"], draw)]);
}

export default { render };
