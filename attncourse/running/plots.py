"""Figures in one style: transparent ground, colour-blind-safe, readable in light and (inverted by the page) in dark.

And tables, for results that a reader compares.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from .ledger import Measure, digits

# Okabe & Ito's palette without its yellow, which vanishes on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]

# Who is who, the same in drawings (diagrams/diagram.css) and explorables (widgets/lib/look.css).
QUERY, KEYS, VALUES, CONTEXT = "#E69F00", "#3D9FD8", "#009E73", "#C0589A"

STYLE = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.bbox": "tight",
    "figure.dpi": 140,
    "figure.figsize": (6.4, 3.4),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "image.cmap": "Blues",
    # DejaVu has no Japanese; these are tried in turn, and glyphs that none has become boxes, not errors.
    "font.family": ["DejaVu Sans", "Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "MS Gothic"],
}


def use_style() -> None:
    import logging

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # missing fallback fonts are expected
    plt.rcParams.update(STYLE)


def headline(figure: Figure, question: str) -> None:
    """The question that a figure of several panels answers."""
    figure.suptitle(question, fontweight="bold", x=0.01, ha="left")


def heatmap(
    weights: ArrayLike,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    ax: Axes | None = None,
    outline: ArrayLike | None = None,
    vmax: float | None = None,
) -> Axes:
    """A matrix of weights, white = 0, dark = `vmax` (its maximum unless told).

    weights (rows, columns); `outline`, a bool matrix of the same shape, frames the cells that should be dark.
    """
    weights = np.asarray(weights, dtype=float)
    if ax is None:
        width = min(1.6 + 0.24 * weights.shape[1], 7.2)
        _, ax = plt.subplots(figsize=(width, 1.1 + 0.24 * weights.shape[0]))
    image = ax.imshow(weights, vmin=0, vmax=vmax, aspect="auto", interpolation="nearest")
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    ax.set_xticks(range(len(columns)), list(columns))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if outline is not None:
        for row, column in zip(*np.nonzero(np.asarray(outline)), strict=True):
            ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, lw=0.8, ec=COLOURS[1]))
    ax.figure.colorbar(image, ax=ax, fraction=0.03, pad=0.02)
    return ax


def curves(
    series: Mapping[str, Sequence[float] | tuple[Sequence[float], Sequence[float]]],
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Named lines: {name: ys} or {name: (xs, ys)}; the names stand in a legend when there are several."""
    if ax is None:
        _, ax = plt.subplots()
    for name, line in series.items():
        xs, ys = line if isinstance(line, tuple) else (range(len(line)), line)
        ax.plot(xs, ys, label=name)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if len(series) > 1:
        ax.legend()
    return ax


Cell = str | float | Measure  # numbers get three significant digits; format those that need others yourself


@dataclass(frozen=True)
class Table:
    """Results side by side: HTML in a page or notebook, aligned columns in a terminal."""

    rows: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    caption: str

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(
            f'<tr><th scope="row">{html.escape(first)}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
            + "</tr>"
            for first, *rest in self.rows
        )
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        return f'<table class="attn-table">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        aligned = (
            "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]).rstrip()
            for first, *rest in lines
        )
        return "\n".join([*([self.caption] if self.caption else []), *aligned])


def table(rows: Sequence[Sequence[Cell]], columns: Sequence[str], caption: str = "") -> Table:
    """One line per thing that is compared, its name first: `table([("RNN", 0.25), …], ("network", "accuracy"))`."""
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{len(columns)} columns ({', '.join(columns)}), but the row {list(row)} has {len(row)}")
    return Table(tuple(tuple(map(_cell, row)) for row in rows), tuple(columns), caption)


def _cell(value: Cell) -> str:
    if isinstance(value, str | Measure):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else digits(float(value))
