// Elements, and the root of every explorable.

import "./look.css";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "markup")
      node.innerHTML = value; // only for HTML that the Python side made
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes onclick and the like are listeners; true is an attribute without a value
 * @param {...(Node | string)} children
 */
export function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** As html(). */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/**
 * The root of an explorable: its class `attn-widget` carries the shared look. Plain keys stay inside: in JupyterLab
 * an arrow would go to the next cell, Enter would open an editor.
 */
export function widget(el, name, label, ...children) {
  const keep = (event) => event.ctrlKey || event.metaKey || event.altKey || event.stopPropagation();
  const attributes = { role: "group", "aria-label": label, "data-lm-suppress-shortcuts": true, onkeydown: keep };
  const root = html("div", { class: `attn-widget attn-${name}`, ...attributes }, ...children);
  el.append(root);
  return root;
}

let serial = 0;
export function uniqueId(stem) {
  serial += 1;
  return `attn-${stem}-${serial}-${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * Calls draw(width) now and whenever the node's width changes.
 * @returns {() => void} ends it
 */
export function onWidth(node, draw) {
  let last = 0;
  const look = () => {
    const width = Math.floor(node.getBoundingClientRect().width);
    if (!width || width === last) return;
    last = width;
    draw(width);
  };
  const observer = new ResizeObserver(look);
  observer.observe(node);
  return () => observer.disconnect();
}

/** Arrow keys: onstep([right, up], shift) with steps of −1, 0 or 1. */
export function arrows(node, onstep) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  node.addEventListener("keydown", (event) => {
    if (!steps[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onstep(steps[event.key], event.shiftKey);
  });
}
