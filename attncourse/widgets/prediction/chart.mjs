// Guess and measurement in one small plot.

import { html, svg } from "../lib/dom.mjs";
import { fixed } from "../lib/text.mjs";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [340, 224, 40, 12, 24, 40];

const brief = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

/** Where a place of the x-axis and a value lie, and the axes around them. */
function frame({ low, high, places, axes }, label, role) {
  const x = (i) => LEFT + 8 + (i * (WIDTH - LEFT - RIGHT - 24)) / (places.length - 1);
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const node = svg("svg", { class: "attn-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role, "aria-label": label });
  for (const value of [low, (low + high) / 2, high]) {
    node.append(svg("line", { class: "attn-rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }));
    node.append(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, brief(value)));
  }
  const every = Math.ceil(places.length / 7); // more labels than that would touch each other
  places.forEach((place, i) => {
    const at = { x: x(i), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" };
    if (i % every === 0) node.append(svg("text", at, place));
  });
  node.append(svg("text", { x: 2, y: 12 }, axes[1]));
  node.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, axes[0]));
  return { node, x, y };
}

function path(values, { x, y }) {
  return values.map((value, i) => `${i ? "L" : "M"}${x(i)} ${y(value)}`).join("");
}

/** A curve that the reader draws, by dragging or with the arrow keys; `node.values()` and `node.put(values)`. */
export function drawnCurve(asked) {
  const { low, high, decimals, places, axes } = asked;
  const scale = frame(asked, `${axes[1]} by ${axes[0]}: draw your curve`, "group");
  const { node, x, y } = scale;
  const values = places.map(() => (low + high) / 2);
  const line = svg("path", { class: "attn-yours" });
  const handles = places.map((place, i) => {
    const said = { role: "slider", "aria-label": `${axes[1]} at ${axes[0]} ${place}`, "aria-orientation": "vertical" };
    const range = { "aria-valuemin": low, "aria-valuemax": high };
    return svg("circle", { class: "attn-handle", r: 7, cx: x(i), tabindex: 0, ...said, ...range });
  });
  const set = (i, value) => {
    values[i] = Number(Math.max(low, Math.min(high, value)).toFixed(decimals));
    handles[i].setAttribute("cy", y(values[i]));
    handles[i].setAttribute("aria-valuenow", values[i]);
    handles[i].setAttribute("aria-valuetext", fixed(values[i], decimals));
    line.setAttribute("d", path(values, scale));
  };
  node.classList.add("attn-drawn");
  node.append(line, ...handles);
  node.values = () => [...values];
  node.put = (next) => next.forEach((value, i) => void set(i, value));
  node.put(values);
  draggedCurve(node, scale, asked, set);
  keyedCurve(handles, asked, values, set);
  return node;
}

/** The pointer draws through the columns: each takes the height at which the pointer passes it. */
function draggedCurve(node, { x }, { low, high, places }, set) {
  let last = null;
  const toValue = (event) => {
    const box = node.getBoundingClientRect();
    const at = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    const column = Math.round(((at[0] - x(0)) / (x(places.length - 1) - x(0))) * (places.length - 1));
    const share = (HEIGHT - BOTTOM - at[1]) / (HEIGHT - TOP - BOTTOM);
    return [Math.max(0, Math.min(places.length - 1, column)), low + share * (high - low)];
  };
  const draw = (event) => {
    const [column, value] = toValue(event);
    const [from, start] = last ?? [column, value];
    const steps = Math.abs(column - from);
    for (let k = 0; k <= steps; k++) {
      const share = steps ? k / steps : 1;
      if (k || !last || !steps) set(from + Math.sign(column - from) * k, start + share * (value - start));
    }
    last = [column, value];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    node.setPointerCapture(event.pointerId);
    event.preventDefault();
    last = null;
    draw(event);
  });
  node.addEventListener("pointermove", (event) => last && draw(event));
  for (const end of ["pointerup", "pointercancel"])
    node.addEventListener(end, () => {
      last = null;
    });
}

function keyedCurve(handles, { low, high, step }, values, set) {
  const moves = {
    ArrowUp: (value) => value + 5 * step,
    ArrowDown: (value) => value - 5 * step,
    PageUp: (value) => value + 20 * step,
    PageDown: (value) => value - 20 * step,
    Home: () => low,
    End: () => high,
  };
  handles.forEach((handle, i) => {
    handle.addEventListener("keydown", (event) => {
      const beside = { ArrowLeft: handles[i - 1], ArrowRight: handles[i + 1] }[event.key];
      if (moves[event.key]) set(i, moves[event.key](values[i]));
      else if (beside) beside.focus();
      else return;
      event.preventDefault();
    });
  });
}

/** Both curves; told apart by dashes and by the shape of their points, not by colour alone. */
export function bothCurves(asked, guess) {
  const { places, axes, answer, decimals } = asked;
  const pairs = places.map(
    (place, i) => `at ${place} you said ${fixed(guess[i], decimals)}, measured ${fixed(answer[i], decimals)}`,
  );
  const scale = frame(asked, `${axes[1]} by ${axes[0]}: ${pairs.join("; ")}.`, "img");
  const { node, x, y } = scale;
  node.append(svg("path", { class: "attn-measured", d: path(answer, scale) }));
  node.append(svg("path", { class: "attn-yours", d: path(guess, scale) }));
  answer.forEach((value, i) => {
    node.append(svg("rect", { class: "attn-square", x: x(i) - 4, y: y(value) - 4, width: 8, height: 8 }));
  });
  guess.forEach((value, i) => {
    node.append(svg("circle", { class: "attn-handle", r: 4, cx: x(i), cy: y(value) }));
  });
  const key = html("p", { class: "attn-mark" }, "○ dashed: your guess · ■ solid: measured");
  return html("div", {}, node, key);
}

/** Both numbers on one line, from the slider's one end to the other. */
export function bothNumbers({ low, high, unit, answer, measured, decimals }, guess) {
  const x = (value) => 8 + ((value - low) / (high - low)) * (WIDTH - 16);
  const anchor = (value) => (x(value) < 60 ? "start" : x(value) > WIDTH - 60 ? "end" : "middle");
  const write = (value, y, text) => svg("text", { x: x(value), y, "text-anchor": anchor(value) }, text);
  const label = `${unit || "value"} from ${low} to ${high}: you said ${fixed(guess, decimals)}, measured ${measured}.`;
  const node = svg("svg", { class: "attn-chart", viewBox: `0 0 ${WIDTH} 72`, role: "img", "aria-label": label });
  node.append(svg("line", { class: "attn-rule", x1: x(low), x2: x(high), y1: 30, y2: 30 }));
  for (const end of [low, high])
    node.append(svg("line", { class: "attn-rule", x1: x(end), x2: x(end), y1: 24, y2: 36 }));
  node.append(svg("rect", { class: "attn-square", x: x(answer) - 5, y: 25, width: 10, height: 10 }));
  node.append(svg("circle", { class: "attn-handle", r: 5, cx: x(guess), cy: 30 }));
  node.append(write(guess, 15, `○ you: ${fixed(guess, decimals)}`), write(answer, 51, `■ measured: ${measured}`));
  node.append(write(low, 68, brief(low)), write(high, 68, brief(high)));
  return node;
}
