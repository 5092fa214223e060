import { pushButton } from "../lib/button.mjs";
import { challenge } from "../lib/challenge.mjs";
import { html, svg, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { numberSlider } from "../lib/slider.mjs";
import { softmax } from "../lib/tensor.mjs";
import { fixed } from "../lib/text.mjs";
import { follow, setTraits } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "../lib/marks.css";
import "./widget.css";

// As luong.attend_window: a softmax over the positions within the radius, then the Gaussian with σ = radius / 2
function look(scores, centre, radius) {
  const distance = scores.map((_, s) => s - centre);
  const before = softmax(
    scores,
    distance.map((d) => Math.abs(d) <= radius),
  );
  const after = before.map((w, s) => w * Math.exp(-2 * (distance[s] / radius) ** 2));
  return { before, after, inside: distance.map((d) => Math.abs(d) <= radius) };
}

// One column per source word: the outline is the weight before the Gaussian, the filled bar what is left of it
function picture({ english }) {
  const [width, height, foot] = [54, 130, 40];
  const size = english.length;
  const x = (s) => (s + 0.5) * width;
  const node = svg("svg", { viewBox: `0 0 ${width * size} ${height + foot}`, role: "img", class: "attn-window-bars" });
  const pane = svg("rect", { y: 2, height: height - 2, class: "attn-pane" });
  const bell = svg("polyline", { class: "attn-bell" });
  const middle = svg("line", { y1: 2, y2: height, class: "attn-mark-line" });
  node.append(pane, svg("line", { x1: 0, x2: width * size, y1: height, y2: height, class: "attn-base" }));
  const columns = english.map((word, s) => {
    const bar = svg("rect", { x: x(s) - 15, width: 30, class: "attn-cell" });
    const frame = svg("rect", { x: x(s) - 15, width: 30, class: "attn-before" });
    const low = s % 2 ? 32 : 16;
    const name = svg("text", { x: x(s), y: height + low }, word);
    node.append(bar, frame, name);
    return { bar, frame, name };
  });
  node.append(bell, middle);
  const place = (rect, tall) => {
    rect.setAttribute("y", height - tall);
    rect.setAttribute("height", tall);
  };
  node.draw = ({ before, after, inside }, centre, radius, gold, label) => {
    columns.forEach(({ bar, frame, name }, s) => {
      place(bar, after[s] * (height - 8));
      place(frame, before[s] * (height - 8));
      bar.dataset.weight = after[s];
      name.setAttribute(
        "class",
        [gold.includes(s) ? "attn-gold" : "", inside[s] ? "" : "attn-outside"].join(" ").trim(),
      );
    });
    const [left, right] = [x(centre - radius), x(centre + radius)];
    pane.setAttribute("x", Math.max(0, left));
    pane.setAttribute("width", Math.max(0, Math.min(width * size, right) - Math.max(0, left)));
    middle.setAttribute("x1", x(centre));
    middle.setAttribute("x2", x(centre));
    const points = Array.from({ length: 41 }, (_, i) => centre + radius * (i / 20 - 1));
    const tall = (s) => height - (height - 8) * Math.exp(-2 * ((s - centre) / radius) ** 2);
    bell.setAttribute("points", points.map((s) => `${x(s).toFixed(1)},${tall(s).toFixed(1)}`).join(" "));
    node.setAttribute("aria-label", label);
  };
  return node;
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const change = (traits) => setTraits(model, traits);
  const own = (sentence, word) => ({
    sentence,
    word,
    centre: get("sentences")[sentence].centres[word],
    radius: get("own_radius"),
  });
  const choices = get("sentences").map((s, i) => [String(i), s.english.slice(0, -1).join(" ")]);
  const pick = radios("sentence", choices, (i) => change(own(Number(i), 1)));
  const chosen = html("div", {});
  const centre = numberSlider("centre pₜ", [0, 1, 0.1], (value) => change({ centre: value }));
  const radius = numberSlider("radius D", [1, get("widest"), 1], (value) => change({ radius: value }));
  const reset = pushButton("where the model looks", () => change(own(get("sentence"), get("word"))), {
    class: "attn-link attn-control",
  });
  const stage = html("div", {
    class: "attn-window-stage",
    tabindex: 0,
    role: "region",
    "aria-label": "weights of the source words",
  });
  const state = words();
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Choose the French word that is written next, then move the window. The outlines are the softmax over the window, ",
    "the filled bars what the Gaussian curve leaves of it. Underlined is the word that it really comes from.",
  );
  const root = widget(
    el,
    "window",
    "Window: local-p attention over a sentence",
    challenge(model),
    hint,
    pick,
    chosen,
    stage,
    html("div", { class: "attn-window-controls" }, centre, radius, reset),
    state,
  );
  let [shown, picture_, word] = [-1, null, null];

  const build = (sentence) => {
    word = radios(
      "French word that is written",
      sentence.french.map((w, t) => [String(t), w]),
      (t) => change(own(get("sentence"), Number(t))),
    );
    picture_ = picture(sentence);
    chosen.replaceChildren(word);
    stage.replaceChildren(picture_);
  };
  const draw = () => {
    const [i, t, p, D] = ["sentence", "word", "centre", "radius"].map(get);
    const sentence = get("sentences")[i];
    if (t >= sentence.french.length || p > sentence.english.length) return; // the other traits are on their way
    if (i !== shown) build(sentence);
    shown = i;
    const result = look(sentence.scores[t], p, D);
    const sum = result.after.reduce((a, b) => a + b, 0);
    const best = result.after.indexOf(Math.max(...result.after));
    const lost = sentence.gold[t].filter((s) => !result.inside[s]).map((s) => sentence.english[s]);
    const right = sentence.gold[t].includes(best);
    const text =
      `For “${sentence.french[t]}”, with pₜ = ${fixed(p, 1)} (the model's own choice is ${fixed(sentence.centres[t], 1)}) ` +
      `and D = ${D}, the largest weight, ${fixed(result.after[best], 2)}, is on “${sentence.english[best]}”, ` +
      `which is ${right ? "" : "not "}where it comes from. The weights sum to ${fixed(sum, 2)}.` +
      (lost.length ? ` The window misses “${lost.join("”, “")}”, where it does come from.` : "");
    pick.choose(String(i));
    word.choose(String(t));
    centre.choose(p, fixed(p, 1), sentence.english.length);
    radius.choose(D);
    picture_.draw(result, p, D, sentence.gold[t], text);
    root.dataset.weights = Array.from(result.after).join(" ");
    state.say(text);
  };
  draw();
  return follow(model, ["sentence", "word", "centre", "radius"], draw);
}

export default { render };
