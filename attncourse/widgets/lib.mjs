// What all explorables share. bundle.py copies into each widget only the declarations it uses, so: every
// declaration starts at column 0, nothing else does, and loading one runs no code that others must see.

// ------------------------------------------------------------------------------------------------ numbers
// A tensor is {shape, data}, rows first, as PyTorch stores it; a vector is any array of numbers.
// Parameters have PyTorch's layout and gate order, so a state_dict is used as it is.

export function tensor(nested) {
  const shape = [];
  for (let x = nested; Array.isArray(x); x = x[0]) shape.push(x.length);
  return { shape, data: Float32Array.from(nested.flat(Infinity)) };
}

// 0 … n − 1
export function upTo(n) {
  return Array.from({ length: n }, (_, i) => i);
}

export function row({ shape, data }, i) {
  return data.subarray(i * shape[1], (i + 1) * shape[1]);
}

export function concat(...vectors) {
  const out = new Float32Array(vectors.reduce((n, v) => n + v.length, 0));
  vectors.reduce((at, v) => (out.set(v, at), at + v.length), 0);
  return out;
}

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// W x + b for every row of x; weight (n_out, n_in), as torch.nn.Linear
export function linear(x, weight, bias) {
  const [nOut, nIn] = weight.shape;
  const w = weight.data;
  const rows = x.length / nIn;
  const y = new Float32Array(rows * nOut);
  for (let r = 0; r < rows; r++)
    for (let o = 0; o < nOut; o++) {
      let sum = bias ? bias.data[o] : 0;
      for (let i = 0, at = o * nIn, from = r * nIn; i < nIn; i++) sum += w[at + i] * x[from + i];
      y[r * nOut + o] = sum;
    }
  return y;
}

// a (n, k), b (k, m) -> (n, m)
export function matmul(a, b) {
  const [n, k] = a.shape;
  const m = b.shape[1];
  const data = new Float32Array(n * m);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let l = 0; l < k; l++) sum += a.data[i * k + l] * b.data[l * m + j];
      data[i * m + j] = sum;
    }
  return { shape: [n, m], data };
}

export function tanh(x) {
  return Float32Array.from(x, Math.tanh);
}

export function sigmoid(x) {
  return Float32Array.from(x, (a) => 1 / (1 + Math.exp(-a)));
}

// mask: true = may attend; a fully masked row gives zeros, as masks.softmax
export function softmax(scores, mask) {
  let top = -Infinity;
  for (let i = 0; i < scores.length; i++) if ((!mask || mask[i]) && scores[i] > top) top = scores[i];
  const weights = Float32Array.from(scores, (s, i) => (!mask || mask[i] ? Math.exp(s - top) : 0));
  const sum = weights.reduce((a, b) => a + b, 0);
  return sum ? weights.map((w) => w / sum) : weights;
}

export function argmax(x) {
  return x.reduce((best, a, i) => (a > x[best] ? i : best), 0);
}

// sum_i weights_i values_i: the read
export function mix(weights, values) {
  const context = new Float32Array(values[0].length);
  values.forEach((value, i) => value.forEach((v, d) => (context[d] += weights[i] * v)));
  return context;
}

// The parameters of one layer: pick(tensors, "encoder.forwards") -> {weight_ih, weight_hh, bias_ih, bias_hh}
export function pick(tensors, prefix) {
  const inside = Object.keys(tensors).filter((name) => name.startsWith(prefix + "."));
  return Object.fromEntries(inside.map((name) => [name.slice(prefix.length + 1).replace(/_l0$/, ""), tensors[name]]));
}

// gates r, z, n, as torch.nn.GRUCell
export function gruCell(x, h, p) {
  const a = linear(x, p.weight_ih, p.bias_ih);
  const b = linear(h, p.weight_hh, p.bias_hh);
  const n = h.length;
  const gates = sigmoid(a.subarray(0, 2 * n).map((ai, i) => ai + b[i]));
  return h.map((hi, i) => {
    const candidate = Math.tanh(a[2 * n + i] + gates[i] * b[2 * n + i]);
    return candidate + gates[n + i] * (hi - candidate);
  });
}

// gates i, f, g, o, as torch.nn.LSTMCell
export function lstmCell(x, [h, c], p) {
  const a = linear(x, p.weight_ih, p.bias_ih);
  const b = linear(h, p.weight_hh, p.bias_hh);
  const n = h.length;
  const sum = a.map((ai, i) => ai + b[i]);
  const [i, f, o] = [0, n, 3 * n].map((at) => sigmoid(sum.subarray(at, at + n)));
  const g = tanh(sum.subarray(2 * n, 3 * n));
  const cell = c.map((cj, j) => f[j] * cj + i[j] * g[j]);
  return [cell.map((cj, j) => o[j] * Math.tanh(cj)), cell];
}

// All states of a GRU over a list of vectors, from a zero state
export function gru(xs, p) {
  let h = new Float32Array(p.weight_hh.shape[1]);
  return xs.map((x) => (h = gruCell(x, h, p)));
}

// x (C, H, W), weight (O, C, kH, kW) -> (O, H', W'); stride, padding, dilation are [vertical, horizontal]
export function conv2d(x, weight, bias, { stride = [1, 1], padding = [0, 0], dilation = [1, 1] } = {}) {
  const [C, H, W] = x.shape;
  const [O, , kH, kW] = weight.shape;
  const size = (n, k, d) => Math.floor((n + 2 * padding[d] - dilation[d] * (k - 1) - 1) / stride[d]) + 1;
  const [outH, outW] = [size(H, kH, 0), size(W, kW, 1)];
  const data = new Float32Array(O * outH * outW);
  for (let o = 0, n = 0; o < O; o++)
    for (let i = 0; i < outH; i++)
      for (let j = 0; j < outW; j++, n++) {
        let sum = bias ? bias.data[o] : 0;
        for (let c = 0; c < C; c++)
          for (let k = 0; k < kH; k++) {
            const r = i * stride[0] - padding[0] + k * dilation[0];
            if (r < 0 || r >= H) continue;
            const from = (c * H + r) * W;
            const at = ((o * C + c) * kH + k) * kW;
            for (let l = 0, s = j * stride[1] - padding[1]; l < kW; l++, s += dilation[1])
              if (s >= 0 && s < W) sum += x.data[from + s] * weight.data[at + l];
          }
        data[n] = sum;
      }
  return { shape: [O, outH, outW], data };
}

// x (C, L), weight (O, C, k) -> (O, L'): a picture one pixel high
export function conv1d(x, weight, bias, { stride = 1, padding = 0, dilation = 1 } = {}) {
  const flat = ({ shape, data }) => ({ shape: [...shape.slice(0, -1), 1, shape[shape.length - 1]], data });
  const options = { stride: [1, stride], padding: [0, padding], dilation: [1, dilation] };
  const { shape, data } = conv2d(flat(x), flat(weight), bias, options);
  return { shape: [shape[0], shape[2]], data };
}

// ------------------------------------------------------------------------------------------------ a Transformer's parts
// As attncourse.transformer; a matrix is its rows laid end to end, a layer's parameters are what pick() gives.

export function projected(x, p, name) {
  return linear(x, p[`${name}.weight`], p[`${name}.bias`]);
}

export function plus(x, y) {
  return x.map((a, i) => a + y[i]);
}

// Row by row, as torch.nn.LayerNorm
export function layerNorm(x, p) {
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

export function memorise(x, p) {
  return { keys: projected(x, p, "key"), values: projected(x, p, "value") };
}

// x (Tq, D) looks at keys (Tk, D) -> out (Tq, D), maps (H, Tq, Tk)
export function multiHead(x, { keys, values }, p, heads) {
  const query = projected(x, p, "query");
  const d = p["query.bias"].data.length;
  const size = d / heads;
  const context = new Float32Array(x.length);
  const part = (m, i, h) => m.subarray(i * d + h * size, i * d + (h + 1) * size);
  const maps = upTo(heads).map((h) => upTo(x.length / d).map((i) => {
    const q = part(query, i, h);
    const weights = softmax(upTo(keys.length / d).map((j) => dot(q, part(keys, j, h)) / Math.sqrt(size)));
    const read = part(context, i, h);
    weights.forEach((w, j) => part(values, j, h).forEach((v, e) => (read[e] += w * v)));
    return Array.from(weights);
  }));
  return { out: projected(context, p, "out"), maps };
}

export function feedForward(x, p) {
  const hidden = projected(x, p, "feed_forward.0").map((a) => Math.max(0, a));
  return projected(hidden, p, "feed_forward.2");
}

// ------------------------------------------------------------------------------------------------ scores
// As attncourse.scores: how well does a query match a key?

export function additive(projectedQuery, projectedKey, v) {
  let sum = 0;
  for (let i = 0; i < v.length; i++) sum += v[i] * Math.tanh(projectedQuery[i] + projectedKey[i]);
  return sum;
}

// A zero vector is like nothing: 0, as scores.content
export function cosine(a, b) {
  const length = (x) => Math.max(Math.sqrt(dot(x, x)), 1e-6);
  return dot(a, b) / (length(a) * length(b));
}

export const SCORES = {
  dot: (query, key) => dot(query, key),
  scaled_dot: (query, key) => dot(query, key) / Math.sqrt(query.length),
  additive: (query, key, { W_q, W_k, v }) => additive(linear(query, W_q), linear(key, W_k), v),
  content: (query, key, { strength }) => strength * cosine(query, key),
  general: (query, key, { W }) => dot(query, linear(key, W)),
  location: (query, key, { places }, j) => dot(query, row(places, j)),
};

export function attend(query, keys, values, score, temperature = 1) {
  const scores = keys.map((key, j) => score(query, key, j));
  const weights = softmax(scores.map((s) => s / temperature));
  return { scores, weights, context: mix(weights, values) };
}

// ------------------------------------------------------------------------------------------------ weights

export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

// A safetensors file: 8 bytes with the header's length, a JSON header, raw little-endian numbers.
export function readSafetensors(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  delete header.__metadata__;
  const number = { F16: (at) => half(view.getUint16(at, true)), F32: (at) => view.getFloat32(at, true) };
  const read = ([name, { dtype, shape, data_offsets }]) => {
    const size = { F16: 2, F32: 4 }[dtype];
    if (!size) throw new Error(`${name} is ${dtype}; the page reads F16 and F32`);
    const data = new Float32Array((data_offsets[1] - data_offsets[0]) / size);
    for (let i = 0; i < data.length; i++) data[i] = number[dtype](start + data_offsets[0] + i * size);
    return [name, { shape, data }];
  };
  return Object.fromEntries(Object.entries(header).map(read));
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

// The built page keeps the weights in a script beside it: fetch() is refused on file://, a script is not.
export function zooFromPage(name, contentRoot) {
  const url = new URL(`_static/zoo/${name}.js`, new URL(contentRoot, document.baseURI)).href;
  return new Promise((resolve, reject) => {
    const done = () => {
      const text = globalThis.attncourseZoo?.[name];
      if (text) resolve(fromBase64(text));
      else reject(new Error(`the file _static/zoo/${name}.js beside this page could not be read`));
    };
    if (globalThis.attncourseZoo?.[name]) return done();
    const script = document.createElement("script");
    Object.assign(script, { src: url, onload: done, onerror: done });
    document.head.append(script);
  });
}

export function zooFromKernel(model, name) {
  return new Promise((resolve, reject) => {
    const answer = (message, buffers) => {
      if (message.zoo !== name) return;
      model.off("msg:custom", answer);
      const data = (buffers || [])[0];
      if (data) resolve(new Uint8Array(data.buffer || data, data.byteOffset || 0, data.byteLength));
      else reject(new Error(message.error));
    };
    model.on("msg:custom", answer);
    model.send({ zoo: name });
  });
}

// The tensors of the model's zoo model. In the book <html> names the way to the book's root; under a kernel it does not.
export function loadZoo(model, seconds = 20) {
  const name = model.get("zoo");
  const root = document.documentElement.dataset.content_root;
  const [bytes, why] = root === undefined
    ? [zooFromKernel(model, name), "no kernel answered; run this notebook's cells first"]
    : [zooFromPage(name, root), "the page's server did not answer"];
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error(why)), 1000 * seconds));
  return Promise.race([bytes, late]).then(readSafetensors);
}

// A widget's zoo model, asked for on first use: `net` is null until it is there. `draw` is called when it is, and when
// it is not to be had. `wait()` asks for it, if nobody has, and gives what to say meanwhile.
export function zooModel(model, root, draw) {
  const zoo = { net: null, failed: "" };
  const load = () => {
    if (root.dataset.state) return;
    root.dataset.state = "loading";
    loadZoo(model).then(
      (tensors) => { zoo.net = tensors; root.dataset.state = "ready"; },
      (error) => { zoo.failed = error.message; root.dataset.state = "failed"; },
    ).then(draw);
  };
  const retry = () => { root.dataset.state = zoo.failed = ""; draw(); };
  zoo.wait = () => {
    load();
    if (!zoo.failed) return "Loading the model …";
    return html("span", {}, `The model's weights are not to be had: ${zoo.failed}. `, pushButton("Try again", retry));
  };
  for (const event of ["focusin", "pointerdown"]) root.addEventListener(event, load);
  return zoo;
}

// ------------------------------------------------------------------------------------------------ traits

export function setTraits(model, traits) {
  Object.entries(traits).forEach(([name, value]) => model.set(name, value));
  model.save_changes();
}

// Calls `draw` whenever one of the traits changes -> a function that ends it: what a widget's render returns
export function follow(model, names, draw) {
  names.forEach((name) => model.on(`change:${name}`, draw));
  return () => names.forEach((name) => model.off(`change:${name}`, draw));
}

// ------------------------------------------------------------------------------------------------ drawing

export function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    // only for HTML that the Python side made
    else if (name === "markup") node.innerHTML = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// The root of every explorable: `attn-widget` carries the shared look. Plain keys stay inside: in JupyterLab an
// arrow would go to the next cell, Enter would open an editor.
export function widget(el, name, label, ...children) {
  const keep = (event) => event.ctrlKey || event.metaKey || event.altKey || event.stopPropagation();
  const root = html("div", { class: `attn-widget attn-${name}`, role: "group", "aria-label": label,
    "data-lm-suppress-shortcuts": true, onkeydown: keep }, ...children);
  el.append(root);
  return root;
}

let serial = 0;
export function uniqueId(stem) {
  serial += 1;
  return `attn-${stem}-${serial}-${Math.random().toString(36).slice(2, 8)}`;
}

export function radios(legend, options, onpick) {
  const name = uniqueId("radio");
  const inputs = options.map(([value]) =>
    html("input", { type: "radio", name, value, onchange: () => onpick(value) }));
  const labels = options.map(([, text], i) => html("label", {}, inputs[i], html("span", {}, text)));
  const node = html("fieldset", { class: "attn-radios attn-control" },
    html("legend", {}, legend), html("div", {}, ...labels));
  node.choose = (value) => inputs.forEach((input) => (input.checked = input.value === value));
  return node;
}

export function pushButton(content, onclick, attributes) {
  return html("button", { type: "button", onclick, ...attributes }, content);
}

// `name` is what a screen reader says, where the label is a symbol
export function numberSlider(label, [low, high, step], onmove, name = label) {
  const number = html("output", {});
  const input = html("input", { type: "range", min: low, max: high, step, "aria-label": name,
    oninput: () => onmove(Number(input.value)) });
  const node = html("label", { class: "attn-slider attn-control" }, html("span", {}, label, " ", number), input);
  node.choose = (value, text = String(value), most = high) => {
    Object.assign(input, { max: most, value });
    input.setAttribute("aria-valuetext", text);
    number.textContent = text;
  };
  return node;
}

// A slider on a logarithmic scale
export function logSlider(label, [low, high], onmove) {
  const move = (value) => onmove(Number((10 ** value).toPrecision(3)));
  const node = numberSlider(label, [Math.log10(low), Math.log10(high), 0.02], move);
  const { choose } = node;
  node.choose = (value) => choose(Math.log10(value), fixed(value, 2));
  return node;
}

// Controls for a run of total() steps; the trait `name` is how many of them are shown, -1 for all. wait(): milliseconds a step
export function transport(model, name, total, wait) {
  let timer = null;
  const at = () => (model.get(name) < 0 ? total() : Math.min(model.get(name), total()));
  const show = (t) => setTraits(model, { [name]: t < total() ? t : -1 });
  const halt = () => {
    timer = clearInterval(timer);
    play.textContent = "play";
  };
  const go = (t) => { halt(); show(t); };
  const play = pushButton("play", () => {
    if (timer) return halt();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(total());
    if (at() === total()) show(0);
    timer = setInterval(() => (at() + 1 < total() ? show(at() + 1) : go(total())), wait());
    play.textContent = "pause";
  });
  const clock = numberSlider("step", [0, 0, 1], go);
  const node = html("div", { class: "attn-panel attn-control" }, clock, html("div", { class: "attn-buttons" },
    pushButton("begin", () => go(0)), pushButton("one step", () => go(at() + 1)), play, pushButton("to the end", () => go(total()))));
  node.draw = () => clock.choose(at(), `${at()} of ${total()}`, total());
  return Object.assign(node, { at, halt });
}

// A true minus sign, and no "-0.00"
export function fixed(x, digits = 3) {
  const text = x.toFixed(digits);
  return Number(text) < 0 ? text.replace("-", "−") : text.replace("-", "");
}

// The state in words, shown and read aloud. Only what stands still is announced: a drag would flood the listener.
export function words(delay = 350) {
  const node = html("p", { class: "attn-words", role: "status", "aria-live": "polite" });
  let timer;
  node.say = (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => (node.textContent = text), node.textContent ? delay : 0);
  };
  return node;
}

// Cautions, one a line, or none
export function remarks() {
  const node = html("div", { class: "attn-notes", role: "status" });
  node.say = (...lines) => node.replaceChildren(...lines.map((line) => html("p", {}, line)));
  return node;
}

export function rgb(colour) {
  return `rgb(${Array.from(colour, (c) => Math.round(255 * c)).join(" ")})`;
}

export function onWidth(node, draw) {
  let last = 0;
  const look = () => {
    const width = Math.floor(node.getBoundingClientRect().width);
    if (width && width !== last) draw((last = width));
  };
  const observer = new ResizeObserver(look);
  observer.observe(node);
  return () => observer.disconnect();
}

// Weights (rows = what is written, columns = what is read) as a heatmap that wraps like a line of text: where
// the columns do not fit into `width`, they go on in a further band. `onrow(i)` tells which row is pointed at,
// `node.select(i)` shows one row's weights on the heads of the columns; null: all rows alike.
export function heatmap({ rows, columns, weights, width, label, onrow }) {
  const gutter = 28;
  const room = Math.max(20, width - gutter);
  const bands = columns.length * 16 <= room ? 1 : Math.ceil(columns.length / Math.floor(room / 20));
  const perBand = Math.ceil(columns.length / bands);
  const cell = Math.min(26, Math.floor(room / perBand));
  // of a band and the space below it
  const height = cell * (rows.length + 1) + 18;
  const size = { width: gutter + cell * perBand, height: height * bands - 12 };
  const viewBox = `0 0 ${size.width} ${size.height}`;
  const node = svg("svg", { class: "attn-heatmap", viewBox, ...size, role: "img", "aria-label": label });
  for (let from = 0, top = 0; from < columns.length; from += perBand, top += height) {
    const to = Math.min(columns.length, from + perBand);
    node.append(...heatmapBand({ rows, columns, weights, from, to, top, cell, gutter }));
  }
  node.select = (selected) => selectRow(node, weights, selected);
  node.addEventListener("pointerover", (event) => {
    const line = event.target.closest(".attn-row");
    if (line && onrow) onrow(Number(line.dataset.row));
  });
  node.addEventListener("pointerleave", () => onrow && onrow(null));
  return node;
}

export function heatmapBand({ rows, columns, weights, from, to, top, cell, gutter }) {
  const at = (column) => gutter + cell * (column - from);
  const body = top + cell + 4;
  const inside = Array.from({ length: to - from }, (_, i) => from + i);
  const text = (content, x, y, name) =>
    svg("text", { x, y: y + cell / 2, class: name, "font-size": Math.round(cell * 0.62) }, content);
  const heads = inside.map((column) => svg("g", { class: "attn-column", "data-column": column },
    svg("rect", { x: at(column), y: top, width: cell - 1, height: cell, rx: 3, "fill-opacity": 0 }),
    text(columns[column].text, at(column) + cell / 2 - 0.5, top, columns[column].name)));
  const square = (i, column) => svg("rect", {
    class: "attn-cell", x: at(column), y: body + cell * i, width: cell - 1, height: cell - 1, rx: 2,
    "fill-opacity": weights[i][column].toFixed(3),
    "data-row": i, "data-column": column, "data-weight": weights[i][column],
  });
  const lines = rows.map((name, i) => svg("g", { class: "attn-row", "data-row": i, style: `--i:${i}` },
    svg("rect", { class: "attn-touch", x: 0, y: body + cell * i, width: at(to), height: cell }),
    text(name, gutter / 2, body + cell * i, "attn-name"),
    ...inside.map((column) => square(i, column))));
  const ground = { x: gutter, y: body, width: cell * (to - from), height: cell * rows.length };
  return [...heads, svg("rect", { class: "attn-ground", ...ground }), ...lines];
}

export function selectRow(node, weights, selected) {
  node.classList.toggle("attn-selecting", selected !== null);
  for (const line of node.querySelectorAll(".attn-row"))
    line.classList.toggle("attn-selected", Number(line.dataset.row) === selected);
  for (const head of node.querySelectorAll(".attn-column")) {
    const weight = selected === null ? 0 : weights[selected][head.dataset.column];
    head.firstChild.setAttribute("fill-opacity", weight.toFixed(3));
    head.classList.toggle("attn-inverse", weight > 0.5);
  }
}

// ------------------------------------------------------------------------------------------------ a plane

// A square of the plane, `extent` to each side of [centre, centre], in an SVG of 400 units that scales with its container.
export function plane(extent, label, centre = 0) {
  const unit = 200 / extent;
  const node = svg("svg", { class: "attn-plane", viewBox: "0 0 400 400", role: "group", "aria-label": label });
  const toPixel = ([x, y]) => [200 + unit * (x - centre), 200 - unit * (y - centre)];
  const toPlane = (event) => {
    const box = node.getBoundingClientRect();
    const along = (at, from, size) => ((at - from) / size - 0.5) * 2 * extent;
    return [centre + along(event.clientX, box.left, box.width), centre - along(event.clientY, box.top, box.height)];
  };
  return { node, toPixel, toPlane };
}

// Axes and a line for every whole number of a plane around the origin
export function planeGrid(extent) {
  const unit = 200 / extent;
  const grid = svg("g", { class: "attn-grid" });
  for (let i = Math.ceil(-extent); i <= extent; i++) {
    const [at, name] = [200 + unit * i, i ? null : "attn-axis"];
    grid.append(svg("line", { x1: at, x2: at, y1: 0, y2: 400, class: name }));
    grid.append(svg("line", { y1: at, y2: at, x1: 0, x2: 400, class: name }));
    if (!i || Math.abs(i) >= extent) continue;
    grid.append(svg("text", { x: at, y: 214 }, fixed(i, 0)));
    grid.append(svg("text", { x: 192, y: 400 - at + 4, class: "attn-end" }, fixed(i, 0)));
  }
  return grid;
}

// Paints colourAt([x, y]) over the plane, as a small picture that the browser smooths.
export function paintField(image, extent, colourAt, size = 40) {
  const canvas = html("canvas", { width: size, height: size });
  const picture = canvas.getContext("2d");
  const pixels = picture.createImageData(size, size);
  const place = (i) => ((i + 0.5) / size - 0.5) * 2 * extent;
  for (let i = 0; i < size * size; i++) {
    const colour = colourAt([place(i % size), -place(Math.floor(i / size))]);
    pixels.data.set([...Array.from(colour, (c) => 255 * c), 255], 4 * i);
  }
  picture.putImageData(pixels, 0, 0);
  image.setAttribute("href", canvas.toDataURL());
}

export function arrows(node, onstep) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  node.addEventListener("keydown", (event) => {
    if (!steps[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onstep(steps[event.key], event.shiftKey);
  });
}

// A pen over a field of size × size pixels: pointer, touch, and arrow keys with space as the switch.
export function drawingPen(size, onstroke, onend) {
  let [at, down, drawing] = [[size / 2, size / 2], false, null];
  const label = "pen: arrow keys move it, with shift further; space sets it down or lifts it";
  const node = html("div", { class: "attn-pen", tabindex: 0, role: "slider", "aria-label": label, "aria-roledescription": "pen",
    "aria-valuemin": 0, "aria-valuemax": size });
  const nib = html("span", { class: "attn-nib" });
  node.append(nib);
  const tell = () => {
    const [x, y] = at.map(Math.round);
    node.setAttribute("aria-valuenow", x);
    node.setAttribute("aria-valuetext", `column ${x}, row ${y}, pen ${down ? "down" : "up"}`);
    node.classList.toggle("attn-down", down);
    nib.style.left = `${(100 * at[0]) / size}%`;
    nib.style.top = `${(100 * at[1]) / size}%`;
  };
  const place = (event) => {
    const box = node.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * size, ((event.clientY - box.top) / box.height) * size];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    event.preventDefault();
    at = drawing = place(event);
    onstroke(at, at);
    tell();
  });
  node.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    at = place(event);
    onstroke(drawing, at);
    drawing = at;
    tell();
  });
  const lift = () => { if (drawing) { drawing = null; onend(); } };
  node.addEventListener("pointerup", lift);
  node.addEventListener("pointercancel", lift);
  arrows(node, ([dx, dy], big) => {
    const from = at;
    at = [from[0] + dx * (big ? 4 : 1), from[1] - dy * (big ? 4 : 1)].map((x) => Math.max(0, Math.min(size, x)));
    if (down) { onstroke(from, at); onend(); }
    tell();
  });
  node.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    down = !down;
    if (down) { onstroke(at, at); onend(); }
    tell();
  });
  tell();
  return node;
}

// A line of ink from one place to another, soft at its edge; where there is ink already the stronger stays. `nib` is the
// pen's radius, up to 1.5 pixels.
export function inkLine(pixels, size, nib, [x0, y0], [x1, y1]) {
  const steps = Math.max(1, Math.ceil(2 * Math.hypot(x1 - x0, y1 - y0)));
  for (let t = 0; t <= steps; t++) {
    const [x, y] = [x0 + ((x1 - x0) * t) / steps, y0 + ((y1 - y0) * t) / steps];
    for (let r = Math.max(0, Math.floor(y - 2)); r <= Math.min(size - 1, y + 2); r++)
      for (let c = Math.max(0, Math.floor(x - 2)); c <= Math.min(size - 1, x + 2); c++) {
        const ink = Math.max(0, Math.min(1, nib + 0.5 - Math.hypot(c + 0.5 - x, r + 0.5 - y)));
        pixels[r * size + c] = Math.max(pixels[r * size + c], Math.round(255 * ink));
      }
  }
}

// A point that pointer, touch and arrow keys move. Two coordinates in one `slider`: the role with which a screen
// reader hands over the arrow keys; aria-valuetext says both.
export function draggable(node, { label, extent, centre = 0, get, set, toPlane, step = 0.05, bigStep = 0.25 }) {
  const [low, high] = [centre - extent, centre + extent];
  const clamp = (x) => Math.max(low, Math.min(high, Math.round(100 * x) / 100));
  const move = (position) => set(position.map(clamp));
  fill(node, { tabindex: 0, role: "slider", "aria-label": label, "aria-roledescription": "point in the plane",
    "aria-valuemin": low, "aria-valuemax": high }, []);
  node.classList.add("attn-point");
  // from the pointer to the point's centre: it does not jump when taken off-centre
  let grip = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [from, at] = [get(), toPlane(event)];
    grip = [from[0] - at[0], from[1] - at[1]];
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = toPlane(event);
    move([at[0] + grip[0], at[1] + grip[1]]);
  });
  const release = () => (grip = null);
  node.addEventListener("pointerup", release);
  node.addEventListener("pointercancel", release);
  arrows(node, (direction, big) => move(get().map((x, i) => x + direction[i] * (big ? bigStep : step))));
  node.tell = ([x, y]) => {
    node.setAttribute("aria-valuenow", x);
    node.setAttribute("aria-valuetext", `x ${fixed(x, 2)}, y ${fixed(y, 2)}`);
  };
}

// ------------------------------------------------------------------------------------------------ backward
// The gradient with respect to the input of conv2d: `gradient` (O, H', W') is that of its output, `shape` the input's.
export function conv2dBackward(gradient, weight, shape, { stride = [1, 1], padding = [0, 0] } = {}) {
  const [C, H, W] = shape;
  const [O, , kH, kW] = weight.shape;
  const [, outH, outW] = gradient.shape;
  const data = new Float32Array(C * H * W);
  for (let n = 0; n < gradient.data.length; n++) {
    const g = gradient.data[n];
    // behind a ReLU most are zero
    if (!g) continue;
    const o = Math.floor(n / (outH * outW));
    const top = (Math.floor(n / outW) % outH) * stride[0] - padding[0];
    const left = (n % outW) * stride[1] - padding[1];
    for (let c = 0; c < C; c++)
      for (let k = Math.max(0, -top); k < kH && top + k < H; k++)
        for (let l = Math.max(0, -left); l < kW && left + l < W; l++)
          data[(c * H + top + k) * W + left + l] += g * weight.data[((o * C + c) * kH + k) * kW + l];
  }
  return { shape, data };
}

// A query and keys that can be moved: the traits extent, query, key_vectors and values of a model. `draw` shows one
// result of attend(), `paint(read)` what a query at each place would read, `rebuild` new colours.
export function queryAmongKeys(model, change) {
  const extent = model.get("extent");
  const { node, toPixel, toPlane } = plane(extent, "Plane with a query and keys");
  const field = svg("image", { width: 400, height: 400, preserveAspectRatio: "none", class: "attn-field" });
  const lines = svg("g", { class: "attn-lines" });
  const points = svg("g", {});
  node.append(field, planeGrid(extent), lines, points);
  const handle = (shape, name, label, get, set) => {
    const point = svg("g", { class: name }, ...shape);
    draggable(point, { label, extent, toPlane, get, set });
    return point;
  };
  // a finger needs more than the mark
  const touch = (r) => svg("circle", { r, class: "attn-touch" });
  const diamond = { x: -13, y: -13, width: 26, height: 26, rx: 4, transform: "rotate(45)" };
  const keyAt = (i) => handle(
    [touch(22), svg("circle", { r: 13, fill: rgb(model.get("values")[i]) }), svg("text", {}, i + 1)],
    "attn-key", `key ${i + 1}`, () => model.get("key_vectors")[i],
    (position) => change("key_vectors", model.get("key_vectors").map((key, j) => (j === i ? position : key))));
  const query = handle(
    [touch(24), svg("rect", diamond), svg("text", {}, "q")],
    "attn-query", "query", () => model.get("query"), (position) => change("query", position));
  let keys = [];
  const rebuild = () => {
    keys = model.get("key_vectors").map((_, i) => keyAt(i));
    lines.replaceChildren(...keys.map((_, i) => svg("line", { stroke: rgb(model.get("values")[i]) })));
    points.replaceChildren(...keys, query);
  };
  const place = (point, position) => {
    const [x, y] = toPixel(position);
    point.setAttribute("transform", `translate(${x} ${y})`);
    point.tell(position);
    return [x, y];
  };
  const draw = (position, { weights, context }) => {
    if (keys.length !== weights.length) rebuild();
    const [x1, y1] = place(query, position);
    query.children[1].setAttribute("fill", rgb(context));
    keys.forEach((key, i) => {
      const [x2, y2] = place(key, model.get("key_vectors")[i]);
      const line = { x1, y1, x2, y2, "stroke-width": (1 + 15 * weights[i]).toFixed(2) };
      Object.entries(line).forEach(([name, value]) => lines.children[i].setAttribute(name, value));
    });
  };
  const paint = (read) => paintField(field, extent, (position) => read(position).context);
  return { node, draw, paint, rebuild };
}

// ------------------------------------------------------------------------------------------------ chance

// n numbers from 0 to 1, the same for the same seed on every machine (mulberry32); six_scores/widget.py has its twin
export function uniforms(seed, n) {
  let a = seed | 0;
  return Array.from({ length: n }, () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  });
}

// The key in whose stretch u falls when the weights are laid end to end
export function drawn(weights, u) {
  let edge = 0;
  const index = weights.findIndex((w) => (edge += w) > u);
  return index < 0 ? weights.length - 1 : index;
}

// ------------------------------------------------------------------------------------------------ a memory's heads

// As attncourse.ntm, one head at a time: memory is a list of vectors, a weighting has one number a slot
export const NTM = {
  content(key, strength, memory) {
    const size = (x, least) => Math.max(Math.sqrt(dot(x, x)), least);
    const scale = strength / size(key, 1e-12);
    // 0.01 is ntm.EMPTY: a slot shorter than that resembles nothing
    return softmax(memory.map((slot) => (scale * dot(key, slot)) / size(slot, 0.01)));
  },
  interpolate: (found, previous, gate) => found.map((w, i) => previous[i] + gate * (w - previous[i])),
  shift(weights, moves) {
    const [n, reach] = [weights.length, (moves.length - 1) / 2];
    const out = new Float32Array(n);
    weights.forEach((w, i) => moves.forEach((share, m) => (out[(i + m - reach + n) % n] += w * share)));
    return out;
  },
  sharpen(weights, power) {
    const kept = Array.from(weights, (w) => Math.max(w, 1e-12));
    const largest = Math.max(...kept);
    const raised = kept.map((w) => (w / largest) ** power);
    const sum = raised.reduce((a, b) => a + b, 0);
    return Float32Array.from(raised, (w) => w / sum);
  },
};
