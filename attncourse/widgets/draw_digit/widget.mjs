import { pushButton } from "../lib/button.mjs";
import { fromBase64, toBase64 } from "../lib/bytes.mjs";
import { challenge } from "../lib/challenge.mjs";
import { normals } from "../lib/chance.mjs";
import { conv2d, conv2dBackward } from "../lib/convolution.mjs";
import { html, widget } from "../lib/dom.mjs";
import { drawingPen, inkLine } from "../lib/pen.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, linear, softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/figures.css";
import "../lib/meter.css";
import "./widget.css";

const LAYERS = [
  [2, 2],
  [2, 1],
  [1, 1],
  [1, 1],
]; // stride and padding of each convolution, as attncourse.mechanisms.implicit.ConvNet
const [BLUE, ORANGE] = [
  [86, 180, 233],
  [230, 159, 0],
]; // more ink here raises the score, or lowers it
const NIB = 1.4; // the pen's radius in pixels: MNIST's strokes are two to three pixels wide

// ---- the network ----

// A batch normalisation at rest is a factor and a shift: both go into the convolution before it.
export function network(tensors) {
  const layers = LAYERS.map(([stride, padding], i) => {
    const [weight, gamma, beta, mean, variance] = [
      "0.weight",
      "1.weight",
      "1.bias",
      "1.running_mean",
      "1.running_var",
    ].map((name) => tensors[`features.${i}.${name}`]);
    const factor = gamma.data.map((g, o) => g / Math.sqrt(variance.data[o] + 1e-5));
    const size = weight.data.length / factor.length;
    return {
      weight: { shape: weight.shape, data: weight.data.map((w, n) => w * factor[Math.floor(n / size)]) },
      bias: { data: beta.data.map((b, o) => b - mean.data[o] * factor[o]) },
      options: { stride: [stride, stride], padding: [padding, padding] },
    };
  });
  return { layers, weight: tensors["out.weight"], bias: tensors["out.bias"] };
}

// image (size·size numbers, 0..1) -> the probabilities, and the gradient of the score of `target` (-1: the likeliest)
export function look({ layers, weight, bias }, image, target) {
  const size = Math.sqrt(image.length);
  const inputs = [{ shape: [1, size, size], data: Float32Array.from(image) }];
  for (const layer of layers) {
    const { shape, data } = conv2d(inputs[inputs.length - 1], layer.weight, layer.bias, layer.options);
    inputs.push({ shape, data: data.map((a) => Math.max(0, a)) });
  }
  const [K, h, w] = inputs[4].shape;
  const mean = Float32Array.from(
    { length: K },
    (_, k) => inputs[4].data.subarray(k * h * w, (k + 1) * h * w).reduce((a, b) => a + b, 0) / (h * w),
  );
  const scores = linear(mean, weight, bias);
  const asked = target < 0 ? argmax(scores) : target;
  let slope = {
    shape: [K, h, w],
    data: inputs[4].data.map((_, n) => weight.data[asked * K + Math.floor(n / (h * w))] / (h * w)),
  };
  for (let i = layers.length - 1; i >= 0; i--) {
    const open = { shape: slope.shape, data: slope.data.map((g, n) => (inputs[i + 1].data[n] > 0 ? g : 0)) };
    slope = conv2dBackward(open, layers[i].weight, inputs[i].shape, layers[i].options);
  }
  return { probabilities: Array.from(softmax(scores)), gradient: slope.data, asked };
}

// ---- pixels ----

// Share of the map's mass in the box around all ink, and the box's share of the area
export function share(gradient, pixels, size) {
  const ink = Array.from(pixels.keys()).filter((n) => pixels[n] > 0);
  if (!ink.length) return null;
  const [rows, columns] = [ink.map((n) => Math.floor(n / size)), ink.map((n) => n % size)];
  const [top, bottom, left, right] = [Math.min(...rows), Math.max(...rows), Math.min(...columns), Math.max(...columns)];
  const inside = (n) =>
    Math.floor(n / size) >= top && Math.floor(n / size) <= bottom && n % size >= left && n % size <= right;
  let [within, all] = [0, 0];
  gradient.forEach((g, n) => {
    all += Math.abs(g);
    if (inside(n)) within += Math.abs(g);
  });
  return { mass: within / all, area: ((bottom - top + 1) * (right - left + 1)) / (size * size) };
}

function field(size, label) {
  const node = html("canvas", { width: size, height: size, role: "img", "aria-label": label });
  const picture = node.getContext("2d");
  node.paint = (colour) => {
    const image = picture.createImageData(size, size);
    for (let n = 0; n < size * size; n++) image.data.set([...colour(n), 255], 4 * n);
    picture.putImageData(image, 0, 0);
  };
  return node;
}

// ---- the page ----

// Ten classes: a button each, with its probability as a bar; pressed = the map is about this one.
function classes(onpick) {
  const rows = Array.from({ length: 10 }, (_, k) => {
    const [bar, number] = [html("span", { class: "attn-meter-fill" }), html("span", { class: "attn-meter-number" })];
    const button = html(
      "button",
      { type: "button", onclick: () => onpick(k) },
      html("b", { "aria-hidden": true }, k),
      html("span", { class: "attn-hidden" }, `${k}: probability `),
      html("span", { class: "attn-meter" }, bar),
      number,
    );
    return { bar, number, button };
  });
  const node = html(
    "div",
    { class: "attn-classes", role: "group", "aria-label": "Classes: choose the one that the map is about" },
    html("p", { class: "attn-hint attn-control" }, "What would raise the score of … ? Choose a class."),
    ...rows.map((row) => row.button),
  );
  node.draw = (probabilities, asked) =>
    rows.forEach(({ bar, number, button }, k) => {
      bar.style.width = `${(100 * probabilities[k]).toFixed(1)}%`;
      number.textContent = fixed(probabilities[k], 2);
      button.setAttribute("aria-pressed", k === asked);
    });
  return node;
}

function sentence({ probabilities, asked, gradient }, pixels, size) {
  const order = probabilities.map((_, k) => k).sort((a, b) => probabilities[b] - probabilities[a]);
  const seen = order
    .slice(0, 2)
    .map((k) => `${k} (${fixed(probabilities[k], 2)})`)
    .join(", then ");
  const found = share(gradient, pixels, size);
  if (!found) return "The field is empty, but the network has to name a class all the same.";
  const percent = (x) => `${Math.round(100 * x)}%`;
  return (
    `The network reads ${seen}. The map is about ${asked}: ${percent(found.mass)} of it lies in the box around the ` +
    `ink, which is ${percent(found.area)} of the field.`
  );
}

function render({ model, el }) {
  const size = model.get("size");
  let [net, waiting, pixels] = [null, 0, fromBase64(model.get("image"))];
  let steadied = { key: "", sum: [], n: 0 }; // the gradients of the noisy copies so far

  const drawing = field(size, "What is drawn");
  const map = field(size, "The gradient of the score");
  const nib = drawingPen(
    size,
    (from, to) => {
      inkLine(pixels, size, NIB, from, to);
      if (model.get("copies")) setTraits(model, { copies: 0 });
      update();
    },
    () => save(),
  );
  const bars = classes((k) => setTraits(model, { target: model.get("target") === k ? -1 : k, copies: 0 }));
  const button = (name, label, act) => pushButton(name, act, { "aria-label": label });
  const stamps = model.get("examples").map(([name, row, column, data]) =>
    button(name, `example: ${name}`, () => {
      pixels = new Uint8Array(size * size);
      fromBase64(data).forEach((ink, n) => {
        pixels[(row + Math.floor(n / 28)) * size + column + (n % 28)] = ink;
      });
      save();
    }),
  );
  const most = model.get("most_copies");
  const steady = pushButton(
    `average over ${most} noisy copies`,
    () => setTraits(model, { copies: Math.max(1, model.get("copies")) }),
    { class: "attn-control" },
  );
  const clear = button("clear", "clear the field", () => {
    pixels = new Uint8Array(size * size);
    save();
  });
  const notes = remarks();
  const state = words();
  const key = html(
    "p",
    { class: "attn-key-line" },
    html("i", { class: "attn-up" }),
    " more ink here raises the score, ",
    html("i", { class: "attn-low" }),
    " lowers it",
  );
  const why = html("p", { class: "attn-hint" });
  const figure = (caption, ...nodes) =>
    html("figure", {}, html("div", { class: "attn-field" }, ...nodes), html("figcaption", {}, caption));
  const caption = html("span", {}, "∂ score / ∂ pixel");
  const root = widget(
    el,
    "draw-digit",
    "Draw a digit",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Draw a digit anywhere, about half as high as the field. With the keyboard, the arrow keys move the pen and space sets it down or lifts it.",
    ),
    html(
      "div",
      { class: "attn-stamps attn-control", role: "group", "aria-label": "Examples that replace your drawing" },
      html("span", { class: "attn-hint" }, "replace the drawing by an example:"),
      ...stamps,
      clear,
    ),
    html("div", { class: "attn-figures" }, figure("your digit", drawing, nib), figure(caption, map), bars),
    key,
    html("div", { class: "attn-steady" }, steady, why),
    notes,
    state,
  );
  const zoo = zooModel(model, root, update);

  function save() {
    setTraits(model, { image: toBase64(pixels), copies: 0 });
    update();
  }

  function show(found) {
    Object.assign(root.dataset, { read: argmax(found.probabilities), asked: found.asked });
    root.result = { ...found, gradient: Array.from(found.gradient), image: toBase64(pixels) };
    const top = found.gradient.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-12);
    map.paint((n) => {
      // the power lifts the many small slopes into sight
      const [g, ink] = [(Math.abs(found.gradient[n]) / top) ** 0.75, 0.13 * pixels[n]];
      return (found.gradient[n] > 0 ? BLUE : ORANGE).map((c) => ink + g * (c - ink));
    });
    bars.draw(found.probabilities, found.asked);
    const copies = found.copies ? `, mean over ${found.copies} noisy copies` : "";
    caption.textContent = `∂ score of ${found.asked} / ∂ pixel${copies}`;
    why.textContent = found.copies
      ? "This is SmoothGrad: averaged over noisy copies of your drawing, the map gathers around the strokes. Some speckle stays."
      : "Why the speckle? The gradient asks about each pixel on its own, and neighbours often disagree, even about the sign.";
    steady.disabled = found.copies > 0;
    const line = sentence(found, pixels, size);
    map.setAttribute("aria-label", `Gradient of the score of ${found.asked} with respect to every pixel. ${line}`);
    state.say(line);
  }

  // SmoothGrad: the mean gradient over the first n noisy copies; those that are known are not computed again
  function average(image, asked, n) {
    const key = `${asked} ${toBase64(pixels)}`;
    if (steadied.key !== key || steadied.n > n) steadied = { key, sum: new Float32Array(image.length), n: 0 };
    for (; steadied.n < n; steadied.n++) {
      const noise = normals(steadied.n + 1, image.length);
      const { gradient } = look(
        net,
        image.map((p, i) => p + model.get("sigma") * noise[i]),
        asked,
      );
      steadied.sum = steadied.sum.map((s, i) => s + gradient[i]);
    }
    return steadied.sum.map((s) => s / n);
  }

  function compute() {
    waiting = 0;
    drawing.paint((n) => [pixels[n], pixels[n], pixels[n]]);
    const example = model.get("example");
    if (zoo.net) {
      net = net || network(zoo.net);
      notes.say();
      const started = performance.now();
      const image = Float32Array.from(pixels, (p) => p / 255);
      const found = look(net, image, model.get("target"));
      root.dataset.milliseconds = performance.now() - started;
      const copies = model.get("copies");
      show({ ...found, copies, gradient: copies ? average(image, found.asked, copies) : found.gradient });
      // one more copy per frame: the map settles before the reader's eyes
      if (copies && copies < most) setTraits(model, { copies: copies + 1 });
    } else if (
      ["target", "copies"].every((name) => model.get(name) === example[name]) &&
      toBase64(pixels) === example.image
    ) {
      notes.say();
      const gradient = Float32Array.from(
        new Int8Array(fromBase64(example.map).buffer),
        (g) => (g / 127) * example.scale,
      );
      show({
        probabilities: example.probabilities,
        copies: example.copies,
        gradient,
        asked: example.target < 0 ? argmax(example.probabilities) : example.target,
      });
    } else {
      notes.say(zoo.wait());
      state.say("");
    }
  }

  // Many moves of a pointer, one computation per frame
  function update() {
    waiting = waiting || requestAnimationFrame(compute);
  }

  function adopt() {
    if (model.get("image") !== toBase64(pixels)) pixels = fromBase64(model.get("image"));
    update();
  }

  const end = follow(model, ["image", "target", "copies"], adopt);
  compute();
  return () => {
    cancelAnimationFrame(waiting);
    end();
  };
}

export default { render };
