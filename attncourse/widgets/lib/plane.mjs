import { svg } from "./dom.mjs";
import { fixed } from "./text.mjs";
import "./plane.css";

/**
 * A square of the plane, `extent` to each side of [centre, centre], in an SVG of 400 units that scales with its
 * container.
 */
export function plane(extent, label, centre = 0) {
  const unit = 200 / extent;
  const node = svg("svg", { class: "attn-plane", viewBox: "0 0 400 400", role: "group", "aria-label": label });
  const toPixel = ([x, y]) => [200 + unit * (x - centre), 200 - unit * (y - centre)];
  const toPlane = (event) => {
    const box = node.getBoundingClientRect();
    const along = (at, from, size) => ((at - from) / size - 0.5) * 2 * extent;
    return [centre + along(event.clientX, box.left, box.width), centre - along(event.clientY, box.top, box.height)];
  };
  return { node, toPixel, toPlane };
}

/** Axes and a line for every whole number of a plane around the origin. */
export function planeGrid(extent) {
  const unit = 200 / extent;
  const grid = svg("g", { class: "attn-grid" });
  for (let i = Math.ceil(-extent); i <= extent; i++) {
    const [at, name] = [200 + unit * i, i ? null : "attn-axis"];
    grid.append(svg("line", { x1: at, x2: at, y1: 0, y2: 400, class: name }));
    grid.append(svg("line", { y1: at, y2: at, x1: 0, x2: 400, class: name }));
    if (!i || Math.abs(i) >= extent) continue;
    grid.append(svg("text", { x: at, y: 214 }, fixed(i, 0)));
    grid.append(svg("text", { x: 192, y: 400 - at + 4, class: "attn-end" }, fixed(i, 0)));
  }
  return grid;
}
