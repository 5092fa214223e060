"""softmax(Q Kᵀ / √Dh) V in each head, with a mask."""

import torch
import torch.nn.functional as F

from ....core.attention import attend
from ....core.masks import padding
from ...engine.core import Case, Exercise, Misconception, Output


def scaled_dot_heads(query, keys, values, heads, mask):
    def split(x):  # (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    q, k, v = split(query), split(keys), split(values)
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (B, H, Tq, Tk), by √Dh
    low = torch.finfo(scores.dtype).min
    scores = scores.masked_fill(~mask[:, None], low)  # the same for every head
    weights = scores.softmax(-1)  # (B, H, Tq, Tk)
    context = (weights @ v).transpose(1, 2)  # (B, Tq, H, Dh)
    return context.flatten(-2), weights  # (B, Tq, D)


def _by_heads(query, keys, values, heads, mask):
    pairs = []
    for q, k, v in zip(*(x.chunk(heads, -1) for x in (query, keys, values)), strict=True):
        pairs.append(attend(q, k, v, mask=mask))
    contexts, weights = zip(*pairs, strict=True)
    return torch.cat(contexts, -1), torch.stack(weights, 1)


def _by_einsum(query, keys, values, heads, mask):
    q, k, v = (x.reshape(x.shape[0], x.shape[1], heads, -1) for x in (query, keys, values))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = torch.softmax(scores.masked_fill(mask.logical_not().unsqueeze(1), float("-inf")), dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v).reshape(query.shape), weights


def _by_torch(query, keys, values, heads, mask):
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, keys, values))
    context = F.scaled_dot_product_attention(q, k, v, mask[:, None]).transpose(1, 2).flatten(-2)
    return context, scaled_dot_heads(query, keys, values, heads, mask)[1]


def _case(kind, seed, B=2, Tq=3, Tk=5, heads=2, Dh=4, scale=1.0, dtype=torch.float32, gradients=()):
    """Every query may attend to its first key at least; without gaps, what a mask does would not show."""
    rng = torch.Generator().manual_seed(seed)
    shapes = {"query": (B, Tq, heads * Dh), "keys": (B, Tk, heads * Dh), "values": (B, Tk, heads * Dh)}
    inputs = {name: torch.randn(shape, generator=rng, dtype=dtype) for name, shape in shapes.items()}
    inputs["query"] *= scale
    mask = torch.rand(B, Tq, Tk, generator=rng) < 0.7
    mask[..., -1], mask[..., 0] = False, True
    return Case(kind, inputs | {"heads": heads, "mask": mask}, gradients)


def _cases(seed):
    padded = _case("padding", seed + 1)
    padded.inputs["mask"] = padding(torch.tensor([5, 3]), 5).expand(2, 3, 5).clone()
    free = _case("nothing masked", seed + 2, heads=3)
    free.inputs["mask"] = torch.ones_like(free.inputs["mask"])
    return [
        _case("a random batch with two heads", seed),
        padded,
        free,
        _case("a single head", seed + 3, heads=1),
        _case("heads of size one", seed + 4, heads=3, Dh=1),
        _case("a batch of one", seed + 5, B=1, heads=4),
        _case("a single key", seed + 6, Tk=1),
        _case("as many heads as queries and keys", seed + 7, Tq=4, Tk=4, heads=4),
        _case("large scores", seed + 8, scale=100.0),
        _case("float64 inputs", seed + 9, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 10, gradients=("query", "keys", "values")),
    ]


def _split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _merge(context):
    return context.transpose(1, 2).flatten(-2)


def _softmax(scores, mask):
    return scores.masked_fill(~mask[:, None], torch.finfo(scores.dtype).min).softmax(-1)


def _version(scale=lambda Dh, D, Tk: Dh**0.5, split=_split, normalise=_softmax, merge=_merge, give=lambda w: w):
    """The solution with one part exchanged."""

    def version(query, keys, values, heads, mask):
        q, k, v = (split(x, heads) for x in (query, keys, values))
        scores = q @ k.mT / scale(q.shape[-1], query.shape[-1], keys.shape[1])
        weights = normalise(scores, mask)
        return merge(weights @ v), give(weights)

    return version


EXERCISE = Exercise(
    id="query_key_value.scaled-dot",
    title="Scaled dot-product attention with heads",
    points=3,
    task=r"""
Queries, keys and values have D features. Cut these into H heads of $D_h = D / H$ neighbouring features, attend in
every head on its own, and put the heads' contexts side by side again:

$$\mathrm{weights}_h = \mathrm{softmax}(Q_h K_h^\top / \sqrt{D_h})$$

$$\mathrm{context} = [\mathrm{weights}_1 V_1; \dots; \mathrm{weights}_H V_H]$$

| argument | what it is |
|---|---|
| `query` | (B, Tq, D), projected already |
| `keys`, `values` | (B, Tk, D) |
| `heads` | H, a divisor of D; head 0 has features 0 … Dh−1 |
| `mask` | (B, Tq, Tk), bool; True = may attend, the same for every head; each query may attend something |
| returns `context, weights` | (B, Tq, D), (B, H, Tq, Tk) |
""",
    stub="""
def scaled_dot_heads(query, keys, values, heads, mask):
    ...  # your code: context (B, Tq, D), weights (B, H, Tq, Tk)
""",
    hints=(
        "Bring all three to (B, H, T, Dh). From there on, heads are one more batch axis, and the rest is one head's "
        "attention.",
        "`x.unflatten(-1, (heads, -1))` is (B, T, H, Dh): the cut. Only then exchange T and H by `transpose(1, 2)`. "
        "The mask lacks an axis for the heads: `mask[:, None]`.",
        "Divide by the square root of `q.shape[-1]` after the cut, mask the scores, softmax over the last axis, "
        "`weights @ v`; then undo both steps in reverse order: `transpose(1, 2)`, `flatten(-2)`.",
    ),
    solution=scaled_dot_heads,
    spellings=(_by_heads, _by_einsum, _by_torch),
    axes={"query": "B Tq D", "keys": "B Tk D", "values": "B Tk D", "mask": "B Tq Tk"},
    returns=(Output("context", "B Tq D"), Output("weights", "B H Tq Tk", distribution=True)),
    cases=_cases,
    wrong=(
        Misconception(
            "the scores are not scaled",
            "Your weights are those of the plain dot product. A sum of $D_h$ products of unit variance has variance "
            "$D_h$: the larger the heads, the sharper your softmax and the smaller its gradient, before anything "
            "is learned.",
            (_version(lambda Dh, D, Tk: 1.0),),
        ),
        Misconception(
            "scaled by the model's size, not the head's",
            "Your scores are divided by $\\sqrt{D}$. Each is a sum over the $D_h$ features of *one head*, so its "
            "standard deviation is $\\sqrt{D_h}$. With one head the two agree, and the mistake is invisible; with "
            "eight, the weights are too flat.",
            (_version(lambda Dh, D, Tk: D**0.5),),
        ),
        Misconception(
            "divided by the size, not by its square root",
            "Your scores are divided by $D_h$ (or $D$) itself. The *variance* of a score is $D_h$; to bring it to "
            "one, divide by the standard deviation, $\\sqrt{D_h}$.",
            (_version(lambda Dh, D, Tk: Dh), _version(lambda Dh, D, Tk: D)),
        ),
        Misconception(
            "scaled by the number of keys",
            "Your scores are divided by $\\sqrt{T_k}$. Some texts write $\\sqrt n$ where $n$ was the length a page "
            "before. A longer sequence makes no score larger; a larger head does.",
            (_version(lambda Dh, D, Tk: Tk**0.5),),
        ),
        Misconception(
            "the softmax runs over the wrong axis",
            "Your weights do not share out each query's attention among the keys: the softmax runs over the queries, "
            "or over the heads. Keys lie along the last axis of (B, H, Tq, Tk).",
            (
                _version(normalise=lambda scores, mask: _filled(scores, mask).softmax(-2)),
                _version(normalise=lambda scores, mask: _filled(scores, mask).softmax(1)),
                _version(normalise=lambda scores, mask: _filled(scores, mask, float("-inf")).softmax(-2)),
                _version(normalise=lambda scores, mask: _filled(scores, mask, float("-inf")).softmax(1)),
            ),
        ),
        Misconception(
            "the mask is applied after the softmax",
            "Masked keys get no weight, but the share they took is lost: your rows sum to less than one. Mask the "
            "scores, then normalise.",
            (_version(normalise=lambda scores, mask: scores.softmax(-1) * mask[:, None]),),
        ),
        Misconception(
            "the mask is inverted",
            "Your weights lie exactly where the mask forbids. Here, as in `F.scaled_dot_product_attention`, True "
            "means *may attend*. (`nn.MultiheadAttention` means the opposite.)",
            (
                _version(normalise=lambda scores, mask: _softmax(scores, ~mask)),
                _version(normalise=lambda scores, mask: _filled(scores, ~mask, float("-inf")).softmax(-1)),
            ),
        ),
        Misconception(
            "the mask is left out",
            "Your weights do not depend on `mask`: padding, or the future, is read like everything else.",
            (_version(normalise=lambda scores, mask: scores.softmax(-1)),),
        ),
        Misconception(
            "the mask meets the wrong axis",
            "The mask is (B, Tq, Tk), the scores are (B, H, Tq, Tk): lined up from the right, as broadcasting does, "
            "B meets H. Mostly torch refuses; with as many sentences as heads it masks *head* b as sentence b should "
            "be. `mask[:, None]` is (B, 1, Tq, Tk).",
            (
                _version(
                    normalise=lambda scores, mask: scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
                ),
            ),
        ),
        Misconception(
            "heads are cut across positions",
            "You reshaped (B, T, D) straight to (B, H, T, Dh). The sizes fit and nothing complains, but the memory "
            "is cut in another order: a 'head' now holds pieces of several positions, and with a mask or a causal "
            "order the future leaks in. First (B, T, H, Dh), which cuts the features; then transpose.",
            (
                _version(split=lambda x, H: _reshape(x, H)),
                _version(split=lambda x, H: _reshape(x, H), merge=lambda c: c.reshape(len(c), c.shape[2], -1)),
            ),
        ),
        Misconception(
            "heads are joined without moving their axis back",
            "Your weights are right, the context is not: (B, H, Tq, Dh) was reshaped straight to (B, Tq, D), which "
            "mixes positions. Bring the heads beside their features first, by `transpose(1, 2)`, then flatten.",
            (_version(merge=lambda c: c.reshape(len(c), c.shape[2], -1)),),
        ),
        Misconception(
            "features are dealt out to the heads in turn",
            "Your heads take every H-th feature. The cut is into *neighbouring* features: head 0 has the first "
            "$D_h$ of them. Trained projections know which feature belongs to which head.",
            (
                _version(split=lambda x, H: x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2)),
                _version(
                    split=lambda x, H: x.unflatten(-1, (-1, H)).permute(0, 3, 1, 2),
                    merge=lambda c: c.permute(0, 2, 3, 1).flatten(-2),
                ),
            ),
        ),
        Misconception(
            "the weights are averaged over the heads",
            "Your context is right; of the weights only the mean over the heads is left, as `nn.MultiheadAttention` "
            "gives it by default. Two heads that look at different places look like one that cannot decide.",
            (_version(give=lambda w: w.mean(1)),),
        ),
    ),
)


def _filled(scores, mask, low=None):
    return scores.masked_fill(~mask[:, None], torch.finfo(scores.dtype).min if low is None else low)


def _reshape(x, heads):
    return x.reshape(len(x), heads, x.shape[1], -1)
