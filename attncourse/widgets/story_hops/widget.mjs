import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, dot, mix, row, softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "./widget.css";

const UNKNOWN = 3; // as attncourse.tasks.text: words count from 4

// ---- MemN2N, as attncourse.mechanisms.memn2n ----

// sum_j l_j ∘ table[word_j], with l_kj = (1 - j/J) - (k/d)(1 - 2j/J); j and k count from 1
export function encode(table, ids) {
  const [J, d] = [ids.length, table.shape[1]];
  const sum = new Float32Array(d);
  ids.forEach((id, at) => {
    const share = (at + 1) / J;
    row(table, id).forEach((x, k) => {
      sum[k] += x * (1 - share - ((k + 1) / d) * (1 - 2 * share));
    });
  });
  return sum;
}

// sentences and question as texts -> the weights of every hop, and the probability of every word
export function read(tensors, vocabulary, sentences, question) {
  const ids = new Map(vocabulary.map((word, i) => [word, i + UNKNOWN + 1]));
  const numbers = (text) => text.split(" ").map((word) => ids.get(word) ?? UNKNOWN);
  const hops = Object.keys(tensors).filter((name) => name.startsWith("words.")).length - 1;
  const memory = Array.from({ length: hops + 1 }, (_, k) =>
    sentences.map((text, i) => {
      const time = row(tensors[`times.${k}.weight`], sentences.length - 1 - i);
      return encode(tensors[`words.${k}.weight`], numbers(text)).map((x, n) => x + time[n]);
    }),
  );
  let query = encode(tensors["words.0.weight"], numbers(question));
  const weights = [];
  for (let k = 0; k < hops; k++) {
    weights.push(softmax(memory[k].map((key) => dot(query, key))));
    const found = mix(weights[k], memory[k + 1]);
    query = query.map((u, n) => u + found[n]);
  }
  const table = tensors[`words.${hops}.weight`];
  const chances = softmax(Array.from({ length: table.shape[0] }, (_, id) => dot(query, row(table, id))));
  return { weights: weights.map((w) => Array.from(w)), chance: (word) => chances[ids.get(word)] };
}

// ---- the page ----

const told = (story, order) => (order.length ? order : story.sentences.map((_, i) => i));

function shuffled(order) {
  const mixed = [...order];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

// One row per sentence, one column per hop; the sentences that are left out stand below, so that they can come back
function table(story, order, asked, weights, ontoggle) {
  const hops = weights.length;
  const facts = asked.facts;
  const gone = story.sentences.map((_, i) => i).filter((i) => !order.includes(i));
  const mark = (i) =>
    facts.includes(i)
      ? html("abbr", { class: "attn-fact", title: "a supporting fact" }, `◆${facts.indexOf(i) + 1}`)
      : "";
  const line = (i, cells, out) =>
    html(
      "tr",
      { class: out && "attn-out", "data-sentence": i },
      html(
        "th",
        { scope: "row" },
        html(
          "button",
          { type: "button", "aria-pressed": String(!out), onclick: () => ontoggle(i) },
          story.sentences[i],
        ),
        mark(i),
      ),
      ...cells,
    );
  // the number must be readable on its ground in both looks: no ground of middling strength
  const ground = (w) => (w > 0.65 ? 0.85 + 0.43 * (w - 0.65) : 0.75 * w).toFixed(3);
  const cell = (w) =>
    html(
      "td",
      { class: w > 0.65 && "attn-inverse" },
      html("i", { style: `opacity:${ground(w)}` }),
      html("span", {}, fixed(w, 2)),
    );
  const head = html(
    "tr",
    {},
    html("th", { scope: "col" }, "the story, as it is told"),
    ...weights.map((_, k) => html("th", { scope: "col" }, `hop ${k + 1}`)),
  );
  return html(
    "table",
    { class: "attn-hops" },
    html("thead", {}, head),
    html(
      "tbody",
      {},
      ...order.map((i, at) =>
        line(
          i,
          weights.map((w) => cell(w[at])),
        ),
      ),
      ...gone.map((i) => line(i, [html("td", { colspan: hops }, "left out")], true)),
    ),
  );
}

function bars(places, answers, truth) {
  return html(
    "ul",
    { class: "attn-answers", "aria-label": "answers and their probabilities" },
    ...places.map((place, i) =>
      html(
        "li",
        { class: place === truth && "attn-truth" },
        html("span", {}, place),
        html("b", {}, html("i", { style: `width:${(100 * answers[i]).toFixed(1)}%` })),
        html("output", {}, fixed(answers[i], 2)),
      ),
    ),
  );
}

function inWords(story, order, asked, weights, places, answers, whole) {
  const looks = weights.map((w, k) => {
    const at = argmax(w);
    return `hop ${k + 1} at “${story.sentences[order[at]]}” (${fixed(w[at], 2)})`;
  });
  const best = argmax(answers);
  const truth = !whole
    ? " You have changed the story, so there is no right answer to compare with."
    : places[best] === asked.answer
      ? " That is right."
      : ` It should be ${asked.answer}.`;
  return (
    `Asked “${asked.text}?”, it looks most in ${looks.join(", in ")}. ` +
    `The answer is ${places[best]} (${fixed(answers[best], 2)}).${truth}`
  );
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const all = get("stories");
  const story = radios(
    "story",
    all.map((_, i) => [String(i), String(i + 1)]),
    (i) => change({ order: [], story: Number(i) }),
  );
  const questions = html("div", { class: "attn-questions" });
  const [stage, notes, state] = [html("div", {}), remarks(), words()];
  const mixing = pushButton("shuffle the sentences", () =>
    change({ order: shuffled(told(all[get("story")], get("order"))) }),
  );
  const back = pushButton("as it happened", () => change({ order: [] }));
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Click a sentence to leave it out or to bring it back. ◆ marks the supporting facts in the order in which you need " +
      "them; the network was never told which they are.",
  );
  const root = widget(
    el,
    "story-hops",
    "A story, hop by hop",
    challenge(model),
    hint,
    story,
    questions,
    html(
      "div",
      { class: "attn-buttons attn-control", role: "group", "aria-label": "order of the sentences" },
      mixing,
      back,
    ),
    notes,
    stage,
    state,
  );
  let [shown, picker] = [-1, null];
  const zoo = zooModel(model, root, draw);

  function compute(i, q, order, asked) {
    const example = get("example");
    const same = example.story === i && example.question === q && example.order.join() === get("order").join();
    if (same) return example;
    if (!zoo.net) return null;
    const sentences = order.map((n) => all[i].sentences[n]);
    const found = read(zoo.net, get("vocabulary").split(" "), sentences, asked.text);
    return { weights: found.weights, answers: get("places").map(found.chance) };
  }

  function toggle(i, order) {
    const told = order.includes(i) ? order.filter((n) => n !== i) : [...order, i].sort((a, b) => a - b);
    if (!told.length) return state.say("One sentence has to stay, or there would be nothing to look at.");
    const whole = told.length === all[get("story")].sentences.length && told.every((n, at) => n === at);
    change({ order: whole ? [] : told });
    return stage.querySelector(`[data-sentence="${i}"] button`)?.focus();
  }

  function draw() {
    const [i, q] = [get("story"), get("question")];
    const order = told(all[i], get("order"));
    const asked = all[i].questions[q];
    if (!asked || order.some((n) => n >= all[i].sentences.length)) return;
    if (shown !== i) {
      picker = radios(
        "question",
        all[i].questions.map((x, n) => [String(n), `${x.text}?`]),
        (n) => change({ question: Number(n) }),
      );
      questions.replaceChildren(picker);
      shown = i;
    }
    story.choose(String(i));
    picker.choose(String(q));
    const found = compute(i, q, order, asked);
    notes.say(...(found ? [] : [zoo.wait()]));
    if (!found) return state.say("");
    const whole = get("order").length === 0;
    const truth = whole ? asked.answer : null;
    stage.replaceChildren(
      html("p", { class: "attn-asked" }, `${asked.text}?`),
      table(all[i], order, whole ? asked : { facts: [] }, found.weights, (n) => toggle(n, order)),
      bars(get("places"), found.answers, truth),
    );
    Object.assign(root.dataset, {
      shown: `${i} ${q} ${order.join()}`,
      answers: found.answers.join(" "),
      weights: found.weights.map((w) => w.join(" ")).join(";"),
    });
    state.say(inWords(all[i], order, asked, found.weights, get("places"), found.answers, whole));
  }

  draw();
  return follow(model, ["story", "question", "order"], draw);
}

export default { render };
