// Numbers. A tensor keeps its rows one after another, as PyTorch stores it, so a state_dict is used as it is.

/**
 * @typedef {Float32Array | number[]} Vector
 * @typedef {{ shape: number[], data: Float32Array }} Tensor
 */

/**
 * @param {number[] | number[][]} nested
 * @returns {Tensor}
 */
export function tensor(nested) {
  const shape = [];
  for (let x = nested; Array.isArray(x); x = x[0]) shape.push(x.length);
  return { shape, data: Float32Array.from(nested.flat(Infinity)) };
}

/** 0 … n − 1 */
export function upTo(n) {
  return Array.from({ length: n }, (_, i) => i);
}

/** Row i of a matrix: a view, not a copy. */
export function row({ shape, data }, i) {
  return data.subarray(i * shape[1], (i + 1) * shape[1]);
}

/** @param {...Vector} vectors */
export function concat(...vectors) {
  const out = new Float32Array(vectors.reduce((n, v) => n + v.length, 0));
  let at = 0;
  for (const vector of vectors) {
    out.set(vector, at);
    at += vector.length;
  }
  return out;
}

/**
 * @param {Vector} a
 * @param {Vector} b
 */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * W x + b for every row of x, as torch.nn.Linear.
 * @param {Vector} x rows laid end to end
 * @param {Tensor} weight (n_out, n_in)
 * @param {Tensor} [bias]
 */
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

/**
 * @param {Tensor} a (n, k)
 * @param {Tensor} b (k, m)
 * @returns {Tensor} (n, m)
 */
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

/**
 * As attncourse.core.masks.softmax: a fully masked row gives zeros.
 * @param {Vector} scores
 * @param {boolean[]} [mask] true where it may attend
 */
export function softmax(scores, mask) {
  let top = -Infinity;
  for (let i = 0; i < scores.length; i++) if ((!mask || mask[i]) && scores[i] > top) top = scores[i];
  const weights = Float32Array.from(scores, (s, i) => (!mask || mask[i] ? Math.exp(s - top) : 0));
  const sum = weights.reduce((a, b) => a + b, 0);
  return sum ? weights.map((w) => w / sum) : weights;
}

/** @param {Vector} x */
export function argmax(x) {
  return x.reduce((best, a, i) => (a > x[best] ? i : best), 0);
}

/**
 * The read: sum_i weights_i values_i
 * @param {Vector} weights
 * @param {Vector[]} values
 */
export function mix(weights, values) {
  const context = new Float32Array(values[0].length);
  values.forEach((value, i) => {
    for (let d = 0; d < value.length; d++) context[d] += weights[i] * value[d];
  });
  return context;
}

/**
 * The parameters of one layer: pick(tensors, "encoder.forwards") gives {weight_ih, weight_hh, bias_ih, bias_hh}.
 * @param {Record<string, Tensor>} tensors
 * @param {string} prefix
 * @returns {Record<string, Tensor>}
 */
export function pick(tensors, prefix) {
  const inside = Object.keys(tensors).filter((name) => name.startsWith(`${prefix}.`));
  return Object.fromEntries(inside.map((name) => [name.slice(prefix.length + 1).replace(/_l0$/, ""), tensors[name]]));
}
