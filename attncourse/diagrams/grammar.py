"""What the colours and shapes of all drawings mean."""

from .kit import Diagram

ROWS = [  # name, what it is
    ("query", "what asks: orange"),
    ("keys", "to be found by: blue"),
    ("values", "what each item holds: green"),
    ("weights", "0 to 1: darker is more"),
    ("context", "what was read: purple"),
]


def legend() -> Diagram:
    """One row per kind of thing, drawn as it is drawn everywhere."""
    d = Diagram(
        "legend", 400, 392, "How to read the drawings: colours and shapes",
        "A legend. The query is an orange row, keys are blue rows, values are green rows, weights are grey to blue "
        "cells that hold shares from 0 to 1, and the context is a purple row. A box with a heavy outline is a state, "
        "and a double arrow carries it on in time. A trapezium with a hatched corner has learned parameters. A dashed "
        "outline is a choice: one thing is taken and the others are left.",
    )  # fmt: skip
    cell = (30, 26)
    for i, (name, meaning) in enumerate(ROWS):
        top = 12 + 46 * i
        shades = [[0.1, 0.6, 0.3]]
        labels = [[f"{share:.1f}" for share in shades[0]]] if name == "weights" else None
        d.grid(8, top, 1, 3, cell, name, labels=labels, weights=shades if labels else None, name=name)
        d.text(128, top + 19, name, "strong", name=name)
        d.text(198, top + 19, meaning)
    d.box(27, 260, 38, 30, "$s_1$", "state")
    d.arrow((46, 260), (72, 260), kind="time")
    d.box(91, 260, 38, 30, "$s_2$", "state")
    d.text(128, 265, "state", "strong")
    d.text(198, 265, "travels along the double arrow")
    d.layer(53, 310, 90, 32, "layer")
    d.text(128, 315, "learned", "strong")
    d.text(198, 315, "parameters: a hatched corner")
    d.box(53, 360, 90, 30, "one", "choice")
    d.text(128, 365, "choice", "strong")
    d.text(198, 365, "hard, or a sample: dashed")
    return d
