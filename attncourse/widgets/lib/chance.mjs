// Chance that is the same on every machine.

/** n numbers from 0 to 1, the same for the same seed (mulberry32). six_scores/widget.py has its twin. */
export function uniforms(seed, n) {
  let a = seed | 0;
  return Array.from({ length: n }, () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  });
}

/** n numbers, normally distributed, the same for the same seed (Box and Muller). draw_digit/widget.py has its twin. */
export function normals(seed, n) {
  const u = uniforms(seed, 2 * n);
  return Array.from(
    { length: n },
    (_, i) => Math.sqrt(-2 * Math.log(1 - u[2 * i])) * Math.cos(2 * Math.PI * u[2 * i + 1]),
  );
}

/** The index into whose stretch u falls when the weights are laid end to end. */
export function drawn(weights, u) {
  let edge = 0;
  const index = weights.findIndex((w) => {
    edge += w;
    return edge > u;
  });
  return index < 0 ? weights.length - 1 : index;
}
