import { html } from "./dom.mjs";
import "./remarks.css";

/**
 * Cautions, one per line, or none: `node.say(...lines)`. Lines that are there already stay untouched, so that a screen
 * reader does not repeat them at every key.
 */
export function remarks() {
  const node = html("div", { class: "attn-notes", role: "status" });
  node.say = (...lines) => {
    const made = lines.map((line) => html("p", {}, line));
    const text = (nodes) => nodes.map((each) => each.textContent).join("\n");
    if (text(made) !== text([...node.children])) node.replaceChildren(...made);
  };
  return node;
}
