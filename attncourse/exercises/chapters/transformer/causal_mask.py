"""No query sees a later key; the queries may be the last few positions of many."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def causal_weights(scores):
    Tq, Tk = scores.shape[-2:]
    mask = torch.ones(Tq, Tk, dtype=torch.bool, device=scores.device)
    mask = mask.tril(Tk - Tq)  # True = may attend; the last query sees all
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


def _by_places(scores):
    Tq, Tk = scores.shape[-2:]
    place = torch.arange(Tk - Tq, Tk)[:, None]
    return torch.where(torch.arange(Tk) <= place, scores, torch.finfo(scores.dtype).min).softmax(-1)


def _loop(scores):
    rows, (B, Tq, Tk) = [], scores.shape
    for b in range(B):
        for i in range(Tq):
            seen = Tk - Tq + i + 1
            rows.append(torch.cat([scores[b, i, :seen].softmax(0), scores.new_zeros(Tk - seen)]))
    return torch.stack(rows).view_as(scores)


def _added(scores):
    Tq, Tk = scores.shape[-2:]
    return (scores + torch.full((Tq, Tk), float("-inf"), dtype=scores.dtype).triu(1 + Tk - Tq)).softmax(-1)


def _case(kind, seed, B=2, Tq=5, Tk=5, scale=1.0, dtype=torch.float32, zeros=False, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(B, Tq, Tk, generator=rng, dtype=dtype)
    if zeros:  # as many as a ReLU leaves, and some on and below the diagonal for sure
        scores = scores.relu()
        scores[:, 1, 0], scores[:, -1, 1] = 0.0, 0.0
    return Case(kind, {"scores": scores}, gradients)


def _cases(seed):
    return [
        _case("a random batch", seed),
        _case("scores of which some are exactly 0", seed + 1, zeros=True),
        _case("a single position", seed + 2, Tq=1, Tk=1),
        _case("two new positions after four old ones", seed + 3, Tq=2, Tk=6),
        _case("one new position after six old ones", seed + 4, Tq=1, Tk=7),
        _case("a batch of one", seed + 5, B=1, Tq=4, Tk=4),
        _case("large scores", seed + 6, scale=200.0),
        _case("negative scores", seed + 7, scale=-3.0),
        _case("float64 inputs", seed + 8, dtype=torch.float64),
        _case("scores whose gradient is asked", seed + 9, gradients=("scores",)),
    ]


def _tril(scores, diagonal=0, corner=False):
    Tq, Tk = scores.shape[-2:]
    return torch.ones(Tq, Tk, dtype=torch.bool).tril(diagonal + (0 if corner else Tk - Tq))


def _masked(scores, mask, low=None):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min if low is None else low)


def _both(version):
    """The same mistake with -inf and with the smallest finite number: rows without a key differ."""
    return (lambda scores: version(scores, None)), (lambda scores: version(scores, float("-inf")))


def _from_values(scores, low=float("-inf")):
    scores = scores.masked_fill(~_tril(scores), 0.0)
    return scores.masked_fill(scores == 0, low).softmax(-1)


def _renormalised(scores):
    weights = scores.softmax(-1) * _tril(scores, corner=True)
    return weights / weights.sum(-1, keepdim=True)


EXERCISE = Exercise(
    id="transformer.causal-mask",
    title="Weights that never see the future",
    points=2,
    task=r"""
Turn scores into weights such that no query gives weight to a later position. A position may attend to itself.

With a cache, the queries are only the *last* Tq of the Tk positions: query $i$ stands at position
$T_k - T_q + i$. In training $T_q = T_k$.

| argument | |
|---|---|
| `scores` | (B, Tq, Tk), Tq ≤ Tk |
| returns `weights` | (B, Tq, Tk); each row sums to one over the keys it may see |
""",
    stub="""
def causal_weights(scores):
    ...  # your code: weights (B, Tq, Tk)
""",
    hints=(
        "Which keys may the *last* query see, and which the first? Build a bool matrix (Tq, Tk) that says so; it "
        "depends on the sizes only, never on the scores.",
        "`torch.ones(Tq, Tk, dtype=torch.bool).tril(k)` keeps what lies on and below a diagonal. Which `k` gives the "
        "last row all Tk keys?",
        "Mask the scores, not the weights: `scores.masked_fill(~mask, float('-inf')).softmax(-1)` with `k = Tk - Tq`.",
    ),
    solution=causal_weights,
    spellings=(_by_places, _loop, _added),
    axes={"scores": "B Tq Tk"},
    returns=(Output("weights", "B Tq Tk", distribution=True),),
    cases=_cases,
    wrong=(
        Misconception(
            "the mask is inverted",
            "Your weights lie on the future, and only there. True means *may attend* here and in "
            "`F.scaled_dot_product_attention`; `nn.MultiheadAttention` and `nn.Transformer` mean the opposite by the "
            "same word. `masked_fill` fills where its argument is True: give it `~mask`.",
            (
                *_both(lambda scores, low: _masked(scores, ~_tril(scores), low).softmax(-1)),
                *_both(lambda scores, low: _masked(scores, ~_tril(scores, corner=True), low).softmax(-1)),
                lambda scores: _masked(scores, ~_tril(scores, -1)).softmax(-1),
                lambda scores: _masked(scores, ~_tril(scores, -1, corner=True)).softmax(-1),
            ),
        ),
        Misconception(
            "the mask is strict",
            "Your positions do not see themselves. Then the first one has nothing to look at, and its softmax is "
            "0/0. There is nothing to hide: the decoder's input is shifted, position $t$ holds the symbol *before* "
            "the one that it predicts.",
            (
                *_both(lambda scores, low: _masked(scores, _tril(scores, -1), low).softmax(-1)),
                *_both(lambda scores, low: _masked(scores, _tril(scores, -1, corner=True), low).softmax(-1)),
                lambda scores: _masked(scores, _tril(scores, -1)).softmax(-1) * _tril(scores, -1),
            ),
        ),
        Misconception(
            "the mask is applied after the softmax",
            "The future gets no weight, but it took part in the sum: your rows sum to less than one, and how much "
            "less depends on scores that the query must not know. Mask the scores, then normalise.",
            (
                lambda scores: scores.softmax(-1) * _tril(scores),
                lambda scores: scores.softmax(-1).tril(),
                lambda scores: scores.softmax(-1) * scores.new_ones(2 * scores.shape[-1:]).tril(),  # Tq = Tk only
            ),
        ),
        Misconception(
            "the mask is made from the values",
            "You set the future to 0 and then mask whatever *equals* 0. A score in the past may be 0 as well, and you "
            "lose it; after a ReLU that happens all the time. A mask follows from positions, never from values.",
            (
                _from_values,
                lambda scores: _from_values(scores, -1e9),
                lambda scores: scores.tril().masked_fill(scores.tril() == 0, float("-inf")).softmax(-1),
            ),
        ),
        Misconception(
            "masked scores are 0 or low, not −∞",
            "Your masked scores are an ordinary number, 0 or a few below it, and $e^0 = 1$: the future keeps a share. "
            "What shall get no weight, whatever the other scores are, needs a score of $-\\infty$, or the smallest "
            "finite number.",
            (
                lambda scores: (scores * _tril(scores)).softmax(-1),
                lambda scores: scores.tril().softmax(-1),
                lambda scores: _masked(scores, _tril(scores), -10.0).softmax(-1),
            ),
        ),
        Misconception(
            "the diagonal starts in the corner",
            "With as many queries as keys you are right. With a cache the queries are the *last* positions: your first "
            "query sees one key instead of $T_k - T_q + 1$, and a decoder that writes one symbol at a time sees only "
            "the first symbol of all. The diagonal is shifted by $T_k - T_q$.",
            (
                lambda scores: _masked(scores, _tril(scores, corner=True)).softmax(-1),
                _renormalised,
            ),
        ),
        Misconception(
            "nothing is masked",
            "Your weights are a plain softmax: every position sees the future. In training the loss falls "
            "wonderfully, because the answer stands in the input; when the model has to write, there is no future.",
            (lambda scores: scores.softmax(-1),),
        ),
        Misconception(
            "the softmax runs over the queries",
            "Your *columns* sum to one. Each query shares its attention out among the keys, along the last axis.",
            (lambda scores: _masked(scores, _tril(scores)).softmax(-2),),
        ),
        Misconception(
            "one position too many",
            "Each of your queries sees one key of the future, the very symbol that it shall predict: a copy is "
            "learned in a minute. `tril(k)` keeps the k-th diagonal as well; the last query must see exactly all, the "
            "one before it one less.",
            (lambda scores: _masked(scores, _tril(scores, 1)).softmax(-1),),
        ),
    ),
)
