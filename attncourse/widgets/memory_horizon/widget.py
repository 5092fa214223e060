"""How far back does a trained network see? Rows of real sequential Jacobians, computed once and shown in the page."""

from functools import cache

import torch
import traitlets
from torch import Tensor

from ... import zoo
from ...mechanisms.sequential import sequential_jacobian
from ...tasks import recall as task
from ...zoo.recall import recalled
from .. import bundle
from ..base import Explorable

SIZE = 32  # steps of the stream
DISTANCES = (1, 4, 8, 12, 16, 24)
NETWORKS = {"rnn": "recall-rnn", "lstm": "recall-lstm", "bytenet": "recall-bytenet"}


@cache
def stream() -> Tensor:
    """The letters that the explorable shows.    (1, SIZE) int"""
    return task.recall(1, SIZE, seed=7)[0]


@cache
def network(architecture: str):
    return zoo.load(NETWORKS[architecture])[0][0]  # the first of its three seeds


def jacobian(architecture: str, distance: int) -> tuple[Tensor, str]:
    """What the answer "the letter `distance` steps ago" depends on at every step, and the answers.

    -> shares (SIZE, SIZE) in whole per cent of their row, answers (one letter per step)
    """
    net, x = network(architecture), task.one_hot(stream(), task.RECALL)

    def answers(x: Tensor) -> Tensor:
        return net(x).unflatten(-1, (task.FARTHEST, -1))[..., distance - 1, :]  # (1, SIZE, 4)

    J = sequential_jacobian(answers, x)[0]
    with torch.no_grad():
        letters = task.show(answers(x)[0].argmax(-1), task.RECALL)
    return (100 * J / J.sum(-1, keepdim=True)).round().int(), letters


@cache
def results() -> tuple[dict, dict, dict]:
    """maps: the lower triangle row by row, for every architecture and distance; answers; accuracy by distance"""
    maps, answers, accuracy = {}, {}, {}
    below = torch.ones(SIZE, SIZE, dtype=torch.bool).tril()
    for name in NETWORKS:
        found = [jacobian(name, d) for d in DISTANCES]
        maps[name] = [J[below].tolist() for J, _ in found]
        answers[name] = [letters for _, letters in found]
        right, n = recalled(network(name), seed=31)
        accuracy[name] = [round(r / n, 3) for r in right.tolist()]
    return maps, answers, accuracy


class MemoryHorizon(Explorable):
    """Choose an architecture and a distance, scrub through time, see the row of its sequential Jacobian.

    Traits, both ways: architecture 'rnn' | 'lstm' | 'bytenet', distance (one of DISTANCES), step (0 … SIZE - 1).
    What is shown are results of the zoo's `recall-…` networks, not a computation of the page's own.
    """

    _esm = bundle.esm("memory_horizon")
    _css = bundle.css("memory_horizon")

    challenge = traitlets.Unicode(
        "Find the distance from which on the RNN’s answer no longer depends on the letter it is asked for."
    ).tag(sync=True)
    architecture = traitlets.Enum(list(NETWORKS), "rnn").tag(sync=True)
    distance = traitlets.Enum(list(DISTANCES), 4).tag(sync=True)
    step = traitlets.Int(28, min=0, max=SIZE - 1).tag(sync=True)
    distances = traitlets.List(list(DISTANCES), read_only=True).tag(sync=True)
    text = traitlets.Unicode(read_only=True).tag(sync=True)
    maps = traitlets.Dict(read_only=True).tag(sync=True)
    answers = traitlets.Dict(read_only=True).tag(sync=True)
    accuracy = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, **traits):
        maps, answers, accuracy = results()
        super().__init__(**traits)
        self.set_trait("text", task.show(stream()[0], task.RECALL))
        for name, value in (("maps", maps), ("answers", answers), ("accuracy", accuracy)):
            self.set_trait(name, value)

    def row(self) -> list[int]:
        """The shares that are shown now: input 0 … step, in per cent."""
        flat, t = self.maps[self.architecture][DISTANCES.index(self.distance)], self.step
        return flat[t * (t + 1) // 2 : (t + 1) * (t + 2) // 2]
