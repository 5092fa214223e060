import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { uniforms } from "../lib/chance.mjs";
import { html, svg, widget } from "../lib/dom.mjs";
import { NTM } from "../lib/ntm.mjs";
import { lstmCell } from "../lib/recurrent.mjs";
import { remarks } from "../lib/remarks.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { argmax, concat, linear, mix, pick, sigmoid, softmax, upTo } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { transport } from "../lib/transport.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/marks.css";
import "./widget.css";

const BITS = 8;
// longer patterns have too small bits to be clicked
const BY_HAND = 20;
// vector, bit
const cells = (n) => upTo(BITS * n).map((k) => [Math.floor(k / BITS), k % BITS]);

// ---- the machine, as attncourse.mechanisms.ntm.NTM with an LSTM, one reading and one writing head ----

const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

function begin(p, slots) {
  const [size, width] = [p["address.weight"].shape[1], p["change.weight"].shape[0] / 2];
  const first = () => new Float32Array(slots).fill(1, 0, 1);
  const memory = upTo(slots).map(() => new Float32Array(width).fill(1e-6));
  const controller = [new Float32Array(size), new Float32Array(size)];
  return { memory, weights: [first(), first()], reads: new Float32Array(width), controller };
}

// numbers: k, β, g, s, γ of one head
function addressed(numbers, memory, previous) {
  const [width, last] = [memory[0].length, numbers.length - 1];
  const found = NTM.content(numbers.subarray(0, width), softplus(numbers[width]), memory);
  const gated = NTM.interpolate(found, previous, 1 / (1 + Math.exp(-numbers[width + 1])));
  return NTM.sharpen(NTM.shift(gated, softmax(numbers.subarray(width + 2, last))), 1 + softplus(numbers[last]));
}

function step(p, x, state) {
  const controller = lstmCell(concat(x, state.reads), state.controller, pick(p, "controller.cell"));
  const [h, width] = [controller[0], state.reads.length];
  const numbers = linear(h, p["address.weight"], p["address.bias"]);
  const each = numbers.length / 2;
  const weights = state.weights.map((previous, i) =>
    addressed(numbers.subarray(i * each, (i + 1) * each), state.memory, previous),
  );
  const change = linear(h, p["change.weight"], p["change.bias"]);
  const [erase, add] = [sigmoid(change.subarray(0, width)), change.subarray(width)];
  const memory = state.memory.map((slot, i) =>
    slot.map((m, j) => m * (1 - weights[1][i] * erase[j]) + weights[1][i] * add[j]),
  );
  const reads = mix(weights[0], memory);
  return { memory, weights, reads, controller, logits: linear(concat(h, reads), p["out.weight"], p["out.bias"]) };
}

// The pattern, a mark on a channel of its own, silence -> logits, weights and memory after each of the 2L + 1 steps
export function run(p, pattern, slots) {
  const given = pattern.map((vector) => Float32Array.from([...vector, 0], Number));
  const [mark, silence] = [new Float32Array(BITS + 1).fill(1, BITS), new Float32Array(BITS + 1)];
  let state = begin(p, slots);
  const steps = [...given, mark, ...given.map(() => silence)].map((x) => (state = step(p, x, state)));
  return {
    pattern,
    ...Object.fromEntries(["logits", "weights", "memory"].map((name) => [name, steps.map((s) => s[name])])),
  };
}

// What Python sent for the first screen, made dense again; it holds the last memory only
function unpack({ pattern, logits, weights, memory, width }, slots) {
  const dense = (pairs) => {
    const all = new Float32Array(slots);
    for (const [i, w] of pairs) all[i] = w;
    return all;
  };
  const last = upTo(slots).map(() => new Float32Array(width));
  for (const [i, numbers] of memory) last[i].set(numbers);
  const memories = logits.map((_, t) => (t === logits.length - 1 ? last : null));
  return { pattern, logits, weights: weights.map((heads) => heads.map(dense)), memory: memories };
}

// The stretch of slots, round the end if need be, outside of which no head ever has a twentieth of its weight
function used(weights) {
  const slots = weights[0][0].length;
  const seen = upTo(slots).filter((i) => weights.some((heads) => heads.some((head) => head[i] > 0.05)));
  const gaps = seen.map((from, k) => (k + 1 < seen.length ? seen[k + 1] : seen[0] + slots) - from);
  const widest = argmax(gaps);
  const count = Math.min(slots, Math.max(8, slots - gaps[widest] + 3));
  return upTo(count).map((k) => (seen[(widest + 1) % seen.length] - 1 + k + slots) % slots);
}

// ---- pictures ----

// Numbers from -1 to 1 as squares, one path for each shade: a large matrix is a dozen nodes, in the theme's colours
function matrix(label) {
  const ground = svg("rect", { class: "attn-ground", width: "100%", height: "100%" });
  const shades = upTo(20).map((k) =>
    svg("path", { class: k < 10 ? "attn-more" : "attn-less", "fill-opacity": ((k % 10) + 1) / 10 }),
  );
  const over = svg("g", {});
  const node = svg(
    "svg",
    { class: "attn-matrix", preserveAspectRatio: "none", role: "img", "aria-label": label },
    ground,
    ...shades,
    over,
  );
  node.over = over;
  node.draw = (height, width, value) => {
    node.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const paths = shades.map(() => "");
    for (let r = 0; r < height; r++)
      for (let c = 0; c < width; c++) {
        const v = value(r, c);
        const shade = Math.min(10, Math.round(10 * Math.abs(v)));
        if (shade) paths[shade - 1 + (v < 0 ? 10 : 0)] += `M${c} ${r}h1v1h-1z`;
      }
    shades.forEach((path, k) => {
      path.setAttribute("d", paths[k]);
    });
  };
  return node;
}

const line = (name, x, height) => svg("line", { class: name, x1: x, x2: x, y1: 0, y2: height });

// Eight bits per column. With `onset` each bit is a button: arrow keys move, space and click flip.
function board(label, onset) {
  const node = matrix(label);
  const [lines, marks, keys] = [svg("path", { class: "attn-rule" }), svg("g", {}), svg("g", {})];
  node.over.append(lines, marks, keys);
  let [length, here] = [0, 0];
  const focus = (at) => {
    keys.children[here].setAttribute("tabindex", -1);
    here = at;
    keys.children[here].setAttribute("tabindex", 0);
    keys.children[here].focus({ preventScroll: true });
  };
  const flip = (j, i) => {
    focus(BITS * j + i);
    onset(j, i);
  };
  const move = (event, j, i) => {
    const to = { ArrowLeft: [j - 1, i], ArrowRight: [j + 1, i], ArrowUp: [j, i - 1], ArrowDown: [j, i + 1] }[event.key];
    if (!to && event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (!to) flip(j, i);
    else if (to[0] >= 0 && to[0] < length && to[1] >= 0 && to[1] < BITS) focus(BITS * to[0] + to[1]);
  };
  const key = ([j, i]) =>
    svg("rect", {
      class: "attn-touch attn-bit",
      x: j,
      y: i,
      width: 1,
      height: 1,
      role: "button",
      tabindex: j || i ? -1 : 0,
      "aria-label": `vector ${j + 1}, bit ${i + 1}`,
      onkeydown: (event) => move(event, j, i),
      onclick: () => flip(j, i),
    });
  const resize = (n) => {
    const cell = n <= 10 ? 22 : 16;
    length = n;
    node.style.cssText = `aspect-ratio:${n}/8;width:${n > BY_HAND ? "100%" : `${cell * n}px`}`;
    node.parentNode.classList.toggle("attn-full", n > BY_HAND);
    lines.setAttribute(
      "d",
      n > 40
        ? ""
        : upTo(n + 1)
            .map((j) => `M${j} 0v8`)
            .join("") +
            upTo(9)
              .map((i) => `M0 ${i}h${n}`)
              .join(""),
    );
    const open = onset && n <= BY_HAND;
    node.setAttribute("role", open ? "group" : "img");
    keys.replaceChildren(...(open ? cells(n).map(key) : []));
    here = 0;
  };
  // value(j, i): how much of a 1 is bit i of vector j; wrong(j, i); now: the vector that is being dealt with
  node.show = (n, value, wrong, now) => {
    if (n !== length) resize(n);
    node.draw(BITS, n, (i, j) => value(j, i));
    const faults = cells(n)
      .filter(([j, i]) => wrong(j, i))
      .map(([j, i]) => `M${j + 0.15} ${i + 0.15}h.7v.7h-.7z`)
      .join("");
    const frame = now >= 0 && now < n ? [svg("rect", { class: "attn-now", x: now, y: 0, width: 1, height: BITS })] : [];
    marks.replaceChildren(svg("path", { class: "attn-fault", d: faults }), ...frame);
    [...keys.children].forEach((bit, k) => {
      bit.setAttribute("aria-pressed", value(Math.floor(k / BITS), k % BITS) > 0.5);
    });
  };
  return node;
}

// Slots downwards in all three: what was written where, what stands there, what was read from where
function desk() {
  const [writing, memory, reading] = ["write weights", "memory", "read weights"].map(matrix);
  const ticks = html("div", { class: "attn-ticks", "aria-hidden": "true" });
  const pane = (name, title, axis, node) =>
    html("div", { class: name }, html("small", {}, title), node, html("small", {}, axis));
  const node = html(
    "div",
    { class: "attn-desk" },
    pane("attn-axis", "slot", "", ticks),
    pane("attn-wide", "write weights", "time →", writing),
    pane("attn-narrow", "memory", "numbers →", memory),
    pane("attn-wide", "read weights", "time →", reading),
  );
  node.show = (made, time, slots, largest) => {
    const [total, mark, n] = [made.logits.length, made.pattern.length, slots.length];
    node.style.setProperty("--tall", `${Math.round(Math.max(112, Math.min(270, 14 * n)))}px`);
    [reading, writing].forEach((panel, head) => {
      panel.draw(n, total, (r, t) => (t < time ? made.weights[t][head][slots[r]] : 0));
      panel.over.replaceChildren(line("attn-mark", mark + 0.5, n), line("attn-here", time, n));
    });
    const now = time ? made.memory[time - 1] : null;
    const width = (now || made.memory[total - 1])[0].length;
    memory.draw(n, width, (r, c) => (now ? now[slots[r]][c] / largest : 0));
    ticks.replaceChildren(
      ...[0, Math.floor((n - 1) / 2), n - 1].map((r) =>
        html("span", { style: `top:${(100 * (r + 0.5)) / n}%` }, slots[r]),
      ),
    );
  };
  return node;
}

// ---- words ----

function faults({ pattern, logits }, time) {
  const answers = logits.slice(pattern.length + 1, time);
  const wrong = answers.map((answer, j) => answer.filter((x, i) => x > 0 !== (pattern[j][i] === "1")).length);
  return { bits: BITS * answers.length, wrong: wrong.reduce((a, b) => a + b, 0) };
}

function sentence(made, time, trained) {
  const [length, total] = [made.pattern.length, made.logits.length];
  if (!time)
    return `Before the first step both heads are on slot 0 and the memory is empty. ${length} vectors will come in.`;
  const at = (t, head) => argmax(made.weights[t][head]);
  const head = (name, k) =>
    `${name} head is on slot ${at(time - 1, k)} (${fixed(Math.max(...made.weights[time - 1][k]), 2)})`;
  const where = `The ${head("write", 1)}, and the ${head("read", 0)}.`;
  const { bits, wrong } = faults(made, time);
  if (time < total) {
    const doing =
      time <= length
        ? `vector ${time} of ${length} comes in`
        : time === length + 1
          ? "the mark comes in"
          : `vector ${time - length - 1} of ${length} is answered, so far ${wrong} of ${bits} bits wrong`;
    return `Step ${time} of ${total}: ${doing}. ${where}`;
  }
  return (
    `It has answered all ${length} vectors, with ${wrong} of ${bits} bits wrong. While they came in, the write head went ` +
    `from slot ${at(0, 1)} to slot ${at(length - 1, 1)}; during the answer the read head went from slot ` +
    `${at(length + 1, 0)} to slot ${at(total - 1, 0)}. In training no pattern was longer than ${trained} vectors.`
  );
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const random = (n) => {
    const chance = uniforms(get("seed"), BITS * n);
    return upTo(n).map((j) =>
      upTo(BITS)
        .map((i) => Number(chance[BITS * j + i] < 0.5))
        .join(""),
    );
  };
  let [made, slots, largest] = [];
  const total = () => 2 * get("pattern").length + 1;
  const clock = transport(model, "time", total, () => Math.max(30, Math.min(350, 9000 / total())));
  const current = () => made && made.pattern.join() === get("pattern").join();
  const flip = (j, i) => {
    const turned = (vector) => vector.slice(0, i) + (1 - vector[i]) + vector.slice(i + 1);
    change({ pattern: get("pattern").map((vector, k) => (k === j ? turned(vector) : vector)) });
  };
  const fresh = (n) => () => {
    change({ seed: get("seed") + 1 });
    put(random(n));
  };
  const [given, answer, heads] = [board("your pattern: eight bits per vector", flip), board("its answer"), desk()];
  const put = (pattern) => {
    clock.halt();
    change({ time: -1, pattern });
  };
  const length = numberSlider("length", [1, BY_HAND, 1], (n) =>
    put([...get("pattern").slice(0, n), ...random(n).slice(get("pattern").length)]),
  );
  const verdict = html("span", { class: "attn-verdict" });
  const [notes, state] = [remarks(), words()];
  const root = widget(
    el,
    "machine",
    "Run the machine: a Neural Turing Machine copies a pattern",
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Set the bits of the pattern by clicking, or with the arrow keys and space. The machine reads one vector per step, ",
      "then a mark; after that it gets nothing more and has to answer from its memory.",
    ),
    html(
      "div",
      { class: "attn-tapes" },
      html("div", {}, html("small", {}, "your pattern"), given),
      html("div", {}, html("small", {}, "its answer ", verdict), answer),
    ),
    html(
      "div",
      { class: "attn-panel attn-control" },
      length,
      html(
        "div",
        { role: "group", "aria-label": "random pattern", class: "attn-buttons" },
        html("span", {}, "random:"),
        ...[5, 10, 20, 40, 80, get("longest")].map((n) =>
          pushButton(n, fresh(n), { "aria-label": `random pattern of length ${n}` }),
        ),
        pushButton("clear", () => put(get("pattern").map(() => "0".repeat(BITS)))),
      ),
    ),
    notes,
    clock,
    heads,
    html(
      "p",
      { class: "attn-hint" },
      "A wrong bit is framed in orange, and the dashed line is the mark. In the memory, blue is above 0 and orange below. ",
      "Only the slots that a head visits are shown.",
    ),
    state,
  );
  const zoo = zooModel(model, root, update);

  // The whole run is made at once; time only chooses how much of it is shown
  function make() {
    const pattern = get("pattern");
    if (current() && (made.memory[0] || !zoo.net)) return;
    if (zoo.net) made = run(zoo.net, pattern, get("slots"));
    else if (pattern.join() === get("example").pattern.join()) made = unpack(get("example"), get("slots"));
    else return;
    slots = used(made.weights);
    largest = made.memory
      .flatMap((memory) => (memory ? slots.map((i) => memory[i]) : []))
      .reduce((most, slot) => slot.reduce((m, x) => Math.max(m, Math.abs(x)), most), 1e-9);
    root.result = made;
    const output = made.logits
      .slice(pattern.length + 1)
      .map((logits) => Array.from(logits, (x) => Number(x > 0)).join(""));
    if (get("output").join() !== output.join()) change({ output });
  }

  function update() {
    make();
    const [pattern, t] = [get("pattern"), clock.at()];
    const n = pattern.length;
    const ready = current() && (t === 0 || made.memory[t - 1]);
    length.choose(Math.min(n, BY_HAND), n > BY_HAND ? `${n} (by hand up to ${BY_HAND})` : String(n));
    clock.draw();
    given.show(
      n,
      (j, i) => Number(pattern[j][i]),
      () => false,
      t <= n ? t - 1 : -1,
    );
    // the answers so far
    const logits = ready ? made.logits.slice(n + 1, t) : [];
    answer.show(
      n,
      (j, i) => (logits[j] ? 1 / (1 + Math.exp(-logits[j][i])) : 0),
      (j, i) => logits[j] && logits[j][i] > 0 !== (pattern[j][i] === "1"),
      t < total() ? t - n - 2 : -1,
    );
    heads.style.visibility = ready ? "" : "hidden";
    const { bits, wrong } = ready ? faults(made, t) : {};
    verdict.textContent = bits ? `· ${wrong} of ${bits} bits wrong` : "";
    Object.assign(root.dataset, { pattern: ready ? pattern.join(" ") : "", time: t, wrong });
    notes.say(...(ready ? [] : [zoo.wait()]));
    if (ready) {
      heads.show(made, t, slots, largest);
      state.say(sentence(made, t, get("trained_length")));
    } else state.say("");
  }

  const ends = [follow(model, ["pattern", "time"], update), clock.halt];
  update();
  return together(ends);
}

export default { render };
