"""The pointing distribution over real positions, and the loss that trains it."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def point(query, keys, v, sizes, target):
    scores = torch.tanh(query[:, :, None] + keys[:, None]) @ v  # (B, T, N)
    real = torch.arange(keys.shape[1]) < sizes[:, None, None]  # (B, 1, N)
    scores = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    loss = F.cross_entropy(scores.transpose(1, 2), target)  # takes the softmax itself
    return scores.softmax(-1), loss


def _by_loops(query, keys, v, sizes, target):
    B, T, N = len(query), query.shape[1], keys.shape[1]
    weights, losses = query.new_zeros(B, T, N), []
    for b in range(B):
        for t in range(T):
            n = int(sizes[b])
            scores = torch.stack([v @ torch.tanh(query[b, t] + keys[b, j]) for j in range(n)])
            weights[b, t, :n] = scores.softmax(0)
            losses.append(scores.logsumexp(0) - scores[target[b, t]])
    return weights, sum(losses) / (B * T)


def _by_log_softmax(query, keys, v, sizes, target):
    scores = torch.einsum("btna,a->btn", (query.unsqueeze(2) + keys.unsqueeze(1)).tanh(), v)
    beyond = torch.arange(keys.shape[1]).view(1, 1, -1) >= sizes.view(-1, 1, 1)
    log_p = scores.masked_fill(beyond, -torch.inf).log_softmax(-1)
    return log_p.exp(), -log_p.gather(2, target[..., None]).mean()


def _case(kind, seed, B=2, T=3, N=6, A=4, sizes=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    query, keys = (torch.randn(B, n, A, generator=rng, dtype=dtype) for n in (T, N))
    v = scale * torch.randn(A, generator=rng, dtype=dtype)
    sizes = torch.tensor(sizes or [N] * B)
    target = (torch.rand(B, T, generator=rng) * sizes[:, None]).long()
    return Case(kind, {"query": query, "keys": keys, "v": v, "sizes": sizes, "target": target}, gradients)


def _cases(seed):
    return [
        _case("a batch of two lists", seed),
        _case("lists with padding", seed + 1, B=3, T=4, N=7, sizes=[7, 5, 2]),
        _case("a single item", seed + 2, N=3, sizes=[1, 1]),
        _case("a batch of one", seed + 3, B=1, T=2, N=5, sizes=[4]),
        _case("one step", seed + 4, T=1),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 5, B=4, T=4, N=4, A=4, sizes=[4, 3, 2, 4]),
        _case("scores in the hundreds", seed + 6, N=8, A=5, scale=300.0, sizes=[8, 5]),
        _case("float64 inputs", seed + 7, B=3, N=5, dtype=torch.float64, sizes=[5, 3, 4]),
        _case("inputs whose gradient is asked", seed + 8, B=3, N=5, sizes=[5, 3, 4], gradients=("query", "keys", "v")),
    ]


def _sum_inside(query, keys, v):
    return torch.tanh(query[:, :, None] + keys[:, None]) @ v


def _real(keys, sizes):
    return torch.arange(keys.shape[1]) < sizes[:, None, None]


def _lowest(scores, real):
    return scores.masked_fill(~real, torch.finfo(scores.dtype).min)


def _softmax(scores, real):
    return _lowest(scores, real).softmax(-1)


def _entropy(scores, real, target):
    return F.cross_entropy(_lowest(scores, real).transpose(1, 2), target)


def _chosen(rows, target):
    return rows.gather(2, target[..., None])[..., 0]  # (B, T)


def _version(scores=_sum_inside, real=_real, weights=_softmax, loss=_entropy):
    """The solution with one part exchanged."""

    def version(query, keys, v, sizes, target):
        u, r = scores(query, keys, v), real(keys, sizes)
        return weights(u, r), loss(u, r, target)

    return version


def _blend(loss=_entropy):
    def version(query, keys, v, sizes, target):
        u, r = _sum_inside(query, keys, v), _real(keys, sizes)
        return _softmax(u, r) @ keys, loss(u, r, target)

    return version


def _zeroed(scores, real):
    return scores.softmax(-1) * real


def _no_mask(keys, sizes):
    return torch.ones_like(_real(keys, sizes))


EXERCISE = Exercise(
    id="pointer_networks.pointing",
    title="The distribution is the answer",
    points=3,
    task=r"""
A pointer network scores every item of the list and takes the softmax over the *items*; there is nothing else between
the scores and the answer:

$$u_{ij} = v^\top \tanh(W_1 e_j + W_2 d_i), \qquad p_i(j) = \mathrm{softmax}_j(u_{ij})$$

Give the distribution of every step, and the loss that trains it, the mean of $-\log p_i(\mathrm{target}_i)$ over all
steps of all lists. The projections are done. Lists are padded: of the N items of list `b` only the first `sizes[b]`
are real, and the others must get exactly nothing. Scores may be large.

| argument | |
|---|---|
| `query` | (B, T, A): $W_2 d_i$, one for each step |
| `keys` | (B, N, A): $W_1 e_j$, one for each item |
| `v` | (A,) |
| `sizes` | (B,) int: how many items are real |
| `target` | (B, T) int: which item is right, from 0 |
| returns `weights`, `loss` | (B, T, N) and one number |
""",
    stub="""
def point(query, keys, v, sizes, target):
    ...  # your code: weights (B, T, N), loss
""",
    hints=(
        "Begin with one step and one list: a score for each item, N numbers. What must a padded item's score be, so "
        "that the softmax gives it exactly zero?",
        "To add every query to every key, give each an axis of length one where the other has its positions; the "
        "product with `v` then takes away the last axis.",
        "`F.cross_entropy` wants *scores*, not probabilities, with the classes on axis 1: (B, N, T) against (B, T). "
        "Which axis of your scores are the classes here? Without it: `log_softmax`, then `gather` what is right.",
    ),
    solution=point,
    spellings=(_by_loops, _by_log_softmax),
    axes={"query": "B T A", "keys": "B N A", "v": "A", "sizes": "B", "target": "B T"},
    returns=(Output("weights", "B T N", distribution=True), Output("loss", "")),
    cases=_cases,
    wrong=(
        Misconception(
            "a softmax before the loss",
            "Your distribution is right, and the loss takes a softmax of it once more: `F.cross_entropy` expects "
            "scores. Probabilities lie between 0 and 1, so even a network that is certain and right is told that it "
            "might be wrong: with five items the loss can never fall below 0.905. It trains all the same, badly, "
            "which is why this mistake lives in public code.",
            (
                _version(loss=lambda u, r, target: F.cross_entropy(_softmax(u, r).transpose(1, 2), target)),
                _version(loss=lambda u, r, target: F.cross_entropy(u.softmax(-1).transpose(1, 2), target)),
            ),
        ),
        Misconception(
            "the items are blended",
            "You read with the weights: a sum of keys, A numbers. That is attention as chapter 4 has it, and the "
            "answer would have to come from a layer after it, with a fixed number of classes. A pointer network stops "
            "one line earlier: the weights *are* the answer.",
            (_blend(),),
        ),
        Misconception(
            "padding can be pointed at",
            "The items beyond `sizes` get a share. Nothing tells the network that a row of zeros is no point; in a "
            "batch with a longer list the same problem has another answer. Take them out before the softmax.",
            (_version(real=_no_mask),),
        ),
        Misconception(
            "the loss still sees the padding",
            "The distribution you return is right, but the loss is that of the scores with padding among them: what is "
            "trained is another distribution. Mask the scores once, and use them for both.",
            (_version(loss=lambda u, r, target: F.cross_entropy(u.transpose(1, 2), target)),),
        ),
        Misconception(
            "padding is zeroed after the softmax",
            "The padded items get zero, but they have taken part in the sum below the fraction: what is left does not "
            "sum to one. Take them out of the *scores*, with the lowest number there is.",
            (
                _version(weights=_zeroed),
                _version(weights=_zeroed, loss=lambda u, r, t: -_chosen(_zeroed(u, r), t).log().mean()),
                _version(weights=_zeroed, loss=lambda u, r, t: F.cross_entropy(u.transpose(1, 2), t)),
            ),
        ),
        Misconception(
            "padded scores are set to zero",
            "A score of zero is no absence: $e^0 = 1$, a share like that of any lukewarm item. What must have no share "
            "needs the lowest score, minus infinity or the lowest number there is.",
            (
                _version(
                    weights=lambda u, r: (u * r).softmax(-1),
                    loss=lambda u, r, t: F.cross_entropy((u * r).transpose(1, 2), t),
                ),
            ),
        ),
        Misconception(
            "a sigmoid for each item",
            "Every item gets its own yes or no, and the shares do not sum to one. Some texts write the pointer's "
            "output with a $\\sigma$; it is a softmax over the items: one of them is chosen at each step.",
            (
                _version(
                    weights=lambda u, r: u.sigmoid() * r,
                    loss=lambda u, r, t: -_chosen(F.logsigmoid(u), t).mean(),
                ),
                _version(weights=lambda u, r: u.sigmoid() * r),
                _version(
                    weights=lambda u, r: u.sigmoid() * r, loss=lambda u, r, t: -_chosen(u.sigmoid(), t).log().mean()
                ),
            ),
        ),
        Misconception(
            "the softmax runs over the steps",
            "Each item's weights sum to one over the *steps*: the steps compete for an item. It is the items that "
            "compete, at every step. The items are the last axis.",
            (
                _version(weights=lambda u, r: _lowest(u, r).softmax(1)),
                _version(
                    weights=lambda u, r: _lowest(u, r).softmax(1),
                    loss=lambda u, r, t: -_chosen(_lowest(u, r).log_softmax(1), t).mean(),
                ),
                _version(weights=lambda u, r: u.softmax(1) * r),
            ),
        ),
        Misconception(
            "the score is a dot product",
            "You multiply query and key. That is a fine score, and another one (chapter 6): this network's has a "
            "hidden layer, the sum of the two squashed by tanh, and `v` reads a number off it.",
            (
                _version(lambda query, keys, v: query @ keys.mT),
                _version(lambda query, keys, v: (query * v) @ keys.mT),
                _version(lambda query, keys, v: torch.tanh(query @ keys.mT)),
            ),
        ),
        Misconception(
            "the tanh is missing",
            "Without the tanh the query adds the same number to every item's score, and a softmax does not see what is "
            "added to all: each step would point alike. The tanh lets the two meet.",
            (_version(lambda query, keys, v: (query[:, :, None] + keys[:, None]) @ v),),
        ),
        Misconception(
            "the tanh comes before the sum",
            "You squash query and key each by itself. Their sum is then a number for the query plus a number for the "
            "key, and the query's is the same for all items: each step would point alike. Add first.",
            (_version(lambda query, keys, v: (query.tanh()[:, :, None] + keys.tanh()[:, None]) @ v),),
        ),
        Misconception(
            "the logarithm comes too late",
            "Where scores are large, the softmax rounds small shares to exactly 0, and the logarithm of that is minus "
            "infinity, or NaN in the gradient. `log_softmax` and `F.cross_entropy` subtract the largest score before "
            "they take any logarithm.",
            (_version(loss=lambda u, r, t: -_chosen(_softmax(u, r), t).log().mean()),),
        ),
        Misconception(
            "the loss has no logarithm",
            "Your loss is the mean of the right items' probabilities, without the logarithm. An item that got 0.01 "
            "then costs hardly more than one that got 0.1, and where the network is badly wrong the gradient vanishes.",
            (
                _version(loss=lambda u, r, t: -_chosen(_softmax(u, r), t).mean()),
                _version(loss=lambda u, r, t: (1 - _chosen(_softmax(u, r), t)).mean()),
            ),
        ),
        Misconception(
            "the loss is a sum",
            "Your loss adds up where it should average: it grows with the number of steps or lists, and so does the "
            "step that the optimiser takes. The mean is over all steps of all lists.",
            (
                _version(loss=lambda u, r, t: _entropy(u, r, t) * t.numel()),
                _version(loss=lambda u, r, t: _entropy(u, r, t) * t.shape[1]),
            ),
        ),
        Misconception(
            "the sign of the loss",
            "Your loss is $+\\log p$: to make it small is to make the right item improbable. What is minimised is "
            "$-\\log p$.",
            (_version(loss=lambda u, r, t: -_entropy(u, r, t)),),
        ),
        Misconception(
            "one padded item too many",
            "One item beyond the end is still taken for real. Positions count from 0, so the last real one is "
            "`sizes - 1`.",
            (_version(real=lambda keys, sizes: torch.arange(keys.shape[1]) <= sizes[:, None, None]),),
        ),
        Misconception(
            "the mask is upside down",
            "Your shares lie on the padding, and the real items get none. `masked_fill` fills where its mask is "
            "*true*.",
            (
                _version(real=lambda keys, sizes: ~_real(keys, sizes)),
                _version(
                    real=lambda keys, sizes: ~_real(keys, sizes),
                    weights=lambda u, r: u.masked_fill(~r, -torch.inf).softmax(-1),
                    loss=lambda u, r, t: F.cross_entropy(u.masked_fill(~r, -torch.inf).transpose(1, 2), t),
                ),
            ),
        ),
    ),
)
