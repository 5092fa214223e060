"""Scores and a mask -> weights: no leak, no NaN."""

import torch

from ....core.masks import padding
from ...engine.core import Case, Exercise, Misconception, Output


def masked_softmax(scores, mask):
    low = torch.finfo(scores.dtype).min  # finite: a row of nothing but -inf would be 0/0
    weights = scores.masked_fill(~mask, low).softmax(-1)  # (B, Tq, Tk)
    return weights.masked_fill(~mask, 0.0)  # a fully masked row: zeros instead of 1/Tk each


def _masked_loop(scores, mask):
    rows = []
    for row, allowed in zip(scores.flatten(0, 1), mask.flatten(0, 1), strict=True):
        weights = torch.zeros_like(row)
        if allowed.any():
            weights[allowed] = row[allowed].softmax(0)
        rows.append(weights)
    return torch.stack(rows).view_as(scores)


def _masked_exp(scores, mask):
    low = torch.where(mask, scores, torch.tensor(-1e30, dtype=scores.dtype))
    top = low.amax(-1, keepdim=True)
    powers = torch.exp(torch.where(mask, scores, top) - top) * mask
    return torch.einsum("bqk,bq->bqk", powers, 1 / powers.sum(-1).clamp(min=1e-20))


def _masked_repaired(scores, mask):
    return scores.masked_fill(~mask, MINUS_INFINITY).softmax(-1).nan_to_num()  # masked_fill keeps NaN from the gradient


def _softmax_case(kind, seed, B=2, Tq=3, Tk=5, scale=1.0, shift=0.0, dtype=torch.float32, gradients=()):
    """Every query may attend to its first key at least, and is kept from its last."""
    rng = torch.Generator().manual_seed(seed)
    scores = torch.randn(B, Tq, Tk, generator=rng, dtype=dtype) * scale + shift
    mask = torch.rand(B, Tq, Tk, generator=rng) < 0.6
    mask[..., -1], mask[..., 0] = False, True
    return Case(kind, {"scores": scores, "mask": mask}, gradients)


def _softmax_cases(seed):
    lengths = torch.tensor([5, 3])
    padded = _softmax_case("padding", seed + 3)
    padded.inputs["mask"] = padding(lengths, 5).expand(2, 3, 5).clone()
    empty = _softmax_case("a row that may attend to nothing", seed + 4)
    zeros = _softmax_case("scores that are exactly zero", seed + 5)
    zeros.inputs["scores"][..., 0] = 0.0
    loud = _softmax_case("masked keys with the largest scores", seed + 8)
    loud.inputs["scores"] += torch.where(loud.inputs["mask"], 0.0, 300.0)
    graded = _softmax_case("a gradient through a row that may attend to nothing", seed + 10, gradients=("scores",))
    empty.inputs["mask"][0, 1] = graded.inputs["mask"][0, 1] = False
    return [
        _softmax_case("a random batch", seed),
        _softmax_case("a batch of one", seed + 1, B=1, Tq=5),
        _softmax_case("a single key", seed + 2, Tk=1),
        padded,
        zeros,
        _softmax_case("float64 inputs", seed + 6, dtype=torch.float64),
        _softmax_case("large scores", seed + 7, scale=1000.0),
        loud,
        _softmax_case("very negative scores", seed + 9, shift=-20_000.0),
        empty,
        graded,
    ]


def _filled(scores, mask, low, axis=-1):
    return scores.masked_fill(~mask, low).softmax(axis)


def _biased(scores, mask):
    return (scores + torch.zeros_like(scores).masked_fill(~mask, MINUS_INFINITY)).softmax(-1)


def _unshifted(scores, mask, floor=0.0):
    powers = scores.exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=floor)


def _renormalised(scores, mask, floor=0.0):
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp(min=floor)


LOW, MINUS_INFINITY = -1e30, float("-inf")

EXERCISE = Exercise(
    id="bahdanau.masked-softmax",
    title="A softmax that honours padding",
    points=2,
    task="""
Turn scores into weights over the keys, so that masked keys get exactly nothing.

| argument | shape |
|---|---|
| `scores` | (B, Tq, Tk) |
| `mask` | (B, Tq, Tk), bool; **True = may attend** |
| returns `weights` | (B, Tq, Tk) |

Each row sums to one over the keys that may be attended. A row that may attend to nothing is all zeros: no NaN, neither
in the weights nor in the gradient. Large scores, of either sign, do no harm.
""",
    stub="""
def masked_softmax(scores, mask):
    ...  # your code: weights (B, Tq, Tk)
""",
    hints=(
        "A softmax gives a key no weight if its score is so low that `exp` of it is zero. So: change the scores "
        "first, then normalise. Which entries of `mask` are the ones to change?",
        "`scores.masked_fill(~mask, low)` writes `low` where the mask is False. With $-\\infty$ a fully masked row "
        "is 0/0; `torch.finfo(scores.dtype).min` is the lowest *finite* number.",
        "With a finite `low`, a fully masked row comes out as 1/Tk everywhere. One more `masked_fill`, on the "
        "weights, makes it zero and changes no other row.",
    ),
    solution=masked_softmax,
    spellings=(_masked_loop, _masked_exp, _masked_repaired),
    axes={"scores": "B Tq Tk", "mask": "B Tq Tk"},
    returns=(Output("weights", "B Tq Tk", distribution=True),),
    cases=_softmax_cases,
    wrong=(
        Misconception(
            "the mask is inverted",
            "Your weights lie exactly on the keys that may *not* be attended. In this course, as in torch's "
            "`scaled_dot_product_attention`, True means *may attend*; what is to be filled is `~mask`. "
            "(`nn.MultiheadAttention` has it the other way round: a name that says what True means helps.)",
            (
                lambda scores, mask: masked_softmax(scores, ~mask),
                lambda scores, mask: _filled(scores, ~mask, MINUS_INFINITY),
                lambda scores, mask: _filled(scores, ~mask, LOW),
                lambda scores, mask: scores.softmax(-1) * ~mask,
            ),
        ),
        Misconception(
            "the mask is ignored",
            "Your weights are a plain softmax: padding is attended like everything else, and a sentence's "
            "translation depends on how long its neighbours in the batch are.",
            (lambda scores, mask: scores.softmax(-1),),
        ),
        Misconception(
            "the mask is applied after the softmax",
            "Masked keys get nothing, but what they held is lost: the softmax had already shared the whole of 1 "
            "among all keys, so your rows sum to less than one. Take the keys out of the competition *before* the "
            "shares are handed out.",
            (lambda scores, mask: scores.softmax(-1) * mask,),
        ),
        Misconception(
            "the scores are multiplied by the mask",
            "A masked score becomes 0, and exp(0) = 1: a masked key still gets weight, more than a key whose score "
            "is negative. To get no weight a score must go to $-\\infty$, not to 0.",
            (
                lambda scores, mask: (scores * mask).softmax(-1),
                lambda scores, mask: (scores * mask).softmax(-1) * mask,
                lambda scores, mask: (scores * mask).exp() / (scores * mask).exp().sum(-1, keepdim=True),
            ),
        ),
        Misconception(
            "the softmax runs over the wrong axis",
            "Your weights sum to one along another axis than the keys': the queries (or even the sentences of the "
            "batch) compete for each key. Each *query* distributes its attention over the *keys*, the last axis: "
            "`softmax(-1)`. Training hides this mistake well; public code has carried it for years.",
            (
                lambda scores, mask: _filled(scores, mask, MINUS_INFINITY, 1),
                lambda scores, mask: _filled(scores, mask, LOW, 1),
                lambda scores, mask: _filled(scores, mask, LOW, 1) * mask,
                lambda scores, mask: _filled(scores, mask, MINUS_INFINITY, 0),
                lambda scores, mask: _filled(scores, mask, LOW, 0),
                lambda scores, mask: _filled(scores, mask, LOW, 0) * mask,
                lambda scores, mask: scores.softmax(1),
            ),
        ),
        Misconception(
            "a fully masked row is NaN",
            "Where a query may attend to nothing, every score of its row is $-\\infty$ and the softmax is 0/0. One "
            "such row makes the loss NaN, and one step later every parameter. Fill with a finite number instead; "
            "then ask what that gives such a row.",
            (lambda scores, mask: _filled(scores, mask, MINUS_INFINITY),),
        ),
        Misconception(
            "a fully masked row is spread over masked keys",
            "Where a query may attend to nothing, all its scores are equally low, so the softmax shares the 1 out "
            "evenly among keys that it must not see. No NaN, but a leak. Such a row has to become zero: what do you "
            "know about all its entries?",
            (lambda scores, mask: _filled(scores, mask, LOW),),
        ),
        Misconception(
            "the mask is made from the scores",
            "Your code treats a score of 0 as padding. Zero is a score like any other, and padding rarely has it: "
            "what is padding is known from the lengths only, which is why it is handed in as `mask`.",
            (lambda scores, mask: masked_softmax(scores, scores != 0),),
        ),
        Misconception(
            "the scores are divided by their sum",
            "There is no `exp` in your weights. Scores have either sign: their sum may be near zero, a weight may "
            "come out negative or far above one. The exponential makes every share positive, whatever the score.",
            (
                lambda scores, mask: (scores * mask) / (scores * mask).sum(-1, keepdim=True),
                lambda scores, mask: ((scores * mask) / (scores * mask).sum(-1, keepdim=True)).nan_to_num(),
            ),
        ),
        Misconception(
            "the sum of a row has lost its axis",
            "`x.sum(-1)` is (B, Tq), and dividing (B, Tq, Tk) by it lines up Tq with Tk. Mostly torch refuses; with "
            "one sentence and as many queries as keys it divides *columns*, silently. `keepdim=True` keeps the "
            "place: (B, Tq, 1).",
            (lambda scores, mask: scores.softmax(-1) * mask / (scores.softmax(-1) * mask).sum(-1),),
        ),
        Misconception(
            "exp of the scores overflows",
            "Your code takes `exp` of the scores as they are. In float32 that is infinite from 89 on, and ∞/∞ is "
            "NaN; far below zero it is 0, and 0/0 is NaN too. A softmax does not change when a number is subtracted "
            "from all scores of a row: subtract the largest first, as `torch.softmax` does.",
            (
                _unshifted,
                lambda scores, mask: _unshifted(scores, mask, 1e-9),
                lambda scores, mask: _unshifted(scores, mask).nan_to_num(),
            ),
        ),
        Misconception(
            "the weights are renormalised after masking",
            "On paper this is right: softmax (or `exp` of the scores less their maximum), zero the masked keys, "
            "divide by what is left. In floating point nothing may be left: when a masked key has by far the largest "
            "score, the others have underflowed to 0 before you divide. Padding can hold any number; take it out "
            "before the softmax, and before the maximum.",
            (_renormalised, lambda scores, mask: _renormalised(scores, mask, 1e-9)),
        ),
        Misconception(
            "the fill value is not low enough",
            "Your masked keys get a score that is low, but not lower than everything: where real scores lie below "
            "it, the masked keys win. The lowest finite number of the dtype, `torch.finfo(scores.dtype).min`, cannot "
            "be undercut.",
            (
                lambda scores, mask: _filled(scores, mask, -1e4),
                lambda scores, mask: _filled(scores, mask, -1e4) * mask,
            ),
        ),
        Misconception(
            "zero times infinity",
            "Everything is NaN: `(~mask) * float('-inf')` is $0 \\cdot \\infty$ where the mask lets pass, and that "
            "is not 0 but NaN. Choose between two values instead of multiplying: `masked_fill` or `torch.where`.",
            (lambda scores, mask: (scores + (~mask) * MINUS_INFINITY).softmax(-1),),
        ),
        Misconception(
            "NaN is repaired after the fact",
            "The weights are right, the gradient is not. `nan_to_num` hides the NaN of a fully masked row, but "
            "backward still passes through the softmax that made it, and 0 · NaN is NaN; an addition of $-\\infty$ "
            "hands that on to the scores. Training breaks although no weight looks wrong: the NaN must not arise in "
            "the first place.",
            (lambda scores, mask: _biased(scores, mask).nan_to_num(),),
        ),
    ),
)
