// Recurrent cells with PyTorch's parameters, in PyTorch's order of gates.

import { linear, sigmoid, tanh } from "./tensor.mjs";

/**
 * As torch.nn.GRUCell: gates r, z, n.
 * @param {Float32Array} x
 * @param {Float32Array} h
 * @param {Record<string, import("./tensor.mjs").Tensor>} p
 */
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

/**
 * As torch.nn.LSTMCell: gates i, f, g, o.
 * @param {Float32Array} x
 * @param {[Float32Array, Float32Array]} state
 * @param {Record<string, import("./tensor.mjs").Tensor>} p
 */
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

/** All states of a GRU over a list of vectors, from a zero state. */
export function gru(xs, p) {
  let h = new Float32Array(p.weight_hh.shape[1]);
  return xs.map((x) => {
    h = gruCell(x, h, p);
    return h;
  });
}
