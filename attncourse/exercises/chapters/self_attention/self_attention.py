"""Self-attention from `attend`: three projections of one sequence, and who may see whom."""

import torch

from attncourse.core import masks
from attncourse.core.attention import attend

from ...engine.core import Case, Exercise, Misconception, Output


def self_attention(x, W_q, W_k, W_v, lengths):
    T = x.shape[1]
    mask = masks.padding(lengths, T) & masks.causal(T)  # (B, T, T)
    context, _ = attend(x @ W_q, x @ W_k, x @ W_v, mask=mask)  # (B, T, Dh)
    return context


def _loop(x, W_q, W_k, W_v, lengths):
    rows = []
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            seen = x[b, : min(t + 1, int(lengths[b]))]
            scores = torch.stack([(x[b, t] @ W_q) @ (s @ W_k) for s in seen]) / W_q.shape[1] ** 0.5
            rows.append(sum(a * (s @ W_v) for a, s in zip(scores.softmax(0), seen, strict=True)))
    return torch.stack(rows).view(*x.shape[:2], -1)


def _by_torch(x, W_q, W_k, W_v, lengths):
    t = torch.arange(x.shape[1])
    mask = (t[None, :] <= t[:, None]) & (t < lengths[:, None])[:, None]
    query, keys, values = (torch.einsum("btd,dh->bth", x, W) for W in (W_q, W_k, W_v))
    return torch.nn.functional.scaled_dot_product_attention(query, keys, values, mask)


def _variant(pad=True, before=True, combine=torch.logical_and, scale=None, roles="qkv", triangle=torch.clone,
             flip=False, over=-1, own_padding=False, zeros=False):  # fmt: skip
    """The solution with one idea changed at a time."""

    def answer(x, W_q, W_k, W_v, lengths):
        T, weights = x.shape[1], {"q": W_q, "k": W_k, "v": W_v}
        query, keys, values = (x @ weights[role] for role in roles)
        causal = triangle(masks.causal(T))
        padding = masks.padding(lengths, T)
        mask = combine(padding if pad else torch.ones_like(padding), causal if before else torch.ones_like(causal))
        if own_padding:
            mask = mask & padding.mT
        mask = ~mask if flip else mask
        scores = query @ keys.mT / (W_q.shape[1] ** 0.5 if scale is None else scale(x, W_q))
        if zeros:
            return scores.masked_fill(~mask, 0.0).softmax(over) @ values
        scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min)
        return scores.softmax(over).masked_fill(~mask, 0.0) @ values

    return answer


def _after(x, W_q, W_k, W_v, lengths):
    """The mask multiplies weights that all keys have shared already."""
    _, weights = attend(x @ W_q, x @ W_k, x @ W_v)
    mask = masks.padding(lengths, x.shape[1]) & masks.causal(x.shape[1])
    return (weights * mask) @ (x @ W_v)


def _case(kind, seed, B=3, T=6, D=5, Dh=4, lengths=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    W = {f"W_{r}": torch.randn(D, Dh, generator=rng, dtype=dtype) for r in "qkv"}
    x = scale * torch.randn(B, T, D, generator=rng, dtype=dtype)
    return Case(kind, {"x": x, **W, "lengths": torch.tensor(lengths) if lengths else torch.full((B,), T)}, gradients)


def _cases(seed):
    return [
        _case("sequences of one length", seed),
        _case("sequences of different lengths", seed + 1, lengths=[6, 3, 1]),
        _case("a batch of one", seed + 2, B=1, lengths=[4]),
        _case("a sequence of one symbol", seed + 3, T=1),
        _case("heads as wide as the model", seed + 4, Dh=5, lengths=[6, 4, 2]),
        _case("large inputs", seed + 5, scale=20.0, lengths=[6, 5, 2]),
        _case("float64 inputs", seed + 6, dtype=torch.float64, lengths=[6, 3, 1]),
        _case("inputs whose gradient is asked", seed + 7, lengths=[6, 4, 3], gradients=("x", "W_q", "W_k", "W_v")),
    ]


EXERCISE = Exercise(
    id="self_attention.self-attention",
    title="Self-attention from attend",
    points=2,
    task=r"""
One sequence asks, answers and is read. Build causal self-attention from `attend` and `masks`:

$$\mathit{context} = \mathrm{softmax}\Big(\frac{X W_q (X W_k)^\top}{\sqrt{D_h}}\Big)\, X W_v$$

where position $t$ sees the positions $s \le t$ that are not padding.

| argument | |
|---|---|
| `x` | (B, T, D); beyond `lengths` it holds padding, which need not be zero |
| `W_q`, `W_k`, `W_v` | (D, Dh) each, used as `x @ W` |
| `lengths` | (B,) int, at least 1 |
| returns `context` | (B, T, Dh), also for the padding: as queries, padded positions follow the same rule |

A mask is bool, True = may attend. `masks.padding(lengths, T)` is (B, 1, T), `masks.causal(T)` is (T, T).
""",
    stub="""
def self_attention(x, W_q, W_k, W_v, lengths):
    ...  # your code: context (B, T, Dh)
""",
    hints=(
        "`attend(query, keys, values, mask=…)` does the scoring, the scaling and the reading. What are query, keys and "
        "values, when there is one sequence only?",
        "A key must be real *and* not in the future. Which of `&` and `|` says that, and what shape comes out when "
        "(B, 1, T) meets (T, T)?",
        "`attend` returns two things, `context, weights`; only the first is asked for.",
    ),
    solution=self_attention,
    spellings=(_loop, _by_torch),
    axes={"x": "B T D", "W_q": "D Dh", "W_k": "D Dh", "W_v": "D Dh", "lengths": "B"},
    returns=(Output("context", "B T Dh"),),
    cases=_cases,
    wrong=(
        Misconception(
            "padding is attended to",
            "In a short sequence your context depends on what stands beyond its end. Padding is a rectangle's need, "
            "not the sentence's: the same sentence would be read differently beside a longer one. The mask also "
            "needs `masks.padding(lengths, T)`.",
            (_variant(pad=False),),
        ),
        Misconception(
            "the future is attended to",
            "Your position $t$ reads positions after $t$. A model that predicts the next symbol from this has seen "
            "it already: its training loss is wonderful and means nothing. The mask also needs `masks.causal(T)`.",
            (_variant(before=False),),
        ),
        Misconception(
            "there is no mask",
            "Every position sees every other one: the future, and the padding behind each short sequence. The "
            "equation is right; what is missing is who may look at whom: `mask=` of `attend`.",
            (_variant(pad=False, before=False),),
        ),
        Misconception(
            "the two masks are joined by or",
            "With `|` a key may be attended when it is real *or* not in the future: real words of the future are "
            "seen, and so is padding that lies in the past. Both conditions have to hold: `&`.",
            (_variant(combine=torch.logical_or),),
        ),
        Misconception(
            "the mask is inverted",
            "Your positions see what they should not, and nothing else. In this course, as in "
            "`F.scaled_dot_product_attention`, True means *may attend*; `nn.MultiheadAttention` means the opposite.",
            (_variant(flip=True),),
        ),
        Misconception(
            "a position may not see itself",
            "Your first position gets nothing at all: the diagonal is masked, too. LSTMN looks strictly at the past, "
            "because its state for $t$ does not exist yet; here $x_t$ is there, and $s \\le t$ includes it.",
            (_variant(triangle=lambda mask: mask.tril(-1)),),
        ),
        Misconception(
            "the triangle is upside down",
            "Your position $t$ sees itself and everything *after* it. The past of $t$ are the columns $s \\le t$ of "
            "row $t$: the lower triangle, `tril`.",
            (_variant(triangle=torch.t),),
        ),
        Misconception(
            "masked scores are set to zero",
            "You put 0 where a key may not be seen. Zero is an ordinary score, and $e^0 = 1$ an ordinary share: the "
            "masked keys still take part. What a softmax turns into nothing is $-\\infty$.",
            (_variant(zeros=True),),
        ),
        Misconception(
            "the mask multiplies the weights",
            "You take the softmax over all keys and set some weights to zero afterwards. The forbidden keys have "
            "had their share by then: your rows sum to less than one, by an amount that depends on the future. The "
            "mask belongs before the softmax, where `attend` puts it.",
            (_after,),
        ),
        Misconception(
            "the scores are not scaled",
            "Your weights are sharper than they should be: $\\sqrt{D_h}$ is missing. Without it the variance of the "
            "scores grows with the width of the head, and the softmax saturates.",
            (_variant(scale=lambda x, W: 1.0),),
        ),
        Misconception(
            "the scores are scaled by another size",
            "You divide by the root of a size that is not the head's. A dot product of query and key adds $D_h$ "
            "terms; the width of the model and the length of the sequence do not enter it.",
            (_variant(scale=lambda x, W: x.shape[2] ** 0.5), _variant(scale=lambda x, W: x.shape[1] ** 0.5)),
        ),
        Misconception(
            "the softmax runs over the queries",
            "Your weights sum to one over the positions that *ask*. Each query distributes its own attention over "
            "the keys: the softmax runs over the last axis of (B, Tq, Tk). Here both axes are T long, so nothing "
            "but the numbers tells.",
            (_variant(over=-2),),
        ),
        Misconception(
            "queries and keys are exchanged",
            "Position $t$ is asked with $W_k$ and answers with $W_q$: your scores are the transpose of what the "
            "equation says. In an encoder the two matrices could simply learn each other's part; under a causal mask, "
            "and beside trained weights, it is another function.",
            (_variant(roles="kqv"),),
        ),
        Misconception(
            "the keys are read, not the values",
            "The weights are right, but what you mix is `x @ W_k`. Keys are there to be found, values to be read; "
            "that the two may differ is the reason for having three matrices.",
            (_variant(roles="qkk"),),
        ),
        Misconception(
            "padded positions may not ask",
            "Your context is zero on the padding. Nobody will read it, so it does little harm, but it is not what "
            "was asked: a padding mask is about *keys*, (B, 1, T), and a query that may see nothing is one of the "
            "ways to a NaN.",
            (_variant(own_padding=True),),
        ),
    ),
)
