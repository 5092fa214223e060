"""Stories of the stepped drawings: one module each, with a function `story()` that runs the real model.

>>> from attncourse.widgets import walkthrough
>>> walkthrough("rnnsearch")
"""

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from ..diagrams.kit import STYLE, Diagram, number
from ..errors import BadInput
from ..markup import to_html_inline
from ..running import record


@dataclass(frozen=True)
class Step:
    """One press of *next*: what is lit is what the drawing gave this step's number."""

    title: str
    words: str  # Markdown, two or three sentences
    equations: tuple[int, ...] = ()  # which of the story's equations, from 0
    code: tuple[int, ...] = ()  # which of its lines of code, from 0


@dataclass
class Frame:
    """What the drawing shows at one moment: texts, shares of cells and widths of lines by their slots."""

    label: str
    texts: dict[str, str] = field(default_factory=dict)
    cells: dict[str, float] = field(default_factory=dict)
    flows: dict[str, float] = field(default_factory=dict)
    numbers: list[list[tuple[str, str]]] = field(default_factory=list)  # for each step: (symbol, its numbers)


@dataclass(frozen=True)
class Story:
    label: str  # for screen readers
    drawing: Diagram
    steps: tuple[Step, ...]
    equations: tuple[str, ...]  # TeX
    code: str
    frames: tuple[Frame, ...]
    frame_name: str = "moment"

    def traits(self) -> dict:
        def step(it: Step) -> dict:
            lit = {"equations": list(it.equations), "code": list(it.code)}
            return {"title": it.title, "words": to_html_inline(it.words)} | lit

        def frame(it: Frame) -> dict:
            rounded = {slot: round(share, 4) for slot, share in it.cells.items()}
            numbers = [[[to_html_inline(name), to_html_inline(text)] for name, text in rows] for rows in it.numbers]
            return {"label": it.label, "texts": it.texts, "cells": rounded, "flows": it.flows, "numbers": numbers}

        scope = f"{self.drawing.name}-steps"  # the same drawing may stand on the page as it is
        return {
            "label": self.label,
            "drawing": f'<figure class="attn-drawing"><style>{STYLE}</style>{self.drawing.to_svg(scope)}</figure>',
            "steps": [step(it) for it in self.steps],
            "equations": [to_html_inline(f"${tex}$") for tex in self.equations],
            "code": self.code.strip("\n").split("\n"),
            "frames": [frame(it) for it in self.frames],
            "frame_name": self.frame_name,
        }


def names() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Story:
    if name not in names():
        raise BadInput(f"there is no stepped drawing {name!r}; there are: {', '.join(names())}")
    record.used("walkthrough", name)
    return importlib.import_module(f"{__name__}.{name}").story()


def run(code: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """The lines that the reader sees, really executed.    -> the values of all names afterwards"""
    space = dict(names)
    exec(compile(code, "<the code of the walkthrough>", "exec"), space)  # ours, not the reader's
    return space


def vector(numbers: Tensor, most: int = 4, digits: int = 2) -> str:
    """The first entries of a vector, as they are shown: (0.31, −0.77, …)."""
    shown = [number(x, digits) for x in numbers.tolist()[:most]]
    return f"({', '.join(shown)}{', …' if len(numbers) > most else ''})"
