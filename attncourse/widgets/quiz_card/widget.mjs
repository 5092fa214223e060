import { html, uniqueId, widget } from "../lib/dom.mjs";
import "./widget.css";

// Storage may be full, forbidden or absent (a private window, a sandboxed frame): then nothing is remembered.
function memory(name) {
  const key = `attncourse.quiz.${name}`;
  const attempt = (action) => {
    try {
      return action();
    } catch {
      return null;
    }
  };
  const read = () => attempt(() => JSON.parse(localStorage.getItem(key))) || {};
  return {
    get: (id) => read()[id],
    set: (id, answer) => attempt(() => localStorage.setItem(key, JSON.stringify({ ...read(), [id]: answer }))),
    clear: () => attempt(() => localStorage.removeItem(key)),
  };
}

// "0.73", "0,73" and "3/4" -> a number; anything else -> NaN
export function toNumber(text) {
  const parts = text.trim().replace(/[−–]/g, "-").replace(/,/g, ".").split("/");
  if (parts.length > 2 || parts.some((part) => !part.trim())) return NaN;
  return parts.map(Number).reduce((a, b) => a / b);
}

// Verdicts: {right, feedback}, or null for what is no answer yet
export function judge(question, answer) {
  if (question.kind === "choice") {
    const option = question.options[answer];
    return option ? { right: option.right, feedback: option.feedback } : null;
  }
  const value = toNumber(String(answer));
  if (!Number.isFinite(value)) return null;
  const near = (target) => Math.abs(value - target) <= question.tolerance + 1e-12;
  if (near(question.answer)) return { right: true, feedback: question.right };
  const trap = question.traps.find(([target]) => near(target));
  return { right: false, feedback: trap ? trap[1] : question.wrong };
}

function choices(question) {
  const name = uniqueId(question.id);
  const inputs = question.options.map((_, i) => html("input", { type: "radio", name, value: i }));
  const labels = question.options.map((option, i) =>
    html("label", { class: "attn-option" }, inputs[i], html("span", { markup: option.text })),
  );
  return {
    node: html("div", {}, ...labels),
    get: () => inputs.findIndex((input) => input.checked),
    set: (answer) =>
      inputs.forEach((input, i) => {
        input.checked = i === answer;
      }),
    ask: "Choose one of the answers first.",
  };
}

function number() {
  const input = html("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  return {
    node: html("label", { class: "attn-number" }, "Your number ", input),
    get: () => input.value,
    set: (answer) => (input.value = answer === undefined ? "" : answer),
    ask: "Write a number, such as 0.25 or 1/4.",
  };
}

function card(question, place, store, onverdict) {
  const field = question.kind === "choice" ? choices(question) : number();
  const feedback = html("div", { class: "attn-feedback", role: "status", "aria-live": "polite" });
  const legend = html(
    "legend",
    {},
    html("span", { class: "attn-place" }, place),
    html("span", { markup: question.text }),
  );
  const form = html(
    "form",
    { "data-question": question.id, novalidate: true },
    html("fieldset", {}, legend, field.node),
    html("button", { type: "submit", class: "attn-control" }, "Check"),
    feedback,
  );
  const show = (verdict) => {
    form.dataset.verdict = verdict ? (verdict.right ? "right" : "wrong") : "";
    const head = html("strong", {}, verdict?.right ? "✓ Right. " : "✗ Not this. ");
    if (verdict) feedback.replaceChildren(head, html("span", { markup: verdict.feedback }));
    onverdict();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = field.get();
    const verdict = judge(question, answer);
    if (verdict) store.set(question.id, answer);
    show(verdict);
    if (!verdict) feedback.textContent = field.ask;
  });
  const recall = () => {
    const answer = store.get(question.id);
    field.set(answer);
    feedback.replaceChildren();
    show(answer === undefined ? null : judge(question, answer));
  };
  return { form, recall };
}

function render({ model, el }) {
  const questions = model.get("questions");
  const store = memory(model.get("name"));
  const progress = html("p", { class: "attn-progress", role: "status" });
  const count = () => {
    const right = root.querySelectorAll('[data-verdict="right"]').length;
    progress.textContent = `${right} of ${questions.length} right`;
    root.dataset.right = right;
  };
  const place = (i) => `Question ${i + 1} of ${questions.length}`;
  const cards = questions.map((question, i) => card(question, place(i), store, () => count()));
  const recall = () => {
    for (const each of cards) each.recall();
  };
  const forget = () => {
    store.clear();
    recall();
  };
  const reset = html(
    "button",
    { type: "button", class: "attn-link attn-control", onclick: forget },
    "forget my answers",
  );
  const foot = html("div", { class: "attn-foot" }, progress, reset);
  const root = widget(el, "quiz", "Quiz", ...cards.map((each) => each.form), foot);
  recall();
}

export default { render };
