import { challenge } from "../lib/challenge.mjs";
import { html, onWidth, svg, uniqueId, widget } from "../lib/dom.mjs";
import { radios } from "../lib/radios.mjs";
import { follow, together } from "../lib/traits.mjs";
import { words } from "../lib/words.mjs";
import "./widget.css";

const [UNIT, ROW, LEFT, TOP] = [65, 38, 68, 34];
const NARROW = 620; // pixels: below this the map stands upright

// Where a mechanism is built: in the book its page lies beside this one, in Jupyter its notebook does. Elsewhere
// (Colab, an editor) nobody knows where the other notebooks are, so there is no link.
function linkTo({ page, section }) {
  const place = section ? `#${section}` : "";
  if (document.documentElement.dataset.content_root !== undefined) return `${page}.html${place}`;
  return /\/(lab|tree|notebooks)(\/|$)/.test(location.pathname) ? `${page}.ipynb${place}` : null;
}

// A curve from the edge of one box to the edge of another, later or on the same day
function curve(from, to) {
  const level = Math.abs(from.y - to.y) < 1.2 * ROW && to.x - to.half > from.x + from.half;
  const down = to.y > from.y ? 1 : -1;
  const [x1, y1] = level ? [from.x + from.half, from.y] : [from.x, from.y + 13 * down];
  const [x2, y2] = level ? [to.x - to.half - 5, to.y] : [to.x, to.y - 18 * down];
  const bend = level ? [(x2 - x1) / 3, 0] : [0, (y2 - y1) / 2];
  return `M${x1},${y1} C${x1 + bend[0]},${y1 + bend[1]} ${x2 - bend[0]},${y2 - bend[1]} ${x2},${y2}`;
}

const half = (n) => 12 + n.short.length * 3.4;
const label = (name, x, y, text) => svg("text", { class: name, x, y }, text);

// Time from left to right, a lane for each part of the course -> where everything is, and the scenery
function lying(nodes, lanes, years) {
  const at = nodes.map((n) => [n.name, { x: LEFT + n.x * UNIT, y: TOP + n.y * ROW, half: half(n) }]);
  const [width, floor] = [LEFT + 10 * UNIT + 42, TOP + Math.max(...nodes.map((n) => n.y)) * ROW + 26];
  const base = svg("line", { x1: 0, x2: width, y1: floor, y2: floor, class: "attn-base" });
  const ticks = years.flatMap(([year, place]) => {
    const x = LEFT + place * UNIT;
    const tick = svg("line", { x1: x, x2: x, y1: floor, y2: floor + 5, class: "attn-base" });
    return [tick, label("attn-year", x, floor + 18, year)];
  });
  const names = lanes.map(([name, y]) => label("attn-lane", 2, TOP + y * ROW - 20, name));
  return { at: Object.fromEntries(at), size: [width, floor + 22], scenery: [...names, base, ...ticks] };
}

// For a phone: time from top to bottom, one mechanism per row; a lane is a place between left and right
function upright(nodes, lanes, width) {
  const [gutter, at, scenery, seen] = [40, {}, [], new Set()];
  const among = (n) => lanes.findLastIndex(([, top]) => n.y >= top);
  let [y, year] = [12, 0];
  for (const n of nodes) {
    const [lane, room] = [among(n), width - gutter - 4];
    const wide = half(n);
    const x = gutter + wide + (lane / (lanes.length - 1)) * (room - 2 * wide);
    if (!seen.has(lane)) {
      y += 16;
      const end = lane > 2 ? "attn-end" : "";
      scenery.push(label(`attn-lane ${end}`, lane > 2 ? x + wide : x - wide, y - 18, lanes[lane][0]));
    }
    seen.add(lane);
    if (n.year !== year) scenery.push(label("attn-year attn-start", 0, y + 4, n.year));
    year = n.year;
    at[n.name] = { x, y, half: wide };
    y += 36;
  }
  return { at, size: [width, y - 12], scenery };
}

function picture(model, pick, room) {
  const [nodes, lanes, years] = ["nodes", "lanes", "years"].map((name) => model.get(name));
  const { at, size, scenery } = room < NARROW ? upright(nodes, lanes, room) : lying(nodes, lanes, years);
  const head = uniqueId("head");
  const arrow = svg(
    "marker",
    {
      id: head,
      viewBox: "0 0 6 6",
      refX: 1,
      refY: 3,
      markerWidth: 6,
      markerHeight: 6,
      orient: "auto",
      markerUnits: "userSpaceOnUse",
    },
    svg("path", { d: "M0,0 L6,3 L0,6 z" }),
  );
  const node = svg(
    "svg",
    {
      viewBox: `0 0 ${size.join(" ")}`,
      role: "radiogroup",
      class: "attn-family-map",
      "aria-label": "Mechanisms in the order of time",
    },
    svg("defs", {}, arrow),
  );
  const edges = nodes.flatMap((n) =>
    n.took.map(([giver]) => {
      const path = svg("path", { d: curve(at[giver], at[n.name]), class: "attn-edge", "marker-end": `url(#${head})` });
      node.append(path);
      return { path, ends: [giver, n.name] };
    }),
  );
  node.append(...scenery);
  const marks = nodes.map((n) => {
    const { x, y, half: wide } = at[n.name];
    const box = svg("rect", { x: x - wide, y: y - 13, width: 2 * wide, height: 26, rx: 6 });
    const enabled = () => group.getAttribute("aria-disabled") === "false";
    const hard = n.kinds.read.includes("hard") ? "attn-hard" : "";
    const group = svg(
      "g",
      {
        class: `attn-node attn-${n.kinds["looks at"][0] || "none"} ${hard}`,
        role: "radio",
        "aria-label": `${n.name}, ${n.year}`,
        "data-name": n.name,
        onclick: () => enabled() && pick(n.name),
      },
      box,
      svg("text", { x, y }, n.short),
    );
    node.append(group);
    return { group, name: n.name };
  });
  node.draw = (selected, left) => {
    const stop = left.includes(selected) ? selected : left[0]; // one stop for Tab; arrows go on from there
    marks.forEach(({ group, name }) => {
      group.setAttribute("aria-checked", name === selected);
      group.setAttribute("tabindex", name === stop ? 0 : -1);
      group.setAttribute("aria-disabled", !left.includes(name));
    });
    edges.forEach(({ path, ends }) => {
      path.classList.toggle("attn-near", ends.includes(selected));
      path.classList.toggle("attn-out", !ends.every((name) => left.includes(name)));
    });
  };
  node.focusOn = (name) => marks.find((mark) => mark.name === name).group.focus({ preventScroll: false });
  return node;
}

function sentence(node, nodes, properties) {
  const kinds = properties.flatMap(([name]) => node.kinds[name]).join(", ");
  const took = node.took.map(([giver, what]) => `${what} from ${giver}`).join("; ");
  const gave = nodes
    .filter((n) => n.took.some(([giver]) => giver === node.name))
    .map((n) => n.name)
    .join("; ");
  return (
    `${node.name}, ${node.year}: ${node.adds}. ${kinds ? `Kind: ${kinds}. ` : ""}` +
    `${took ? `It took ${took}. ` : ""}${gave ? `Taken up by ${gave}.` : ""}`
  );
}

function render({ model, el }) {
  const nodes = model.get("nodes");
  const change = (name, value) => {
    model.set(name, value);
    model.save_changes();
  };
  const properties = model.get("properties");
  const filters = properties.map(([property, options]) => {
    const choices = [["all", "all"], ...options.map((word) => [word, word])];
    const group = radios(property, choices, (word) => {
      const { [property]: _, ...rest } = model.get("filters");
      change("filters", word === "all" ? rest : { ...rest, [property]: word });
      const left = matching();
      if (left.length && !left.includes(model.get("selected"))) change("selected", left[0]);
    });
    return { property, group };
  });
  const matching = () => {
    const wanted = Object.entries(model.get("filters"));
    return nodes.filter((n) => wanted.every(([name, word]) => n.kinds[name].includes(word))).map((n) => n.name);
  };
  const stage = html("div", { class: "attn-family-stage" });
  let map = null;
  const [count, link] = [html("p", { class: "attn-count", role: "status" }), html("p", { class: "attn-where" })];
  const state = words();
  const hint = html(
    "p",
    { class: "attn-hint attn-control" },
    "Choose a mechanism, or go through them with the arrow keys. An arrow means that an idea is in both and was in the ",
    "earlier one first. A dashed outline is hard; a blue one looks at items, an orange one at places.",
  );
  const root = widget(
    el,
    "family",
    "The family of attention: a map that can be filtered",
    challenge(model),
    hint,
    html("div", { class: "attn-filters attn-control" }, ...filters.map((f) => f.group)),
    stage,
    count,
    state,
    link,
  );

  stage.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const left = matching();
    if (!step || !left.length || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const here = left.indexOf(model.get("selected"));
    const next = left[here < 0 ? 0 : (here + step + left.length) % left.length];
    change("selected", next);
    map.focusOn(next);
  });
  const draw = () => {
    const [left, selected] = [matching(), nodes.find((n) => n.name === model.get("selected"))];
    for (const { property, group } of filters) group.choose(model.get("filters")[property] || "all");
    map?.draw(selected.name, left);
    const counted =
      left.length === nodes.length
        ? `${nodes.length} mechanisms.`
        : `${left.length} of ${nodes.length} mechanisms${left.length ? `: ${left.join("; ")}` : " fit: none is all of this at once"}.`;
    if (count.textContent !== counted) count.textContent = counted; // else a screen reader would repeat it
    state.say(sentence(selected, nodes, properties));
    const [href, where] = [linkTo(selected), `Chapter ${selected.chapter} builds it`];
    const inside = href ? html("a", { href, ...(href.includes(".ipynb") ? { target: "_blank" } : {}) }, where) : where;
    link.replaceChildren(inside, ".");
    root.dataset.matching = JSON.stringify(left);
  };
  const lay = (width) => {
    map = picture(model, (name) => change("selected", name), width);
    stage.replaceChildren(map);
    draw();
  };
  draw();
  return together([onWidth(stage, lay), follow(model, ["selected", "filters"], draw)]);
}

export default { render };
