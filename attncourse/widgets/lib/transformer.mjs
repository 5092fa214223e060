// A Transformer's parts, as attncourse.mechanisms.transformer. A matrix is its rows laid end to end; `p`, a layer's
// parameters, is what pick() gives.

import { dot, linear, softmax, upTo } from "./tensor.mjs";

export function projected(x, p, name) {
  return linear(x, p[`${name}.weight`], p[`${name}.bias`]);
}

export function plus(x, y) {
  return x.map((a, i) => a + y[i]);
}

/** Row by row, as torch.nn.LayerNorm. */
export function layerNorm(x, p) {
  const d = p.weight.data.length;
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += d) {
    const part = x.subarray(at, at + d);
    const mean = part.reduce((a, b) => a + b, 0) / d;
    const scale = 1 / Math.sqrt(part.reduce((a, b) => a + (b - mean) ** 2, 0) / d + 1e-5);
    for (let i = 0; i < d; i++) out[at + i] = (part[i] - mean) * scale * p.weight.data[i] + p.bias.data[i];
  }
  return out;
}

export function memorise(x, p) {
  return { keys: projected(x, p, "key"), values: projected(x, p, "value") };
}

/**
 * @param {Float32Array} x (Tq, D) looks at
 * @param {{ keys: Float32Array, values: Float32Array }} memory (Tk, D) each
 * @returns {{ out: Float32Array, maps: number[][][] }} out (Tq, D), maps (heads, Tq, Tk)
 */
export function multiHead(x, { keys, values }, p, heads) {
  const query = projected(x, p, "query");
  const d = p["query.bias"].data.length;
  const size = d / heads;
  const context = new Float32Array(x.length);
  const part = (m, i, h) => m.subarray(i * d + h * size, i * d + (h + 1) * size);
  const look = (h, i) => {
    const q = part(query, i, h);
    const weights = softmax(upTo(keys.length / d).map((j) => dot(q, part(keys, j, h)) / Math.sqrt(size)));
    const read = part(context, i, h);
    weights.forEach((w, j) => {
      const value = part(values, j, h);
      for (let e = 0; e < size; e++) read[e] += w * value[e];
    });
    return Array.from(weights);
  };
  const maps = upTo(heads).map((h) => upTo(x.length / d).map((i) => look(h, i)));
  return { out: projected(context, p, "out"), maps };
}

export function feedForward(x, p) {
  const hidden = projected(x, p, "feed_forward.0").map((a) => Math.max(0, a));
  return projected(hidden, p, "feed_forward.2");
}
