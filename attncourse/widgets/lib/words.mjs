import { html } from "./dom.mjs";
import "./words.css";

/**
 * The state in words: `node.say(text)`. What is shown changes together with the picture; what is read aloud waits until
 * things stand still, since a drag would flood the listener.
 */
export function words(delay = 350) {
  const shown = html("p", { class: "attn-words" });
  const aloud = html("p", { class: "attn-hidden", role: "status", "aria-live": "polite" });
  const node = html("div", {}, shown, aloud);
  let timer;
  node.say = (text) => {
    shown.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      aloud.textContent = text;
    }, delay);
  };
  return node;
}
