import { html, svg } from "./dom.mjs";
import { plane, planeGrid } from "./plane.mjs";
import { draggable } from "./point.mjs";
import { rgb } from "./text.mjs";
import "./query_among_keys.css";

// Paints colourAt([x, y]) over the plane, as a small picture that the browser smooths
function paintField(image, extent, colourAt, size = 40) {
  const canvas = html("canvas", { width: size, height: size });
  const picture = canvas.getContext("2d");
  const pixels = picture.createImageData(size, size);
  const place = (i) => ((i + 0.5) / size - 0.5) * 2 * extent;
  for (let i = 0; i < size * size; i++) {
    const colour = colourAt([place(i % size), -place(Math.floor(i / size))]);
    pixels.data.set([...Array.from(colour, (c) => 255 * c), 255], 4 * i);
  }
  picture.putImageData(pixels, 0, 0);
  image.setAttribute("href", canvas.toDataURL());
}

/**
 * A query and keys that can be moved: the traits extent, query, key_vectors and values of a model. `draw` shows one
 * result of attend(), `paint(read)` what a query at each place would read, `rebuild` new colours.
 * @param {(trait: string, value: number[] | number[][]) => void} change
 */
export function queryAmongKeys(model, change) {
  const extent = model.get("extent");
  const { node, toPixel, toPlane } = plane(extent, "Plane with a query and keys");
  const field = svg("image", { width: 400, height: 400, preserveAspectRatio: "none", class: "attn-field" });
  const lines = svg("g", { class: "attn-lines" });
  const points = svg("g", {});
  node.append(field, planeGrid(extent), lines, points);
  const handle = (shape, name, label, get, set) => {
    const point = svg("g", { class: name }, ...shape);
    draggable(point, { label, extent, toPlane, get, set });
    return point;
  };
  const touch = (r) => svg("circle", { r, class: "attn-touch" }); // a finger needs more than the mark
  const diamond = { x: -13, y: -13, width: 26, height: 26, rx: 4, transform: "rotate(45)" };
  const keyAt = (i) => {
    const circle = svg("circle", { r: 13, fill: rgb(model.get("values")[i]) });
    const get = () => model.get("key_vectors")[i];
    const moved = (position) => model.get("key_vectors").map((key, j) => (j === i ? position : key));
    const set = (position) => change("key_vectors", moved(position));
    return handle([touch(22), circle, svg("text", {}, i + 1)], "attn-key", `key ${i + 1}`, get, set);
  };
  const query = handle(
    [touch(24), svg("rect", diamond), svg("text", {}, "q")],
    "attn-query",
    "query",
    () => model.get("query"),
    (position) => change("query", position),
  );
  let keys = [];
  const rebuild = () => {
    keys = model.get("key_vectors").map((_, i) => keyAt(i));
    lines.replaceChildren(...keys.map((_, i) => svg("line", { stroke: rgb(model.get("values")[i]) })));
    points.replaceChildren(...keys, query);
  };
  const place = (point, position) => {
    const [x, y] = toPixel(position);
    point.setAttribute("transform", `translate(${x} ${y})`);
    point.tell(position);
    return [x, y];
  };
  const draw = (position, { weights, context }) => {
    if (keys.length !== weights.length) rebuild();
    const [x1, y1] = place(query, position);
    query.children[1].setAttribute("fill", rgb(context));
    keys.forEach((key, i) => {
      const [x2, y2] = place(key, model.get("key_vectors")[i]);
      const line = { x1, y1, x2, y2, "stroke-width": (1 + 15 * weights[i]).toFixed(2) };
      for (const [name, value] of Object.entries(line)) lines.children[i].setAttribute(name, value);
    });
  };
  const paint = (read) => paintField(field, extent, (position) => read(position).context);
  return { node, draw, paint, rebuild };
}
