import { arrows } from "./dom.mjs";
import { fixed } from "./text.mjs";
import "./marks.css";
import "./point.css";

/**
 * A point that pointer, touch and arrow keys move; `node.tell(position)` says where it is. Two coordinates in one
 * `slider`: the role with which a screen reader hands over the arrow keys; aria-valuetext says both.
 * @param {SVGElement} node
 * @param {object} options
 * @param {string} options.label
 * @param {number} options.extent the point stays this near to `centre`
 * @param {() => number[]} options.get
 * @param {(position: number[]) => void} options.set
 * @param {(event: PointerEvent) => number[]} options.toPlane
 */
export function draggable(node, { label, extent, centre = 0, get, set, toPlane, step = 0.05, bigStep = 0.25 }) {
  const [low, high] = [centre - extent, centre + extent];
  const clamp = (x) => Math.max(low, Math.min(high, Math.round(100 * x) / 100));
  const move = (position) => set(position.map(clamp));
  const said = { "aria-label": label, "aria-roledescription": "point in the plane" };
  const attributes = { tabindex: 0, role: "slider", ...said, "aria-valuemin": low, "aria-valuemax": high };
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.classList.add("attn-point");
  let grip = null; // from the pointer to the point's centre: it does not jump when taken off-centre
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    const [from, at] = [get(), toPlane(event)];
    grip = [from[0] - at[0], from[1] - at[1]];
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    event.preventDefault();
  });
  node.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = toPlane(event);
    move([at[0] + grip[0], at[1] + grip[1]]);
  });
  const release = () => {
    grip = null;
  };
  node.addEventListener("pointerup", release);
  node.addEventListener("pointercancel", release);
  arrows(node, (direction, big) => move(get().map((x, i) => x + direction[i] * (big ? bigStep : step))));
  node.tell = ([x, y]) => {
    node.setAttribute("aria-valuenow", x);
    node.setAttribute("aria-valuetext", `x ${fixed(x, 2)}, y ${fixed(y, 2)}`);
  };
}
