"""One hop: read the memory with the question, and add what was found to the question."""

import torch

from attncourse.core import masks
from attncourse.core.attention import attend
from attncourse.core.scores import dot

from ...engine.core import Case, Exercise, Misconception, Output


def one_hop(query, keys, values, count):
    mask = masks.padding(count, keys.shape[1])  # (B, 1, N)
    found, weights = attend(query[:, None], keys, values, dot, mask)  # (B, 1, D), (B, 1, N)
    return query + found[:, 0], weights[:, 0]


def _loop(query, keys, values, count):
    asked, looks = [], torch.zeros_like(keys[:, :, 0])
    for b, n in enumerate(count.tolist()):
        p = torch.stack([query[b] @ keys[b, i] for i in range(n)]).softmax(0)
        asked.append(query[b] + sum(p[i] * values[b, i] for i in range(n)))
        looks[b, :n] = p
    return torch.stack(asked), looks


def _einsum(query, keys, values, count):
    real = torch.arange(keys.shape[1], device=keys.device) < count.unsqueeze(-1)
    scores = torch.einsum("bd,bnd->bn", query, keys).masked_fill(~real, float("-inf"))
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.einsum("bn,bnd->bd", weights, values) + query, weights


def _variant(scale=1.0, pad=True, over=1, fill=None, flip=False, after=False, add=True, read="values", match="keys",
             twice=False, squash=None, late=0):  # fmt: skip
    """The solution with one idea changed at a time."""

    def answer(query, keys, values, count):
        parts = {"keys": keys, "values": values}
        real = torch.arange(keys.shape[1], device=keys.device) < count[:, None] + late  # (B, N)
        real = torch.ones_like(real) if not pad else ~real if flip else real
        scores = torch.einsum("bd,bnd->bn", query, parts[match]) / (keys.shape[2] ** 0.5 if scale is None else scale)
        low = torch.finfo(scores.dtype).min if fill is None else fill
        weights = (scores if after else scores.masked_fill(~real, low)).softmax(over)
        weights = squash(scores) if squash else weights
        weights = weights * real if fill is None else weights
        found = torch.einsum("bn,bnd->bd", weights, parts[read])
        return (query if add else 0) + found + (query if twice else 0), weights

    return answer


def _hardest(query, keys, values, count):
    real = torch.arange(keys.shape[1], device=keys.device) < count[:, None]
    scores = torch.einsum("bd,bnd->bn", query, keys).masked_fill(~real, float("-inf"))
    weights = torch.nn.functional.one_hot(scores.argmax(1), keys.shape[1]).to(keys.dtype)
    return query + torch.einsum("bn,bnd->bd", weights, values), weights


def _shares(query, keys, values, count):
    """score / Σ score, without exp."""
    real = torch.arange(keys.shape[1], device=keys.device) < count[:, None]
    scores = torch.einsum("bd,bnd->bn", query, keys) * real
    weights = scores / scores.sum(1, keepdim=True)
    return query + torch.einsum("bn,bnd->bd", weights, values), weights


def _cosine(query, keys, values, count):
    """Only the directions are compared."""
    query_, keys_ = (x / x.norm(dim=-1, keepdim=True) for x in (query, keys))
    _, weights = attend(query_[:, None], keys_, values, dot, masks.padding(count, keys.shape[1]))
    return query + (weights @ values)[:, 0], weights[:, 0]


def _case(kind, seed, B=3, N=5, D=4, count=None, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    query = torch.randn(B, D, generator=rng, dtype=dtype) * scale
    keys, values = (torch.randn(B, N, D, generator=rng, dtype=dtype) for _ in range(2))
    count = torch.full((B,), N) if count is None else torch.tensor(count)
    return Case(kind, {"query": query, "keys": keys, "values": values, "count": count}, gradients)


def _cases(seed):
    return [
        _case("stories of one length", seed),
        _case("stories of different lengths", seed + 1, count=[5, 3, 1]),
        _case("a batch of one", seed + 2, B=1, count=[4]),
        _case("a memory of one sentence", seed + 3, N=1),
        _case("as many sentences as features", seed + 4, N=4, count=[4, 2, 3]),
        _case("large questions", seed + 5, scale=30.0, count=[5, 4, 2]),
        _case("float64 inputs", seed + 6, dtype=torch.float64, count=[5, 3, 1]),
        _case("inputs whose gradient is asked", seed + 7, count=[5, 3, 2], gradients=("query", "keys", "values")),
    ]


EXERCISE = Exercise(
    id="memory_networks.one-hop",
    title="One hop",
    points=2,
    task=r"""
The question looks at the memory once, and what it finds is added to it:

$$p_i = \mathrm{softmax}_i(u^\top m_i), \qquad o = \sum_i p_i c_i, \qquad u' = u + o$$

| argument | |
|---|---|
| `query` | (B, D): the question $u$ |
| `keys` | (B, N, D): $m_i$, what a sentence is found by |
| `values` | (B, N, D): $c_i$, what it says |
| `count` | (B,) int: sentences in each story, at least 1; what stands beyond is padding, and not zero |
| returns `query`, `weights` | $u'$ (B, D), and $p$ (B, N) with zeros on padding |
""",
    stub="""
def one_hop(query, keys, values, count):
    ...  # your code: query (B, D), weights (B, N)
""",
    hints=(
        "One score for each sentence: (B, D) against (B, N, D) gives (B, N). `attend` wants a query with an axis for "
        "its positions, `query[:, None]`; it would also do with `torch.einsum`.",
        "The paper's score is the plain dot product. `attend(…, score=…)` takes it from `attncourse.core.scores`.",
        "`masks.padding(count, N)` is (B, 1, N), True where there is a sentence.",
    ),
    solution=one_hop,
    spellings=(_loop, _einsum),
    axes={"query": "B D", "keys": "B N D", "values": "B N D", "count": "B"},
    returns=(Output("query", "B D"), Output("weights", "B N", distribution=True)),
    cases=_cases,
    wrong=(
        Misconception(
            "the question is forgotten",
            "You return what was found, $o$, alone. The next hop would not know any more what was asked: after *anna "
            "took the ball*, whoever asks *where* and whoever asks *who* would go on with the same vector. The hop "
            "adds: $u' = u + o$.",
            (_variant(add=False),),
        ),
        Misconception(
            "the scores are scaled by √D",
            "Your weights are flatter than they should be: `attend` divides by $\\sqrt D$ unless it is given another "
            "score. That is Vaswani's, two years later. Memory networks take the plain dot product.",
            (_variant(scale=None),),
        ),
        Misconception(
            "padding is attended to",
            "In a short story your result depends on what stands beyond its end. A sentence that nobody told takes "
            "its share of the softmax: mask with `count`.",
            (_variant(pad=False),),
        ),
        Misconception(
            "the mask is inverted",
            "Your weights lie on the padding and nowhere else. Here a mask is True where one *may* attend.",
            (_variant(flip=True),),
        ),
        Misconception(
            "masked scores are set to zero",
            "You put 0 where there is no sentence. Zero is an ordinary score, and $e^0 = 1$ an ordinary share; next "
            "to negative scores it even wins.",
            (_variant(fill=0.0),),
        ),
        Misconception(
            "the mask multiplies the weights",
            "You take the softmax over all places and set the padding to zero afterwards. It has had its share by "
            "then: your weights sum to less than one, and the less, the more padding there is.",
            (_variant(after=True),),
        ),
        Misconception(
            "the softmax runs over the batch",
            "Your weights sum to one over the stories of the batch. A question looks at the sentences of its own "
            "story: the softmax runs over the axis N, the last one.",
            (_variant(over=0),),
        ),
        Misconception(
            "the keys are read",
            "The weights are right, but what you mix are the keys $m_i$. A sentence is *found by* one vector and "
            "*says* another: *anna took the ball* is found by the ball and has to say anna.",
            (_variant(read="keys"),),
        ),
        Misconception(
            "the values are matched",
            "You score the question against $c_i$. What a sentence says is not what it is found by; in an adjacent "
            "network $c_i$ becomes the key of the *next* hop.",
            (_variant(match="values"),),
        ),
        Misconception(
            "keys and values are exchanged",
            "You match $c_i$ and read $m_i$. Shapes cannot tell them apart; the order is the one of `attend`: query, "
            "keys, values.",
            (_variant(match="values", read="keys"),),
        ),
        Misconception(
            "there is no softmax",
            "Your weights are the scores themselves. That is the paper's *linear start*, the first phase of training; "
            "the hop that was asked for normalises them.",
            (_variant(squash=lambda scores: scores),),
        ),
        Misconception(
            "the softmax has no exp",
            "You divide each score by the sum of the scores. Scores may be negative: then the sum can be near zero "
            "and the weights anything. The softmax takes exp first.",
            (_shares,),
        ),
        Misconception(
            "a sigmoid for each sentence",
            "Each of your weights lies between 0 and 1 by itself; together they sum to anything. A sentence should be "
            "chosen *against* the others: a softmax.",
            (_variant(squash=torch.sigmoid),),
        ),
        Misconception(
            "only the best sentence is read",
            "You take the sentence with the largest score. That is a hard choice, and no gradient comes back through "
            "it to the keys; the soft read is a mixture.",
            (_hardest,),
        ),
        Misconception(
            "every sentence weighs the same",
            "Your weights are equal: the memory is averaged, whatever was asked. The question has to be compared with "
            "each key.",
            (_variant(scale=float("inf")), _variant(scale=float("inf"), pad=False)),
        ),
        Misconception(
            "the vectors are brought to length one",
            "You compare directions only: that is the cosine of the Neural Turing Machine (chapter 13), which then "
            "needs a strength to become sharp. The dot product lets a key be found *more* by being longer.",
            (_cosine,),
        ),
        Misconception(
            "the question is added twice",
            "Your result is $2u + o$. Is $u$ added where it is returned, and once more on the way?",
            (_variant(twice=True),),
        ),
        Misconception(
            "one place too many is real",
            "Your mask reaches one sentence beyond the end: `<=` where `<` is meant. Places count from 0, so a story "
            "of $n$ sentences ends at $n - 1$.",
            (_variant(late=1),),
        ),
    ),
)
