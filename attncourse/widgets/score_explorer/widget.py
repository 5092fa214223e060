"""Drag a query among keys: see its scores, its weights and the mixture of values that it reads."""

import torch
import traitlets
from torch import Tensor

from ...core.attention import attend
from ...core.scores import Additive, dot, scaled_dot
from .. import bundle
from ..plane import QueryAmongKeys


class ScoreExplorer(QueryAmongKeys):
    """One query and up to eight keys in a plane; every key holds a colour, the query reads a mixture.

    weights = softmax(score(query, keys) / temperature),  context = weights · values

    Traits as in QueryAmongKeys, and score: 'dot' | 'scaled_dot' | 'additive'. `ScoreExplorer(additive=module)` takes
    W_q, W_k and v from a trained `scores.Additive(2, 2, hidden)`.
    """

    _esm = bundle.esm("score_explorer")
    _css = bundle.css("score_explorer")

    challenge = traitlets.Unicode(
        "Find a query that reads only key 3. Which score and which temperature make that easy?"
    ).tag(sync=True)
    score = traitlets.Enum(["dot", "scaled_dot", "additive"], "scaled_dot").tag(sync=True)

    def __init__(self, additive: Additive | None = None, **traits):
        if additive is not None:
            traits |= {"W_q": additive.W_q.weight.tolist(), "W_k": additive.W_k.weight.tolist()}
            traits |= {"v": additive.v.tolist()}
        super().__init__(**traits)

    def attend(self) -> tuple[Tensor, Tensor]:
        """What the picture shows, by the package's own `attend`.    -> context (3,), weights (N,)"""
        query, keys, values, W_q, W_k, v = (
            torch.tensor(x, dtype=torch.float64)
            for x in ([self.query], self.key_vectors, self.values, self.W_q, self.W_k, self.v)
        )
        additive = Additive(2, 2, len(v)).double()
        additive.load_state_dict({"W_q.weight": W_q, "W_k.weight": W_k, "v": v})
        score = {"dot": dot, "scaled_dot": scaled_dot, "additive": additive}[self.score]
        with torch.no_grad():
            context, weights = attend(query, keys, values, lambda q, k: score(q, k) / self.temperature)
        return context[0], weights[0]
