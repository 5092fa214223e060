import { html } from "./dom.mjs";

export function pushButton(content, onclick, attributes) {
  return html("button", { type: "button", onclick, ...attributes }, content);
}
