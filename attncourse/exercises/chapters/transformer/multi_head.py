"""Four matrices and a number of heads: project, split, attend, merge, project."""

import torch
import torch.nn.functional as F

from ....core.attention import attend
from ...engine.core import Case, Exercise, Misconception, Output


def multi_head(x, W_q, W_k, W_v, W_o, heads):
    def split(y):  # (B, T, D) -> (B, T, H, Dh) -> (B, H, T, Dh)
        return y.unflatten(-1, (heads, -1)).transpose(1, 2)

    query, keys, values = split(x @ W_q), split(x @ W_k), split(x @ W_v)
    scores = query @ keys.mT / query.shape[-1] ** 0.5  # (B, H, T, T), by √Dh
    context = scores.softmax(-1) @ values  # (B, H, T, Dh)
    return context.transpose(1, 2).flatten(-2) @ W_o  # (B, T, D)


def _by_heads(x, W_q, W_k, W_v, W_o, heads):
    parts = [torch.chunk(W, heads, -1) for W in (W_q, W_k, W_v)]
    contexts = [attend(x @ q, x @ k, x @ v)[0] for q, k, v in zip(*parts, strict=True)]
    return torch.cat(contexts, -1) @ W_o


def _as_a_sum(x, W_q, W_k, W_v, W_o, heads):
    """Each head has its own rows of W_o: what they write is added up."""
    q, k, v = (W.reshape(len(W), heads, -1) for W in (W_q, W_k, W_v))  # (D, H, Dh)
    query, keys, values = (torch.einsum("btd,dhe->bhte", x, W) for W in (q, k, v))
    weights = (torch.einsum("bhie,bhje->bhij", query, keys) * q.shape[-1] ** -0.5).softmax(-1)
    return torch.einsum("bhij,bhje,hed->bid", weights, values, W_o.reshape(heads, -1, W_o.shape[-1]))


def _fused(x, W_q, W_k, W_v, W_o, heads):
    parts = ((x @ W).view(*x.shape[:2], heads, -1).permute(0, 2, 1, 3) for W in (W_q, W_k, W_v))
    context = F.scaled_dot_product_attention(*parts)
    return context.permute(0, 2, 1, 3).reshape(x.shape) @ W_o


def _case(kind, seed, B=2, T=5, heads=2, Dh=4, scale=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    D = heads * Dh
    inputs = {"x": scale * torch.randn(B, T, D, generator=rng, dtype=dtype)}
    inputs |= {name: torch.randn(D, D, generator=rng, dtype=dtype) * D**-0.5 for name in ("W_q", "W_k", "W_v", "W_o")}
    return Case(kind, inputs | {"heads": heads}, gradients)


def _cases(seed):
    return [
        _case("a random batch with two heads", seed),
        _case("four heads", seed + 1, heads=4),
        _case("a single head", seed + 2, heads=1, Dh=6),
        _case("heads of size one", seed + 3, heads=3, Dh=1),
        _case("a batch of one", seed + 4, B=1, heads=3),
        _case("a single position", seed + 5, T=1),
        _case("as many positions as heads", seed + 6, B=4, T=4, heads=4),
        _case("large inputs", seed + 7, scale=12.0),
        _case("float64 inputs", seed + 8, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 9, gradients=("x", "W_q", "W_o")),
    ]


def _split(y, heads):
    return y.unflatten(-1, (heads, -1)).transpose(1, 2)


def _merge(context):
    return context.transpose(1, 2).flatten(-2)


def _straight(y, heads):
    return y.reshape(len(y), heads, y.shape[1], -1)


def _dealt(y, heads):
    return y.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)


def _side(y, W):
    return y @ W


def _version(split=_split, scale=lambda Dh, D, T: Dh**0.5, merge=_merge, out=_side, project=_side, axis=-1):
    """The solution with one part exchanged."""

    def version(x, W_q, W_k, W_v, W_o, heads):
        query, keys, values = (split(project(x, W), heads) for W in (W_q, W_k, W_v))
        scores = query @ keys.mT / scale(query.shape[-1], x.shape[-1], x.shape[1])
        return out(merge(scores.softmax(axis) @ values), W_o)

    return version


def _joined(x, W_q, W_k, W_v, W_o, heads):
    """One attention over all features: the heads are never cut."""
    return attend(x @ W_q, x @ W_k, x @ W_v)[0] @ W_o


def _joined_small(x, W_q, W_k, W_v, W_o, heads):
    scores = (x @ W_q) @ (x @ W_k).mT / (x.shape[-1] // heads) ** 0.5
    return scores.softmax(-1) @ (x @ W_v) @ W_o


def _heads_among_themselves(x, W_q, W_k, W_v, W_o, heads):
    """(B, T, H, Dh) without the transpose: the last two axes are heads and features."""
    query, keys, values = ((x @ W).unflatten(-1, (heads, -1)) for W in (W_q, W_k, W_v))
    return ((query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1) @ values).flatten(-2) @ W_o


def _scaled_late(x, W_q, W_k, W_v, W_o, heads):
    query, keys, values = (_split(x @ W, heads) for W in (W_q, W_k, W_v))
    return _merge((query @ keys.mT).softmax(-1) / query.shape[-1] ** 0.5 @ values) @ W_o


def _unprojected(x, W_q, W_k, W_v, W_o, heads):
    query, keys, values = _split(x @ W_q, heads), _split(x @ W_k, heads), _split(x, heads)
    weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1)
    return _merge(weights @ values) @ W_o


EXERCISE = Exercise(
    id="transformer.multi-head",
    title="Split, attend, merge",
    points=3,
    task=r"""
Write multi-head self-attention with its four matrices. Project `x`, cut each projection into H heads of
$D_h = D/H$ neighbouring features, attend in every head, put the heads side by side again, and mix them with $W_o$:

$$\mathrm{head}_h = \mathrm{softmax}\big(Q_h K_h^\top / \sqrt{D_h}\big)\, V_h, \qquad
\mathrm{out} = [\mathrm{head}_1; \dots; \mathrm{head}_H]\, W_o$$

| argument | |
|---|---|
| `x` | (B, T, D): queries, keys and values all come from it |
| `W_q`, `W_k`, `W_v`, `W_o` | (D, D), multiplied from the right: $Q = x W_q$; no bias |
| `heads` | H, a divisor of D; head 0 has features 0 … Dh−1 |
| returns `out` | (B, T, D) |
""",
    stub="""
def multi_head(x, W_q, W_k, W_v, W_o, heads):
    ...  # your code: out (B, T, D)
""",
    hints=(
        "Project first, cut afterwards. Once a projection is (B, H, T, Dh), the heads are one more batch axis and "
        "the rest is one head's attention.",
        "Cut the *features*: `y.unflatten(-1, (heads, -1))` is (B, T, H, Dh). Then exchange T and H with "
        "`transpose(1, 2)`. Merging is the same two steps backwards: `transpose(1, 2)`, then `flatten(-2)`.",
        "`scores = query @ keys.mT / query.shape[-1] ** 0.5` after the cut, so that the size is the head's; softmax "
        "over the last axis, `@ values`, merge, `@ W_o`.",
    ),
    solution=multi_head,
    spellings=(_by_heads, _as_a_sum, _fused),
    axes={"x": "B T D", **{name: "D D" for name in ("W_q", "W_k", "W_v", "W_o")}},
    returns=(Output("out", "B T D"),),
    cases=_cases,
    wrong=(
        Misconception(
            "view without transpose",
            "You went from (B, T, D) straight to (B, H, T, Dh). The sizes fit and nothing complains, but the memory is "
            "cut in another order: what you call a head holds pieces of several *positions*. With a causal mask the "
            "future would leak in. First (B, T, H, Dh), which cuts the features; then exchange T and H.",
            (
                _version(_straight),
                _version(_straight, merge=lambda c: c.reshape(len(c), c.shape[2], -1)),
            ),
        ),
        Misconception(
            "the heads attend to each other",
            "You stopped at (B, T, H, Dh). There the product with the keys runs over *heads*: at each position the "
            "heads look at one another, and no position ever sees another one. Exchange T and H before the look.",
            (_heads_among_themselves,),
        ),
        Misconception(
            "scaled by d_model",
            "Your scores are divided by $\\sqrt{D}$. Each is a sum over the $D_h$ features of one head, so its "
            "standard deviation is $\\sqrt{D_h}$. With one head the two agree and the mistake is invisible; with H "
            "heads your scores are too small by a factor $\\sqrt{H}$, and the softmax too flat.",
            (_version(scale=lambda Dh, D, T: D**0.5),),
        ),
        Misconception(
            "not scaled",
            "Your scores are plain dot products. Their variance is $D_h$: the larger the heads, the sharper the "
            "softmax before anything is learned, and the smaller its gradient. Divide by $\\sqrt{D_h}$.",
            (_version(scale=lambda Dh, D, T: 1.0),),
        ),
        Misconception(
            "the weights are scaled, not the scores",
            "You divide after the softmax: the weights are as sharp as without any scale, and no longer sum to one. "
            "The division belongs inside, before the softmax.",
            (_scaled_late,),
        ),
        Misconception(
            "divided by the size, not by its root",
            "Your scores are divided by $D_h$ itself. The *variance* of a score is $D_h$; its standard deviation, "
            "which brings it to one, is $\\sqrt{D_h}$.",
            (_version(scale=lambda Dh, D, T: Dh),),
        ),
        Misconception(
            "merged without transpose",
            "The heads are right, their merging is not: (B, H, T, Dh) was reshaped straight to (B, T, D), which mixes "
            "positions. Move the heads back beside their features, `transpose(1, 2)`, and flatten then.",
            (_version(merge=lambda c: c.reshape(len(c), c.shape[2], -1)),),
        ),
        Misconception(
            "$W_o$ is left out",
            "Your result is the heads side by side. Without $W_o$ each head could write into its own $D_h$ features "
            "only, and the residual stream would be cut into H strips that never meet.",
            (_version(out=lambda y, W: y),),
        ),
        Misconception(
            "the heads are never cut",
            "Your answer does not depend on how many heads there are: it is one attention over all D features. One "
            "softmax can hold one opinion about where to look; H heads hold H.",
            (_joined, _joined_small),
        ),
        Misconception(
            "features are dealt out in turn",
            "Your heads take every H-th feature. Heads are *neighbouring* features, head 0 has the first $D_h$. A "
            "network trained from scratch would not mind; the weights of a trained one would be scrambled.",
            (
                _version(_dealt),
                _version(_dealt, merge=lambda c: c.permute(0, 2, 3, 1).flatten(-2)),
            ),
        ),
        Misconception(
            "the matrices are transposed",
            "You multiply by $W^\\top$. `nn.Linear` stores its weight that way round and computes $x W^\\top$; here "
            "the matrices are given for $x W$. Square matrices never complain.",
            (
                _version(project=lambda y, W: y @ W.T, out=lambda y, W: y @ W.T),
                _version(project=lambda y, W: y @ W.T),
                _version(out=lambda y, W: y @ W.T),
            ),
        ),
        Misconception(
            "the softmax runs over the wrong axis",
            "Each query's weights must sum to one over the keys, the *last* axis of (B, H, Tq, Tk). Yours are "
            "normalised over the queries, or over the heads.",
            (_version(axis=-2), _version(axis=1)),
        ),
        Misconception(
            "the values are not projected",
            "Your heads read `x` itself. What is matched ($W_q$, $W_k$) and what is read ($W_v$) are chosen apart: "
            "without $W_v$ a head can pass on only its own strip of the input.",
            (_unprojected,),
        ),
    ),
)
