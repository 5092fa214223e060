import { html, uniqueId } from "./dom.mjs";
import "./radios.css";

/**
 * One choice of several; `node.choose(value)` shows one as chosen.
 * @param {string} legend
 * @param {[value: string, text: string][]} options
 * @param {(value: string) => void} onpick
 */
export function radios(legend, options, onpick) {
  const name = uniqueId("radio");
  const inputs = options.map(([value]) => html("input", { type: "radio", name, value, onchange: () => onpick(value) }));
  const labels = options.map(([, text], i) => html("label", {}, inputs[i], html("span", {}, text)));
  const choices = html("div", {}, ...labels);
  const node = html("fieldset", { class: "attn-radios attn-control" }, html("legend", {}, legend), choices);
  node.choose = (value) => {
    for (const input of inputs) input.checked = input.value === value;
  };
  return node;
}
