"""Write one symbol more: the new key and value join the old ones, and only the new position asks."""

import torch
import torch.nn.functional as F

from ....core.attention import attend
from ...engine.core import Case, Exercise, Misconception, Output


def cache_step(x, keys, values, W_q, W_k, W_v):
    query = (x @ W_q)[:, None]  # (B, 1, D)
    keys = torch.cat([keys, (x @ W_k)[:, None]], 1)  # (B, T + 1, D)
    values = torch.cat([values, (x @ W_v)[:, None]], 1)
    scores = query @ keys.mT / keys.shape[-1] ** 0.5  # (B, 1, T + 1)
    context = scores.softmax(-1) @ values  # (B, 1, D)
    return context[:, 0], keys, values


def _by_attend(x, keys, values, W_q, W_k, W_v):
    x = x.unsqueeze(1)
    keys, values = torch.cat((keys, x @ W_k), dim=1), torch.cat((values, x @ W_v), dim=1)
    return attend(x @ W_q, keys, values)[0].squeeze(1), keys, values


def _einsum(x, keys, values, W_q, W_k, W_v):
    keys = F.pad(keys, (0, 0, 0, 1)) + F.pad((x @ W_k)[:, None], (0, 0, keys.shape[1], 0))
    values = F.pad(values, (0, 0, 0, 1)) + F.pad((x @ W_v)[:, None], (0, 0, values.shape[1], 0))
    weights = torch.softmax(torch.einsum("bd,btd->bt", x @ W_q, keys) * x.shape[-1] ** -0.5, -1)
    return torch.einsum("bt,btd->bd", weights, values), keys, values


def _case(kind, seed, B=2, T=4, D=6, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    shapes = {"x": (B, D), "keys": (B, T, D), "values": (B, T, D), "W_q": (D, D), "W_k": (D, D), "W_v": (D, D)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["x"] *= scale
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("a cache of four positions", seed),
        _case("an empty cache, the first symbol", seed + 1, T=0),
        _case("a batch of one", seed + 2, B=1, T=3),
        _case("a long cache", seed + 3, T=9),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 4, B=5, T=5, D=5),
        _case("large inputs", seed + 5, scale=30.0),
        _case("float64 inputs", seed + 6, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 7, gradients=("x", "keys", "values", "W_q")),
    ]


def _append(old, new):
    return torch.cat([old, new[:, None]], 1)


def _prepend(old, new):
    return torch.cat([new[:, None], old], 1)


def _look(query, keys, values, size=None):
    scores = (query[:, None] @ keys.mT) / (size or keys.shape[-1]) ** 0.5
    return (scores.softmax(-1) @ values)[:, 0]


def _version(join=_append, look=_look, again=lambda keys, W: keys, new=lambda x, W_q, W_k, W_v: (x @ W_k, x @ W_v),
             give=lambda context, old, grown: (context, *grown)):  # fmt: skip
    """The solution with one part exchanged."""

    def version(x, keys, values, W_q, W_k, W_v):
        key, value = new(x, W_q, W_k, W_v)
        grown = join(again(keys, W_k), key), join(again(values, W_v), value)
        return give(look(x @ W_q, *grown), (keys, values), grown)

    return version


def _look_then_grow(x, keys, values, W_q, W_k, W_v):
    """The new position does not see itself; of an empty cache nothing can be read."""
    context = _look(x @ W_q, keys, values) if keys.shape[1] else torch.zeros_like(x)
    return context, _append(keys, x @ W_k), _append(values, x @ W_v)


def _look_then_grow_itself(x, keys, values, W_q, W_k, W_v):
    context = _look(x @ W_q, keys, values) if keys.shape[1] else x @ W_v
    return context, _append(keys, x @ W_k), _append(values, x @ W_v)


def _corner(query, keys, values):
    """tril of a (1, T + 1) matrix keeps its first entry only."""
    scores = query[:, None] @ keys.mT / keys.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return (scores.masked_fill(~mask, float("-inf")).softmax(-1) @ values)[:, 0]


def _only_new(x, keys, values, W_q, W_k, W_v):
    return x @ W_v, _append(keys, x @ W_k), _append(values, x @ W_v)


def _asked_plainly(x, keys, values, W_q, W_k, W_v):
    keys, values = _append(keys, x @ W_k), _append(values, x @ W_v)
    return _look(x, keys, values), keys, values


EXERCISE = Exercise(
    id="transformer.cache-step",
    title="One step with a cache",
    points=2,
    task=r"""
A decoder has written T symbols; the keys and values of all of them are kept. Given the new position's vector,
compute what its self-attention reads, and the grown cache. One head, no bias:

$$q = x W_q, \qquad K_{new} = [K;\, x W_k], \qquad V_{new} = [V;\, x W_v]$$

$$\mathrm{context} = \mathrm{softmax}\big(q K_{new}^\top / \sqrt{D}\big) V_{new}$$

| argument | |
|---|---|
| `x` | (B, D), the newest position, not projected |
| `keys`, `values` | (B, T, D), of the T positions before it, projected already; T may be 0 |
| `W_q`, `W_k`, `W_v` | (D, D), multiplied from the right |
| returns `context, keys, values` | (B, D), (B, T+1, D), (B, T+1, D) |
""",
    stub="""
def cache_step(x, keys, values, W_q, W_k, W_v):
    ...  # your code: context (B, D), keys and values (B, T + 1, D)
""",
    hints=(
        "Which positions may the newest one see? All of the cache, and itself. So the cache grows *before* the look.",
        "Project `x` three times. `torch.cat([keys, new[:, None]], 1)` adds one position along the axis of time and "
        "makes a new tensor; the old one stays as it was.",
        "There is one query and it is the last position: it may see everything that is there, so no mask is needed. "
        "`softmax(query @ keys.mT / D ** 0.5) @ values`.",
    ),
    solution=cache_step,
    spellings=(_by_attend, _einsum),
    axes={"x": "B D", "keys": "B T D", "values": "B T D", **{W: "D D" for W in ("W_q", "W_k", "W_v")}},
    returns=(Output("context", "B D"), Output("keys", "B T+1 D"), Output("values", "B T+1 D")),
    cases=_cases,
    wrong=(
        Misconception(
            "the look comes before the cache grows",
            "The cache is right, the context is not: the new position has not seen itself. In training the causal mask "
            "lets every position see itself, so writing would differ from what was trained, and the first symbol "
            "would have nothing to look at. Grow the cache first.",
            (_look_then_grow, _look_then_grow_itself),
        ),
        Misconception(
            "the cache is not grown",
            "The context is right, but you return the cache as it was. The next step would not see this symbol; after "
            "ten steps the model still knows only the beginning.",
            (_version(give=lambda context, old, grown: (context, *old)),),
        ),
        Misconception(
            "the new position is put first",
            "You put the new key before the old ones. Attention itself does not mind the order, so the context is "
            "right; but whoever masks or reads the cache by position does. Time grows to the right.",
            (_version(_prepend),),
        ),
        Misconception(
            "the cache is projected again",
            "Your old keys and values went through $W_k$ and $W_v$ a second time. They were projected when they "
            "entered; that this work is never done again is the point of a cache.",
            (_version(again=lambda old, W: old @ W),),
        ),
        Misconception(
            "a causal mask cut in the corner",
            "Your context is the value of the *first* position alone. `tril` of a (1, T+1) matrix keeps its first "
            "entry; but the single query is the last position and may see all of them. Here no mask is needed.",
            (_version(look=_corner),),
        ),
        Misconception(
            "only the new position is read",
            "Your context is the new value alone: a softmax over one key is 1. The query is one, the keys are all "
            "those of the cache and the new one.",
            (_only_new,),
        ),
        Misconception(
            "the value is projected with $W_k$",
            "Your new value is a copy of the new key. Keys say where to look, values what is read there; each has its "
            "own matrix, $W_k$ and $W_v$.",
            (_version(new=lambda x, W_q, W_k, W_v: (x @ W_k, x @ W_k)),),
        ),
        Misconception(
            "keys and values are exchanged",
            "The new key is made with $W_v$, the new value with $W_k$: the wrong way round.",
            (_version(new=lambda x, W_q, W_k, W_v: (x @ W_v, x @ W_k)),),
        ),
        Misconception(
            "the new position enters unprojected",
            "You put `x` itself into the cache. The others entered as $x W_k$ and $x W_v$; a vector from another space "
            "among them gives scores without meaning.",
            (_version(new=lambda x, W_q, W_k, W_v: (x, x)),),
        ),
        Misconception(
            "the query is not projected",
            "The cache is right; the question is `x` itself. Keys were made by $W_k$ to be matched with $x W_q$.",
            (_asked_plainly,),
        ),
        Misconception(
            "scaled by the length",
            "Your scores are divided by $\\sqrt{T + 1}$. Then the same symbols would look elsewhere the longer the "
            "text becomes. The scale belongs to the size of the vectors, $\\sqrt{D}$.",
            (_version(look=lambda query, keys, values: _look(query, keys, values, keys.shape[1])),),
        ),
        Misconception(
            "not scaled",
            "Your scores are not divided by $\\sqrt{D}$. In training they were: the weights here are sharper than "
            "what the other parts have learned to expect.",
            (_version(look=lambda query, keys, values: _look(query, keys, values, 1)),),
        ),
    ),
)
