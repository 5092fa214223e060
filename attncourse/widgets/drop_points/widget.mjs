import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, onWidth, svg, widget } from "../lib/dom.mjs";
import { heatmap } from "../lib/heatmap.mjs";
import { plane } from "../lib/plane.mjs";
import { draggable } from "../lib/point.mjs";
import { lstmCell } from "../lib/recurrent.mjs";
import { remarks } from "../lib/remarks.mjs";
import { additive } from "../lib/scores.mjs";
import { argmax, concat, linear, pick, row, softmax, tanh, upTo } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { feedForward, layerNorm, memorise, multiHead, plus, projected } from "../lib/transformer.mjs";
import { transport } from "../lib/transport.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/marks.css";
import "./widget.css";

const STOP = 0;
const LARGEST = 12; // points of a tour that is solved exactly, as attncourse.tasks.geometry

// ---- the network: attncourse.mechanisms.pointer with the encoder Attending; a matrix is its rows laid end to end ----

function layer(x, p, heads) {
  const [seen, attention] = [layerNorm(x, pick(p, "residuals.0.norm")), pick(p, "attention")];
  x = plus(x, multiHead(seen, memorise(seen, attention), attention, heads).out);
  return plus(x, feedForward(layerNorm(x, pick(p, "residuals.1.norm")), p));
}

function annotate(net, points, heads) {
  const last = Math.max(1, points.length - 1);
  let x = projected(Float32Array.from(points.flatMap(([a, b], j) => [a, b, j / last])), net, "encoder.embed");
  for (let l = 0; net[`encoder.layers.${l}.attention.out.weight`]; l++)
    x = layer(x, pick(net, `encoder.layers.${l}`), heads);
  return layerNorm(x, pick(net, "encoder.last"));
}

// What may come next: a hull may end after three points, a tour after all (geometry.polygons and geometry.tours)
function allowed(task, written, n) {
  const enough = task === "hull" ? 3 : n;
  return upTo(n + 1).map((s) => (s === STOP ? written.length >= enough : !written.includes(s)));
}

// Greedy, as pointer.solve -> symbols, and each step's distribution over stop, 1 … n
export function solve(net, points, task, heads) {
  const [p, n] = [pick(net, "pointer"), points.length];
  const [d, lstm] = [p.go.data.length, pick(p, "lstm")];
  const annotations = annotate(net, points, heads);
  const inputs = { shape: [n + 1, d], data: concat(p.go.data, annotations) };
  const keys = upTo(n + 1).map((j) => linear(j === STOP ? p.stop.data : row(inputs, j), p["score.W_k.weight"]));
  const mean = new Float32Array(d).map((_, e) => upTo(n).reduce((sum, j) => sum + annotations[j * d + e], 0) / n);
  const start = tanh(projected(mean, p, "start"));
  let [memory, last] = [[start.subarray(0, start.length / 2), start.subarray(start.length / 2)], STOP];
  const [symbols, weights] = [[], []];
  do {
    memory = lstmCell(row(inputs, last), memory, lstm);
    const query = linear(memory[0], p["score.W_q.weight"]);
    const scores = keys.map((key) => additive(query, key, p["score.v"].data));
    weights.push(Array.from(softmax(scores, allowed(task, symbols, n))));
    last = argmax(weights.at(-1));
    symbols.push(last);
  } while (last !== STOP);
  return { symbols, weights };
}

// ---- the exact answers, as attncourse.tasks.geometry: numbers from 1, counter-clockwise ----

const left = ([ax, ay], [bx, by], [cx, cy]) => (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
const distance = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);
const along = (points, cycle) => cycle.map((s, i) => [points[s - 1], points[cycle[(i + 1) % cycle.length] - 1]]);
export const length = (points, cycle) => along(points, cycle).reduce((sum, [a, b]) => sum + distance(a, b), 0);
export const area = (points, cycle) =>
  along(points, cycle).reduce((sum, [a, b]) => sum + (a[0] * b[1] - b[0] * a[1]) / 2, 0);

// Andrew's monotone chain
export function hull(points) {
  const order = upTo(points.length).sort((i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1]);
  const side = (indices) => {
    const chain = [];
    for (const i of indices) {
      while (chain.length > 1 && left(points[chain.at(-2)], points[chain.at(-1)], points[i]) <= 0) chain.pop();
      chain.push(i);
    }
    return chain.slice(0, -1);
  };
  const cycle = [...side(order), ...side([...order].reverse())].map((i) => i + 1);
  const lead = cycle.indexOf(Math.min(...cycle));
  return [...cycle.slice(lead), ...cycle.slice(0, lead)];
}

// Held & Karp: home(at, rest) is the shortest way from a point through the set `rest` (one bit per point) to the first,
// and its next point; every set is looked at once
export function tour(points) {
  const known = new Map();
  const home = (at, rest) => {
    if (!rest) return [distance(points[at], points[0])];
    const key = rest * points.length + at;
    if (known.has(key)) return known.get(key);
    let best = [Infinity];
    for (let i = 1; i < points.length; i++) {
      if (!(rest & (1 << i))) continue;
      const size = distance(points[at], points[i]) + home(i, rest & ~(1 << i))[0];
      if (size < best[0]) best = [size, i];
    }
    known.set(key, best);
    return best;
  };
  const cycle = [1];
  for (let [at, rest] = [0, 2 ** points.length - 2]; rest; rest &= ~(1 << at)) {
    at = home(at, rest)[1];
    cycle.push(at + 1);
  }
  return counterclockwise(points, cycle);
}

const counterclockwise = (points, cycle) => (area(points, cycle) < 0 ? [cycle[0], ...cycle.slice(1).reverse()] : cycle);

// From each point to the nearest that is left, then turn round or move stretches as long as that shortens the tour; the
// shortest of all starts. It is not proven to be the shortest there is.
export function search(points) {
  const far = points.map((a) => points.map((b) => distance(a, b)));
  const size = (cycle) => cycle.reduce((sum, at, i) => sum + far[at][cycle.at(i - 1)], 0);
  const found = upTo(points.length).map((start) => shorten(nearest(far, start), size));
  const best = found.reduce((a, b) => (size(b) < size(a) ? b : a));
  const lead = best.indexOf(0);
  return counterclockwise(
    points,
    [...best.slice(lead), ...best.slice(0, lead)].map((i) => i + 1),
  );
}

function nearest(far, start) {
  const cycle = [start];
  while (cycle.length < far.length) {
    const left = upTo(far.length).filter((i) => !cycle.includes(i));
    cycle.push(left.reduce((a, b) => (far[cycle.at(-1)][b] < far[cycle.at(-1)][a] ? b : a)));
  }
  return cycle;
}

function shorten(cycle, size) {
  for (let [now, better] = [size(cycle), cycle]; better; ) {
    better = changed(cycle, (other) => size(other) < now - 1e-9);
    if (better) [cycle, now] = [better, size(better)];
  }
  return cycle;
}

// The first that is good enough: a stretch turned round (2-opt), or up to three points somewhere else (Or-opt)
function changed(cycle, good) {
  const n = cycle.length;
  for (let i = 0; i < n; i++) {
    const around = [...cycle.slice(i), ...cycle.slice(0, i)];
    for (let k = 1; k < n; k++) {
      const [turned, rest] = [around.slice(0, k).reverse(), around.slice(k)];
      if (good([...turned, ...rest])) return [...turned, ...rest];
      for (let j = 1; k < 4 && j < rest.length; j++)
        for (const part of [turned, around.slice(0, k)]) {
          const moved = [...rest.slice(0, j), ...part, ...rest.slice(j)];
          if (good(moved)) return moved;
        }
    }
  }
  return null;
}

// ---- pictures ----

// From disc to disc, with a head
function arrow([ax, ay], [bx, by], name) {
  const [size, angle] = [Math.hypot(bx - ax, by - ay), Math.atan2(by - ay, bx - ax)];
  return svg(
    "g",
    { class: `attn-arrow ${name}`, transform: `translate(${ax} ${ay}) rotate(${(180 * angle) / Math.PI})` },
    svg("path", { d: `M13 0H${size - 21}` }),
    svg("path", { class: "attn-tip", d: `M${size - 15} 0l-10 5v-10Z` }),
  );
}

// The unit square, with a margin
function square(label) {
  const { node, toPixel, toPlane } = plane(0.57, label, 0.5);
  const [[x, y], [right, bottom]] = [toPixel([0, 1]), toPixel([1, 0])];
  node.append(svg("rect", { x, y, width: right - x, height: bottom - y, rx: 4, class: "attn-drop-frame" }));
  return { node, toPixel, toPlane };
}

const disc = (i, ...more) =>
  svg(
    "g",
    { class: "attn-drop-point" },
    ...more,
    svg("circle", { r: 12, class: "attn-disc" }),
    svg("circle", { r: 12, class: "attn-cell", "fill-opacity": 0 }),
    svg("text", {}, i + 1),
  );

const fillBy = (node, weight) => {
  node.querySelector(".attn-cell").setAttribute("fill-opacity", weight.toFixed(3));
  node.classList.toggle("attn-inverse", weight > 0.5);
};

// Where points are put, moved and taken away, and the network's arrows
function board({ get, set, limit }) {
  const { node, toPixel, toPlane } = square("Points in the unit square. Click a free place to add one.");
  const [lines, dots, box] = [svg("g", {}), svg("g", {}), { x: -24, y: -10, width: 48, height: 20, rx: 5 }];
  const stop = svg(
    "g",
    { class: "attn-drop-stop", transform: "translate(368 386)" },
    svg("rect", box),
    svg("rect", { ...box, class: "attn-cell" }),
    svg("text", { y: 5 }, "stop"),
  );
  node.append(lines, stop, dots);
  let handles = [];
  node.addEventListener("click", (event) => {
    if (event.target.closest(".attn-point")) return;
    const at = toPlane(event).map((a) => Math.round(100 * a) / 100);
    if (at.every((a) => a >= 0 && a <= 1) && get().length < limit) set([...get(), at], get().length);
  });
  const handle = (i) => {
    const point = disc(i, svg("circle", { r: 21, class: "attn-touch" }));
    draggable(point, {
      label: `point ${i + 1}; Delete takes it away`,
      extent: 0.5,
      centre: 0.5,
      toPlane,
      step: 0.02,
      bigStep: 0.1,
      get: () => get()[i],
      set: (at) =>
        set(
          get().map((p, j) => (j === i ? at : p)),
          i,
        ),
    });
    point.addEventListener("focus", () => (node.chosen = i));
    point.addEventListener("keydown", (event) => {
      if (event.key !== "Delete" && event.key !== "Backspace") return;
      event.preventDefault();
      if (get().length > 3)
        set(
          get().filter((_, j) => j !== i),
          Math.max(0, i - 1),
        );
    });
    return point;
  };
  node.focusOn = (i) => handles[i]?.focus({ preventScroll: true });
  node.draw = (points, { symbols, weights }, shown) => {
    if (handles.length !== points.length) {
      handles = points.map((_, i) => handle(i));
      dots.replaceChildren(...handles);
    }
    const [path, pixels] = [symbols.slice(0, shown), points.map(toPixel)];
    const now = shown ? weights[shown - 1] : new Float32Array(points.length + 1);
    lines.replaceChildren(
      ...path
        .slice(1)
        .map((to, t) =>
          arrow(
            pixels[path[t] - 1],
            pixels[(to === STOP ? path[0] : to) - 1],
            to === STOP ? "attn-closing" : t === shown - 2 && shown < symbols.length ? "attn-now" : "",
          ),
        ),
    );
    handles.forEach((point, i) => {
      point.setAttribute("transform", `translate(${pixels[i].join(" ")})`);
      point.tell(points[i]);
      fillBy(point, now[i + 1]);
      point.classList.toggle("attn-first", path[0] === i + 1);
    });
    fillBy(stop, now[STOP]);
  };
  return node;
}

function answerBoard() {
  const { node, toPixel } = square("");
  const inside = svg("g", {});
  node.setAttribute("role", "img");
  node.classList.add("attn-drop-answer");
  node.append(inside);
  node.draw = (points, cycle) => {
    const at = points.map(toPixel);
    const discs = at.map((_, i) => disc(i));
    discs.forEach((point, i) => {
      point.setAttribute("transform", `translate(${at[i].join(" ")})`);
    });
    inside.replaceChildren(
      svg("polygon", { class: "attn-drop-exact", points: cycle.map((s) => at[s - 1].join()).join(" ") }),
      ...discs,
    );
    node.setAttribute("aria-label", `The answer to compare with: ${cycle.join(", ")}`);
  };
  return node;
}

// ---- words ----

// The same points, each with the same neighbours
const same = (a, b) => {
  const edges = (cycle) =>
    cycle
      .map((s, i) => [s, cycle[(i + 1) % cycle.length]].sort().join())
      .sort()
      .join(" ");
  return edges(a) === edges(b);
};

function verdict(task, points, answer, exact) {
  const proven = task === "hull" || points.length <= LARGEST;
  if (same(answer, exact))
    return task === "hull" ? "This is the hull." : `This is the shortest tour${proven ? "" : " that we could find"}.`;
  if (task === "tsp") {
    const longer = 100 * (length(points, answer) / length(points, exact) - 1);
    return longer < 0
      ? `Its tour is ${fixed(-longer, 1)}% shorter than the best that our search found.`
      : `Its tour is ${fixed(longer, 1)}% longer than the shortest${proven ? "" : " that we could find"}.`;
  }
  const missing = exact.filter((s) => !answer.includes(s));
  const extra = answer.filter((s) => !exact.includes(s));
  const named = [
    missing.length && `leaves out ${missing.join(", ")}`,
    extra.length && `takes in ${extra.join(", ")}`,
  ].filter(Boolean);
  return (
    `This is not the hull: it ${named.join(" and ") || "goes round in another order"}; ` +
    `its area is ${fixed((100 * Math.abs(area(points, answer))) / area(points, exact), 1)}% of the hull's.`
  );
}

function sentence({ symbols, weights }, shown, judged) {
  const name = (s) => (s === STOP ? "stop" : `point ${s}`);
  if (!shown) return "It has not pointed at anything yet.";
  const [now, t] = [weights[shown - 1], shown - 1];
  const most = upTo(now.length)
    .sort((a, b) => now[b] - now[a])
    .slice(0, 3)
    .filter((s) => now[s] >= 0.005);
  const chosen =
    `Step ${shown} of ${symbols.length}: ${t ? `after ${name(symbols[t - 1])} ` : "first "}it points at ` +
    `${most.map((s) => `${name(s)} (${fixed(now[s], 2)})`).join(", then ")}.`;
  return shown < symbols.length ? chosen : `${chosen} The answer: ${symbols.slice(0, -1).join(", ")}. ${judged}`;
}

// ---- the page ----

function render({ model, el }) {
  const [task, limit] = [model.get("task"), model.get("limit")];
  const get = () => model.get("points");
  let [found, exact, key] = [null, null, ""];
  const total = () => (found ? found.symbols.length : 0);
  const run = transport(model, "arrows", total, () => 900);
  const set = (points, chosen) => {
    run.halt();
    const more = points.length !== get().length;
    plot.chosen = chosen;
    setTraits(model, { points, arrows: -1 });
    if (more && chosen !== undefined) plot.focusOn(chosen);
  };
  const [plot, exactly, map] = [board({ get, set, limit }), answerBoard(), html("div", {})];
  const [notes, state, judged] = [remarks(), words(), html("p", { class: "attn-drop-verdict" })];
  const place = () => [0, 0].map(() => Math.round(1000 * Math.random()) / 1000);
  const scatter = (n) => pushButton(`${n} at random`, () => set(upTo(n).map(place)));
  const add = pushButton("add a point", () => get().length < limit && set([...get(), place()], get().length));
  const take = pushButton("take one away", () => {
    const chosen = Math.min(plot.chosen ?? get().length - 1, get().length - 1);
    if (get().length > 3) set(get().filter((_, j) => j !== chosen));
  });
  const [sizes, what] = task === "hull" ? [[5, 10, 20], "hull"] : [[5, 10, 16, 20], "shortest tour"];
  const solved = html("p", { class: "attn-hint" });
  const root = widget(
    el,
    "drop-points",
    `Drop points: a pointer network draws their ${what}`,
    challenge(model),
    html(
      "p",
      { class: "attn-hint attn-control" },
      "Click a free place to add a point, and drag a point to move it. With the keyboard, the arrow keys move a point " +
        `and Delete takes it away. There may be 3 to ${limit} points.`,
    ),
    html("div", { class: "attn-drop-buttons attn-control" }, ...sizes.map(scatter), add, take),
    notes,
    html(
      "div",
      { class: "attn-drop-row" },
      html(
        "div",
        {},
        plot,
        html(
          "p",
          { class: "attn-hint" },
          "the network’s answer; the stronger a point’s colour, the more weight it gets now",
        ),
      ),
      html("div", {}, exactly, solved),
    ),
    run,
    judged,
    map,
    state,
  );
  const zoo = zooModel(model, root, update);

  // The distribution of every step; one row per step, one column per point
  function table(width) {
    if (!found || !width) return;
    const columns = upTo(get().length + 1).map((s) => ({ text: s === STOP ? "■" : s }));
    const label = "Pointing distribution: one row per step, one column for stop and for each point";
    const heat = heatmap({ rows: upTo(total()).map((t) => t + 1), columns, weights: found.weights, width, label });
    map.replaceChildren(
      html("p", { class: "attn-hint" }, "one row per step, one column for stop (■) and for each point"),
      heat,
    );
    heat.select(run.at() ? run.at() - 1 : null);
  }

  function draw() {
    if (!found) return;
    const text = verdict(task, get(), found.symbols.slice(0, -1), exact);
    plot.draw(get(), found, run.at());
    run.draw();
    judged.textContent = run.at() === total() ? text : "";
    map.querySelector(".attn-heatmap")?.select(run.at() ? run.at() - 1 : null);
    root.result = { points: get(), exact, ...found };
    Object.assign(root.dataset, { shown: run.at(), points: key });
    state.say(sentence(found, run.at(), text));
  }

  function update() {
    const [points, example, now] = [get(), model.get("example"), JSON.stringify(get())];
    if (now !== key || !found) {
      const proven = task === "hull" || points.length <= LARGEST;
      exact = task === "hull" ? hull(points) : proven ? tour(points) : search(points);
      exactly.draw(points, exact);
      solved.textContent = proven ? `exact: the ${what}` : "the shortest tour that a search finds (2-opt and Or-opt)";
      found = zoo.net
        ? solve(zoo.net, points, task, model.get("heads"))
        : now === JSON.stringify(example.points)
          ? example
          : null;
      if (!found) {
        plot.draw(points, { symbols: [] }, 0);
        judged.textContent = "";
        notes.say(zoo.wait());
        return state.say("");
      }
      key = now;
      notes.say();
      table(map.clientWidth);
      if (model.get("output").join() !== found.symbols.join()) setTraits(model, { output: found.symbols });
    }
    draw();
  }

  const ends = [follow(model, ["points"], update), follow(model, ["arrows"], draw), onWidth(map, table), run.halt];
  update();
  return together(ends);
}

export default { render };
