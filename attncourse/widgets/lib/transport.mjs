import { pushButton } from "./button.mjs";
import { html } from "./dom.mjs";
import { numberSlider } from "./slider.mjs";
import { setTraits } from "./traits.mjs";
import "./transport.css";

/**
 * Begin, one step, play, to the end: controls for a run of total() steps.
 * @param {string} name of the trait that says how many steps are shown, -1 for all
 * @param {() => number} total
 * @param {() => number} wait milliseconds per step
 */
export function transport(model, name, total, wait) {
  let timer = null;
  const at = () => (model.get(name) < 0 ? total() : Math.min(model.get(name), total()));
  const show = (t) => setTraits(model, { [name]: t < total() ? t : -1 });
  const halt = () => {
    timer = clearInterval(timer);
    play.textContent = "play";
  };
  const go = (t) => {
    halt();
    show(t);
  };
  const play = pushButton("play", () => {
    if (timer) return halt();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(total());
    if (at() === total()) show(0);
    timer = setInterval(() => (at() + 1 < total() ? show(at() + 1) : go(total())), wait());
    play.textContent = "pause";
  });
  const clock = numberSlider("step", [0, 0, 1], go);
  const buttons = [
    pushButton("begin", () => go(0)),
    pushButton("one step", () => go(at() + 1)),
    play,
    pushButton("to the end", () => go(total())),
  ];
  const row = html("div", { class: "attn-buttons" }, ...buttons);
  const node = html("div", { class: "attn-panel attn-control" }, clock, row);
  node.draw = () => clock.choose(at(), `${at()} of ${total()}`, total());
  return Object.assign(node, { at, halt });
}
