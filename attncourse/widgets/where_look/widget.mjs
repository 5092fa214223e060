import { pushButton } from "../lib/button.mjs";
import { fromBase64 } from "../lib/bytes.mjs";
import { challenge } from "../lib/challenge.mjs";
import { arrows, html, svg, widget } from "../lib/dom.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, concat, linear, softmax, tanh } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/figures.css";
import "../lib/meter.css";
import "./widget.css";

const SIDE = 28; // pixels of an image
const UNSEEN = [47, 56, 70]; // what nobody has looked at

// ---- the model ----

// What lies `size` × `size` around place = [x, y]: bilinear, dark outside, as grid_sample with align_corners=False
export function glimpse(image, [x, y], size) {
  const [left, top] = [x, y].map((at) => ((at + 1) / 2) * SIDE - 0.5 - (size - 1) / 2);
  const pixel = (r, c) => (r >= 0 && r < SIDE && c >= 0 && c < SIDE ? image[r * SIDE + c] : 0);
  return Float32Array.from({ length: size * size }, (_, n) => {
    const [v, u] = [top + Math.floor(n / size), left + (n % size)];
    const [r, c] = [Math.floor(v), Math.floor(u)];
    const [fr, fc] = [v - r, u - c];
    return (
      (1 - fr) * ((1 - fc) * pixel(r, c) + fc * pixel(r, c + 1)) +
      fr * ((1 - fc) * pixel(r + 1, c) + fc * pixel(r + 1, c + 1))
    );
  });
}

const relu = (x) => x.map((a) => Math.max(0, a));

// The looks of attncourse.mechanisms.glimpse.RAM: choose(mean, t) says where look t goes -> the places, the guess after each
export function look(net, image, size, looks, choose) {
  const layer = (name, x) => linear(x, net[`${name}.weight`], net[`${name}.bias`]);
  let h = new Float32Array(net["core.bias"].data.length);
  let mean = [0, 0];
  const [places, guesses] = [[], []];
  for (let t = 0; t < looks; t++) {
    const place = choose(mean, t);
    const parts = concat(
      relu(layer("what", glimpse(image, place, size))),
      relu(layer("where", Float32Array.from(place))),
    );
    h = relu(layer("core", concat(h, relu(layer("join", parts)))));
    mean = Array.from(tanh(layer("location", h)));
    places.push(Array.from(place));
    guesses.push(Array.from(softmax(layer("action", h))));
  }
  return { places, guesses };
}

// ---- the page ----

const clamp = (x) => Math.max(-1, Math.min(1, Math.round(1000 * x) / 1000));
const percent = (x) => `${(50 * (x + 1)).toFixed(2)}%`;

// Inside any of the windows?
const within = (places, size, n) =>
  places.some(([x, y]) => {
    const [c, r] = [x, y].map((at, i) => (i ? Math.floor(n / SIDE) : n % SIDE) + 0.5 - ((at + 1) / 2) * SIDE);
    return Math.abs(c) < size / 2 && Math.abs(r) < size / 2;
  });

// A dark square on which looks uncover windows; with `reveal` the rest of the digit shows faintly.
function board(size, label) {
  const canvas = html("canvas", { width: SIDE, height: SIDE, role: "img", "aria-label": label });
  const frames = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, "aria-hidden": true });
  const node = html("div", { class: "attn-look-board" }, canvas, frames);
  node.draw = (pixels, places, reveal) => {
    const picture = canvas.getContext("2d");
    const image = picture.createImageData(SIDE, SIDE);
    pixels.forEach((ink, n) => {
      const faint = reveal ? 0.45 * ink : 0;
      const colour = within(places, size, n) ? [ink, ink, ink] : UNSEEN.map((c) => Math.min(255, c + faint));
      image.data.set([...colour, 255], 4 * n);
    });
    picture.putImageData(image, 0, 0);
    const at = ([x, y]) => [x, y].map((a) => ((a + 1) / 2) * SIDE);
    const line = svg("polyline", { points: places.map((p) => at(p).join(",")).join(" ") });
    frames.replaceChildren(
      line,
      ...places.flatMap((place, t) => {
        const [x, y] = at(place);
        return [
          svg("rect", { x: x - size / 2, y: y - size / 2, width: size, height: size }),
          svg("circle", { cx: x, cy: y, r: 1.25 }),
          svg("text", { x, y }, t + 1),
        ];
      }),
    );
    canvas.setAttribute("aria-label", `${label}: ${places.map((p, t) => `look ${t + 1} at ${where(p)}`).join(", ")}`);
  };
  return node;
}

const where = ([x, y]) => `column ${Math.round(((x + 1) / 2) * SIDE)}, row ${Math.round(((y + 1) / 2) * SIDE)}`;

// The cross that says where to look next: pointer, touch, or arrow keys and Enter.
function cross(onlook) {
  let at = [0, 0];
  const label = "cross: arrow keys move it, with shift further; Enter looks";
  const node = html(
    "div",
    {
      class: "attn-look-cross",
      tabindex: 0,
      role: "slider",
      "aria-label": label,
      "aria-roledescription": "cross",
      "aria-valuemin": 0,
      "aria-valuemax": SIDE,
    },
    html("span", {}),
  );
  const tell = () => {
    node.setAttribute("aria-valuenow", Math.round(((at[0] + 1) / 2) * SIDE));
    node.setAttribute("aria-valuetext", where(at));
    Object.assign(node.firstChild.style, { left: percent(at[0]), top: percent(at[1]) });
  };
  node.addEventListener("click", (event) => {
    const box = node.getBoundingClientRect();
    at = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((a) => clamp(2 * a - 1));
    tell();
    onlook(at);
  });
  arrows(node, ([dx, dy], big) => {
    const step = (big ? 8 : 2) / SIDE;
    at = [clamp(at[0] + dx * step), clamp(at[1] - dy * step)];
    tell();
  });
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onlook(at);
  });
  tell();
  return node;
}

// Ten bars, one per class.
function bars() {
  const rows = Array.from({ length: 10 }, (_, k) => {
    const [bar, number] = [html("span", { class: "attn-meter-fill" }), html("span", { class: "attn-meter-number" })];
    return { bar, number, node: html("li", {}, html("b", {}, k), html("span", { class: "attn-meter" }, bar), number) };
  });
  const node = html(
    "ol",
    { class: "attn-look-bars", "aria-label": "The model's guess after your last look" },
    ...rows.map((r) => r.node),
  );
  node.draw = (guess) =>
    rows.forEach(({ bar, number, node: line }, k) => {
      bar.style.width = `${(100 * guess[k]).toFixed(1)}%`;
      number.textContent = fixed(guess[k], 2);
      line.classList.toggle("attn-look-best", k === argmax(guess));
    });
  return node;
}

function table(looks) {
  const body = html("tbody", {});
  const head = html(
    "tr",
    {},
    ...["look", "guess from yours", "from its own"].map((t) => html("th", { scope: "col" }, t)),
  );
  const node = html(
    "table",
    { class: "attn-look-table" },
    html("caption", { class: "attn-hidden" }, "The guess after each look"),
    html("thead", {}, head),
    body,
  );
  const cell = (guess) => html("td", {}, guess ? `${argmax(guess)} (${fixed(guess[argmax(guess)], 2)})` : "–");
  node.draw = (guesses, own) =>
    body.replaceChildren(
      ...Array.from({ length: looks }, (_, t) =>
        html("tr", {}, html("th", { scope: "row" }, t + 1), cell(guesses[t]), cell(own?.[t])),
      ),
    );
  return node;
}

function sentence({ places, guesses, own }, looks, label) {
  const guess = guesses[guesses.length - 1];
  const said = (g) => `${argmax(g)} (${fixed(g[argmax(g)], 2)})`;
  if (!own)
    return `Look ${places.length} of ${looks}, at ${where(places[places.length - 1])}: the model guesses ${said(guess)}.`;
  const verdict = (g) => (argmax(g) === label ? "right" : "wrong");
  return (
    `It was a ${label}. After your six looks the model says ${said(guess)}, which is ${verdict(guess)}. After its own it ` +
    `says ${said(own.guesses[looks - 1])}, which is ${verdict(own.guesses[looks - 1])}.`
  );
}

function render({ model, el }) {
  const [size, looks] = [model.get("size"), model.get("looks")];
  const change = (traits) => {
    setTraits(model, traits);
    draw();
  };
  const [yours, its] = [board(size, "Your looks"), board(size, "The model's own looks")];
  const pointer = cross((place) => {
    const places = model.get("places");
    if (places.length < looks) change({ places: [...places, place] });
  });
  yours.append(pointer);
  const [chart, rows, state] = [bars(), table(looks), words()];
  const notes = remarks();
  const next = pushButton("new digit", () =>
    change({ digit: (model.get("digit") + 1) % model.get("digits").length, places: [[0, 0]] }),
  );
  const again = pushButton("the same digit again", () => change({ places: [[0, 0]] }));
  const figure = (caption, node) => html("figure", {}, node, html("figcaption", {}, caption));
  const [mine, other] = [figure("your looks", yours), figure("its own looks", its)];
  const root = widget(
    el,
    "where-look",
    "Where would you look?",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      `A digit is hidden. The first look, at the middle, is given; take ${looks - 1} more by clicking, or with the arrow keys and Enter.`,
    ),
    html("div", { class: "attn-look-buttons attn-control" }, next, again),
    html("div", { class: "attn-figures" }, mine, other, chart, rows),
    notes,
    state,
  );
  const zoo = zooModel(model, root, draw);

  // What the looks so far amount to, or null without weights
  function think(image, places) {
    const example = model.get("example");
    const done = places.length === looks;
    if (zoo.net) {
      const found = look(zoo.net, image, size, places.length, (_, t) => places[t]);
      return { ...found, own: done ? look(zoo.net, image, size, looks, (mean) => mean) : null };
    }
    const same = example.digit === model.get("digit") && JSON.stringify(example.places) === JSON.stringify(places);
    return same && !done ? { places, guesses: example.guesses, own: null } : null;
  }

  function draw() {
    const [label, data] = model.get("digits")[model.get("digit")];
    const [pixels, places] = [fromBase64(data), model.get("places")];
    const found = think(
      Float32Array.from(pixels, (p) => p / 255),
      places,
    );
    const done = Boolean(found?.own);
    yours.draw(pixels, places, done);
    other.hidden = !done;
    pointer.classList.toggle("attn-look-done", places.length >= looks);
    if (!found) {
      notes.say(zoo.wait());
      return state.say("");
    }
    notes.say();
    if (done) its.draw(pixels, found.own.places, true);
    chart.draw(found.guesses[found.guesses.length - 1]);
    rows.draw(found.guesses, found.own?.guesses);
    root.result = { digit: model.get("digit"), ...found };
    root.dataset.looks = places.length;
    state.say(sentence(found, looks, label));
  }

  draw();
  return follow(model, ["digit", "places"], draw);
}

export default { render };
