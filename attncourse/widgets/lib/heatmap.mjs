import { svg } from "./dom.mjs";
import "./marks.css";
import "./heatmap.css";

/**
 * Weights as a heatmap that wraps like a line of text: where the columns do not fit into `width`, they go on in a
 * further band. `node.select(i)` shows one row's weights on the heads of the columns; null: all rows alike.
 * @param {object} options
 * @param {string[]} options.rows what is written
 * @param {{ text: string, name?: string }[]} options.columns what is read; `name` is a class
 * @param {number[][]} options.weights
 * @param {number} options.width
 * @param {string} options.label
 * @param {(i: number | null) => void} [options.onrow] told which row is pointed at
 */
export function heatmap({ rows, columns, weights, width, label, onrow }) {
  const gutter = 28;
  const room = Math.max(20, width - gutter);
  const bands = columns.length * 16 <= room ? 1 : Math.ceil(columns.length / Math.floor(room / 20));
  const perBand = Math.ceil(columns.length / bands);
  const cell = Math.min(26, Math.floor(room / perBand));
  const height = cell * (rows.length + 1) + 18; // of a band and the space below it
  const size = { width: gutter + cell * perBand, height: height * bands - 12 };
  const viewBox = `0 0 ${size.width} ${size.height}`;
  const node = svg("svg", { class: "attn-heatmap", viewBox, ...size, role: "img", "aria-label": label });
  for (let from = 0, top = 0; from < columns.length; from += perBand, top += height) {
    const to = Math.min(columns.length, from + perBand);
    node.append(...band({ rows, columns, weights, from, to, top, cell, gutter }));
  }
  node.select = (selected) => selectRow(node, weights, selected);
  node.addEventListener("pointerover", (event) => {
    const line = event.target.closest(".attn-row");
    if (line) onrow?.(Number(line.dataset.row));
  });
  node.addEventListener("pointerleave", () => onrow?.(null));
  return node;
}

function band({ rows, columns, weights, from, to, top, cell, gutter }) {
  const at = (column) => gutter + cell * (column - from);
  const body = top + cell + 4;
  const inside = Array.from({ length: to - from }, (_, i) => from + i);
  const text = (content, x, y, name) =>
    svg("text", { x, y: y + cell / 2, class: name, "font-size": Math.round(cell * 0.62) }, content);
  const head = (column) => {
    const place = { x: at(column), y: top, width: cell - 1, height: cell, rx: 3 };
    const name = text(columns[column].text, at(column) + cell / 2 - 0.5, top, columns[column].name);
    const shade = svg("rect", { ...place, "fill-opacity": 0 });
    return svg("g", { class: "attn-column", "data-column": column }, shade, name);
  };
  const square = (i, column) => {
    const weight = weights[i][column];
    const place = { x: at(column), y: body + cell * i, width: cell - 1, height: cell - 1, rx: 2 };
    const data = { "data-row": i, "data-column": column, "data-weight": weight };
    return svg("rect", { class: "attn-cell", ...place, "fill-opacity": weight.toFixed(3), ...data });
  };
  const line = (name, i) => {
    const place = { x: 0, y: body + cell * i, width: at(to), height: cell };
    const touch = svg("rect", { class: "attn-touch", ...place });
    const title = text(name, gutter / 2, body + cell * i, "attn-name");
    const squares = inside.map((column) => square(i, column));
    return svg("g", { class: "attn-row", "data-row": i }, touch, title, ...squares);
  };
  const ground = { x: gutter, y: body, width: cell * (to - from), height: cell * rows.length };
  return [...inside.map(head), svg("rect", { class: "attn-ground", ...ground }), ...rows.map(line)];
}

function selectRow(node, weights, selected) {
  node.classList.toggle("attn-selecting", selected !== null);
  for (const line of node.querySelectorAll(".attn-row")) {
    line.classList.toggle("attn-selected", Number(line.dataset.row) === selected);
    line.classList.toggle("attn-past", selected !== null && Number(line.dataset.row) < selected);
  }
  for (const head of node.querySelectorAll(".attn-column")) {
    const weight = selected === null ? 0 : weights[selected][head.dataset.column];
    head.firstChild.setAttribute("fill-opacity", weight.toFixed(3));
    head.classList.toggle("attn-inverse", weight > 0.5);
  }
}
