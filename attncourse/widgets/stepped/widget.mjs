// A drawing in steps: each lights its parts, its line of the equations and of the code, and shows the model's numbers.

import { pushButton } from "../lib/button.mjs";
import { html, widget } from "../lib/dom.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import "./widget.css";

const WAIT = 2600; // milliseconds per step while it plays

function lines(className, texts, attribute) {
  return html("ol", { class: className }, ...texts.map((text) => html("li", { [attribute]: text })));
}

function render({ model, el }) {
  const steps = model.get("steps");
  const frames = model.get("frames");
  const at = () => Math.min(Math.max(model.get("step"), 1), steps.length);
  const frame = () => frames[Math.min(Math.max(model.get("frame"), 0), frames.length - 1)];

  const title = html("p", { class: "attn-step-title" });
  const told = html("p", { class: "attn-step-words", role: "status", "aria-live": "polite" });
  const numbers = html("dl", { class: "attn-step-numbers" });
  const drawing = html("div", { class: "attn-step-drawing", markup: model.get("drawing") });
  const equations = lines("attn-step-equations", model.get("equations"), "markup");
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
  const choose = (value) => setTraits(model, { frame: value });
  const which = numberSlider(model.get("frame_name"), [0, frames.length - 1, 1], choose);
  which.hidden = frames.length < 2;
  const buttons = html("div", { class: "attn-step-buttons attn-control" }, back, next, play, which);

  const root = widget(
    el,
    "walkthrough",
    model.get("label"),
    buttons,
    html("div", { class: "attn-step-now" }, title, told),
    html(
      "div",
      { class: "attn-step-columns" },
      drawing,
      html("div", { class: "attn-step-side" }, numbers, equations, code),
    ),
  );
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("input")) return;
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    go(Math.min(Math.max(at() + move, 1), steps.length));
  });

  const draw = () => {
    const step = steps[at() - 1];
    const { label, texts, cells, flows, numbers: found } = frame();
    title.textContent = `${at()} of ${steps.length} · ${step.title}`;
    told.innerHTML = step.words;
    for (const part of drawing.querySelectorAll("[data-step]")) {
      const lit = part.dataset.step.split(" ").includes(String(at()));
      part.classList.toggle("attn-now", lit);
      part.classList.toggle("attn-rest", !lit);
    }
    for (const [slot, text] of Object.entries(texts)) {
      for (const place of drawing.querySelectorAll(`[data-slot="${slot}"]`)) place.textContent = text;
    }
    for (const [slot, share] of Object.entries(cells)) {
      const cell = drawing.querySelector(`[data-cell="${slot}"]`);
      cell?.style.setProperty("--w", share);
      drawing.querySelector(`[data-slot="${slot}"]`)?.classList.toggle("on", share > 0.5);
    }
    for (const [slot, width] of Object.entries(flows)) {
      const line = drawing.querySelector(`[data-flow="${slot}"]`);
      if (line) line.style.strokeWidth = width;
    }
    [...equations.children].forEach((line, i) => {
      line.classList.toggle("attn-now", step.equations.includes(i));
    });
    [...code.children].forEach((line, i) => {
      line.classList.toggle("attn-now", step.code.includes(i));
    });
    const rows = found[at() - 1] ?? [];
    numbers.replaceChildren(...rows.flatMap(([name, value]) => [html("dt", { markup: name }), html("dd", {}, value)]));
    which.choose(model.get("frame"), label);
    back.disabled = at() === 1;
    next.disabled = at() === steps.length;
    root.dataset.step = at();
    root.dataset.frame = model.get("frame");
  };
  draw();
  const end = follow(model, ["step", "frame"], draw);
  return () => {
    halt();
    end();
  };
}

export default { render };
