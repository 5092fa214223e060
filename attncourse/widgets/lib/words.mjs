import { html } from "./dom.mjs";
import "./words.css";

const STILL = 500; // milliseconds

/**
 * The state in words: `node.say(text)`. What is shown changes together with the picture. What is read aloud waits until
 * nothing has changed for a moment, since a drag would flood the listener.
 */
export function words() {
  const shown = html("p", { class: "attn-words" });
  const aloud = html("p", { class: "attn-hidden", role: "status", "aria-live": "polite" });
  const node = html("div", {}, shown, aloud);
  let timer;
  node.say = (text) => {
    shown.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (aloud.textContent !== text) aloud.textContent = text;
    }, STILL);
  };
  return node;
}
