"""The doubly stochastic penalty: over a whole caption, no place should be left out."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def doubly_stochastic(weights, lengths):
    t = torch.arange(weights.shape[1], device=weights.device)  # (T,)
    real = (t < lengths[:, None])[..., None]  # (B, T, 1)
    seen = (weights * real).sum(1)  # (B, L): how much each place was looked at
    return ((1 - seen) ** 2).sum(-1)  # (B,)


def _loop(weights, lengths):
    found = []
    for b in range(len(weights)):
        total = weights.new_zeros(())
        for i in range(weights.shape[2]):
            seen = sum(weights[b, t, i] for t in range(int(lengths[b])))
            total = total + (1 - seen) ** 2
        found.append(total)
    return torch.stack(found)


def _expanded(weights, lengths):
    """Σ_i (1 - c_i)² = L - 2 Σ_i c_i + Σ_i c_i²"""
    real = (torch.arange(weights.shape[1]) < lengths.unsqueeze(1)).to(weights.dtype)
    seen = torch.einsum("btl,bt->bl", weights, real)
    return weights.shape[2] - 2 * seen.sum(1) + torch.einsum("bl,bl->b", seen, seen)


def _variant(over_time=True, time="sum", places="sum", padding=True, bend=lambda x: x**2, target=1.0):
    """The solution with one idea changed at a time."""

    def answer(weights, lengths):
        real = (torch.arange(weights.shape[1]) < lengths[:, None])[..., None]
        kept = weights * real if padding else weights
        if not over_time:  # a row's sum over places, once a word
            return getattr(bend(real[..., 0].to(kept.dtype) - kept.sum(-1)), places)(-1)
        steps = lengths[:, None] if padding else weights.shape[1]
        seen = kept.sum(1) / (steps if time == "mean" else 1)
        return getattr(bend(target - seen), places)(-1)

    return answer


def _squared_first(weights, lengths):
    real = (torch.arange(weights.shape[1]) < lengths[:, None])[..., None]
    return (((1 - weights) ** 2) * real).sum((1, 2))


def _mean_of_all_steps(weights, lengths):
    real = (torch.arange(weights.shape[1]) < lengths[:, None])[..., None]
    return ((1 - (weights * real).mean(1)) ** 2).sum(-1)


def _square_outside(weights, lengths):
    real = (torch.arange(weights.shape[1]) < lengths[:, None])[..., None]
    return (1 - (weights * real).sum(1)).sum(-1) ** 2


def _one_word_more(weights, lengths):
    real = (torch.arange(weights.shape[1]) <= lengths[:, None])[..., None]
    return ((1 - (weights * real).sum(1)) ** 2).sum(-1)


def _fair_share(weights, lengths):
    real = (torch.arange(weights.shape[1]) < lengths[:, None])[..., None]
    share = (lengths / weights.shape[2])[:, None].to(weights.dtype)
    return ((share - (weights * real).sum(1)) ** 2).sum(-1)


def _case(kind, seed, B=3, T=5, L=9, lengths=None, dtype=torch.float32, sharp=2.0, gated=False, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    weights = (sharp * torch.randn(B, T, L, generator=rng, dtype=dtype)).softmax(-1)
    if gated:
        weights = weights * torch.rand(B, T, 1, generator=rng, dtype=dtype)
    return Case(kind, {"weights": weights, "lengths": torch.tensor(lengths or [T] * B)}, gradients)


def _cases(seed):
    return [
        _case("captions of one length", seed),
        _case("captions of different lengths", seed + 1, lengths=[5, 3, 1]),
        _case("more words than places", seed + 2, T=12, L=4, lengths=[12, 7, 4]),
        _case("as many words as places", seed + 3, T=6, L=6, lengths=[6, 6, 2]),
        _case("a batch of one", seed + 4, B=1),
        _case("rows that sum to less than one", seed + 9, lengths=[5, 3, 4], gated=True),
        _case("captions of one word", seed + 5, T=1),
        _case("weights that are nearly hard", seed + 6, sharp=60.0, lengths=[5, 4, 2]),
        _case("float64 inputs", seed + 7, dtype=torch.float64, lengths=[5, 2, 4]),
        _case("weights whose gradient is asked", seed + 8, lengths=[5, 3, 2], gradients=("weights",)),
    ]


EXERCISE = Exercise(
    id="show_attend_tell.doubly-stochastic",
    title="The doubly stochastic penalty",
    points=2,
    task=r"""
The softmax makes each word's weights sum to one over the places. The paper asks for something like it along the other
axis, too: over the words of a caption, each place should be looked at once. Not as a constraint, but as a penalty:

$$\sum_{i=1}^{L} \Big(1 - \sum_{t=1}^{T} \alpha_{ti}\Big)^2$$

| argument | |
|---|---|
| `weights` | (B, T, L): $\alpha_{ti}$; rows beyond a caption's end hold weights, too, which must not count |
| `lengths` | (B,) int: $T$, each caption's own number of words |
| returns `penalty` | (B,): one number a caption, not yet averaged over the batch |
""",
    stub="""
def doubly_stochastic(weights, lengths):
    ...  # your code: penalty (B,)
""",
    hints=(
        "Work from the inside out. The inner sum runs over *words* and leaves one number a place: how much was this "
        "place looked at in all? Which axis disappears?",
        "Words beyond the end have to leave before the sum: multiply by `(t < lengths[:, None])[..., None]`.",
        "`seen = (weights * real).sum(1)`, of shape (B, L); then `((1 - seen) ** 2).sum(-1)`.",
    ),
    solution=doubly_stochastic,
    spellings=(_loop, _expanded),
    axes={"weights": "B T L", "lengths": "B"},
    returns=(Output("penalty", "B"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the sum runs over the wrong axis",
            "Your inner sum runs over the places. A softmax has already made that sum one, for every word: your "
            "penalty is zero up to rounding, whatever the model looks at, and so is its gradient. Nothing would "
            "complain in training. The inner sum runs over the *words*, and leaves a number a place.",
            (
                _variant(over_time=False),
                lambda weights, lengths: ((1 - weights.sum(-1)) ** 2).sum(-1),
                lambda weights, lengths: ((1 - weights.sum(-1)) ** 2).mean(-1),
            ),
        ),
        Misconception(
            "the mean over time stands for the sum",
            "You average over the words where the formula sums. A mean of weights is a small number, so $1 - $ mean is "
            "near one for every place, looked at or not: the penalty is nearly the constant $L$, and its gradient "
            "$T$ times too weak.",
            (
                _variant(time="mean"),
                _variant(time="mean", padding=False),
                _mean_of_all_steps,
            ),
        ),
        Misconception(
            "padding words count",
            "Rows beyond a caption's end go into your sum. Then a short caption is penalised differently when it "
            "stands in a batch beside a long one. Only the first `lengths[b]` rows are words.",
            (_variant(padding=False),),
        ),
        Misconception(
            "the square is taken of each weight",
            "You sum $(1 - \\alpha_{ti})^2$ over words and places. That asks every *single* weight to be one, and "
            "never looks at what a place got from the whole caption. Sum over the words first, then square.",
            (_squared_first,),
        ),
        Misconception(
            "the places are averaged",
            "Your number is $L$ times too small: the outer Σ is a sum over places. The factor could go into λ, but "
            "then the λ of the paper, or of anybody, means something else in your code.",
            (_variant(places="mean"), _variant(places="mean", padding=False)),
        ),
        Misconception(
            "one word too many counts",
            "Your mask lets in the row at `t == lengths[b]`, the first one after the end. Rows count from 0: the last "
            "word is `lengths[b] - 1`: `t < lengths`.",
            (_one_word_more,),
        ),
        Misconception(
            "looking too much is let pass",
            "You penalise only places that got less than one. But looking too often at a place is just what the term "
            "is there to discourage: with fewer words than places, it is all that the weights can do about it.",
            (_variant(bend=lambda x: x.clamp_min(0) ** 2),),
        ),
        Misconception(
            "there is no square",
            "You sum $1 - \\sum_t \\alpha_{ti}$ as it is. Places looked at too much and too little cancel: the total "
            "is $L - T$ whatever the weights, and its gradient teaches nothing. The square makes both count.",
            (_variant(bend=lambda x: x),),
        ),
        Misconception(
            "the absolute value stands for the square",
            "You use $|1 - c|$. Below one its slope is the same for every place, and since the weights of a word sum "
            "to one, moving weight from one such place to another changes nothing. The square prefers even coverage.",
            (_variant(bend=torch.abs),),
        ),
        Misconception(
            "the square comes after the sum over places",
            "You square the *sum* over places. It is $(L - T)^2$, the same number for all weights, because each word "
            "hands out exactly one. The square belongs to each place.",
            (_square_outside,),
        ),
        Misconception(
            "the target is T/L, not one",
            "You ask each place for its fair share $T/L$ of the looking. A sensible thought, since $T$ words cannot "
            "give one to each of $L > T$ places; and the gradient is even the same. But the paper writes a one, "
            "and the value differs by a constant.",
            (_fair_share,),
        ),
        Misconception(
            "the one is missing",
            "You return $\\sum_i c_i^2$ without the one. For weights that sum to one over the places this has the "
            "same gradient (expand the square and see), but it is not the penalty.",
            (_variant(target=0.0),),
        ),
    ),
)
