"""The drawing kit: boxes, tensors as grids, arrows with shapes on them. Places are chosen by hand: layout is meaning.

>>> d = Diagram("one_look", 420, 120, "One look", "The query is scored against the key.")
>>> d.box(60, 60, 90, 44, "s_{i-1}", "query", sub="query")
>>> d.box(300, 60, 90, 44, "h_j", "keys", sub="key")
>>> d.arrow((105, 60), (255, 60))
>>> d                                             # in a notebook or on a page: an inline SVG that follows the theme

x runs to the right, y downwards; a box is placed by its middle. 420 units are as wide as a phone shows at 0.8 pixels
each, so that the smallest text (SMALL) is still 10 pixels there. Every part can carry a `name`, the one that the
symbol table and the code use, and a `step`, the number of the step in which a `Walkthrough` lights it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path

Point = tuple[float, float]

SMALL = 13  # the smallest size of text, in units: see diagram.css
WIDE = 3.0  # an arrow of at least this width has the larger tip
KINDS = ("query", "keys", "values", "weights", "context", "state", "plain", "input", "output", "choice")
SCOPE = "@scope@"  # in the ids, until it is known where the drawing is shown
MARKER = 'markerUnits="userSpaceOnUse" orient="auto-start-reverse"'
DEFS = (
    f'<defs><marker id="{SCOPE}-tip" viewBox="0 0 10 10" refX="8.5" refY="5" {MARKER} markerWidth="9" '
    'markerHeight="9"><path d="M0 0.6 L10 5 L0 9.4 Z"/></marker>'
    f'<marker id="{SCOPE}-broad" viewBox="0 0 10 14" refX="0.5" refY="7" {MARKER} markerWidth="9" '
    'markerHeight="12.6"><path d="M0 0 L10 7 L0 14 Z"/></marker>'
    f'<pattern id="{SCOPE}-hatch" width="4" height="4" patternTransform="rotate(45)" '
    'patternUnits="userSpaceOnUse"><path d="M0 0 V4"/></pattern></defs>'
)
STYLE = (Path(__file__).with_name("diagram.css")).read_text(encoding="utf-8")


class Diagram:
    """An SVG under construction; shown as it is by notebooks and pages.

    `shapes` maps names of tensors to what is written on their arrows: see `shapes.py`, which computes them.
    """

    def __init__(
        self, name: str, width: float, height: float, title: str, about: str, shapes: Mapping[str, str] | None = None
    ):
        self.name, self.width, self.height, self.title, self.about = name, width, height, title, about
        self.shapes = dict(shapes or {})
        self.parts: list[str] = []
        self.names: set[str] = set()
        self._within: list[str] = []

    # --- what things are drawn with -------------------------------------------------------------------------

    def add(self, svg: str, kind: str = "", name: str = "", step: int | Sequence[int] = (), extra: str = "") -> None:
        """A piece of SVG as a group of its kind, with its name and step."""
        steps = [step] if isinstance(step, int) else list(step)
        if name:
            self.names.add(name)
        attributes = [f'class="{kind}"'] if kind else []
        attributes += [f'data-name="{escape(name)}"'] if name else []
        attributes += [f'data-step="{" ".join(map(str, steps))}"'] if steps else []
        attributes += [extra] if extra else []
        self.parts.append(f"<g {' '.join(attributes)}>{svg}</g>" if attributes else svg)

    def box(
        self, x: float, y: float, width: float, height: float, label: str = "", kind: str = "plain", *, sub: str = "",
        name: str = "", step: int | Sequence[int] = (), slot: str = "",
    ) -> None:  # fmt: skip
        """A vector, a state, a symbol. `slot` names the text, so that a walkthrough can fill in numbers."""
        radius = {"query": 10, "context": 10, "plain": 4, "input": 4, "output": 4}.get(kind, 7)
        shape = (
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>'
        )
        self.add(shape + self._two_lines(x, y, label, sub, slot), kind, name, step)

    def layer(
        self, x: float, y: float, width: float, height: float, label: str = "", *, sub: str = "", name: str = "",
        step: int | Sequence[int] = (),
    ) -> None:  # fmt: skip
        """Something with learned parameters: a trapezium, narrower at its top, with a hatched corner."""
        left, right, top, bottom = x - width / 2, x + width / 2, y - height / 2, y + height / 2
        in_ = min(7, width / 8)
        outline = f"M{left:g} {bottom:g} L{left + in_:g} {top:g} H{right - in_:g} L{right:g} {bottom:g} Z"
        from_, to = right - in_ - min(12, width / 4), right - in_ * 0.6
        corner = f"M{from_:g} {top:g} H{right - in_:g} L{to:g} {top + height * 0.4:g} Z"
        hatch = f'<path class="hatch" d="{corner}" style="fill:url(#{SCOPE}-hatch)"/>'
        self.add(f'<path d="{outline}"/>{hatch}' + self._two_lines(x, y, label, sub), "layer", name, step)

    def halves(
        self, x: float, y: float, width: float, height: float, label: str, kinds: tuple[str, str], *,
        names: tuple[str, str] = ("", ""), step: int | Sequence[int] = (),
    ) -> None:  # fmt: skip
        """One vector that is two things at once: keys and values, what was read forwards and backwards."""
        top, bottom, r = y - height / 2, y + height / 2, 7
        for kind, name, side in zip(kinds, names, (-1, 1), strict=True):
            edge = x + side * width / 2
            round_ = f"H{edge - side * r:g} Q{edge:g} {top:g} {edge:g} {top + r:g} V{bottom - r:g}"
            way = f"M{x:g} {top:g} {round_} Q{edge:g} {bottom:g} {edge - side * r:g} {bottom:g} H{x:g}"
            self.add(f'<path class="half" d="{way}"/>', kind, name, step)
        self.add(self._two_lines(x, y, label, ""), "inside", names[0], step)

    def operation(
        self, x: float, y: float, sign: str, *, radius: float = 13, name: str = "", step: int | Sequence[int] = ()
    ) -> None:
        """A sum, a product, a function of what arrives: a small circle."""
        text = f'<text x="{x:g}" y="{y:g}" dy=".34em">{math(sign)}</text>'
        self.add(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}"/>{text}', "operation", name, step)

    def grid(
        self, x: float, y: float, rows: int, columns: int, cell: Point = (24, 24), kind: str = "plain", *,
        labels: Sequence[Sequence[str]] | None = None, weights: Sequence[Sequence[float]] | None = None, name: str = "",
        step: int | Sequence[int] = (), slot: str = "",
    ) -> None:  # fmt: skip
        """A tensor as its entries, x and y its upper left corner. `weights` shade the cells, from 0 to 1."""
        wide, high = cell
        pieces = []
        for i in range(rows):
            for j in range(columns):
                left, top = x + j * wide, y + i * high
                share = f' style="--w:{weights[i][j]:.3f}"' if weights is not None else ""
                place = f' data-cell="{slot}-{i}-{j}"' if slot else ""
                size = f'width="{wide:g}" height="{high:g}"'
                pieces.append(f'<rect class="cell" x="{left:g}" y="{top:g}" {size}{share}{place}/>')
                if labels is not None:
                    place = f' data-slot="{slot}-{i}-{j}"' if slot else ""
                    at = f'x="{left + wide / 2:g}" y="{top + high / 2:g}" dy=".34em"'
                    pieces.append(f'<text class="small" {at}{share}{place}>{math(labels[i][j])}</text>')
        self.add("".join(pieces), f"{kind} grid", name, step)

    def arrow(
        self, *points: Point, kind: str = "", carries: str = "", label: str = "", at: Point | None = None,
        anchor: str = "start", tip: bool = True, bend: bool = False, width: float | None = None, slot: str = "",
        name: str = "", step: int | Sequence[int] = (),
    ) -> None:  # fmt: skip
        """A line through the points; `carries` writes the shape of that tensor beside it, at `at`.

        bend: one smooth curve from the first point to the last; kind "time" is a state that travels: a double line
        """
        broad = "time" in kind or "rail" in kind or (width or 0) >= WIDE
        if tip and broad and not bend:
            points = (*points[:-1], _before(points[-2], points[-1], 8.5))
        way = _curve(points[0], points[-1]) if bend else "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
        look = f' style="stroke-width:{width:g}"' if width is not None else ""
        look += f' data-flow="{slot}"' if slot else ""
        end = f' marker-end="url(#{SCOPE}-{"broad" if broad else "tip"})"' if tip else ""
        inner = f'<path class="inner" d="{way}"/>' if "time" in kind else ""
        self.add(f'<path class="line" d="{way}"{look}{end}/>{inner}', f"arrow {kind}".strip(), name, step)
        words = self.shape_of(carries) if carries else label
        if words:
            where = at or ((points[0][0] + points[-1][0]) / 2 + 6, (points[0][1] + points[-1][1]) / 2)
            self.text(*where, words, "shape" if carries else "note", anchor, step=step)

    def fork(self, x: float, y: float, kind: str = "", *, radius: float = 3.4, step: int | Sequence[int] = ()) -> None:
        """Here a line branches; where lines cross without such a dot, they have nothing to do with each other."""
        self.add(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}"/>', f"fork {kind}".strip(), "", step)

    def scale(self, x: float, y: float, width: float, keys: int, step: int | Sequence[int] = ()) -> None:
        """How dark is which weight: from 0 to 1, and where chance lies among that many keys."""
        n, high = 20, 11
        for i in range(n):
            place = f'x="{x + i * width / n:g}" y="{y:g}" width="{width / n + 0.3:g}" height="{high}"'
            self.add(f'<rect class="cell" {place} style="--w:{(i + 0.5) / n:.3f}"/>', "weights scale", "", step)
        at = x + width / keys
        self.add(f'<path class="line" d="M{at:g} {y - 4:g} V{y + high + 4:g}"/>', "arrow", "", step)
        self.text(x - 5, y + 10, "0", "note", "end", step=step)
        self.text(x + width + 5, y + 10, "1", "note", step=step)
        self.text(at, y + high + 17, f"chance 1/{keys}", "note", "middle", step=step)

    def text(
        self, x: float, y: float, words: str, kind: str = "note", anchor: str = "start", *, slot: str = "",
        name: str = "", step: int | Sequence[int] = (),
    ) -> None:  # fmt: skip
        place = f' data-slot="{slot}"' if slot else ""
        shown = escape(words) if kind == "shape" else math(words)
        svg = f'<text class="{kind}" x="{x:g}" y="{y:g}" style="text-anchor:{anchor}"{place}>{shown}</text>'
        self.add(svg, "", name, step)

    def brace(self, start: Point, end: Point, label: str = "", *, depth: float = 9, kind: str = "note") -> None:
        """A bracket under (or beside) things that belong together, from start to end; its point lies to the right of
        the way from start to end."""
        (x1, y1), (x2, y2) = start, end
        if y1 == y2:
            side = depth if x2 > x1 else -depth
            way = f"M{x1:g} {y1:g} v{side / 2:g} H{x2:g} v{-side / 2:g} "
            way += f"M{(x1 + x2) / 2:g} {y1 + side / 2:g} v{side / 2:g}"
            where, anchor = ((x1 + x2) / 2, y1 + side + (14 if side > 0 else -6)), "middle"
        else:
            side = -depth if y2 > y1 else depth
            way = f"M{x1:g} {y1:g} h{side / 2:g} V{y2:g} h{-side / 2:g} "
            way += f"M{x1 + side / 2:g} {(y1 + y2) / 2:g} h{side / 2:g}"
            where = (x1 + side + (5 if side > 0 else -5), (y1 + y2) / 2 + 5)
            anchor = "start" if side > 0 else "end"
        self.add(f'<path class="line" d="{way}"/>', "brace")
        if label:
            self.text(*where, label, kind, anchor)

    def number(self, n: int, x: float, y: float) -> None:
        """The badge of a step."""
        self.add(
            f'<circle cx="{x:g}" cy="{y:g}" r="11"/><text x="{x:g}" y="{y:g}" dy=".35em">{n}</text>', "badge", "", n
        )

    def legend(self, y: float, *lines: str, x: float = 4, gap: float = 23) -> None:
        """What happens in each numbered step, in a few words; y: the middle of the first line."""
        for n, words in enumerate(lines, 1):
            self.number(n, x + 11, y + (n - 1) * gap)
            self.text(x + 30, y + (n - 1) * gap + 4.5, words, "note", step=n)

    def frame(self, x: float, y: float, width: float, height: float, label: str = "", *, step: int | Sequence[int] = (),
              name: str = "", times: str = "") -> None:  # fmt: skip
        """A dashed frame around what is one thing, x and y its upper left corner. `times`: how often it repeats."""
        svg = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="10"/>'
        self.add(svg, "frame", name, step)
        if label:
            self.text(x + 8, y + 17, label, "note")
        if times:
            self.text(x + width - 8, y + 17, times, "note strong", "end")

    def _two_lines(self, x: float, y: float, label: str, sub: str, slot: str = "") -> str:
        place = f' data-slot="{slot}"' if slot else ""
        if not sub:
            return f'<text x="{x:g}" y="{y:g}" dy=".34em"{place}>{math(label)}</text>' if label or slot else ""
        first = f'<text x="{x:g}" y="{y - 3:g}"{place}>{math(label)}</text>'
        return first + f'<text class="note" x="{x:g}" y="{y + 14:g}">{math(sub)}</text>'

    def shape_of(self, name: str) -> str:
        if name not in self.shapes:
            known = ", ".join(self.shapes) or "none"
            raise KeyError(f"the drawing {self.name} was given no shape of {name!r}; it has: {known}")
        return self.shapes[name]

    # --- what is shown -----------------------------------------------------------------------------------------

    @contextmanager
    def below(self) -> Iterator[None]:
        """What is drawn inside goes behind all that is there already."""
        kept, self.parts = self.parts, []
        try:
            yield
        finally:
            self.parts += kept

    def to_svg(self, scope: str = "") -> str:
        """scope: what its ids begin with, for a page that shows the same drawing twice"""
        scope = scope or self.name
        head = (
            '<svg xmlns="http://www.w3.org/2000/svg" class="attn-diagram" role="img" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" style="--units:{self.width:g}" '
            f'aria-labelledby="{scope}-title {scope}-about">'
            f'<title id="{scope}-title">{escape(self.title)}</title>'
            f'<desc id="{scope}-about">{escape(self.about)}</desc>'
        )
        return f"{head}{DEFS}{''.join(self.parts)}</svg>".replace(SCOPE, scope)

    def _repr_html_(self) -> str:
        caption = f"<figcaption>{escape(self.title)}</figcaption>"
        return f'<figure class="attn-drawing"><style>{STYLE}</style>{self.to_svg()}{caption}</figure>'


def _before(start: Point, end: Point, distance: float) -> Point:
    """The point that lies so far before the end of this way."""
    (x1, y1), (x2, y2) = start, end
    share = distance / ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    return x2 - share * (x2 - x1), y2 - share * (y2 - y1)


def _curve(start: Point, end: Point) -> str:
    (x1, y1), (x2, y2) = start, end
    middle = (y1 + y2) / 2
    return f"M{x1:g} {y1:g} C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"


def number(x: float, digits: int | None = None) -> str:
    """As it is written: a true minus, and no more digits than asked for."""
    return (f"{x:g}" if digits is None else f"{x:.{digits}f}").replace("-", "−")


def share(w: float) -> str:
    """A weight in little room: .25, 1, and a dot for next to nothing."""
    return "·" if w < 0.005 else "1" if w >= 0.995 else f"{w:.2f}"[1:]


def math(words: str) -> str:
    """A label: `$s_{i-1}$` is mathematics, italic with its index below; the rest is plain text.

    A label without any dollar that has an index ("h_j", "s_{i-1}", "W_k") is taken as a symbol.
    """
    if "$" in words:
        pieces = re.split(r"\$([^$]*)\$", words)
        return "".join(_formula(p) if i % 2 else escape(p) for i, p in enumerate(pieces))
    return _formula(words) if re.fullmatch(r"\S{0,4}[_^](\{[^}]*\}|\S)\S{0,3}", words) else escape(words)


def _formula(tex: str) -> str:
    """A tiny part of TeX's notation: letters are italic, _ and ^ lower and raise what follows."""
    out, rest = [], tex.replace("-", "−")
    for part in re.finditer(r"([_^])(?:\{([^}]*)\}|(\S))|([^\W\d_][\u0300-\u036f]*)|([^_^])", rest):
        sign, braced, single, letter, other = part.groups()
        if sign:
            inner, down = braced if braced is not None else single, 4.5 if sign == "_" else -6.5
            out.append(f'<tspan class="index" dy="{down}">{escape(inner)}</tspan><tspan dy="{-down}">\u200b</tspan>')
        elif letter:
            out.append(f'<tspan class="symbol">{escape(letter)}</tspan>')
        else:
            out.append(escape(other))
    return "".join(out)
