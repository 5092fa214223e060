import {
  additive, argmax, concat, dot, draggable, fixed, heatmap, html, linear, loadZoo, lstmCell, onWidth, pick, plane, row,
  softmax, svg, tanh, widget, words,
} from "../lib.mjs";

const STOP = 0;
const range = (n) => Array.from({ length: n }, (_, i) => i);

// ---- the network: attncourse.pointer with the encoder Attending; a matrix is its rows laid end to end ----

function norm(x, p) {
  const d = p.weight.data.length;
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += d) {
    const part = x.subarray(at, at + d);
    const mean = part.reduce((a, b) => a + b, 0) / d;
    const scale = 1 / Math.sqrt(part.reduce((a, b) => a + (b - mean) ** 2, 0) / d + 1e-5);
    part.forEach((a, i) => (out[at + i] = (a - mean) * scale * p.weight.data[i] + p.bias.data[i]));
  }
  return out;
}

const project = (x, p, name) => linear(x, p[`${name}.weight`], p[`${name}.bias`]);
const plus = (x, y) => x.map((a, i) => a + y[i]);

// Every point looks at every point
function attention(x, p, heads) {
  const [query, keys, values] = ["query", "key", "value"].map((name) => project(x, p, name));
  const d = p["query.bias"].data.length;
  const [n, size] = [x.length / d, d / heads];
  const part = (m, i, h) => m.subarray(i * d + h * size, i * d + (h + 1) * size);
  const context = new Float32Array(x.length);
  for (let h = 0; h < heads; h++)
    for (let i = 0; i < n; i++) {
      const weights = softmax(range(n).map((j) => dot(part(query, i, h), part(keys, j, h)) / Math.sqrt(size)));
      const read = part(context, i, h);
      weights.forEach((w, j) => part(values, j, h).forEach((v, e) => (read[e] += w * v)));
    }
  return project(context, p, "out");
}

function layer(x, p, heads) {
  x = plus(x, attention(norm(x, pick(p, "residuals.0.norm")), pick(p, "attention"), heads));
  const hidden = project(norm(x, pick(p, "residuals.1.norm")), p, "feed_forward.0").map((a) => Math.max(0, a));
  return plus(x, project(hidden, p, "feed_forward.2"));
}

function annotate(net, points, heads) {
  const last = Math.max(1, points.length - 1);
  let x = project(Float32Array.from(points.flatMap(([a, b], j) => [a, b, j / last])), net, "encoder.embed");
  for (let l = 0; net[`encoder.layers.${l}.attention.out.weight`]; l++) x = layer(x, pick(net, `encoder.layers.${l}`), heads);
  return norm(x, pick(net, "encoder.last"));
}

// What may come next: geometry.polygons and geometry.tours
const RULES = {
  hull: (written, n) => range(n + 1).map((s) => (s === STOP ? written.length >= 3 : !written.includes(s))),
  tsp: (written, n) => range(n + 1).map((s) => (s === STOP ? written.length === n : !written.includes(s))),
};

// Greedy, as pointer.solve -> symbols, and each step's distribution over stop, 1 … n
export function solve(net, points, task, heads) {
  const p = pick(net, "pointer");
  const [n, d] = [points.length, p.stop.data.length];
  const annotations = annotate(net, points, heads);
  const all = { shape: [n + 1, d], data: concat(p.stop.data, annotations) };
  const keys = { shape: [n + 1, p["score.v"].data.length], data: linear(all.data, p["score.W_k.weight"]) };
  const inputs = { shape: [n + 1, d], data: concat(p.go.data, annotations) };
  const summary = new Float32Array(d).map((_, e) => range(n).reduce((sum, j) => sum + annotations[j * d + e], 0) / n);
  const start = tanh(project(summary, p, "start"));
  let memory = [start.subarray(0, start.length / 2), start.subarray(start.length / 2)];
  const [symbols, weights, lstm] = [[], [], pick(p, "lstm")];
  while (symbols[symbols.length - 1] !== STOP) {
    memory = lstmCell(row(inputs, symbols.length ? symbols[symbols.length - 1] : STOP), memory, lstm);
    const query = linear(memory[0], p["score.W_q.weight"]);
    const scores = range(n + 1).map((j) => additive(query, row(keys, j), p["score.v"].data));
    weights.push(Array.from(softmax(scores, RULES[task](symbols, n))));
    symbols.push(argmax(weights[weights.length - 1]));
  }
  return { symbols, weights };
}

// ---- the exact answers, as attncourse.tasks.geometry: numbers from 1, counter-clockwise ----

const left = ([ax, ay], [bx, by], [cx, cy]) => (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
const turned = (cycle) => {
  const lead = cycle.indexOf(Math.min(...cycle));
  return [...cycle.slice(lead), ...cycle.slice(0, lead)];
};

// Andrew's monotone chain
export function hull(points) {
  const order = range(points.length).sort((i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1]);
  const half = (indices) => {
    const chain = [];
    for (const i of indices) {
      while (chain.length > 1 && left(points[chain[chain.length - 2]], points[chain[chain.length - 1]], points[i]) <= 0) chain.pop();
      chain.push(i);
    }
    return chain.slice(0, -1);
  };
  return turned([...half(order), ...half([...order].reverse())].map((i) => i + 1));
}

const distance = ([ax, ay], [bx, by]) => Math.hypot(ax - bx, ay - by);
const along = (points, cycle) => cycle.map((s, i) => [points[s - 1], points[cycle[(i + 1) % cycle.length] - 1]]);
export const length = (points, cycle) => along(points, cycle).reduce((sum, [a, b]) => sum + distance(a, b), 0);
export const area = (points, cycle) => along(points, cycle).reduce((sum, [a, b]) => sum + (a[0] * b[1] - b[0] * a[1]) / 2, 0);

// Held & Karp: best[S][j] is the shortest way from point 0 through all of S to its member j
export function tour(points) {
  const m = points.length - 1;
  const d = points.map((a) => points.map((b) => distance(a, b)));
  const best = range(2 ** m).map(() => new Float64Array(m).fill(Infinity));
  const from = range(2 ** m).map(() => new Int8Array(m));
  range(m).forEach((j) => (best[1 << j][j] = d[0][j + 1]));
  for (let S = 1; S < 2 ** m; S++)
    for (let j = 0; j < m; j++) {
      const rest = S & ~(1 << j);
      if (rest === S || !rest) continue;
      for (let i = 0; i < m; i++)
        if (best[rest][i] + d[i + 1][j + 1] < best[S][j]) [best[S][j], from[S][j]] = [best[rest][i] + d[i + 1][j + 1], i];
    }
  let S = 2 ** m - 1;
  let j = range(m).reduce((b, i) => (best[S][i] + d[i + 1][0] < best[S][b] + d[b + 1][0] ? i : b), 0);
  const back = [];
  while (S) {
    back.push(j + 2);
    [S, j] = [S & ~(1 << j), from[S][j]];
  }
  const cycle = [1, ...back];
  return area(points, cycle) < 0 ? [1, ...back.reverse()] : cycle;
}

const EXACT = { hull, tsp: tour };

// ---- pictures ----

const centred = ([x, y]) => [x - 0.5, y - 0.5];
const EXTENT = 0.57; // of the plane; the unit square has a margin in it

// From disc to disc, with a head
function arrow([ax, ay], [bx, by], name) {
  const size = Math.max(1, Math.hypot(bx - ax, by - ay));
  const [ux, uy] = [(bx - ax) / size, (by - ay) / size];
  const [x, y] = [bx - 15 * ux, by - 15 * uy];
  const wing = (side) => `${(x - 10 * ux - side * 5 * uy).toFixed(1)} ${(y - 10 * uy + side * 5 * ux).toFixed(1)}`;
  const shaft = `M${(ax + 13 * ux).toFixed(1)} ${(ay + 13 * uy).toFixed(1)}L${(x - 6 * ux).toFixed(1)} ${(y - 6 * uy).toFixed(1)}`;
  return svg("g", { class: name }, svg("path", { d: shaft }),
    svg("path", { class: "attn-tip", d: `M${x.toFixed(1)} ${y.toFixed(1)}L${wing(1)}L${wing(-1)}Z` }));
}

const frame = (toPixel) => {
  const [[x, y], [right, bottom]] = [toPixel([-0.5, 0.5]), toPixel([0.5, -0.5])];
  return { x, y, width: right - x, height: bottom - y, rx: 4, class: "attn-drop-frame" };
};

// Where points are put, moved and taken away, and the network's arrows
function board({ get, set, limit }) {
  const { node, toPixel, toPlane } = plane(EXTENT, "Points in the unit square. Click a free place to add one.");
  const ground = svg("rect", frame(toPixel));
  const [lines, dots] = [svg("g", {}), svg("g", {})];
  const stop = svg("g", { class: "attn-drop-stop", transform: "translate(368 386)" },
    svg("rect", { x: -24, y: -10, width: 48, height: 20, rx: 5 }), svg("rect", { class: "attn-cell", x: -24, y: -10, width: 48, height: 20, rx: 5 }),
    svg("text", { y: 5 }, "stop"));
  node.append(ground, lines, stop, dots);
  let handles = [];
  node.addEventListener("click", (event) => {
    if (event.target.closest(".attn-point")) return;
    const at = toPlane(event).map((a) => Math.round(100 * (a + 0.5)) / 100);
    if (at.every((a) => a >= 0 && a <= 1) && get().length < limit) set([...get(), at], get().length);
  });
  const handle = (i) => {
    const point = svg("g", { class: "attn-drop-point" }, svg("circle", { r: 21, class: "attn-touch" }), svg("circle", { r: 12, class: "attn-disc" }),
      svg("circle", { r: 12, class: "attn-cell" }), svg("text", {}, i + 1));
    draggable(point, { label: `point ${i + 1}; Delete takes it away`, extent: 0.5, toPlane, step: 0.02, bigStep: 0.1,
      get: () => centred(get()[i]),
      set: (at) => set(get().map((p, j) => (j === i ? at.map((a) => Math.round(1000 * (a + 0.5)) / 1000) : p)), i) });
    point.addEventListener("focus", () => (node.chosen = i));
    point.addEventListener("keydown", (event) => {
      if (event.key !== "Delete" && event.key !== "Backspace") return;
      event.preventDefault();
      if (get().length > 3) set(get().filter((_, j) => j !== i), Math.max(0, i - 1));
    });
    return point;
  };
  node.focusOn = (i) => handles[i] && handles[i].focus({ preventScroll: true });
  node.draw = (points, { symbols, weights }, shown) => {
    if (handles.length !== points.length) {
      handles = points.map((_, i) => handle(i));
      dots.replaceChildren(...handles);
    }
    const now = shown ? weights[shown - 1] : null;
    const pixel = (s) => toPixel(centred(points[s - 1]));
    const drawn = symbols.slice(0, shown);
    const steps = drawn.map((s, t) => t && [drawn[t - 1], s === STOP ? drawn[0] : s, s === STOP ? "attn-arrow attn-closing" : "attn-arrow"]);
    lines.replaceChildren(...steps.filter(Boolean).map(([a, b, name], t, list) =>
      arrow(pixel(a), pixel(b), t === list.length - 1 && shown < symbols.length ? `${name} attn-now` : name)));
    points.forEach((p, i) => {
      const [x, y] = toPixel(centred(p));
      const weight = now ? now[i + 1] : 0;
      handles[i].setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      handles[i].setAttribute("aria-valuenow", p[0]);
      handles[i].setAttribute("aria-valuetext", `x ${fixed(p[0], 2)}, y ${fixed(p[1], 2)}`);
      handles[i].querySelector(".attn-cell").setAttribute("fill-opacity", weight.toFixed(3));
      handles[i].classList.toggle("attn-inverse", weight > 0.5);
      handles[i].classList.toggle("attn-first", shown > 0 && symbols[0] === i + 1);
    });
    const ending = now ? now[STOP] : 0;
    stop.querySelector(".attn-cell").setAttribute("fill-opacity", ending.toFixed(3));
    stop.classList.toggle("attn-inverse", ending > 0.5);
  };
  return node;
}

function answerBoard() {
  const { node, toPixel } = plane(EXTENT, "");
  node.setAttribute("role", "img");
  const inside = svg("g", {});
  node.append(svg("rect", frame(toPixel)), inside);
  node.draw = (points, cycle, label) => {
    const at = points.map((p) => toPixel(centred(p)));
    const shape = cycle.map((s) => at[s - 1].map((a) => a.toFixed(1)).join(",")).join(" ");
    inside.replaceChildren(svg("polygon", { class: "attn-drop-exact", points: shape }), ...at.map(([x, y], i) =>
      svg("g", { class: "attn-drop-point", transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
        svg("circle", { r: 12, class: "attn-disc" }), svg("text", {}, i + 1))));
    node.setAttribute("aria-label", label);
  };
  return node;
}

// ---- words ----

const same = (a, b) => {
  const edges = (cycle) => cycle.map((s, i) => [s, cycle[(i + 1) % cycle.length]].sort((x, y) => x - y).join()).sort().join(" ");
  return edges(a) === edges(b);
};

function verdict(task, points, answer, exact) {
  if (same(answer, exact)) return task === "hull" ? "This is the hull." : "This is the shortest tour.";
  if (task === "tsp") return `Its tour is ${fixed(100 * (length(points, answer) / length(points, exact) - 1), 1)}% longer than the shortest.`;
  const missing = exact.filter((s) => !answer.includes(s));
  const extra = answer.filter((s) => !exact.includes(s));
  const named = [missing.length && `leaves out ${missing.join(", ")}`, extra.length && `takes in ${extra.join(", ")}`].filter(Boolean);
  return `This is not the hull: it ${named.join(" and ") || "goes round in another order"}; `
    + `its area is ${fixed(100 * Math.abs(area(points, answer)) / area(points, exact), 1)}% of the hull's.`;
}

function sentence({ symbols, weights }, shown, judged) {
  const name = (s) => (s === STOP ? "stop" : `point ${s}`);
  if (!shown) return "Nothing is pointed at yet.";
  const [now, t] = [weights[shown - 1], shown - 1];
  const most = range(now.length).sort((a, b) => now[b] - now[a]).slice(0, 3).filter((s) => now[s] >= 0.005);
  const chosen = `Step ${shown} of ${symbols.length}: ${t ? `after ${name(symbols[t - 1])} ` : "first "}it points at `
    + `${most.map((s) => `${name(s)} (${fixed(now[s], 2)})`).join(", then ")}.`;
  return shown < symbols.length ? chosen : `${chosen} The answer: ${symbols.slice(0, -1).join(", ")}. ${judged}`;
}

// ---- the page ----

function render({ model, el }) {
  const [task, limit] = [model.get("task"), model.get("limit")];
  const get = () => model.get("points");
  let [net, loading, found, timer, key] = [null, null, null, null, ""];
  const change = (traits) => {
    Object.entries(traits).forEach(([name, value]) => model.set(name, value));
    model.save_changes();
  };
  const set = (points, chosen) => {
    pause();
    const more = points.length !== get().length;
    plot.chosen = chosen;
    change({ points, arrows: -1 });
    if (more && chosen !== undefined) plot.focusOn(chosen);
  };
  const plot = board({ get, set, limit });
  const [exactly, map, state] = [answerBoard(), html("div", { class: "attn-drop-map" }), words()];
  const notes = html("div", { class: "attn-drop-notes", role: "status" });
  const judged = html("p", { class: "attn-drop-verdict" });
  const button = (text, onclick) => html("button", { type: "button", onclick }, text);
  const place = () => [0, 0].map(() => Math.round(1000 * Math.random()) / 1000);
  const scatter = (n) => button(`${n} at random`, () => set(range(n).map(place)));
  const add = button("add a point", () => get().length < limit && set([...get(), place()], get().length));
  const take = button("take one away", () => {
    const chosen = Math.min(plot.chosen ?? get().length - 1, get().length - 1);
    if (get().length > 3) set(get().filter((_, j) => j !== chosen));
  });
  const step = html("input", { type: "range", min: 0, step: 1, "aria-label": "arrows shown", oninput: () => { pause(); change({ arrows: Number(step.value) }); } });
  const count = html("output", {});
  const play = button("play", () => (timer ? pause() : begin()));
  const pause = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "play";
  };
  const shown = () => (found ? (model.get("arrows") < 0 ? found.symbols.length : Math.min(model.get("arrows"), found.symbols.length)) : 0);
  const begin = () => {
    if (!found) return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return change({ arrows: -1 });
    if (shown() === found.symbols.length) change({ arrows: 0 });
    play.textContent = "pause";
    timer = setInterval(() => {
      const next = shown() + 1;
      change({ arrows: next >= found.symbols.length ? -1 : next });
      if (next >= found.symbols.length) pause();
    }, 900);
  };
  const sizes = task === "hull" ? [5, 10, 20] : [5, 8, 10];
  const what = task === "hull" ? "hull" : "shortest tour";
  const root = widget(el, "drop-points", `Drop points: a pointer network draws their ${what}`,
    html("p", { class: "attn-hint attn-control" }, "Click a free place to add a point, drag a point to move it; with the keyboard, arrow keys move a point "
      + `and Delete takes it away. 3 to ${limit} points.`),
    html("div", { class: "attn-drop-buttons attn-control" }, ...sizes.map(scatter), add, take),
    notes,
    html("div", { class: "attn-drop-row" },
      html("div", {}, plot, html("p", { class: "attn-hint" }, "the network: filled is where it points now")),
      html("div", {}, exactly, html("p", { class: "attn-hint" }, `exact: the ${what}`))),
    html("div", { class: "attn-drop-buttons attn-control" }, button("begin", () => { pause(); change({ arrows: 0 }); }),
      button("one arrow", () => { pause(); if (found) change({ arrows: Math.min(shown() + 1, found.symbols.length) }); }), play,
      html("label", { class: "attn-slider" }, html("span", {}, "arrows ", count), step)),
    judged, map, state);

  function load() {
    if (net || loading) return;
    root.dataset.state = "loading";
    loading = loadZoo(model, model.get("zoo"));
    loading.then(
      (tensors) => { net = tensors; root.dataset.state = "ready"; },
      (error) => { root.dataset.state = "failed"; root.dataset.why = error.message; },
    ).then(() => { loading = null; update(); });
  }

  const note = (...line) => notes.replaceChildren(...(line.length ? [html("p", {}, ...line)] : []));

  // The distribution of every step; a row is a step, a column a point
  function table(width) {
    if (!found || !width) return;
    const columns = range(get().length + 1).map((s) => ({ text: s === STOP ? "■" : String(s), name: "" }));
    const label = "Pointing distribution: a row for each step, a column for stop and for each point";
    const heat = heatmap({ rows: found.symbols.map((_, t) => String(t + 1)), columns, weights: found.weights, width, label });
    map.replaceChildren(html("p", { class: "attn-hint" }, "all steps: a row for each, a column for stop (■) and for each point"), heat);
    heat.select(shown() ? shown() - 1 : null);
  }

  function draw() {
    if (!found) return;
    const [points, exact] = [get(), EXACT[task](get())];
    const answer = found.symbols.slice(0, -1);
    plot.draw(points, found, shown());
    exactly.draw(points, exact, `The exact answer: ${exact.join(", ")}`);
    const text = verdict(task, points, answer, exact);
    judged.textContent = shown() === found.symbols.length ? text : "";
    Object.assign(step, { max: found.symbols.length, value: shown() });
    step.setAttribute("aria-valuetext", `${shown()} of ${found.symbols.length}`);
    count.textContent = `${shown()} of ${found.symbols.length}`;
    const heat = map.querySelector(".attn-heatmap");
    if (heat) heat.select(shown() ? shown() - 1 : null);
    root.result = { points, exact, ...found };
    root.dataset.shown = shown();
    root.dataset.points = JSON.stringify(points);
    state.say(sentence(found, shown(), text));
  }

  function update() {
    const [points, example] = [get(), model.get("example")];
    const now = JSON.stringify(points);
    if (now !== key || !found) {
      if (net) found = solve(net, points, task, model.get("heads"));
      else if (now === JSON.stringify(example.points)) found = example;
      else {
        found = null;
        plot.draw(points, { symbols: [], weights: [] }, 0);
        exactly.draw(points, EXACT[task](points), "The exact answer");
        judged.textContent = "";
        if (root.dataset.state !== "failed") { load(); return note("Loading the network …"); }
        note(`The network's weights are not to be had: ${root.dataset.why}. `, button("Try again", () => { root.dataset.state = ""; update(); }));
        return state.say("Nothing is pointed at without the weights.");
      }
      key = now;
      note();
      table(map.clientWidth);
      if (JSON.stringify(model.get("output")) !== JSON.stringify(found.symbols)) change({ output: found.symbols });
    }
    draw();
  }

  model.on("change:points", update);
  model.on("change:arrows", draw);
  for (const event of ["focusin", "pointerdown"]) root.addEventListener(event, () => root.dataset.state === "failed" || load());
  const unwatch = onWidth(map, table);
  update();
  return () => {
    pause();
    unwatch();
    model.off("change:points", update);
    model.off("change:arrows", draw);
  };
}

export default { render };
