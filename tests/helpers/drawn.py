"""What is wrong with a drawing, measured in a browser: texts that touch, arrows that end nowhere, words that are too
small or too pale."""

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>drawings</title><link rel="icon" href="data:,">
<style>
:root { --pst-color-text-base: #222832; --pst-color-background: #fff; }
:root.dark { --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; }
body { margin: 0; padding: 12px; background: var(--pst-color-background, #fff); }
</style><main>DRAWINGS</main></html>"""

# All in the units of the drawing. A text's box is cut to its letters; outlines are followed point by point.
GEOMETRY = """svg => {
  const found = { texts: [], lines: [], ends: [], outside: [] };
  const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim().replace("\\u200b", ""));
  const letters = (t) => {
    const { x, y, width, height } = t.getBBox();
    return { x: x - 1, y: y + 0.2 * height, width: width + 2, height: 0.66 * height };
  };
  const boxes = texts.map((t) => [t, letters(t)]);
  const name = (t) => t.textContent.replaceAll("\\u200b", "");
  const { width, height } = svg.viewBox.baseVal;
  for (const [t, b] of boxes) {
    if (b.x < 0 || b.y < 0 || b.x + b.width > width || b.y + b.height > height) found.outside.push(name(t));
  }
  boxes.forEach(([t, a], i) => {
    for (const [u, b] of boxes.slice(i + 1)) {
      const apart = a.x + a.width < b.x || b.x + b.width < a.x || a.y + a.height < b.y || b.y + b.height < a.y;
      if (!apart) found.texts.push(`${name(t)} | ${name(u)}`);
    }
  });
  const shapes = [...svg.querySelectorAll("rect, circle, path")].filter(
    (s) => !s.closest("defs, .scale, .inside") && !s.matches(".ground, .inner, .hatch, .fork circle"),
  );
  const outline = (s) => {
    const whole = s.getTotalLength(), n = Math.max(2, Math.ceil(whole / 1.5));
    return Array.from({ length: n + 1 }, (_, i) => s.getPointAtLength((whole * i) / n));
  };
  const outlines = shapes.map((s) => [s, outline(s)]);
  const hidden = (s, p) => // by what was painted later
    shapes.some(
      (u) =>
        s.compareDocumentPosition(u) & Node.DOCUMENT_POSITION_FOLLOWING &&
        getComputedStyle(u).fill !== "none" &&
        u.isPointInFill(Object.assign(svg.createSVGPoint(), { x: p.x, y: p.y })),
    );
  for (const [t, b] of boxes) {
    if (t.closest(".badge")) continue;
    for (const [s, points] of outlines) {
      const inside = (p) => p.x > b.x && p.x < b.x + b.width && p.y > b.y && p.y < b.y + b.height;
      const hit = points.find((p) => inside(p) && !hidden(s, p));
      if (hit) found.lines.push(`${name(t)} at ${hit.x.toFixed()},${hit.y.toFixed()}`);
    }
  }
  for (const [s, points] of outlines.filter(([s]) => s.hasAttribute("marker-end") && !s.closest(".reads, .rail"))) {
    const end = points.at(-1), reach = s.getAttribute("marker-end").includes("broad") ? 13 : 5;
    const near = outlines.some(
      ([u, others]) =>
        u !== s && !u.matches(".line") && others.some((p) => Math.hypot(p.x - end.x, p.y - end.y) <= reach),
    );
    if (!near) found.ends.push(`${end.x.toFixed()},${end.y.toFixed()}`);
  }
  return found;
}"""

# How large each text is on the screen, and its contrast with what is painted behind its middle.
LOOK = """svg => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour, under) => {
    canvas.globalCompositeOperation = "source-over";
    canvas.fillStyle = `rgb(${under.join(" ")})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => {
    const [r, g, b] = c.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opacity = (node) => (node === svg ? 1 : Number(getComputedStyle(node).opacity) * opacity(node.parentNode));
  const faded = (colour, node, under) => {
    const over = rgb(colour, under), o = opacity(node) * Number(getComputedStyle(node).fillOpacity);
    return under.map((u, i) => u + (over[i] - u) * o);
  };
  const scale = svg.getScreenCTM().a;
  const paper = rgb(getComputedStyle(svg).backgroundColor, [255, 255, 255]);
  const all = [...svg.querySelectorAll("rect, circle, path")];
  const fillers = all.filter((s) => !s.closest("defs") && !s.matches(".hatch"));
  const leaves = [...svg.querySelectorAll("text")].flatMap((t) => [t, ...t.querySelectorAll("tspan")]);
  return leaves
    .filter((t) => [...t.childNodes].some((n) => n.nodeType === 3 && n.data.replace("\\u200b", "").trim()))
    .map((t) => {
      const style = getComputedStyle(t), whole = t.closest("text"), { x, y, width, height } = whole.getBBox();
      const middle = Object.assign(svg.createSVGPoint(), { x: x + width / 2, y: y + height / 2 });
      let behind = paper;
      for (const s of fillers) {
        const before = s.compareDocumentPosition(whole) & Node.DOCUMENT_POSITION_FOLLOWING;
        const fill = getComputedStyle(s).fill;
        if (before && fill !== "none" && s.isPointInFill(middle)) behind = faded(fill, s, behind);
      }
      const [a, b] = [light(faded(style.fill, t, behind)), light(behind)];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return { words: t.textContent, pixels: parseFloat(style.fontSize) * scale, contrast };
    });
}"""


def touching(page, selector="svg.attn-diagram"):
    """Texts that touch each other, a line or the edge; arrows that end nowhere."""
    found = page.locator(selector).first.evaluate(GEOMETRY)
    return [f"{kind}: {what}" for kind, all in found.items() for what in all]


def unreadable(page, selector="svg.attn-diagram", smallest=0.0):
    """Texts that are too pale, or smaller than that many pixels."""
    look = page.locator(selector).first.evaluate(LOOK)
    assert look, "a drawing without words?"
    wrong = [f"contrast {t['contrast']:.2f}: {t['words']}" for t in look if t["contrast"] < 4.5]
    return wrong + [f"{t['pixels']:.2f} px: {t['words']}" for t in look if t["pixels"] < smallest]


def complaints(page, selector="svg.attn-diagram", smallest=0.0):
    """Everything that is wrong with one drawing of a page."""
    return touching(page, selector) + unreadable(page, selector, smallest)
