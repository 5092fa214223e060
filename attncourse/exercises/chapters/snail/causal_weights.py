"""From scores to causal weights: the mask before the softmax, and the softmax over the keys."""

import torch

from ....core import masks
from ...engine.core import Case, Exercise, Misconception, Output


def causal_weights(scores):
    T = scores.shape[-1]
    future = torch.ones(T, T, dtype=torch.bool, device=scores.device).triu(1)  # True where the key comes later
    return scores.masked_fill(future, -torch.inf).softmax(-1)  # (B, T, T): over the keys, up to the query's time


def _by_loop(scores):
    B, T, _ = scores.shape
    weights = torch.zeros_like(scores)
    for b in range(B):
        for t in range(T):
            weights[b, t, : t + 1] = torch.softmax(scores[b, t, : t + 1], 0)
    return weights


def _by_core(scores):
    return masks.softmax(scores, masks.causal(scores.shape[-1], scores.device))


def _by_hand(scores):
    past = torch.ones_like(scores[0]).tril()
    shifted = scores - scores.masked_fill(past == 0, -torch.inf).amax(-1, keepdim=True)
    e = shifted.clamp(max=0).exp() * past
    return e / e.sum(-1, keepdim=True)


def _case(kind, seed, B=2, T=5, scale=1.0, shift=0.0, last=0.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    scores = shift + scale * torch.randn(B, T, T, generator=rng, dtype=dtype)
    scores[:, :, -1] += last
    return Case(kind, {"scores": scores}, gradients)


def _cases(seed):
    return [
        _case("five positions", seed),
        _case("two positions", seed + 1, T=2),
        _case("a single position", seed + 2, T=1),
        _case("nine positions", seed + 3, T=9),
        _case("a batch of one", seed + 4, B=1),
        _case("as many rows as positions", seed + 5, B=4, T=4),
        _case("large scores", seed + 6, scale=60.0),
        _case("scores that are all very low", seed + 10, shift=-200.0),
        _case("a future that scores far higher than the past", seed + 7, last=300.0),
        _case("float64 inputs", seed + 8, dtype=torch.float64),
        _case("scores whose gradient is asked", seed + 9, gradients=("scores",)),
    ]


def _past(scores):
    return torch.ones_like(scores[0], dtype=torch.bool).tril()


def _version(allowed=_past, dim=-1, fill=-torch.inf, after=lambda weights, allowed: weights):
    """The solution with one part exchanged; `fill` None: no mask before the softmax."""

    def version(scores):
        may = allowed(scores)
        filled = scores if fill is None else scores.masked_fill(~may, fill)
        return after(filled.softmax(dim), may)

    return version


def _zeroed(weights, may):
    return weights * may


def _shares(weights, may):
    weights = weights * may
    return weights / weights.sum(-1, keepdim=True)


def _strict(scores):
    return torch.ones_like(scores[0], dtype=torch.bool).tril(-1)


def _upper(scores):
    return torch.ones_like(scores[0], dtype=torch.bool).triu()


def _no_nan(weights, may):
    return weights.nan_to_num(0.0)


EXERCISE = Exercise(
    id="snail.causal-weights",
    title="The leaking softmax",
    points=2,
    task=r"""
Turn scores into the weights of a *causal* attention. Row $t$ belongs to the query at time $t$, column $s$ to the key at
time $s$. The query may look at keys up to and including its own time, its weights sum to one, and nothing that comes
later may change them.

$$\text{weights}_{ts} = \frac{\exp(\text{scores}_{ts})}{\sum_{u \le t} \exp(\text{scores}_{tu})} \quad (s \le t),
\qquad 0 \text{ otherwise}$$

| argument | |
|---|---|
| `scores` | (B, T, T): queries, then keys |
| returns `weights` | (B, T, T) |
""",
    stub="""
def causal_weights(scores):
    ...  # your code: weights (B, T, T)
""",
    hints=(
        "Write down row 1 of three: which keys does it have, and over what does its sum run? Then the sum of "
        "*column* 1: does anything say that it should be one?",
        "What is hidden must be out of the sum *before* it is taken. A score of $-\\infty$ has $\\exp = 0$.",
        "`torch.ones(T, T).triu(1)` marks what lies above the diagonal: the keys of the future. Fill those scores, "
        "then normalise over the axis in which the keys lie. Which of the three is it?",
    ),
    solution=causal_weights,
    spellings=(_by_loop, _by_core, _by_hand),
    axes={"scores": "B Tq Tk"},
    returns=(Output("weights", "B Tq Tk", distribution=True),),
    cases=_cases,
    wrong=(
        Misconception(
            "the softmax runs over the queries",
            "Your *columns* sum to one: `softmax(dim=1)` runs over the queries. A key's weights are then shared out "
            "among all queries that may see it, and those come *later*. A query of the future takes weight away from "
            "one of the past: the future leaks, although every masked entry is zero. A public SNAIL has this line. The "
            "keys lie in the last axis.",
            (
                _version(dim=1),
                _version(dim=1, fill=None, after=_zeroed),
                _version(dim=1, fill=None),
                _version(dim=1, allowed=_upper),
                _version(dim=1, allowed=_strict),
            ),
        ),
        Misconception(
            "the softmax runs over the batch",
            "Your weights sum to one over the *batch*: the examples have nothing to do with each other. The keys lie "
            "in the last axis.",
            (_version(dim=0), _version(dim=0, fill=None, after=_zeroed)),
        ),
        Misconception(
            "the mask is applied after the softmax",
            "You normalise over all keys and set the future to zero afterwards. The rows no longer sum to one, and the "
            "future is still in the denominator: raise a later score, and all earlier weights shrink. Hide first, then "
            "normalise.",
            (_version(fill=None, after=_zeroed),),
        ),
        Misconception(
            "masked afterwards, then divided again",
            "On paper this is right: the wrong denominator cancels. In numbers it is not: if the future scores far "
            "higher, everything allowed underflows to zero before you divide, and 0 / 0 is NaN (or, with a small "
            "number added below, a row of nothing). Hide first, then normalise.",
            (
                _version(fill=None, after=_shares),
                _version(fill=None, after=lambda w, may: w * may / (w * may).sum(-1, keepdim=True).clamp_min(1e-9)),
            ),
        ),
        Misconception(
            "the future gets a score of zero",
            "You multiply the scores by the mask, so that hidden scores are 0. But $\\exp 0 = 1$: they take part, and "
            "when all allowed scores are negative they even win. What is hidden needs a score of $-\\infty$.",
            (_version(fill=0.0), _version(fill=0.0, after=_zeroed)),
        ),
        Misconception(
            "the wrong triangle is hidden",
            "Your queries see the present and the *future*, and not the past: rows are queries, so the past lies below "
            "the diagonal. `tril` keeps it, `triu` takes the other half.",
            (_version(_upper), _version(lambda s: ~_past(s)), _version(lambda s: ~_past(s), after=_no_nan)),
        ),
        Misconception(
            "the present is hidden, too",
            "Your query may not look at its own time. Then the first one has nothing to look at, a row of NaN or of "
            "zeros. The diagonal is allowed: start hiding one above it.",
            (
                _version(_strict),
                _version(_strict, after=_no_nan),
                _version(_strict, fill=torch.finfo(torch.float32).min),
            ),
        ),
        Misconception(
            "the mask lets one step of the future through",
            "Your diagonal is one too far: each query sees the key right after it. In training that is often the very "
            "answer.",
            (_version(lambda s: torch.ones_like(s[0], dtype=torch.bool).tril(1)),),
        ),
        Misconception(
            "the exponential overflows",
            "The formula is right as it stands on paper. In float32 `exp` of 89 is already infinite and `exp` of −104 "
            "is zero: large scores give ∞ / ∞, low ones 0 / 0. `softmax` subtracts the largest score first, which "
            "changes nothing on paper and everything here.",
            (lambda scores: scores.exp().tril() / scores.exp().tril().sum(-1, keepdim=True),),
        ),
        Misconception(
            "queries and keys have changed places",
            "You transpose the scores: row $t$ then holds what all queries say about key $t$. The rows are queries as "
            "they come, and the softmax runs along a row.",
            (lambda scores: _version()(scores.mT),),
        ),
        Misconception(
            "nothing is hidden",
            "Every query looks at all keys, later ones too.",
            (_version(fill=None),),
        ),
        Misconception(
            "the hidden score is not low enough",
            "You hide with a number that a real score can come near: where allowed scores are lower still, the future "
            "takes part. $-\\infty$ is safe here, since every query has at least itself.",
            tuple(_version(fill=value) for value in (-1.0, -10.0, -100.0)),
        ),
    ),
)
