"""Drop points, and a pointer network draws their hull or a tour through them, arrow by arrow, live in the page."""

import torch
import traitlets
from torch import Tensor

from ...tasks import geometry
from .. import bundle
from ..base import ZooWidget, vectors

LIMITS = {"hull": 30, "tsp": 20}  # points; a tour's network has seen 5 to 20
START = {
    "hull": [[0.13, 0.35], [0.41, 0.52], [0.66, 0.12], [0.88, 0.44], [0.35, 0.87], [0.58, 0.63], [0.74, 0.81]],
    "tsp": [[0.2, 0.3], [0.62, 0.9], [0.45, 0.1], [0.82, 0.25], [0.3, 0.72], [0.88, 0.66], [0.52, 0.48]],
}  # fmt: skip
CHALLENGES = {
    "hull": "Place the points so that the network gets their hull wrong.",
    "tsp": "Place the points so that its tour is clearly longer than the shortest one.",
}


class DropPoints(ZooWidget):
    """pointer-hull (`task="hull"`) or pointer-tsp (`task="tsp"`), greedy and under the task's rule, in the browser.

    `points` are (x, y) from 0 to 1, the first has number 1; `arrows` is how many steps of the answer are shown, -1 for
    all; `output` is the answer that was drawn last, its STOP included. The first screen shows `example`, computed here
    by PyTorch. `run()` and `exact()` compute what the page shows.
    """

    _esm = bundle.esm("drop_points")
    _css = bundle.css("drop_points")

    challenge = traitlets.Unicode().tag(sync=True)
    zoo = traitlets.Unicode(read_only=True).tag(sync=True)
    task = traitlets.Enum(["hull", "tsp"], "hull", read_only=True).tag(sync=True)
    points = traitlets.Any().tag(sync=True)
    arrows = traitlets.Int(-1, min=-1).tag(sync=True)
    output = traitlets.List(traitlets.Int()).tag(sync=True)
    example = traitlets.Dict().tag(sync=True)  # points, symbols, weights
    heads = traitlets.Int(read_only=True).tag(sync=True)
    limit = traitlets.Int(read_only=True).tag(sync=True)

    def __init__(self, task: str = "hull", **traits):
        from ... import zoo

        if task not in START:
            raise traitlets.TraitError(f"the task is one of {', '.join(START)}; this one is {task!r}")
        self.set_trait("task", task)
        self.set_trait("limit", LIMITS[task])
        self.set_trait("zoo", f"pointer-{task}")
        super().__init__(**{"points": START[task], "challenge": CHALLENGES[task]} | traits)
        self.set_trait("heads", zoo.card(self.zoo)["config"]["heads"])
        symbols, weights = self.run()
        self.output = symbols.tolist()
        rounded = [[round(w, 4) for w in row] for row in weights.tolist()]
        self.example = {"points": self.points, "symbols": self.output, "weights": rounded}

    @traitlets.validate("points")
    def _check_points(self, proposal):
        points = vectors("points", proposal["value"], 2, 0.0, 1.0)
        if not 3 <= len(points) <= self.limit:
            raise traitlets.TraitError(f"the page draws 3 to {self.limit} points; these are {len(points)}")
        return points

    def run(self) -> tuple[Tensor, Tensor]:
        """-> symbols (T,), ended by STOP; the distribution at each step (T, 1 + n)"""
        from ... import zoo
        from ...mechanisms.pointer import solve

        model, _ = zoo.load(self.zoo)
        points, n = torch.tensor([self.points]), len(self.points)
        rule, steps = geometry.RULES[self.task], geometry.longest(self.task, n)
        found = solve(model, points, torch.tensor([n]), rule, steps)
        return found.symbols[0], found.weights[0]

    def exact(self) -> list[int]:
        """The true answer in its canonical order, without its STOP; a tour's for up to `geometry.LARGEST` points.

        The page goes on with the best tour that a local search finds, and says so.
        """
        found = geometry.SOLVERS[self.task](torch.tensor([self.points]))[0]
        return found[found != geometry.STOP].tolist()
