"""A drawing shown step by step, with the numbers of a real model on one example."""

import traitlets

from ... import walkthroughs
from .. import bundle
from ..base import Explorable


class Walkthrough(Explorable):
    """Back, next, play, arrow keys; without a kernel. The story comes from `attncourse.walkthroughs`."""

    _esm = bundle.esm("stepped")
    _css = bundle.css("stepped")

    label = traitlets.Unicode().tag(sync=True)
    drawing = traitlets.Unicode(help="the SVG with its style").tag(sync=True)
    steps = traitlets.List(traitlets.Dict(), help="title, words, equations and code lines of each").tag(sync=True)
    equations = traitlets.List(traitlets.Unicode(), help="HTML with MathML").tag(sync=True)
    code = traitlets.List(traitlets.Unicode(), help="lines").tag(sync=True)
    frames = traitlets.List(traitlets.Dict(), help="what the drawing shows: one per moment").tag(sync=True)
    frame_name = traitlets.Unicode(help="what the slider chooses").tag(sync=True)
    step = traitlets.Int(1, help="from 1").tag(sync=True)
    frame = traitlets.Int(0).tag(sync=True)

    def __init__(self, story: "walkthroughs.Story", **traits):
        super().__init__(**story.traits(), **traits)


def walkthrough(name: str) -> Walkthrough:
    """The stepped drawing of that name, with the numbers of its model."""
    return Walkthrough(walkthroughs.load(name))
