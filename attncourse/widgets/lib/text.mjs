// Numbers and colours as text.

/** With a true minus sign, and no "-0.00". */
export function fixed(x, digits = 3) {
  const text = x.toFixed(digits);
  return Number(text) < 0 ? text.replace("-", "−") : text.replace("-", "");
}

/** @param {number[]} colour three numbers from 0 to 1 */
export function rgb(colour) {
  return `rgb(${Array.from(colour, (c) => Math.round(255 * c)).join(" ")})`;
}
