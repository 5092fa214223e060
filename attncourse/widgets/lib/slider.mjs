import { html } from "./dom.mjs";
import { fixed } from "./text.mjs";
import "./slider.css";

/**
 * `node.choose(value, text, most)` moves it; `most` is a new upper end.
 * @param {string} label
 * @param {[low: number, high: number, step: number]} range
 * @param {(value: number) => void} onmove
 * @param {string} [name] what a screen reader says, where the label is a symbol
 */
export function numberSlider(label, [low, high, step], onmove, name = label) {
  const number = html("output", {});
  const oninput = () => onmove(Number(input.value));
  const input = html("input", { type: "range", min: low, max: high, step, "aria-label": name, oninput });
  const node = html("label", { class: "attn-slider attn-control" }, html("span", {}, label, " ", number), input);
  node.choose = (value, text = String(value), most = high) => {
    Object.assign(input, { max: most, value });
    input.setAttribute("aria-valuetext", text);
    number.textContent = text;
  };
  return node;
}

/** A slider on a logarithmic scale. */
export function logSlider(label, [low, high], onmove) {
  const move = (value) => onmove(Number((10 ** value).toPrecision(3)));
  const node = numberSlider(label, [Math.log10(low), Math.log10(high), 0.02], move);
  const { choose } = node;
  node.choose = (value) => choose(Math.log10(value), fixed(value, 2));
  return node;
}
