// Hides the result of each prediction until the reader has guessed or asked to see it. Python wrote the whole page;
// where this script does not run, everything is simply shown.

import { pushButton } from "../lib/button.mjs";
import { html, uniqueId } from "../lib/dom.mjs";
import { KINDS } from "./guesses.mjs";
import "./widget.css";

// Storage may be full, forbidden or absent (a private window, a sandboxed frame): then nothing is remembered.
function memory(name) {
  const key = `attncourse.predict.${name}`;
  const attempt = (action) => {
    try {
      return action();
    } catch {
      return null;
    }
  };
  return {
    get: () => attempt(() => JSON.parse(localStorage.getItem(key))),
    set: (value) => attempt(() => localStorage.setItem(key, JSON.stringify(value))),
    clear: () => attempt(() => localStorage.removeItem(key)),
  };
}

function enhance(root) {
  const asked = JSON.parse(root.dataset.asked);
  const store = memory(asked.name);
  const question = root.querySelector(".attn-question");
  question.id = uniqueId("question");
  const field = KINDS[asked.kind](asked, question.id);
  const outcome = html("p", { class: "attn-outcome", role: "status", tabindex: -1 });
  const picture = html("div", { class: "attn-both" });
  const reveal = (guess) => {
    root.dataset.state = "shown";
    form.hidden = true;
    again.hidden = false;
    again.textContent = guess === null ? "Guess after all" : "Guess again";
    outcome.textContent = guess === null ? "Shown without a guess." : field.sentence(guess);
    picture.replaceChildren(...[field.picture(guess)].filter(Boolean));
  };
  const ask = () => {
    root.dataset.state = "asking";
    form.hidden = false;
    again.hidden = true;
    outcome.textContent = "";
    picture.replaceChildren();
    field.put(null);
  };
  const skip = () => {
    store.set({ skipped: true });
    reveal(null);
    outcome.focus();
  };
  const commit = (event) => {
    event.preventDefault();
    const guess = field.get();
    if (guess === null) {
      outcome.textContent = field.ask;
      return;
    }
    store.set({ guess: field.keep(guess) });
    reveal(guess);
    outcome.focus();
  };
  const restart = () => {
    store.clear();
    ask();
    form.querySelector("input, [tabindex]").focus();
  };
  const send = html("button", { type: "submit" }, "This is my guess");
  const buttons = html("div", { class: "attn-buttons" }, send, pushButton("Show me", skip, { class: "attn-link" }));
  const form = html("form", { class: "attn-control", novalidate: true, onsubmit: commit }, field.node, buttons);
  const again = pushButton("Guess again", restart, { class: "attn-link attn-control" });
  root.querySelector(".attn-shown").before(form, outcome, picture);
  root.append(again);
  // as lib/dom.mjs does for explorables: in JupyterLab an arrow would go to the next cell
  root.addEventListener(
    "keydown",
    (event) => event.ctrlKey || event.metaKey || event.altKey || event.stopPropagation(),
  );

  ask();
  const kept = store.get();
  const guess = kept ? field.recall(kept.guess) : null;
  if (guess !== null || kept?.skipped) reveal(guess);
  // the ledger links to claims, also to those in here
  const arrive = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !root.contains(target) || root.dataset.state === "shown") return;
    reveal(null);
    target.scrollIntoView();
  };
  arrive();
  window.addEventListener("hashchange", arrive);
}

const place = document.currentScript?.parentNode ?? document;
for (const root of place.querySelectorAll(".attn-predict:not([data-state])")) enhance(root);
