// As attncourse.core.scores: how well does a query match a key?

import { dot, linear, mix, row, softmax } from "./tensor.mjs";

/** @typedef {import("./tensor.mjs").Vector} Vector */

/**
 * @param {Vector} projectedQuery
 * @param {Vector} projectedKey
 * @param {Vector} v
 */
export function additive(projectedQuery, projectedKey, v) {
  let sum = 0;
  for (let i = 0; i < v.length; i++) sum += v[i] * Math.tanh(projectedQuery[i] + projectedKey[i]);
  return sum;
}

/** A zero vector is like nothing: 0, as scores.content. */
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
  location: (query, _key, { places }, j) => dot(query, row(places, j)),
};

/**
 * @param {Vector} query
 * @param {Vector[]} keys
 * @param {Vector[]} values
 * @param {(query: Vector, key: Vector, j: number) => number} score
 */
export function attend(query, keys, values, score, temperature = 1) {
  const scores = keys.map((key, j) => score(query, key, j));
  const weights = softmax(scores.map((s) => s / temperature));
  return { scores, weights, context: mix(weights, values) };
}
