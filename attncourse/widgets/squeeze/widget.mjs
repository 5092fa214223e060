import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, uniqueId, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { gru, gruCell } from "../lib/recurrent.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, concat, linear, pick, row, tanh } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "./widget.css";

const [BEGIN, END, UNKNOWN] = [1, 2, 3]; // as attncourse.tasks.text; PAD is 0
const MAX_STEPS = 10;

export function normalise(text) {
  return text.normalize("NFC").toLowerCase().split(/\s+/).filter(Boolean).join(" ");
}

// ---- EncoderDecoder, as attncourse.mechanisms.seq2seq; `name` is the model's in the file ----

export function squeeze(tensors, name, text, alphabet) {
  const ids = new Map(Array.from(alphabet, (c, i) => [c, i + UNKNOWN + 1]));
  const symbols = [...Array.from(text, (c) => (ids.has(c) ? ids.get(c) : UNKNOWN)), END];
  const x = symbols.map((id) => row(tensors[`${name}.encoder.embed.weight`], id));
  return gru(x, pick(tensors, `${name}.encoder.forwards`)).pop(); // all that is kept
}

export function write(tensors, name, vector, target) {
  const p = pick(tensors, `${name}.decoder`);
  const cell = pick(tensors, `${name}.decoder.cell`);
  let state = tanh(linear(vector, p["start.weight"], p["start.bias"]));
  let [symbol, output] = [BEGIN, ""];
  for (let step = 0; step < MAX_STEPS; step++) {
    const y = row(p["embed.weight"], symbol);
    state = gruCell(concat(y, vector), state, cell);
    const pairs = linear(concat(state, y, vector), p["readout.weight"], p["readout.bias"]);
    const maxout = Float32Array.from({ length: pairs.length / 2 }, (_, i) => Math.max(pairs[2 * i], pairs[2 * i + 1]));
    symbol = argmax(linear(maxout, p["out.weight"], p["out.bias"]));
    if (symbol === END) break;
    output += symbol > UNKNOWN ? target[symbol - UNKNOWN - 1] : "\ufffd";
  }
  return output;
}

// ---- the page ----

// The vector as squares: colour for the sign, strength for the size
function strip(node, vector) {
  const squares = Array.from(vector, (v) =>
    html("span", {
      class: v < 0 ? "attn-minus" : "attn-plus",
      style: `opacity:${Math.min(1, 0.08 + Math.abs(v)).toFixed(2)}`,
    }),
  );
  node.replaceChildren(...squares);
  node.setAttribute("aria-label", `The vector: ${vector.length} numbers from −1 to 1, drawn as squares`);
}

// Digits in threes from the right, a wrong one marked; `truth` may be unknown
function digits(text, truth) {
  return Array.from(text, (digit, i) => {
    const wrong = truth !== undefined && truth[i] !== digit;
    const group = (text.length - i) % 3 === 0 && i > 0;
    const name = [wrong && "attn-off", group && "attn-group"].filter(Boolean).join(" ");
    return html("span", { class: name || null }, digit);
  });
}

function verdict(output, truth) {
  if (truth === undefined) return "";
  if (output === truth) return " That is right.";
  const at = Array.from(truth).findIndex((digit, i) => digit !== output[i]);
  const place = at < 0 ? "it goes on after the last digit" : `the first mistake is digit ${at + 1} of ${truth.length}`;
  return ` It should be ${truth}: ${place}.`;
}

function render({ model, el }) {
  const id = uniqueId("squeeze");
  const change = (name, value) => setTraits(model, { [name]: value });
  const input = html("input", {
    id,
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 500,
    oninput: () => change("text", input.value),
  });
  const buttons = model
    .get("examples")
    .map(([, name, number, text]) => pushButton(`${number} · ${name}`, () => change("text", text)));
  const size = radios(
    "numbers in the vector",
    ["16", "64", "256"].map((n) => [n, n]),
    (value) => change("size", value),
  );
  const vector = html("div", { class: "attn-vector", role: "img" });
  const result = html("p", { class: "attn-digits" });
  const notes = remarks();
  const state = words();
  const root = widget(
    el,
    "squeeze",
    "Squeeze: a number through a vector of fixed size",
    challenge(model),
    html(
      "label",
      { for: id, class: "attn-control" },
      "Write a number in words, in Danish, Dutch, English, French, German or Spanish",
    ),
    html("div", { class: "attn-control" }, input),
    html("div", { class: "attn-examples attn-control", role: "group", "aria-label": "Examples" }, ...buttons),
    size,
    vector,
    notes,
    result,
    state,
  );

  const zoo = zooModel(model, root, draw);

  function compute(text, name) {
    const example = model.get("example");
    if (text === example.text) return example[name];
    if (!zoo.net) return null;
    const squeezed = squeeze(zoo.net, name, text, model.get("alphabet"));
    return { vector: squeezed, output: write(zoo.net, name, squeezed, model.get("target")) };
  }

  function waiting() {
    vector.replaceChildren();
    result.replaceChildren();
    notes.say(zoo.wait());
    state.say("");
  }

  function show(text, name, found) {
    const known = model.get("examples").find((example) => example[3] === text);
    const truth = known?.[2];
    const long = text.length > model.get("trained_length");
    notes.say(
      ...(long
        ? [
            `In training no text was longer than ${model.get("trained_length")} characters; this one has ${text.length}.`,
          ]
        : []),
    );
    strip(vector, found.vector);
    result.replaceChildren(html("span", { class: "attn-arrow" }, "writes "), ...digits(found.output, truth));
    Object.assign(root.dataset, { text, size: name, output: found.output });
    root.dataset.verdict = truth === undefined ? "" : truth === found.output ? "right" : "wrong";
    state.say(
      `It squeezed “${text}” into ${name} numbers and wrote ${found.output || "nothing"}.${verdict(found.output, truth)}` +
        ` With ${name} numbers the network is right on ${fixed(100 * model.get("accuracy")[name], 0)}% of unseen numbers.`,
    );
    if (model.get("output") !== found.output) change("output", found.output);
  }

  function draw() {
    if (input.value !== model.get("text")) input.value = model.get("text");
    const text = Array.from(normalise(model.get("text")))
      .slice(0, model.get("limit"))
      .join("");
    const name = model.get("size");
    size.choose(name);
    const found = compute(text, name);
    if (found) show(text, name, found);
    else waiting();
  }

  draw();
  return follow(model, ["text", "size"], draw);
}

export default { render };
