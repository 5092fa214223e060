import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { drawn, uniforms } from "../lib/chance.mjs";
import { html, svg, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { logSlider } from "../lib/slider.mjs";
import { argmax, softmax } from "../lib/tensor.mjs";
import { fixed, rgb } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "./widget.css";

const [SIZE, GRID, PATCH, STEP, RANGE] = [48, 12, 4, 0.05, [0.1, 5]];

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// The logarithms of one word's weights, as widget.py packs them
const logits = (text, t) => Array.from(bytes(text).subarray(t * GRID * GRID, (t + 1) * GRID * GRID), (b) => -STEP * b);

// As tasks.scenes.regions: the patches that touch the square around a shape
function region([row, column, radius]) {
  const touch = (n, middle) => PATCH * n < middle + radius && PATCH * (n + 1) > middle - radius;
  return Array.from({ length: GRID * GRID }, (_, i) => touch(Math.floor(i / GRID), row) && touch(i % GRID, column));
}

function look(scene, t, temperature, draw) {
  const soft = softmax(logits(scene.soft, t).map((x) => x / temperature));
  const alpha = softmax(logits(scene.hard, t));
  const chosen = draw ? drawn(alpha, uniforms(1000 * draw + t, 1)[0]) : argmax(alpha);
  const inside = scene.named[t] < 0 ? null : region(scene.shapes[scene.named[t]].box);
  const share = (weights) => (inside ? weights.reduce((sum, w, i) => sum + (inside[i] ? w : 0), 0) : null);
  const hard = alpha.map((_, i) => (i === chosen ? 1 : 0));
  return {
    soft,
    hard,
    alpha,
    chosen,
    inside,
    share: { soft: share(soft), hard: share(hard) },
    area: inside && inside.filter(Boolean).length / inside.length,
  };
}

// ---- pictures ----

function outline({ shape, box: [y, x, r], colour }, paint) {
  const at = (points) => points.map(([a, b]) => `${x + a * r},${y + b * r}`).join(" ");
  const fill = { fill: rgb(paint[colour]) };
  if (shape === "circle") return svg("circle", { cx: x, cy: y, r, ...fill });
  const [s, w] = [0.88, 0.36];
  const points = {
    square: [
      [-s, -s],
      [s, -s],
      [s, s],
      [-s, s],
    ],
    triangle: [
      [0, -1],
      [0.925, 0.85],
      [-0.925, 0.85],
    ],
    cross: [
      [-w, -1],
      [w, -1],
      [w, -w],
      [1, -w],
      [1, w],
      [w, w],
      [w, 1],
      [-w, 1],
      [-w, w],
      [-1, w],
      [-1, -w],
      [-w, -w],
    ],
  }[shape];
  return svg("polygon", { points: at(points), ...fill });
}

// How far from an even share (0) to all of the weight (1), on a logarithmic scale, the same for every picture
const bright = (weight) => Math.max(0, 1 + Math.log(weight + 1e-9) / Math.log(GRID * GRID));

// A scene under a veil that is thin where the weight is large; the frame is the region that the word names
function board(name, scene, paint) {
  const node = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", class: "attn-scene", "data-read": name });
  const cell = (i) => ({ x: (i % GRID) * PATCH, y: Math.floor(i / GRID) * PATCH, width: PATCH, height: PATCH });
  const veil = Array.from({ length: GRID * GRID }, (_, i) => svg("rect", { ...cell(i), class: "attn-veil" }));
  const frame = svg("rect", { class: "attn-region" });
  node.append(
    svg("rect", { width: SIZE, height: SIZE, class: "attn-paper" }),
    ...scene.shapes.map((shape) => outline(shape, paint)),
    ...veil,
    frame,
  );
  node.draw = (weights, inside, label) => {
    veil.forEach((rect, i) => {
      rect.setAttribute("fill-opacity", (0.7 * (1 - bright(weights[i]))).toFixed(3));
    });
    const places = inside ? inside.flatMap((yes, i) => (yes ? [i] : [])) : [];
    const [columns, rows] = [places.map((i) => i % GRID), places.map((i) => Math.floor(i / GRID))];
    const [x, y] = [Math.min(...columns), Math.min(...rows)];
    const size = {
      x: PATCH * x,
      y: PATCH * y,
      width: PATCH * (Math.max(...columns) - x + 1),
      height: PATCH * (Math.max(...rows) - y + 1),
    };
    if (places.length) for (const [key, value] of Object.entries(size)) frame.setAttribute(key, value);
    frame.style.display = places.length ? "" : "none";
    node.setAttribute("aria-label", label);
  };
  return node;
}

function sentence(scene, t, found) {
  const word = scene.words[t] === "(end)" ? "the end" : `“${scene.words[t]}”`;
  const place = `row ${Math.floor(found.chosen / GRID) + 1}, column ${(found.chosen % GRID) + 1}`;
  const odds = `the hard one reads ${place}, which had probability ${fixed(found.alpha[found.chosen], 2)}`;
  if (found.inside) {
    const shape = scene.shapes[scene.named[t]];
    return (
      `${word} names the ${shape.colour} ${shape.shape}, ${fixed(100 * found.area, 0)}% of the image. The soft model puts ` +
      `${fixed(100 * found.share.soft, 0)}% of its weight there; ${odds}, ${found.share.hard ? "inside" : "outside"} it.`
    );
  }
  const top = argmax(found.soft);
  return (
    `${word} names no region. The soft model has its largest weight, ${fixed(found.soft[top], 2)}, at row ` +
    `${Math.floor(top / GRID) + 1}, column ${(top % GRID) + 1}; ${odds}.`
  );
}

// ---- the page ----

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const all = get("scenes");
  const title = (scene, i) =>
    `${scene.shapes.length} shapes${i === all.length - 1 ? ", one combination never seen" : ""}`;
  const pick = radios(
    "scene",
    all.map((scene, i) => [String(i), title(scene, i)]),
    (i) => change({ word: 0, scene: Number(i), draw: 0 }),
  );
  const text = html("div", {});
  const boards = html("div", { class: "attn-scenes" });
  const heat = logSlider("temperature of the soft weights", RANGE, (value) => change({ temperature: value }));
  const button = (name, act) => pushButton(name, act, { class: "attn-control" });
  const draw_ = button("hard: draw a place", () => change({ draw: get("draw") + 1 }));
  const likely = button("hard: the likeliest place", () => change({ draw: 0 }));
  const state = words();
  const says = html("p", { class: "attn-hint attn-says" });
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Choose a word of the caption; the arrow keys go from one to the next. Places that get more than an even share of the weight before the word is written are bright. The dashed frame is the region that the word names.",
  );
  const root = widget(
    el,
    "word-by-word",
    "Word by word: what each word of a caption looks at",
    challenge(model),
    hint,
    pick,
    text,
    boards,
    html("div", { class: "attn-word-controls" }, heat, draw_, likely),
    state,
    says,
  );
  let [shown, word, pictures] = [-1, null, null];

  const build = (scene) => {
    word = radios(
      "word",
      scene.words.map((w, t) => [String(t), w]),
      (t) => change({ word: Number(t), draw: 0 }),
    );
    pictures = ["soft", "hard"].map((read) => board(read, scene, get("colours")));
    text.replaceChildren(word);
    boards.replaceChildren(
      ...pictures.map((picture, i) =>
        html("figure", {}, picture, html("figcaption", {}, ["soft: every place a little", "hard: one place"][i])),
      ),
    );
    const wrong = ["soft", "hard"].filter((read) => scene.says[read] !== scene.words.slice(0, -1).join(" "));
    says.textContent = wrong.length
      ? wrong.map((read) => `Left alone, ${read} writes: “${scene.says[read]}”.`).join(" ")
      : "Left alone, both models write this caption.";
  };
  const draw = () => {
    const [i, t, temperature, n] = ["scene", "word", "temperature", "draw"].map(get);
    const scene = all[i];
    if (t >= scene.words.length) return; // the other trait is on its way
    if (i !== shown) build(scene);
    shown = i;
    const found = look(scene, t, temperature, n);
    const line = sentence(scene, t, found);
    pick.choose(String(i));
    word.choose(String(t));
    heat.choose(temperature);
    pictures[0].draw(found.soft, found.inside, `The scene as the soft model sees it. ${line}`);
    pictures[1].draw(found.hard, found.inside, `The scene as the hard model sees it. ${line}`);
    root.result = { soft: Array.from(found.soft), hard: Array.from(found.hard), share: found.share, area: found.area };
    state.say(line);
  };
  draw();
  return follow(model, ["scene", "word", "temperature", "draw"], draw);
}

export default { render };
