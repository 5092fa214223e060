import { html } from "./dom.mjs";
import "./remarks.css";

/** Cautions, one per line, or none: `node.say(...lines)`. */
export function remarks() {
  const node = html("div", { class: "attn-notes", role: "status" });
  node.say = (...lines) => node.replaceChildren(...lines.map((line) => html("p", {}, line)));
  return node;
}
