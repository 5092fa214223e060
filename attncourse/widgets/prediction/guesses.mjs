// The three kinds of guess. Each has a field: `node`, `get()` (null while there is none), `put(guess)`; and says what
// it means beside what happened: `sentence`, and a `picture` of both.

import { html, uniqueId } from "../lib/dom.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { fixed } from "../lib/text.mjs";
import { bothCurves, bothNumbers, drawnCurve } from "./chart.mjs";

function choice({ choices, answer }, question) {
  const name = uniqueId("guess");
  const plain = (i) => html("span", { markup: choices[i] }).textContent;
  const inputs = choices.map((_, i) => html("input", { type: "radio", name, value: i }));
  const labels = choices.map((text, i) =>
    html("label", { class: "attn-option" }, inputs[i], html("span", { markup: text })),
  );
  const verdicts = (guess) =>
    choices.map((text, i) => {
      const marks = [i === guess && "your guess", i === answer && "what happened"].filter(Boolean).join(" and ");
      const mark = html("span", { class: "attn-mark" }, marks && ` — ${marks}`);
      const item = html(
        "li",
        { "data-mark": Boolean(marks), "data-true": i === answer },
        html("span", { markup: text }),
      );
      item.append(mark);
      return item;
    });
  return {
    node: html("div", { role: "radiogroup", "aria-labelledby": question }, ...labels),
    get: () => inputs.find((input) => input.checked)?.value ?? null,
    put: (guess) => {
      for (const input of inputs) input.checked = input.value === guess;
    },
    keep: plain, // the order of the choices may change
    recall: (kept) => {
      const found = choices.findIndex((_, i) => plain(i) === kept);
      return found < 0 ? null : String(found);
    },
    ask: "Choose one of them first, or press “Show me”.",
    sentence: (guess) =>
      Number(guess) === answer
        ? `You said “${plain(guess)}”, and that is what happened.`
        : `You said “${plain(guess)}”; what happened: “${plain(answer)}”.`,
    picture: (guess) => html("ul", { class: "attn-verdicts" }, ...verdicts(guess === null ? null : Number(guess))),
  };
}

function number(asked) {
  const { low, high, step, decimals, unit, answer, measured } = asked;
  const middle = Number(((low + high) / 2).toFixed(decimals));
  let value = middle;
  const put = (guess) => {
    value = guess ?? middle;
    slider.choose(value, fixed(value, decimals));
  };
  const slider = numberSlider(unit || "your guess", [low, high, step], put);
  put(null);
  const far = (guess) => {
    const off = guess - answer;
    if (Math.abs(off) <= 0.03 * (high - low)) return "That is close.";
    return `That is ${fixed(Math.abs(off), decimals)} too ${off > 0 ? "high" : "low"}.`;
  };
  const said = (guess) => `ou said ${fixed(guess, decimals)}; measured: ${measured}.`;
  return {
    node: slider,
    get: () => value,
    put,
    keep: (guess) => guess,
    recall: (kept) => (Number.isFinite(kept) && kept >= low && kept <= high ? kept : null),
    sentence: (guess) => {
      const start = unit ? `${unit[0].toUpperCase()}${unit.slice(1)}: y` : "Y";
      return `${start}${said(guess)} ${far(guess)}`;
    },
    picture: (guess) => (guess === null ? null : bothNumbers(asked, guess)),
  };
}

function curve(asked) {
  const { low, high, decimals, places, axes, answer } = asked;
  const node = drawnCurve(asked);
  const hint = "Drag in the plot, or move each point with the arrow keys.";
  const fits = (y) => Number.isFinite(y) && y >= low && y <= high;
  return {
    node: html("div", {}, node, html("p", { class: "attn-hint" }, hint)),
    get: node.values,
    put: (guess) => node.put(guess ?? places.map(() => (low + high) / 2)),
    keep: (guess) => guess,
    recall: (kept) => (Array.isArray(kept) && kept.length === places.length && kept.every(fits) ? kept : null),
    sentence: (guess) => {
      const off = guess.map((y, i) => Math.abs(y - answer[i]));
      if (Math.max(...off) <= 0.05 * (high - low)) return "Your curve is close to the measured one everywhere.";
      const worst = off.indexOf(Math.max(...off));
      const [yours, true_] = [guess[worst], answer[worst]].map((y) => fixed(y, decimals));
      return `You were furthest off at ${axes[0]} = ${places[worst]}: you said ${yours}; measured: ${true_}.`;
    },
    picture: (guess) => (guess === null ? null : bothCurves(asked, guess)),
  };
}

export const KINDS = { choice, number, curve };
