import { pushButton } from "../lib/button.mjs";
import { fromBase64, toBase64 } from "../lib/bytes.mjs";
import { challenge } from "../lib/challenge.mjs";
import { conv2d } from "../lib/convolution.mjs";
import { html, widget } from "../lib/dom.mjs";
import { drawingPen, inkLine } from "../lib/pen.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, concat, dot, linear, mix, pick, softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "./widget.css";

const [WAYS, SIDE] = [5, 28];
const STRIDES = [2, 2, 1, 2]; // of attncourse.mechanisms.snail.Embed
const NIB = 1.5; // the pen's radius in pixels

// ---- the network, as attncourse.mechanisms.snail ----

// n numbers at a time to mean 0 and variance 1; then a factor and a shift, `each` for so many numbers
export function normalise(x, n, { weight, bias }, each) {
  const y = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += n) {
    const part = x.subarray(from, from + n);
    const mean = part.reduce((a, b) => a + b, 0) / n;
    const spread = Math.sqrt(part.reduce((a, b) => a + (b - mean) ** 2, 0) / n + 1e-5);
    part.forEach((v, i) => {
      const c = Math.floor((from + i) / each) % weight.data.length;
      y[from + i] = ((v - mean) / spread) * weight.data[c] + bias.data[c];
    });
  }
  return y;
}

// image (28·28 numbers, 0..1) -> vector
export function embed(tensors, image) {
  let x = { shape: [1, SIDE, SIDE], data: Float32Array.from(image) };
  STRIDES.forEach((stride, i) => {
    const conv = pick(tensors, `embed.layers.${3 * i}`);
    const { shape, data } = conv2d(x, conv.weight, conv.bias, { stride: [stride, stride], padding: [1, 1] });
    const normed = normalise(data, data.length / 8, pick(tensors, `embed.layers.${3 * i + 1}`), shape[1] * shape[2]);
    x = { shape, data: normed.map((a) => Math.max(0, a)) };
  });
  const out = pick(tensors, "embed.out");
  const y = linear(x.data, out.weight, out.bias);
  const scale = Math.sqrt(y.length / dot(y, y));
  return y.map((a) => a * scale);
}

// xs: a vector for each time -> [x ; what was read], and the weights of every time
function look(xs, p) {
  const [q, k, v] = ["query", "key", "value"].map((name) =>
    xs.map((x) => linear(x, p[`${name}.weight`], p[`${name}.bias`])),
  );
  const weights = q.map((query, t) =>
    softmax(k.slice(0, t + 1).map((key) => dot(query, key) / Math.sqrt(query.length))),
  );
  return { xs: xs.map((x, t) => concat(x, mix(weights[t], v.slice(0, t + 1)))), weights };
}

function carry(xs, tensors, prefix) {
  for (let i = 0; tensors[`${prefix}.blocks.${i}.both.W.weight`]; i++) {
    const p = pick(tensors, `${prefix}.blocks.${i}.both.W`);
    const nothing = new Float32Array(xs[0].length);
    const filters = p.bias.data.length / 2;
    xs = xs.map((x, t) => {
      const both = linear(concat(xs[t - 2 ** i] || nothing, x), p.weight, p.bias);
      const made = both.slice(0, filters).map((a, j) => Math.tanh(a) / (1 + Math.exp(-both[filters + j])));
      return concat(x, made);
    });
  }
  return xs;
}

// vectors of five shots, labelled 0 to 4, and of the query -> its probabilities and its weights in every look
export function answer(tensors, vectors) {
  const label = (t) => Float32Array.from({ length: WAYS }, (_, i) => Number(i === t));
  let xs = vectors.map((vector, t) => concat(vector, label(t)));
  const looks = [];
  for (let b = 0; ; b++) {
    const prefix = `reader.blocks.${b}`;
    if (tensors[`${prefix}.query.weight`]) {
      const found = look(xs, pick(tensors, prefix));
      xs = found.xs;
      looks.push(Array.from(found.weights[found.weights.length - 1]));
    } else if (tensors[`${prefix}.blocks.0.both.W.weight`]) xs = carry(xs, tensors, prefix);
    else break;
  }
  const out = pick(tensors, "reader.out");
  return { probabilities: Array.from(softmax(linear(xs[xs.length - 1], out.weight, out.bias))), weights: looks };
}

// ---- pixels ----

// Ink in the page's own text colour: the ground stays transparent.
function picture(label) {
  const node = html("canvas", {
    width: SIDE,
    height: SIDE,
    ...(label ? { role: "img", "aria-label": label } : { "aria-hidden": true }),
  });
  const context = node.getContext("2d");
  node.paint = (pixels) => {
    const image = context.createImageData(SIDE, SIDE);
    pixels.forEach((ink, n) => {
      image.data.set([0, 0, 0, ink], 4 * n);
    });
    context.putImageData(image, 0, 0);
  };
  return node;
}

// ---- the page ----

const NAMES = ["character 1", "character 2", "character 3", "character 4", "character 5", "the query"];

// Six columns: the shots and the query. Under each, how likely the answer is, and where the query looked.
function board(onpick) {
  const slots = NAMES.map((name, i) => {
    const canvas = picture();
    const button = html(
      "button",
      { type: "button", onclick: () => onpick(i), "aria-label": `edit ${name}` },
      canvas,
      html("span", { "aria-hidden": true }, i < WAYS ? i + 1 : "?"),
    );
    return { canvas, button };
  });
  const rows = ["answer", "look 1", "look 2", "look 3"].map((name) => {
    const cells = NAMES.map(() => html("td", {}, html("span", {})));
    return { cells, node: html("tr", {}, html("th", { scope: "row" }, name), ...cells) };
  });
  const head = html("tr", {}, html("td", {}), ...slots.map(({ button }) => html("th", { scope: "col" }, button)));
  const node = html(
    "table",
    { class: "attn-board" },
    html(
      "caption",
      { class: "attn-hidden" },
      "The six images; the answer's probabilities, and the query's weights in each of three looks",
    ),
    html("thead", {}, head),
    html("tbody", {}, ...rows.map((line) => line.node)),
  );
  node.draw = (images, chosen) =>
    slots.forEach(({ canvas, button }, i) => {
      canvas.paint(images[i]);
      button.setAttribute("aria-pressed", i === chosen);
    });
  node.show = (found) =>
    rows.forEach(({ cells }, r) => {
      cells.forEach((cell, i) => {
        const value = found ? (r ? found.weights[r - 1][i] : found.probabilities[i]) : undefined;
        const known = value !== undefined;
        cell.style.setProperty("--w", known ? value.toFixed(3) : 0);
        cell.firstChild.textContent = known ? fixed(value, 2) : r || i < WAYS ? "…" : "";
        cell.classList.toggle("attn-best", !r && known && i === argmax(found.probabilities));
      });
    });
  return node;
}

function sentence({ probabilities, weights }) {
  const best = argmax(probabilities);
  const looked = weights.map((w, i) => `${i + 1} on ${NAMES[argmax(w)]} (${fixed(Math.max(...w), 2)})`);
  return (
    `It takes the query for character ${best + 1}, with probability ${fixed(probabilities[best], 2)}. ` +
    `It looks three times; most of the weight is in look ${looked.join(", in look ")}.`
  );
}

function render({ model, el }) {
  let [waiting, chosen] = [0, WAYS];
  let images = model.get("images").map(fromBase64);
  const known = new Map(); // image -> vector: only what is new is embedded

  const grid = board((i) => {
    chosen = i;
    update();
  });
  const large = picture("The image that is edited");
  const nib = drawingPen(
    SIDE,
    (from, to) => {
      inkLine(images[chosen], SIDE, NIB, from, to);
      update();
    },
    () => save(),
  );
  const button = (label, act, content) => pushButton(content, act, { "aria-label": label });
  const put = (image) => {
    images[chosen] = fromBase64(image);
    save();
  };
  const palette = model.get("letters").map(([name, one, other]) => {
    const stamp = picture();
    stamp.paint(fromBase64(one));
    return button(`put ${name} here`, () => put(chosen < WAYS ? one : other), stamp);
  });
  const editing = html("p", { class: "attn-editing" });
  const clear = button(
    "clear the field",
    () => {
      images[chosen] = new Uint8Array(SIDE * SIDE);
      save();
    },
    "clear",
  );
  const notes = remarks();
  const state = words();
  const root = widget(
    el,
    "five-characters",
    "Teach it five characters",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Choose one of the six images, then pick a letter for it below, or draw it in the field, as large as the dotted frame. With the keyboard, the arrow keys move the pen and space sets it down or lifts it.",
    ),
    grid,
    html(
      "div",
      { class: "attn-edit attn-control" },
      html(
        "div",
        {},
        editing,
        html("div", { class: "attn-sheet" }, large, html("span", { class: "attn-frame" }), nib),
        clear,
      ),
      html(
        "div",
        { class: "attn-palette", role: "group", "aria-label": "Letters of scripts it was not trained on" },
        ...palette,
      ),
    ),
    notes,
    state,
  );
  const zoo = zooModel(model, root, () => update());

  function save() {
    setTraits(model, { images: images.map(toBase64) });
    update();
  }

  function show(found) {
    root.result = { ...found, images: images.map(toBase64) };
    root.dataset.read = argmax(found.probabilities) + 1;
    grid.show(found);
    state.say(sentence(found));
  }

  function vector(pixels) {
    const name = toBase64(pixels);
    if (!known.has(name)) {
      if (known.size > 60) known.clear();
      known.set(
        name,
        embed(
          zoo.net,
          Float32Array.from(pixels, (p) => p / 255),
        ),
      );
    }
    return known.get(name);
  }

  function compute() {
    waiting = 0;
    grid.draw(images, chosen);
    large.paint(images[chosen]);
    editing.textContent = chosen < WAYS ? `Character ${chosen + 1}` : "The query";
    const example = model.get("example");
    if (zoo.net) {
      notes.say();
      const started = performance.now();
      const found = answer(zoo.net, images.map(vector));
      root.dataset.milliseconds = performance.now() - started;
      show(found);
    } else if (images.every((image, i) => toBase64(image) === example.images[i])) {
      notes.say();
      show(example);
    } else {
      notes.say(zoo.wait());
      grid.show(null);
      state.say("");
    }
  }

  const update = () => (waiting = waiting || requestAnimationFrame(compute));
  const fromOutside = () => {
    if (model.get("images").every((image, i) => image === toBase64(images[i]))) return;
    images = model.get("images").map(fromBase64);
    update();
  };
  const end = follow(model, ["images"], fromOutside);
  compute();
  return () => {
    cancelAnimationFrame(waiting);
    end();
  };
}

export default { render };
