import { arrows, html } from "./dom.mjs";
import "./pen.css";

/**
 * A pen over a field of size × size pixels: pointer, touch, and arrow keys with space as the switch.
 * @param {number} size
 * @param {(from: number[], to: number[]) => void} onstroke
 * @param {() => void} onend
 */
export function drawingPen(size, onstroke, onend) {
  let [at, down, drawing] = [[size / 2, size / 2], false, null];
  const label = "pen: arrow keys move it, with shift further; space sets it down or lifts it";
  const said = { "aria-label": label, "aria-roledescription": "pen", "aria-valuemin": 0, "aria-valuemax": size };
  const nib = html("span", { class: "attn-nib" });
  const node = html("div", { class: "attn-pen", tabindex: 0, role: "slider", ...said }, nib);
  const tell = () => {
    const [x, y] = at.map(Math.round);
    node.setAttribute("aria-valuenow", x);
    node.setAttribute("aria-valuetext", `column ${x}, row ${y}, pen ${down ? "down" : "up"}`);
    node.classList.toggle("attn-down", down);
    nib.style.left = `${(100 * at[0]) / size}%`;
    nib.style.top = `${(100 * at[1]) / size}%`;
  };
  const place = (event) => {
    const box = node.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * size, ((event.clientY - box.top) / box.height) * size];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    node.setPointerCapture(event.pointerId);
    node.focus({ preventScroll: true });
    event.preventDefault();
    at = drawing = place(event);
    onstroke(at, at);
    tell();
  });
  node.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    at = place(event);
    onstroke(drawing, at);
    drawing = at;
    tell();
  });
  const lift = () => {
    if (!drawing) return;
    drawing = null;
    onend();
  };
  node.addEventListener("pointerup", lift);
  node.addEventListener("pointercancel", lift);
  const strokeBy = (from) => {
    if (!down) return;
    onstroke(from, at);
    onend();
  };
  arrows(node, ([dx, dy], big) => {
    const from = at;
    at = [from[0] + dx * (big ? 4 : 1), from[1] - dy * (big ? 4 : 1)].map((x) => Math.max(0, Math.min(size, x)));
    strokeBy(from);
    tell();
  });
  node.addEventListener("keydown", (event) => {
    if (event.key !== " ") return;
    event.preventDefault();
    down = !down;
    strokeBy(at);
    tell();
  });
  tell();
  return node;
}

/**
 * A line of ink from one place to another, soft at its edge; where there is ink already the stronger stays.
 * @param {Uint8Array} pixels size × size
 * @param {number} size
 * @param {number} nib the pen's radius, up to 1.5 pixels
 */
export function inkLine(pixels, size, nib, [x0, y0], [x1, y1]) {
  const steps = Math.max(1, Math.ceil(2 * Math.hypot(x1 - x0, y1 - y0)));
  for (let t = 0; t <= steps; t++) {
    const [x, y] = [x0 + ((x1 - x0) * t) / steps, y0 + ((y1 - y0) * t) / steps];
    for (let r = Math.max(0, Math.floor(y - 2)); r <= Math.min(size - 1, y + 2); r++)
      for (let c = Math.max(0, Math.floor(x - 2)); c <= Math.min(size - 1, x + 2); c++) {
        const ink = Math.max(0, Math.min(1, nib + 0.5 - Math.hypot(c + 0.5 - x, r + 0.5 - y)));
        pixels[r * size + c] = Math.max(pixels[r * size + c], Math.round(255 * ink));
      }
  }
}
