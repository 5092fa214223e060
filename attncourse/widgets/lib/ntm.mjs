// One head of a memory, as attncourse.mechanisms.ntm. The memory is a list of vectors, its slots; a weighting has one
// number per slot.

import { dot, softmax } from "./tensor.mjs";

const EMPTY = 0.01; // ntm.EMPTY: a slot shorter than this resembles nothing

export const NTM = {
  content(key, strength, memory) {
    const size = (x, least) => Math.max(Math.sqrt(dot(x, x)), least);
    const scale = strength / size(key, 1e-12);
    return softmax(memory.map((slot) => (scale * dot(key, slot)) / size(slot, EMPTY)));
  },
  interpolate: (found, previous, gate) => found.map((w, i) => previous[i] + gate * (w - previous[i])),
  shift(weights, moves) {
    const [n, reach] = [weights.length, (moves.length - 1) / 2];
    const out = new Float32Array(n);
    for (let i = 0; i < n; i++)
      for (let m = 0; m < moves.length; m++) out[(i + m - reach + n) % n] += weights[i] * moves[m];
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
