import { pushButton } from "../lib/button.mjs";
import { fromBase64 } from "../lib/bytes.mjs";
import { challenge } from "../lib/challenge.mjs";
import { normals } from "../lib/chance.mjs";
import { conv2d, conv2dBackward } from "../lib/convolution.mjs";
import { arrows, html, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { remarks } from "../lib/remarks.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { argmax, dot, linear, softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/figures.css";
import "./widget.css";

const [SIZE, SIDE, GRID, SLIDERS, REACH] = [32, 16, 8, 4, 3];

// ---- the model, as attncourse.mechanisms.sagan ----

// A weight divided by its largest singular value, u·Wv with the vectors that training left; its rows are the outputs
export function normed(net, name, transposed = false) {
  const [weight, u, v] = ["original", "0._u", "0._v"].map((part) => net[`${name}.parametrizations.weight.${part}`]);
  const [A, B] = weight.shape;
  const inner = weight.data.length / (A * B);
  let sigma = 0;
  for (let n = 0; n < weight.data.length; n++) {
    const [a, b, k] = [Math.floor(n / (B * inner)), Math.floor(n / inner) % B, n % inner];
    sigma += weight.data[n] * (transposed ? u.data[b] * v.data[a * inner + k] : u.data[a] * v.data[b * inner + k]);
  }
  return { shape: weight.shape, data: weight.data.map((w) => w / sigma) };
}

const map = (x, f) => ({ shape: x.shape, data: x.data.map(f) });

// A transposed convolution is the backward pass of a convolution: 4×4, stride 2, padding 1
function grow(net, name, x) {
  const [, H, W] = x.shape;
  const weight = normed(net, name, true);
  const shape = [weight.shape[1], 2 * H, 2 * W];
  const y = conv2dBackward(x, weight, shape, { stride: [2, 2], padding: [1, 1] });
  const bias = net[`${name}.bias`].data;
  return map(y, (a, n) => a + bias[Math.floor(n / (4 * H * W))]);
}

// Batch normalisation at rest, then ReLU
function settle(net, name, x) {
  const [weight, bias, mean, variance] = ["weight", "bias", "running_mean", "running_var"].map(
    (part) => net[`${name}.${part}`].data,
  );
  const size = x.shape[1] * x.shape[2];
  return map(x, (a, n) => {
    const c = Math.floor(n / size);
    return Math.max(0, ((a - mean[c]) / Math.sqrt(variance[c] + 1e-5)) * weight[c] + bias[c]);
  });
}

// The largest of each 2×2
function pool({ shape: [C, H, W], data }) {
  const out = new Float32Array((C * H * W) / 4);
  for (let n = 0; n < out.length; n++) {
    const [c, i, j] = [Math.floor((4 * n) / (H * W)), Math.floor((2 * n) / W) % (H / 2), n % (W / 2)];
    const at = (c * H + 2 * i) * W + 2 * j;
    out[n] = Math.max(data[at], data[at + 1], data[at + W], data[at + W + 1]);
  }
  return { shape: [C, H / 2, W / 2], data: out };
}

// (C, H, W) -> a vector of channels for each position
function positions({ shape: [C, H, W], data }) {
  return Array.from({ length: H * W }, (_, n) => Float32Array.from({ length: C }, (_, c) => data[c * H * W + n]));
}

// Every position's query with all keys -> what comes out of the block, and a map for each position
export function block(net, name, x) {
  const query = positions(conv2d(x, normed(net, `${name}.query`)));
  const keys = positions(pool(conv2d(x, normed(net, `${name}.keys.0`))));
  const values = positions(pool(conv2d(x, normed(net, `${name}.values.0`))));
  const maps = query.map((q) => softmax(keys.map((k) => dot(q, k))));
  const width = values[0].length;
  const read = new Float32Array(width * maps.length);
  maps.forEach((weights, j) => {
    weights.forEach((w, i) => {
      for (let c = 0; c < width; c++) read[c * maps.length + j] += w * values[i][c];
    });
  });
  const out = conv2d({ shape: [width, x.shape[1], x.shape[2]], data: read }, normed(net, `${name}.out.inner`));
  const gamma = net[`${name}.out.gamma`].data[0];
  return { y: map(x, (a, n) => a + gamma * out.data[n]), maps };
}

// z -> the picture (3, 32, 32) from -1 to 1, and the maps of both networks' blocks
export function generate(net, z) {
  const first = linear(Float32Array.from(z), normed(net, "generator.first"), net["generator.first.bias"]);
  let x = settle(net, "generator.norms.0", { shape: [first.length / 16, 4, 4], data: first });
  for (const i of [0, 1]) x = settle(net, `generator.norms.${i + 1}`, grow(net, `generator.ups.${i}`, x));
  const { y, maps } = block(net, "generator.block", x);
  const picture = map(grow(net, "generator.last", y), Math.tanh);
  const seen = conv2d(picture, normed(net, "discriminator.first"), net["discriminator.first.bias"], {
    stride: [2, 2],
    padding: [1, 1],
  });
  const places = net["discriminator.places"].data;
  const features = map(seen, (a, n) => (a > 0 ? a : 0.1 * a) + places[n]);
  return {
    picture: picture.data,
    maps: { generator: maps, discriminator: block(net, "discriminator.block", features).maps },
  };
}

// ---- the page ----

const byte = (x) => Math.round(127.5 * (x + 1));

// A picture whose positions can be asked: pointer, touch, or arrow keys
function board(onask) {
  const label = "picture: arrow keys move the position that is asked";
  const canvas = html("canvas", { width: SIZE, height: SIZE, role: "img", "aria-label": "The generated picture" });
  const mark = html("span", { class: "attn-click-mark" });
  const cover = html(
    "div",
    {
      class: "attn-click-cover",
      tabindex: 0,
      role: "slider",
      "aria-label": label,
      "aria-roledescription": "position",
      "aria-valuemin": 0,
      "aria-valuemax": SIDE * SIDE - 1,
    },
    mark,
  );
  const node = html("div", { class: "attn-click-board" }, canvas, cover);
  let at = [0, 0];
  // Remembered at once: while the weights are loading nothing is drawn, and the next key goes on from here
  const ask = (place) => {
    at = place;
    onask(place);
  };
  cover.addEventListener("click", (event) => {
    const box = cover.getBoundingClientRect();
    const cell = (x, size) => Math.max(0, Math.min(SIDE - 1, Math.floor((SIDE * x) / size)));
    ask([cell(event.clientY - box.top, box.height), cell(event.clientX - box.left, box.width)]);
  });
  arrows(cover, ([dx, dy], big) => {
    const step = big ? 4 : 1;
    ask([at[0] - dy * step, at[1] + dx * step].map((x) => Math.max(0, Math.min(SIDE - 1, x))));
  });
  node.draw = (pixels, place) => {
    const picture = canvas.getContext("2d");
    const image = picture.createImageData(SIZE, SIZE);
    for (let n = 0; n < SIZE * SIZE; n++)
      image.data.set([pixels[n], pixels[SIZE * SIZE + n], pixels[2 * SIZE * SIZE + n], 255], 4 * n);
    picture.putImageData(image, 0, 0);
    at = place;
    Object.assign(mark.style, { top: `${(100 * at[0]) / SIDE}%`, left: `${(100 * at[1]) / SIDE}%` });
    cover.setAttribute("aria-valuenow", at[0] * SIDE + at[1]);
    cover.setAttribute("aria-valuetext", `row ${at[0] + 1}, column ${at[1] + 1} of ${SIDE}`);
  };
  return node;
}

// How dark a weight is, the same for every map: its root, so that an even share (1/64) is one eighth of the way from 0 to 1
const shade = (weight) => Math.sqrt(weight).toFixed(3);

// 8×8 regions, darker for more weight; the frame is the mirror partner's region
function chart() {
  const cells = Array.from({ length: GRID * GRID }, () => html("span", {}));
  const node = html("div", { class: "attn-click-map", role: "img" }, ...cells);
  node.draw = (weights, partner) => {
    cells.forEach((cell, i) => {
      cell.style.setProperty("--w", shade(weights[i]));
      cell.classList.toggle("attn-click-partner", i === partner);
    });
  };
  return node;
}

// The scale of the maps, from 0 to 1, with chance marked
function scale() {
  const chance = 1 / GRID ** 2;
  const stops = [0, chance, 0.1, 0.25, 0.5, 1];
  const cells = stops.map((w) =>
    html(
      "span",
      { class: w === chance ? "attn-click-chance" : "" },
      html("i", { style: `--w:${shade(w)}` }),
      w === chance ? html("small", {}, "even share", html("br", {}), fixed(chance, 3)) : html("small", {}, w),
    ),
  );
  return html("div", { class: "attn-click-scale", role: "img", "aria-label": "Scale of the weights" }, ...cells);
}

const partnerOf = ([r, c]) => Math.floor(r / 2) * GRID + Math.floor((SIDE - 1 - c) / 2);
const region = (i) => `row ${Math.floor(i / GRID) + 1}, column ${(i % GRID) + 1}`;

function sentence(place, weights, network) {
  const [best, partner] = [argmax(weights), partnerOf(place)];
  const there =
    best === partner
      ? "That is its mirror partner"
      : `Its mirror partner (${region(partner)}) gets ${fixed(weights[partner], 3)}`;
  const times = weights[best] * GRID ** 2;
  return (
    `In the ${network}, the position at row ${place[0] + 1}, column ${place[1] + 1} of 16 looks most at the region in ` +
    `${region(best)} of 8, with weight ${fixed(weights[best], 3)}: ${fixed(times, times < 10 ? 1 : 0)} times an even share ` +
    `of 1/64. ${there}.`
  );
}

// A latent as widget.py draws one: in steps of 0.01, none beyond the sliders' ends
const latentOf = (seed, n) => normals(seed, n).map((x) => Math.max(-REACH, Math.min(REACH, Math.round(100 * x) / 100)));

function render({ model, el }) {
  let made = null;
  const picture = board((place) => change({ place }));
  const [map64, state] = [chart(), words()];
  const notes = remarks();
  const change = (traits) => {
    setTraits(model, traits);
    draw();
  };
  const sliders = Array.from({ length: SLIDERS }, (_, i) =>
    numberSlider(
      `z${"₁₂₃₄"[i]}`,
      [-REACH, REACH, 0.01],
      (value) => change({ latent: model.get("latent").map((x, j) => (j === i ? value : x)) }),
      `latent ${i + 1}`,
    ),
  );
  const next = pushButton("new picture", () =>
    change({ seed: model.get("seed") + 1, latent: latentOf(model.get("seed") + 1, model.get("latent").length) }),
  );
  const whose = radios(
    "whose block is asked",
    [
      ["generator", "generator"],
      ["discriminator", "discriminator"],
    ],
    (network) => change({ network }),
  );
  const figure = (caption, node) => html("figure", {}, node, html("figcaption", {}, caption));
  const root = widget(
    el,
    "generate-click",
    "Generate, and click to see where a position looks",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Move the latents, or take a new picture. Then click into it, or go through it with the arrow keys: the map shows where the position that you marked looks.",
    ),
    html(
      "div",
      { class: "attn-figures" },
      figure("the picture", picture),
      figure("where the marked position looks; framed: its mirror partner", html("div", {}, map64, scale())),
      html("div", { class: "attn-click-controls attn-control" }, whose, ...sliders, next),
    ),
    notes,
    state,
  );
  const zoo = zooModel(model, root, draw);

  // The picture and the map of the place, or null without weights; a latent is drawn once, asked many times
  function think(latent, place, network) {
    const asked = JSON.stringify([latent, place, network]);
    const example = model.get("example");
    if (!zoo.net) {
      const same = JSON.stringify([example.latent, example.place, example.network]) === asked;
      return same ? { pixels: fromBase64(example.pixels), weights: example.weights } : null;
    }
    const key = JSON.stringify(latent);
    if (!made || made.key !== key) made = { key, ...generate(zoo.net, latent) };
    return {
      pixels: made.picture.map(byte),
      picture: made.picture,
      weights: Array.from(made.maps[network][place[0] * SIDE + place[1]]),
    };
  }

  function draw() {
    const [latent, place, network] = ["latent", "place", "network"].map((name) => model.get(name));
    sliders.forEach((node, i) => {
      node.choose(latent[i], fixed(latent[i], 2));
    });
    whose.choose(network);
    const found = think(latent, place, network);
    if (!found) {
      notes.say(zoo.wait());
      return state.say("");
    }
    notes.say();
    picture.draw(found.pixels, place);
    map64.draw(found.weights, partnerOf(place));
    const text = sentence(place, found.weights, network);
    map64.setAttribute("aria-label", text);
    root.result = {
      latent,
      place,
      network,
      picture: found.picture ? Array.from(found.picture) : null,
      weights: found.weights,
    };
    root.dataset.drawn = JSON.stringify([place, network, latent.slice(0, 4)]);
    state.say(text);
  }

  draw();
  return follow(model, ["latent", "place", "network"], draw);
}

export default { render };
