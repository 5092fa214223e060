import { challenge } from "../lib/challenge.mjs";
import { html, svg, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "../lib/marks.css";
import "./widget.css";

const STEP = 28;

// A word's row of the matrix (whom it looks at) or its column (who looks at it), from thousandths
function look(matrix, word, side, unit) {
  return matrix.map((row, i) => (side === "row" ? matrix[word][i] : row[word]) / unit);
}

// Over how many words is the look spread? exp of the entropy: 1 = a single one, T = all alike
function spread(weights) {
  const sum = weights.reduce((a, b) => a + b, 0);
  return Math.exp(-weights.reduce((h, w) => (w > 0 ? h + (w / sum) * Math.log(w / sum) : h), 0));
}

function thumbnail(matrix, unit, label) {
  const size = matrix.length;
  const node = svg("svg", { viewBox: `0 0 ${size} ${size}`, class: "attn-thumb", "aria-hidden": "true" });
  const cell = (share, i, j) =>
    svg("rect", { x: j, y: i, width: 1, height: 1, class: "attn-cell", "fill-opacity": share.toFixed(2) });
  matrix.forEach((row, i) => {
    row.forEach((w, j) => {
      if (w / unit >= 0.03) node.append(cell(w / unit, i, j));
    });
  });
  return html("span", { class: "attn-head" }, node, html("small", {}, label));
}

// Two columns of words with lines between them: on the left who looks, on the right at whom
function board(names, onword) {
  const size = names.length;
  const buttons = names.map((name, i) =>
    html(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        onmouseenter: () => onword(i),
        onfocus: () => onword(i),
        onclick: () => onword(i),
      },
      name,
    ),
  );
  const move = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -size, End: size }[event.key];
    if (!by) return;
    event.preventDefault();
    buttons[Math.min(size - 1, Math.max(0, buttons.indexOf(event.target) + by))].focus();
  };
  const heads = [html("b", {}, ""), html("b", {}, "")];
  const lines = svg("svg", {
    viewBox: `0 0 100 ${STEP * size}`,
    preserveAspectRatio: "none",
    class: "attn-looks",
    style: `height: ${STEP * size}px`,
    "aria-hidden": "true",
  });
  const rows = names.map((name) => {
    const [number, bar] = [html("output", {}), html("i", {})];
    return { number, bar, node: html("li", {}, bar, html("span", {}, name), number) };
  });
  const node = html(
    "div",
    { class: "attn-who-board" },
    heads[0],
    html("span", {}),
    heads[1],
    html("div", { class: "attn-who-words", role: "group", "aria-label": "words", onkeydown: move }, ...buttons),
    lines,
    html("ol", { class: "attn-who-seen" }, ...rows.map((row) => row.node)),
  );
  node.draw = (weights, word, side) => {
    const y = (i) => STEP * (i + 0.5);
    heads[0].textContent = side === "row" ? "looks" : "is looked at";
    heads[1].textContent = side === "row" ? "at" : "by";
    buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(i === word));
    });
    lines.replaceChildren(
      ...weights.map((w, i) =>
        svg("line", {
          x1: 0,
          y1: y(word),
          x2: 100,
          y2: y(i),
          "stroke-width": (0.5 + 9 * w).toFixed(2),
          "stroke-opacity": (w < 0.005 ? 0 : 0.25 + 0.75 * w).toFixed(2),
        }),
      ),
    );
    rows.forEach(({ number, bar, node: item }, i) => {
      bar.style.width = `${(100 * weights[i]).toFixed(1)}%`;
      number.textContent = fixed(weights[i], 2);
      item.classList.toggle("attn-strong", weights[i] >= 0.2);
    });
  };
  return node;
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const all = get("sentences");
  const pick = radios(
    "sentence",
    all.map((s, i) => [String(i), s.words.slice(0, -1).join(" ")]),
    (i) => change({ word: 1, sentence: Number(i) }),
  );
  const side = radios(
    "for the word you point at",
    [
      ["row", "whom it looks at"],
      ["column", "who looks at it"],
    ],
    (value) => change({ side: value }),
  );
  const gallery = html("div", { class: "attn-who-heads", style: `--heads: ${all[0].maps[0].length}` });
  const [stage, state] = [html("div", {}), words()];
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Choose a head, then point at a word, or move with Tab and the arrow keys. Each small matrix is one head: its rows ",
    "look, its columns are looked at. The dot · is the end of the sentence.",
  );
  const root = widget(
    el,
    "who",
    "Who looks at whom: heads of a trained encoder",
    challenge(model),
    hint,
    pick,
    gallery,
    side,
    stage,
    state,
  );
  let [shown, heads, picture] = [-1, null, null];

  const build = (sentence) => {
    const options = sentence.maps.flatMap((layer, l) =>
      layer.map((matrix, h) => [`${l}:${h}`, thumbnail(matrix, get("unit"), `layer ${l + 1}, head ${h + 1}`)]),
    );
    heads = radios("head", options, (value) => {
      const [layer, head] = value.split(":").map(Number);
      change({ layer, head });
    });
    picture = board(sentence.words, (word) => word !== get("word") && change({ word }));
    gallery.replaceChildren(heads);
    stage.replaceChildren(picture);
  };
  const draw = () => {
    const [i, layer, head, word, way] = ["sentence", "layer", "head", "word", "side"].map(get);
    const sentence = all[i];
    if (word >= sentence.words.length) return;
    if (i !== shown) build(sentence);
    shown = i;
    const weights = look(sentence.maps[layer][head], word, way, get("unit"));
    const order = weights
      .map((w, j) => [w, j])
      .sort((a, b) => b[0] - a[0])
      .slice(0, 3)
      .filter(([w]) => w >= 0.05);
    const most = order.map(([w, j]) => `“${sentence.words[j]}” (${fixed(w, 2)})`).join(", ");
    const sum = weights.reduce((a, b) => a + b, 0);
    const text =
      `Layer ${layer + 1}, head ${head + 1}: “${sentence.words[word]}” ` +
      (way === "row"
        ? `looks at ${most}; the look is spread over ${fixed(spread(weights), 1)} of ${weights.length} places.`
        : `is looked at by ${most || "hardly anybody"}; the looks add up to ${fixed(sum, 2)}.`);
    pick.choose(String(i));
    heads.choose(`${layer}:${head}`);
    side.choose(way);
    picture.draw(weights, word, way);
    Object.assign(root.dataset, { side: way, weights: weights.join(" ") });
    state.say(text);
  };
  draw();
  return follow(model, ["sentence", "layer", "head", "word", "side"], draw);
}

export default { render };
