"""The position encoding: a sentence becomes one vector that still knows the order of its words."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def encode(words, lengths):
    W, D = words.shape[1:]
    j = torch.arange(1, W + 1, device=words.device)[:, None]  # (W, 1), words count from 1
    k = torch.arange(1, D + 1, device=words.device)  # (D,), so do features
    share = j / lengths[:, None, None].to(words.dtype)  # j/J (B, W, 1)
    code = (1 - share) - (k / D) * (1 - 2 * share)  # (B, W, D)
    real = j <= lengths[:, None, None]  # (B, W, 1)
    return (code * real * words).sum(1)


def _loop(words, lengths):
    B, _, D = words.shape
    rows = []
    for b in range(B):
        J, sums = int(lengths[b]), []
        for k in range(1, D + 1):
            sums.append(
                sum(((1 - j / J) - (k / D) * (1 - 2 * j / J)) * words[b, j - 1, k - 1] for j in range(1, J + 1))
            )
        rows.append(torch.stack(sums))
    return torch.stack(rows)


def _two_bags(words, lengths):
    """Σ (1 - j/J) x_j - (k/d) Σ (1 - 2j/J) x_j: two weighted bags, and the features last."""
    W, D = words.shape[1:]
    j = torch.arange(W, dtype=words.dtype) + 1
    share, real = j / lengths.view(-1, 1), (j <= lengths.view(-1, 1)).to(words.dtype)
    first = torch.einsum("bw,bwd->bd", ((1 - share) * real).to(words.dtype), words)
    second = torch.einsum("bw,bwd->bd", ((1 - 2 * share) * real).to(words.dtype), words)
    return first - torch.linspace(1 / D, 1, D, dtype=words.dtype) * second


def _variant(j0=1, k0=1, whole=False, sign=-1, mask=True, mean=False, double=2, bag=False, first=True,
             flip=False, popular=False):  # fmt: skip
    """The solution with one idea changed at a time."""

    def answer(words, lengths):
        W, D = words.shape[1:]
        j = (torch.arange(W, dtype=words.dtype) + j0)[:, None]
        k = torch.arange(D, dtype=words.dtype) + k0
        J = torch.full_like(lengths, W) if whole else lengths
        J = J[:, None, None].to(words.dtype)
        a, b = j / J, k / D
        a = (J + 1) / J - a if flip else a
        code = (1 - a if first else 0) + sign * b * (1 - double * a)
        if popular:  # of a much copied implementation
            code = 1 + 4 * (k - (D + 1) / 2) * (j - (J + 1) / 2) / (D * J)
        code = torch.ones_like(code) if bag else code
        real = torch.arange(W)[:, None] < lengths[:, None, None] if mask else 1.0
        total = (code * real * words).sum(1)
        return total / lengths[:, None] if mean else total

    return answer


def _case(kind, seed, B=3, W=6, D=5, lengths=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    words = scale * torch.randn(B, W, D, generator=rng, dtype=dtype)
    return Case(
        kind, {"words": words, "lengths": torch.full((B,), W) if lengths is None else torch.tensor(lengths)}, gradients
    )


def _cases(seed):
    return [
        _case("sentences of one length", seed),
        _case("sentences of different lengths", seed + 1, lengths=[6, 3, 1]),
        _case("a batch of one", seed + 2, B=1, lengths=[4]),
        _case("sentences of one word", seed + 3, W=1),
        _case("one feature", seed + 4, D=1, lengths=[6, 4, 2]),
        _case("as many words as features", seed + 5, W=5, lengths=[5, 2, 3]),
        _case("large inputs", seed + 6, scale=50.0, lengths=[6, 5, 2]),
        _case("float64 inputs", seed + 7, dtype=torch.float64, lengths=[6, 3, 2]),
        _case("inputs whose gradient is asked", seed + 8, lengths=[6, 4, 3], gradients=("words",)),
    ]


EXERCISE = Exercise(
    id="memory_networks.position-encoding",
    title="A bag that knows its order",
    points=2,
    task=r"""
The words of a sentence are added up, each with a weight of its own in every feature:

$$m = \sum_{j=1}^{J} l_j \circ x_j, \qquad l_{kj} = \Big(1 - \frac jJ\Big) - \frac kd \Big(1 - \frac{2j}J\Big)$$

with $J$ the number of words *of this sentence* and $d$ the number of features; $j = 1 \dots J$ and $k = 1 \dots d$.

| argument | |
|---|---|
| `words` | (B, W, D): embedded words $x_j$; beyond `lengths` it holds padding, which need not be zero |
| `lengths` | (B,) int: $J$ of each sentence, at least 1 |
| returns `sentence` | (B, D): $m$ |
""",
    stub="""
def encode(words, lengths):
    ...  # your code: sentence (B, D)
""",
    hints=(
        "Three axes, (B, W, D): which of $j$, $k$ and $J$ lies along which? Give each its own shape, (W, 1), (D,) and "
        "(B, 1, 1), and let broadcasting do the rest.",
        "`torch.arange(W)` starts at 0. The last word has $j = J$, so its weight is $k/d$; the first feature of the "
        "first word has $k = j = 1$.",
        "Words beyond the end are multiplied by zero before the sum.",
    ),
    solution=encode,
    spellings=(_loop, _two_bags),
    axes={"words": "B W D", "lengths": "B"},
    returns=(Output("sentence", "B D"),),
    cases=_cases,
    wrong=(
        Misconception(
            "words and features count from 0",
            "Your $j$ and $k$ start at 0, as `torch.arange` does. The paper's start at 1: the last word has $j = J$ "
            "and the weights $k/d$, and no feature has $k = 0$. Several public implementations are off by this one, "
            "and they train; they are another encoding.",
            (_variant(j0=0, k0=0),),
        ),
        Misconception(
            "the words count from 0",
            "Your $j$ runs from 0 to $J - 1$. It starts at 1 and ends at $J$: the last word's weight is $k/d$, since "
            "$1 - J/J = 0$.",
            (_variant(j0=0),),
        ),
        Misconception(
            "the features count from 0",
            "Your $k$ runs from 0 to $d - 1$, so the first feature has no second term at all. It starts at 1 and "
            "ends at $d$.",
            (_variant(k0=0),),
        ),
        Misconception(
            "J is the width of the batch",
            "You divide by the number of columns. $J$ is the sentence's own number of words: otherwise its vector "
            "changes when a longer sentence comes to stand beside it.",
            (_variant(whole=True), _variant(whole=True, mask=False)),
        ),
        Misconception(
            "the second term is added",
            "You wrote $(1 - j/J) + (k/d)(1 - 2j/J)$. It is a difference: in the last feature, $k = d$, the weight "
            "becomes $j/J$ and rises from word to word; with a plus the order is told the same way everywhere.",
            (_variant(sign=1),),
        ),
        Misconception(
            "padding is added up",
            "In a short sentence your vector depends on what stands beyond its last word. The sum ends at $J$.",
            (_variant(mask=False),),
        ),
        Misconception(
            "it is a bag of words",
            "Every word counts the same in your sum: *anna gave the ball to bruno* and *bruno gave the ball to anna* "
            "are one vector. The weights $l_{kj}$ are missing.",
            (_variant(bag=True), _variant(bag=True, mask=False), _variant(bag=True, mean=True)),
        ),
        Misconception(
            "the sum is a mean",
            "You divide by the number of words. $j/J$ has taken the length into account already; the paper sums.",
            (_variant(mean=True),),
        ),
        Misconception(
            "the 2 is missing",
            "Your second bracket is $1 - j/J$. With $2j/J$ it changes its sign in the middle of the sentence, so that "
            "half of the features favour the beginning and half the end.",
            (_variant(double=1),),
        ),
        Misconception(
            "the first bracket is missing",
            "You wrote the second term only. Then the word in the middle of a sentence, where $2j = J$, is not read at "
            "all.",
            (_variant(first=False),),
        ),
        Misconception(
            "the words are counted from the end",
            "Your weights run backwards through the sentence: the last word gets what the first should get. It would "
            "learn as well; beside trained weights it is another function.",
            (_variant(flip=True),),
        ),
        Misconception(
            "it is the formula of another code",
            "You wrote $1 + 4\\,(k - \\frac{d+1}2)(j - \\frac{J+1}2)/(dJ)$, which a much copied implementation uses. "
            "It bends the same way, but is centred on 1 instead of running from 0 to 1; the paper's is the one above.",
            (_variant(popular=True),),
        ),
    ),
)
