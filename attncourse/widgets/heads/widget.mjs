import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, svg, uniqueId, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { remarks } from "../lib/remarks.mjs";
import { argmax, concat, linear, pick, row, upTo } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits, together } from "../lib/traits.mjs";
import { feedForward, layerNorm, memorise, multiHead, plus } from "../lib/transformer.mjs";
import { words } from "../lib/words.mjs";
import { zooModel } from "../lib/zoo.mjs";
import "../lib/marks.css";
import "./widget.css";

const [BEGIN, END, UNKNOWN] = [1, 2, 3]; // as attncourse.tasks.text; PAD is 0
const [START, STOP] = ["▷", "∎"]; // how BEGIN and END are shown
const KINDS = {
  encoder: "encoder: source to source",
  decoder: "decoder: written to written",
  cross: "cross: written to source",
};

// ---- the Transformer, as attncourse.mechanisms.transformer; a matrix is its rows laid end to end ----

export function positions(places, d) {
  const out = new Float32Array(places.length * d);
  places.forEach((p, i) => {
    for (let e = 0; e < d; e += 2) {
      const angle = p * 10000 ** (-e / d);
      out[i * d + e] = Math.sin(angle);
      out[i * d + e + 1] = Math.cos(angle);
    }
  });
  return out;
}

function embed(ids, table, start = 0) {
  const d = table.shape[1];
  const where = positions(
    ids.map((_, i) => start + i),
    d,
  );
  const what = concat(...ids.map((id) => row(table, id)));
  return what.map((x, i) => x * Math.sqrt(d) + where[i]);
}

const addAndNorm = (x, y, p) => layerNorm(plus(x, y), p);

function encoderLayer(x, p, heads) {
  const attention = pick(p, "attention");
  const { out, maps } = multiHead(x, memorise(x, attention), attention, heads);
  x = addAndNorm(x, out, pick(p, "residuals.0.norm"));
  return { x: addAndNorm(x, feedForward(x, p), pick(p, "residuals.1.norm")), maps };
}

// One position more; `past` grows by its key and value
function decoderLayer(x, p, past, source, heads) {
  const [itself, cross] = [pick(p, "itself"), pick(p, "cross")];
  const { keys, values } = memorise(x, itself);
  Object.assign(past, { keys: concat(past.keys, keys), values: concat(past.values, values) });
  const back = multiHead(x, past, itself, heads);
  x = addAndNorm(x, back.out, pick(p, "residuals.0.norm"));
  const look = multiHead(x, source, cross, heads);
  x = addAndNorm(x, look.out, pick(p, "residuals.1.norm"));
  return { x: addAndNorm(x, feedForward(x, p), pick(p, "residuals.2.norm")), back: back.maps, look: look.maps };
}

// Greedy, as attncourse.zoo.translation.translate -> text, and the weights of every layer and head
export function translate(p, text, { english, french, layers, heads }) {
  const [from, to] = [english.split(" "), french.split(" ")];
  const ids = [...text.split(" ").map((word) => from.indexOf(word) + UNKNOWN + 1), END];
  const stack = (name) => upTo(layers).map((l) => pick(p, `${name}.layers.${l}`));
  let x = embed(ids, p["encoder.embed.table.weight"]);
  const encoder = stack("encoder").map((layer) => {
    const done = encoderLayer(x, layer, heads);
    x = done.x;
    return done.maps;
  });
  const table = p["decoder.embed.table.weight"];
  const empty = () => ({ keys: new Float32Array(0), values: new Float32Array(0) });
  const below = stack("decoder").map((layer) => ({ layer, past: empty(), source: memorise(x, pick(layer, "cross")) }));
  const [decoder, cross] = [0, 1].map(() => upTo(layers).map(() => upTo(heads).map(() => [])));
  const symbols = [];
  while (symbols[symbols.length - 1] !== END && symbols.length < 2 * ids.length) {
    let y = embed([symbols.length ? symbols[symbols.length - 1] : BEGIN], table, symbols.length);
    below.forEach(({ layer, past, source }, l) => {
      const done = decoderLayer(y, layer, past, source, heads);
      y = done.x;
      for (const h of upTo(heads)) {
        decoder[l][h].push(done.back[h][0]);
        cross[l][h].push(done.look[h][0]);
      }
    });
    symbols.push(argmax(linear(y, table)));
  }
  const pad = (line) => [...line, ...Array(symbols.length - line.length).fill(0)]; // the future has no weight
  const square = decoder.map((layer) => layer.map((map) => map.map(pad)));
  const output = symbols.filter((s) => s !== END).map((s) => (s > UNKNOWN ? to[s - UNKNOWN - 1] : "\ufffd"));
  return { text, output: output.join(" "), maps: { encoder, decoder: square, cross } };
}

// ---- the page ----

function picture(map, rows, columns, chosen, label) {
  const [cell, left, top] = [28, 96, 78];
  const size = { width: left + cell * columns.length + 40, height: top + cell * rows.length + 4 };
  const node = svg("svg", {
    class: "attn-heads-map",
    viewBox: `0 0 ${size.width} ${size.height}`,
    role: "img",
    style: `max-width:${size.width}px`,
    "aria-label": label,
  });
  columns.forEach((text, j) => {
    const [x, y] = [left + cell * (j + 0.5), top - 8];
    node.append(svg("text", { x, y, transform: `rotate(-55 ${x} ${y})` }, text));
  });
  node.append(
    svg("rect", { class: "attn-ground", x: left, y: top, width: cell * columns.length, height: cell * rows.length }),
  );
  rows.forEach((text, i) => {
    const name = i === chosen ? "attn-end attn-here" : "attn-end";
    node.append(svg("text", { x: left - 6, y: top + cell * (i + 0.65), class: name }, text));
    map[i].forEach((w, j) => {
      const place = { x: left + cell * j, y: top + cell * i, width: cell - 1, height: cell - 1, rx: 2 };
      node.append(svg("rect", { class: "attn-cell", ...place, "fill-opacity": w.toFixed(3) }));
    });
  });
  node.append(
    svg("rect", {
      class: "attn-frame",
      x: left - 1,
      y: top + cell * chosen - 1,
      rx: 3,
      width: cell * columns.length + 1,
      height: cell + 1,
    }),
  );
  return node;
}

function thumbnail(map) {
  const [m, n] = [map.length, map[0].length];
  const cells = map.flatMap((line, i) =>
    line.flatMap((w, j) =>
      w < 0.02
        ? []
        : [svg("rect", { class: "attn-cell", x: j, y: i, width: 1, height: 1, "fill-opacity": w.toFixed(2) })],
    ),
  );
  return svg("svg", { viewBox: `0 0 ${n} ${m}`, "aria-hidden": "true", preserveAspectRatio: "none" }, ...cells);
}

// All maps of one kind, a row for each layer: radio buttons with a picture
function grid(maps, onpick) {
  const name = uniqueId("head");
  const node = html("fieldset", { class: "attn-heads-grid attn-control" }, html("legend", {}, "layer and head"));
  node.style.setProperty("--heads", maps[0].length);
  maps.forEach((layer, l) => {
    layer.forEach((map, h) => {
      const input = html("input", { type: "radio", name, value: `${l}.${h}`, onchange: () => onpick(l, h) });
      node.append(
        html("label", {}, input, html("span", {}, thumbnail(map), html("small", {}, `layer ${l + 1} head ${h + 1}`))),
      );
    });
  });
  node.choose = (value) => {
    for (const input of node.querySelectorAll("input")) input.checked = input.value === value;
  };
  return node;
}

// What the browser offers while one types: the text so far with every word that the last one could become
function offer(list, text, vocabulary) {
  const [, before, last] = text.toLowerCase().match(/^(.*?)(\S*)$/s);
  const fits = last ? vocabulary.filter((word) => word.startsWith(last) && word !== last).slice(0, 12) : [];
  list.replaceChildren(...fits.map((word) => html("option", { value: before + word })));
}

// How many letters to change, add or drop (Levenshtein)
function apart(a, b) {
  let line = upTo(b.length + 1);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(Math.min(line[j + 1] + 1, next[j] + 1, line[j] + Number(a[i] !== b[j])));
    line = next;
  }
  return line[b.length];
}

// The known word that is most like this one, or null where none is: letters that differ count against it, a common
// beginning counts for it
export function likeliest(word, vocabulary) {
  const begin = (known) => upTo(known.length + 1).findLast((n) => word.startsWith(known.slice(0, n)));
  const off = vocabulary.map((known) => apart(word, known) - begin(known) / 2);
  const best = argmax(off.map((x) => -x));
  return off[best] <= word.length / 2 ? vocabulary[best] : null;
}

function faults(sentence, vocabulary, limit, trained, typing) {
  const last = sentence.length - 1;
  const unfinished = (word, i) => typing && i === last && vocabulary.some((known) => known.startsWith(word));
  const unknown = sentence.filter((word) => !vocabulary.includes(word));
  const strange = [...new Set(sentence.filter((word, i) => unknown.includes(word) && !unfinished(word, i)))];
  return {
    stop: unknown.length > 0,
    say: strange.map((word) => {
      const like = likeliest(word, vocabulary);
      const help = like ? `Did you mean “${like}”?` : "The list below has all the words that it knows.";
      return `The grammar does not know “${word}”. ${help}`;
    }),
    warn: [
      sentence.length > limit && `Only the first ${limit} of ${sentence.length} words are read.`,
      sentence.length > trained &&
        `The model was trained on at most ${trained} words: it has never seen the positions beyond that.`,
    ].filter(Boolean),
  };
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const vocabulary = get("english").split(" ");
  const [id, listId] = [uniqueId("sentence"), uniqueId("words")];
  const list = html("datalist", { id: listId });
  const input = html("input", {
    id,
    type: "text",
    list: listId,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    maxlength: 400,
    oninput: () => change({ text: input.value }),
  });
  const examples = get("examples").map((text) =>
    pushButton(`${text.split(" ").slice(0, 4).join(" ")} …`, () => change({ text })),
  );
  const append = (word) => () => change({ text: `${get("text").trim()} ${word}`.trim() });
  const glossary = html(
    "details",
    { class: "attn-control" },
    html("summary", {}, "all the words that the grammar knows"),
    html("div", { class: "attn-glossary" }, ...vocabulary.map((word) => pushButton(word, append(word)))),
  );
  const notes = remarks();
  const written = html("p", { class: "attn-written", lang: "fr" });
  const kinds = radios("attention", Object.entries(KINDS), (kind) => change({ kind, row: 0 }));
  const [heads, stage, rows] = [html("div", {}), html("div", {}), html("div", {})];
  const state = words();
  const root = widget(
    el,
    "heads",
    "Heads: a live Transformer with all its weights",
    challenge(model),
    html("label", { for: id, class: "attn-control" }, "Write an English sentence with words that the grammar knows"),
    html("div", { class: "attn-control" }, input, list),
    html("div", { class: "attn-examples attn-control", role: "group", "aria-label": "Examples" }, ...examples),
    glossary,
    notes,
    written,
    kinds,
    heads,
    rows,
    stage,
    state,
  );

  let [shown, drawn] = [null, ""];
  const zoo = zooModel(model, root, update);

  // The selectors are made anew for another sentence or kind only: a choice must not lose the focus
  function draw() {
    if (!shown) return;
    const kind = get("kind");
    const maps = shown.maps[kind];
    const source = [...shown.text.split(" "), STOP];
    const target = shown.output ? shown.output.split(" ") : [];
    const steps = shown.maps.cross[0][0].length;
    const writes = [...target, STOP].slice(0, steps);
    const lines = kind === "encoder" ? source : writes;
    const columns = kind === "decoder" ? [START, ...target].slice(0, steps) : source;
    const [layer, head, i] = [
      Math.min(get("layer"), maps.length - 1),
      Math.min(get("head"), maps[0].length - 1),
      Math.min(get("row"), lines.length - 1),
    ];
    const key = `${kind} ${shown.text} ${shown.output}`;
    if (drawn !== key) {
      drawn = key;
      heads.replaceChildren(grid(maps, (l, h) => change({ layer: l, head: h })));
      const legend = kind === "encoder" ? "word that looks" : "word that is written";
      rows.replaceChildren(
        radios(
          legend,
          lines.map((word, t) => [String(t), word]),
          (t) => change({ row: Number(t) }),
        ),
      );
    }
    kinds.choose(kind);
    heads.firstChild.choose(`${layer}.${head}`);
    rows.firstChild.choose(String(i));
    const map = maps[layer][head];
    const most = Array.from(map[i].keys())
      .sort((a, b) => map[i][b] - map[i][a])
      .slice(0, 3);
    const looked = most
      .filter((j) => map[i][j] >= 0.05)
      .map((j) => `“${columns[j]}” ${fixed(map[i][j], 2)}`)
      .join(", ");
    const doing = kind === "encoder" ? `“${lines[i]}” looks at` : `to write “${lines[i]}” the model looks at`;
    const text = `${KINDS[kind]}, layer ${layer + 1}, head ${head + 1}: ${doing} ${looked || "everything a little"}.`;
    stage.replaceChildren(picture(map, lines, columns, i, text));
    state.say(
      `It read “${shown.text}” and wrote “${shown.output}”. ${text} (${START} is the beginning, ${STOP} the end.)`,
    );
  }

  function show(result) {
    shown = result;
    root.result = result;
    Object.assign(root.dataset, { text: result.text, output: result.output });
    written.replaceChildren(
      html("span", { class: "attn-hidden", lang: "en" }, "Translation: "),
      result.output || "(nothing)",
    );
    draw();
    if (get("output") !== result.output) change({ output: result.output });
  }

  function clear(text) {
    [shown, drawn] = [null, ""];
    Object.assign(root.dataset, { text: "", output: "" });
    for (const node of [written, heads, rows, stage]) node.replaceChildren();
    state.say(text);
  }

  function update() {
    if (input.value !== get("text")) input.value = get("text");
    offer(list, input.value, vocabulary);
    const sentence = get("text").toLowerCase().split(/\s+/).filter(Boolean);
    const text = sentence.slice(0, get("limit")).join(" ");
    const typing = document.activeElement === input && !/\s$/.test(input.value); // its last word is not yet wrong
    const { stop, say, warn } = faults(sentence, vocabulary, get("limit"), get("trained_length"), typing);
    if (!text || stop) {
      notes.say(...say);
      clear(
        text
          ? "It will translate as soon as it knows every word."
          : "Write a sentence, and it will be translated here.",
      );
    } else if (shown && shown.text === text) {
      notes.say(...warn);
    } else if (zoo.net) {
      notes.say(...warn);
      show(
        translate(zoo.net, text, {
          english: get("english"),
          french: get("french"),
          layers: get("layers"),
          heads: get("heads"),
        }),
      );
    } else if (text === get("example").text) {
      notes.say(...warn);
      show(get("example"));
    } else {
      notes.say(zoo.wait());
      clear("");
    }
  }

  const ends = [follow(model, ["kind", "layer", "head", "row"], draw), follow(model, ["text"], update)];
  update();
  return together(ends);
}

export default { render };
