import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { arrows, html, onWidth, uniqueId, widget } from "../lib/dom.mjs";
import { heatmap } from "../lib/heatmap.mjs";
import { gru, gruCell } from "../lib/recurrent.mjs";
import { remarks } from "../lib/remarks.mjs";
import { additive } from "../lib/scores.mjs";
import { argmax, concat, linear, mix, pick, row, softmax, tanh } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "./widget.css";

const [BEGIN, END, UNKNOWN] = [1, 2, 3]; // as attncourse.tasks.text; PAD is 0
const STOP = "∎"; // how END is shown
const MAX_STEPS = 11;

// As attncourse.tasks.dates.normalise; the class is what Python's str.split() takes for a space.
export function normalise(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what Python's str.split() takes for white space
  const spaces = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
  return text.normalize("NFKC").toLowerCase().split(spaces).filter(Boolean).join(" ");
}

export function encode(text, alphabet) {
  const ids = new Map(Array.from(alphabet, (c, i) => [c, i + UNKNOWN + 1]));
  return [...Array.from(text, (c) => (ids.has(c) ? ids.get(c) : UNKNOWN)), END];
}

// ---- RNNsearch, as attncourse.mechanisms.seq2seq ----

function annotate(ids, p) {
  const x = ids.map((id) => row(p["encoder.embed.weight"], id));
  const ahead = gru(x, pick(p, "encoder.forwards"));
  const back = gru(x.reverse(), pick(p, "encoder.backwards")).reverse();
  return ahead.map((h, j) => concat(h, back[j]));
}

function begin(annotations, p) {
  const size = annotations[0].length / 2;
  const state = tanh(linear(annotations[0].subarray(size), p["decoder.start.weight"], p["decoder.start.bias"]));
  const keys = annotations.map((h) => linear(h, p["decoder.score.W_k.weight"]));
  return { state, keys, values: annotations };
}

function step(previous, { state, keys, values }, p) {
  const y = row(p["decoder.embed.weight"], previous);
  const query = linear(state, p["decoder.score.W_q.weight"]);
  const weights = softmax(keys.map((key) => additive(query, key, p["decoder.score.v"].data)));
  const context = mix(weights, values);
  state = gruCell(concat(y, context), state, pick(p, "decoder.cell"));
  const pairs = linear(concat(state, y, context), p["decoder.readout.weight"], p["decoder.readout.bias"]);
  const maxout = Float32Array.from({ length: pairs.length / 2 }, (_, i) => Math.max(pairs[2 * i], pairs[2 * i + 1]));
  const logits = linear(maxout, p["decoder.out.weight"], p["decoder.out.bias"]);
  return { symbol: argmax(logits), weights, memory: { state, keys, values } };
}

// Greedy, as attncourse.zoo.dates.translate -> the text up to END, and the weights of every step, END's too
export function translate(p, text, alphabet, target) {
  let memory = begin(annotate(encode(text, alphabet), p), p);
  let symbol = BEGIN;
  let output = "";
  const weights = [];
  while (symbol !== END && weights.length < MAX_STEPS) {
    const next = step(symbol, memory, p);
    ({ symbol, memory } = next);
    weights.push(Array.from(next.weights));
    if (symbol !== END) output += symbol > UNKNOWN ? Array.from(target)[symbol - UNKNOWN - 1] : "\ufffd";
  }
  return { text, output, weights };
}

// ---- in words ----

const quoted = (c) => (c === STOP ? "the end" : c === " " ? "a space" : `“${c}”`);

function looked({ weights }, letters, source, i) {
  const best = Array.from(weights[i].keys())
    .sort((a, b) => weights[i][b] - weights[i][a])
    .slice(0, 3);
  const seen = best.filter((j) => weights[i][j] >= 0.05).map((j) => `${quoted(source[j])} ${fixed(weights[i][j], 2)}`);
  return `For ${quoted(letters[i])} the model looked at ${seen.join(", ") || "everything a little"}.`;
}

function cautions(characters, alphabet, limit, trained) {
  const strange = [...new Set(characters.slice(0, limit).filter((c) => !alphabet.includes(c)))];
  const some = strange.slice(0, 8).join(" ") + (strange.length > 8 ? " …" : "");
  return [
    characters.length > limit && `Only the first ${limit} of ${characters.length} characters are read.`,
    characters.length > trained &&
      `The model was trained on at most ${trained} characters, so do not rely on its answer beyond that.`,
    strange.length && `It never saw these in training, so it reads them as “unknown”, drawn as ▯: ${some}`,
  ].filter(Boolean);
}

// ---- the page ----

// The output's letters: one stop for the tab key, arrow keys go from letter to letter.
function letterRow(onpick) {
  const label = "What the model wrote; arrow keys go from letter to letter";
  const node = html("div", { class: "attn-letters", role: "group", "aria-label": label });
  let at = 0;
  const go = (i) => {
    const buttons = Array.from(node.children);
    at = Math.max(0, Math.min(buttons.length - 1, i));
    buttons.forEach((button, j) => {
      button.tabIndex = j === at ? 0 : -1;
    });
  };
  arrows(node, ([dx, dy]) => {
    go(at + dx - dy);
    if (node.children[at]) node.children[at].focus();
  });
  node.draw = (letters) => {
    node.replaceChildren(
      ...letters.map((letter, i) =>
        html(
          "button",
          {
            type: "button",
            class: letter === STOP && "attn-stop",
            "aria-label": letter === STOP && "end",
            onpointerenter: () => onpick(i),
            onpointerleave: () => onpick(null),
            onblur: () => onpick(null),
            onfocus: () => {
              go(i);
              onpick(i);
            },
          },
          letter,
        ),
      ),
    );
    go(0);
  };
  node.mark = (i) => {
    Array.from(node.children).forEach((button, j) => {
      button.classList.toggle("attn-selected", j === i);
    });
  };
  return node;
}

function render({ model, el }) {
  const id = uniqueId("date");
  const input = html("input", {
    id,
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 1000,
    oninput: () => ask(input.value),
  });
  const buttons = model.get("examples").map(([lang, name, text]) => pushButton(name, () => ask(text), { lang }));
  const letters = letterRow((i) => select(i));
  const chart = html("div", { class: "attn-chart" });
  const legend = html("p", { class: "attn-hint" });
  const notes = remarks();
  const state = words();
  const root = widget(
    el,
    "date-translator",
    "Date translator",
    challenge(model),
    html("label", { for: id, class: "attn-control" }, "Type a date in words, in any of seventeen languages"),
    html("div", { class: "attn-control" }, input),
    html("div", { class: "attn-examples attn-control", role: "group", "aria-label": "Examples" }, ...buttons),
    notes,
    letters,
    chart,
    legend,
    state,
  );

  let [shown, map, width] = [null, null, 0];
  const zoo = zooModel(model, root, update);

  const ask = (text) => setTraits(model, { text });

  function select(i) {
    if (!shown || !map) return;
    map.select(i);
    letters.mark(i);
    state.say(i === null ? summary() : looked(shown, shown.letters, shown.source, i));
  }

  function summary() {
    const how = "Point at a letter, or go to it with Tab and the arrow keys, to see where the model looked.";
    return `It read “${shown.text}” and wrote ${shown.output || "nothing"}. ${how}`;
  }

  function drawMap() {
    if (!shown || !width) return;
    const columns = shown.source.map((c) => {
      if (c === STOP || c === " ") return { text: c === " " ? "␣" : c, name: "attn-quiet" };
      return model.get("alphabet").includes(c) ? { text: c } : { text: "▯", name: "attn-unknown" };
    });
    const most = (i) => quoted(shown.source[argmax(shown.weights[i])]);
    const tops = shown.letters.map((letter, i) => `${quoted(letter)}: ${most(i)}`).join("; ");
    const label = `Alignment: each written character and the source character with its largest weight. ${tops}`;
    map = heatmap({ rows: shown.letters, columns, weights: shown.weights, width, label, onrow: select });
    chart.replaceChildren(map);
  }

  function show(result) {
    const ended = result.weights.length > Array.from(result.output).length;
    shown = { ...result, letters: [...result.output, ...(ended ? [STOP] : [])], source: [...result.text, STOP] };
    Object.assign(root.dataset, { text: result.text, output: result.output });
    letters.draw(shown.letters);
    legend.textContent =
      "Each row is a character that the model wrote, each column one that it read (␣ is a space, ∎ the end). The " +
      `stronger the colour, the more weight, from 0 to 1; an even look would give every column ${fixed(1 / shown.source.length, 2)}.`;
    drawMap();
    state.say(summary());
    if (model.get("output") !== result.output) setTraits(model, { output: result.output });
  }

  function clear(text) {
    shown = map = null;
    Object.assign(root.dataset, { text: "", output: "" });
    letters.draw([]);
    chart.replaceChildren();
    legend.textContent = "";
    state.say(text);
  }

  function update() {
    if (input.value !== model.get("text")) input.value = model.get("text");
    const characters = Array.from(normalise(model.get("text")));
    const text = characters.slice(0, model.get("limit")).join("");
    const example = model.get("example");
    const lines = cautions(characters, model.get("alphabet"), model.get("limit"), model.get("trained_length"));
    if (!text) {
      notes.say();
      clear("Type a date, and it will be translated here.");
    } else if (shown && shown.text === text) {
      notes.say(...lines); // it stands there already: leave letters and focus alone
    } else if (zoo.net) {
      notes.say(...lines);
      show(translate(zoo.net, text, model.get("alphabet"), model.get("target")));
    } else if (text === example.text) {
      notes.say(...lines);
      show(example);
    } else {
      notes.say(zoo.wait());
      clear("");
    }
  }

  const stop = onWidth(chart, (now) => {
    width = now;
    drawMap();
  });
  const ends = [stop, follow(model, ["text"], update)];
  update();
  return together(ends);
}

export default { render };
