// A drawing in steps: each lights its parts, its line of the equations and of the code, and shows the model's numbers.

import { pushButton } from "../lib/button.mjs";
import { html, widget } from "../lib/dom.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import "./widget.css";

const WAIT = 2600; // milliseconds per step while it plays
const STILL = "(prefers-reduced-motion: reduce)";

function lines(className, texts) {
  return html("ol", { class: className }, ...texts.map((markup) => html("li", { markup })));
}

/** Texts, shares of cells and widths of lines of one moment, into the places that the drawing has for them. */
function fill(drawing, { texts, cells, flows }) {
  const places = (kind, slot) => drawing.querySelectorAll(`[data-${kind}="${slot}"]`);
  for (const [slot, text] of Object.entries(texts)) {
    for (const place of places("slot", slot)) place.textContent = text;
  }
  for (const [slot, share] of Object.entries(cells)) {
    for (const place of [...places("cell", slot), ...places("slot", slot)]) place.style.setProperty("--w", share);
  }
  for (const [slot, width] of Object.entries(flows)) {
    for (const line of places("flow", slot)) line.style.strokeWidth = width;
  }
}

function render({ model, el }) {
  const steps = model.get("steps");
  const frames = model.get("frames");
  const at = () => Math.min(Math.max(model.get("step"), 1), steps.length);
  const frame = () => frames[Math.min(Math.max(model.get("frame"), 0), frames.length - 1)];

  const title = html("p", { class: "attn-step-title" });
  const told = html("p", { class: "attn-step-words" });
  const aloud = html("p", { class: "attn-hidden", role: "status", "aria-live": "polite" });
  const rows = Math.max(...frames.flatMap((moment) => moment.numbers.map((found) => found.length)));
  const numbers = html("dl", { class: "attn-step-numbers", style: `--rows: ${rows}` });
  const drawing = html("div", { class: "attn-step-drawing", markup: model.get("drawing") });
  const equations = lines("attn-step-equations", model.get("equations"));
  const onPaper = lines(
    "attn-step-paper",
    steps.map((step) => `<b>${step.title}</b>: ${step.words}`),
  );
  const code = html(
    "pre",
    { class: "attn-step-code" },
    ...model.get("code").map((line) => html("code", {}, `${line}\n`)),
  );

  let timer = null;
  const halt = () => {
    timer = clearInterval(timer);
    play.textContent = "play";
  };
  const go = (step) => {
    halt();
    setTraits(model, { step });
  };
  const back = pushButton("back", () => go(Math.max(at() - 1, 1)));
  const next = pushButton("next", () => go(Math.min(at() + 1, steps.length)));
  const play = pushButton("play", () => {
    if (timer) return halt();
    if (at() === steps.length) setTraits(model, { step: 1 });
    play.textContent = "pause";
    timer = setInterval(() => {
      if (at() < steps.length) setTraits(model, { step: at() + 1 });
      if (at() === steps.length) halt();
    }, WAIT);
  });
  play.hidden = matchMedia(STILL).matches; // what moves by itself is for those who want it
  const choose = (value) => setTraits(model, { frame: value });
  const which = numberSlider(model.get("frame_name"), [0, frames.length - 1, 1], choose);
  which.hidden = frames.length < 2;
  const buttons = html("div", { class: "attn-step-buttons attn-control" }, back, next, play, which);

  const root = widget(
    el,
    "walkthrough",
    model.get("label"),
    buttons,
    html("div", { class: "attn-step-now" }, title, told, aloud),
    html(
      "div",
      { class: "attn-step-columns" },
      drawing,
      html("div", { class: "attn-step-side" }, numbers, equations, code),
    ),
    onPaper,
  );
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input")) return;
    const wanted = { ArrowLeft: at() - 1, ArrowRight: at() + 1, Home: 1, End: steps.length }[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    go(Math.min(Math.max(wanted, 1), steps.length));
  });

  let waiting;
  const say = (text) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      aloud.textContent = text;
    }, 350);
  };

  const draw = () => {
    const step = steps[at() - 1];
    const { label, numbers: found } = frame();
    title.textContent = `${at()} of ${steps.length} · ${step.title}`;
    told.innerHTML = step.words;
    say(`${title.textContent}. ${told.textContent}`);
    for (const part of drawing.querySelectorAll("[data-step]")) {
      const lit = part.dataset.step.split(" ").includes(String(at()));
      part.classList.toggle("attn-now", lit);
      part.classList.toggle("attn-rest", !lit);
    }
    fill(drawing, frame());
    [...equations.children].forEach((line, i) => {
      line.classList.toggle("attn-now", step.equations.includes(i));
    });
    [...code.children].forEach((line, i) => {
      line.classList.toggle("attn-now", step.code.includes(i));
    });
    const shown = found[at() - 1] ?? [];
    numbers.replaceChildren(
      ...shown.flatMap(([name, value]) => [html("dt", { markup: name }), html("dd", { markup: value })]),
    );
    which.choose(model.get("frame"), label);
    // not disabled: a button that is would lose the focus, and with it the arrow keys
    back.setAttribute("aria-disabled", at() === 1);
    next.setAttribute("aria-disabled", at() === steps.length);
    root.dataset.step = at();
    root.dataset.frame = model.get("frame");
  };
  draw();
  const end = follow(model, ["step", "frame"], draw);
  return () => {
    halt();
    clearTimeout(waiting);
    end();
  };
}

export default { render };
