"""Six scores, one picture: the same query and keys under every score, read softly or by a draw."""

import math
from functools import partial

import torch
import traitlets
from torch import Tensor

from ...core.attention import attend
from ...core.scores import Additive, General, Location, content, dot, scaled_dot
from .. import bundle
from ..base import vectors
from ..plane import MOST, QueryAmongKeys

NAMES = ["content", "additive", "location", "general", "dot", "scaled_dot"]


def _ring(count: int, length: float) -> list[list[float]]:
    """Directions all around: place j of the location score answers to a query that points there."""
    angles = [2 * math.pi * j / count for j in range(count)]
    return [[round(length * math.cos(a), 1), round(length * math.sin(a), 1)] for a in angles]


DEFAULTS = {
    "W": [[0.0, -1.0], [1.0, 0.0]],  # turns a key by a quarter before it is compared
    "places": _ring(MOST, 1.5),  # the location score knows as many keys as the picture holds
}


def uniforms(seed: int, n: int) -> list[float]:
    """n numbers from 0 to 1, as lib/chance.mjs draws them (mulberry32): the same on every machine."""
    a, found, low = seed, [], 0xFFFFFFFF
    for _ in range(n):
        a = (a + 0x6D2B79F5) & low
        t = (a ^ (a >> 15)) * (1 | a) & low
        t = (t + ((t ^ (t >> 7)) * (61 | t) & low) & low) ^ t
        found.append((t ^ (t >> 14)) / 2**32)
    return found


class SixScores(QueryAmongKeys):
    """One query and up to eight keys in a plane, their weights under all six scores of `attncourse.core.scores`.

    weights = softmax(score(query, keys) / temperature); soft reads Σ weights · values, hard reads one drawn value

    Traits as in QueryAmongKeys, and score: the one shown in the plane; hard; draws: how many so far, with `seed`; and
    the other scores' parameters: strength (content), W (general), places (location).
    """

    _esm = bundle.esm("six_scores")
    _css = bundle.css("six_scores")

    challenge = traitlets.Unicode("Place the query so that as few of the six scores as possible agree on a key.").tag(
        sync=True
    )
    score = traitlets.Enum(NAMES, "scaled_dot").tag(sync=True)
    hard = traitlets.Bool(False).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(sync=True)
    draws = traitlets.Int(1, min=1, max=10_000).tag(sync=True)
    strength = traitlets.Float(2.0, min=0.0, max=100.0).tag(sync=True)
    W = traitlets.Any().tag(sync=True)
    places = traitlets.Any().tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**DEFAULTS | traits)

    @traitlets.validate("W", "places")
    def _check_rows(self, proposal):
        return vectors(proposal["trait"].name, proposal["value"], 2, -100.0, 100.0)

    def _check_sizes(self) -> None:
        super()._check_sizes()
        n = len(self.key_vectors)
        if len(self.W) != 2 or len(self.places) < n:
            wanted = (
                f"W needs 2 rows and has {len(self.W)}; places needs one for each of {n} keys, has {len(self.places)}"
            )
            raise traitlets.TraitError(wanted)

    def scores(self) -> dict:
        """The six scores of the package, with this picture's parameters."""
        additive, general = Additive(2, 2, len(self.v)).double(), General(2, 2).double()
        location = Location(2, len(self.places)).double()
        W, W_q, W_k, v, places = (
            torch.tensor(x, dtype=torch.float64) for x in (self.W, self.W_q, self.W_k, self.v, self.places)
        )
        additive.load_state_dict({"W_q.weight": W_q, "W_k.weight": W_k, "v": v})
        general.load_state_dict({"W.weight": W})
        location.load_state_dict({"W.weight": places})
        made = [partial(content, strength=self.strength), additive, location, general, dot, scaled_dot]
        return dict(zip(NAMES, made, strict=True))

    @torch.no_grad()
    def attend(self) -> tuple[Tensor, Tensor]:
        """What the picture shows, by the package's own `attend`.    -> context (6, 3), weights (6, N)"""
        inputs = [torch.tensor(x, dtype=torch.float64) for x in ([self.query], self.key_vectors, self.values)]
        pairs = [attend(*inputs, lambda q, k, s=s: s(q, k) / self.temperature) for s in self.scores().values()]
        contexts, weights = zip(*pairs, strict=True)
        return torch.cat(contexts), torch.cat(weights)

    def sample(self) -> tuple[Tensor, Tensor]:
        """The hard read after `draws` draws.    -> index of the last one (6,), share of each key so far (6, N)"""
        _, weights = self.attend()
        edges = weights.cumsum(-1)[:, None]  # (6, 1, N)
        chance = torch.tensor(uniforms(self.seed, self.draws), dtype=torch.float64)[:, None]  # (draws, 1)
        index = (edges <= chance).sum(-1).clamp_max(weights.shape[-1] - 1)  # (6, draws)
        shares = torch.nn.functional.one_hot(index, weights.shape[-1]).double().mean(1)  # (6, N)
        return index[:, -1], shares
