"""Equivariance as a test that the learner writes: it has to pass for the right layers and to fail for the others."""

import torch

from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...fixtures import self_attention as nets


def is_equivariant(layer, x, order):
    first_shuffled = layer(x[:, order])  # (B, T, D)
    then_shuffled = layer(x)[:, order]
    return torch.allclose(first_shuffled, then_shuffled, atol=1e-5)


def _by_gap(layer, x, order):
    gap = layer(x.index_select(1, order)) - layer(x).index_select(1, order)
    return bool(gap.abs().max() < 1e-4)


def _undone(layer, x, order):
    """Shuffle, apply, and put everything back: nothing should have changed."""
    back = torch.argsort(order)
    return torch.allclose(layer(x[:, order])[:, back], layer(x), rtol=1e-4, atol=1e-5)


def _by_loop(layer, x, order):
    y, z = layer(x), layer(x[:, order])
    return all(torch.allclose(z[b, i], y[b, int(j)]) for b in range(len(x)) for i, j in enumerate(order))


def _case(kind, seed, layer, order=None, B=2, T=6, D=4, dtype="float32", gradients=()):
    rng = torch.Generator().manual_seed(seed)
    order = torch.roll(torch.arange(T), 2) if order is None else torch.tensor(order)  # not its own inverse
    x = torch.randn(B, T, D, generator=rng, dtype=getattr(torch, dtype))
    made = Fixture(f"{nets.__name__}.{layer}", (D,), seed, dtype)
    return Case(kind, {"layer": made, "x": x, "order": order}, gradients)


def _cases(seed):
    nothing, late = [0, 1, 2, 3, 4, 5], [0, 1, 4, 5, 3, 2]
    return [
        _case("self-attention", seed, "Attending"),
        _case("self-attention with position encodings", seed + 1, "Placed"),
        _case("self-attention with faint position encodings", seed + 2, "Faint"),
        _case("causal self-attention", seed + 3, "Causal"),
        _case("causal self-attention, the first two positions left in place", seed + 4, "Causal", late),
        _case("a convolution", seed + 5, "Convolution"),
        _case("a layer that works on each position alone", seed + 6, "Pointwise"),
        _case("a layer that adds each position's number", seed + 7, "Numbered"),
        _case("a layer that gives the mean of all, everywhere", seed + 8, "Everywhere"),
        _case("two positions that change places", seed + 9, "Attending", [0, 4, 2, 3, 1, 5]),
        _case("an order that changes nothing, and a convolution", seed + 10, "Convolution", nothing),
        _case("a batch of one", seed + 11, "Attending", B=1),
        _case("float64 inputs", seed + 12, "Placed", dtype="float64"),
        _case("an input whose gradient is asked", seed + 13, "Pointwise", gradients=("x",)),
    ]


def _same(a, b, atol=1e-5):
    return torch.allclose(a, b, atol=atol)


EXERCISE = Exercise(
    id="self_attention.equivariance",
    title="A test of equivariance",
    points=2,
    task=r"""
A layer $f$ is *permutation-equivariant* when it does not matter whether the positions are shuffled before it or
after it: $f(\pi(x)) = \pi(f(x))$ for every order $\pi$. Write the test for one order.

| argument | |
|---|---|
| `layer` | a module, `layer(x)` is (B, T, D) |
| `x` | (B, T, D) |
| `order` | (T,) int, a permutation: position $i$ of the shuffled sequence is position `order[i]` of the old one |
| returns `equivariant` | True or False (no assert): does the equation hold for this `x` and `order`, up to rounding? |

Rounding means differences of about $10^{-6}$ here. Every layer that is not equivariant is off by more than $10^{-4}$.
""",
    stub="""
def is_equivariant(layer, x, order):
    ...  # your code: True or False
""",
    hints=(
        "Two roads lead from `x` to a shuffled output. Write both down, then compare where they arrive.",
        "The positions are axis 1: `x[:, order]`. Indexing by `order` is the same operation on the way in and on the "
        "way out.",
        "Sums in another order differ in the last digits, so compare with a tolerance: `torch.allclose(a, b, "
        "atol=1e-5)`.",
    ),
    solution=is_equivariant,
    spellings=(_by_gap, _undone, _by_loop),
    axes={"x": "B T D", "order": "T"},
    returns=(Output("equivariant", ""),),
    cases=_cases,
    wrong=(
        Misconception(
            "this tests invariance",
            "You compare the output for the shuffled input with the output as it was. That would be $f(\\pi(x)) = "
            "f(x)$, *in*variance: nothing moves at all. A layer that gives one vector for each position cannot pass "
            "it; its outputs have to move along with its inputs.",
            (lambda layer, x, order: _same(layer(x[:, order]), layer(x)),),
        ),
        Misconception(
            "the output is shuffled back and forth",
            "You shuffle the input by `order` and then the *shuffled* output by `order` again. Twice is not undone, "
            "unless the order is its own inverse. Either shuffle the other output, or undo with "
            "`torch.argsort(order)`.",
            (lambda layer, x, order: _same(layer(x[:, order])[:, order], layer(x)),),
        ),
        Misconception(
            "the comparison is exact",
            "Self-attention fails your test, and it should not. Shuffled keys are summed in another order, and "
            "floating-point sums differ in their last digit; `torch.equal` and `==` take that for a difference in "
            "kind. Compare with a tolerance.",
            (lambda layer, x, order: torch.equal(layer(x[:, order]), layer(x)[:, order]),),
        ),
        Misconception(
            "the tolerance hides the difference",
            "Faint position encodings pass your test, although they tell the layer where everything stands. "
            "Rounding is about $10^{-6}$ here; a tolerance of a hundredth of the output forgives real differences.",
            (lambda layer, x, order: _same(layer(x[:, order]), layer(x)[:, order], atol=0.2),),
        ),
        Misconception(
            "this test cannot fail",
            "It says True whatever the layer does. What it compares is the same thing twice, or only shapes. A test "
            "is worth what it rejects: try it on a convolution.",
            (lambda layer, x, order: layer(x[:, order]).shape == layer(x)[:, order].shape,),
        ),
        Misconception(
            "only the sums are compared",
            "You compare a sum or a mean over the positions. That forgets where each output stands, which is the "
            "question: a layer that merely adds the number of each position passes.",
            (lambda layer, x, order: _same(layer(x[:, order]).sum(1), layer(x).sum(1)),),
        ),
        Misconception(
            "differences of both signs cancel",
            "You take the mean of the differences, or their largest, with their signs. Positive and negative ones "
            "cancel, and a layer that is wrong everywhere passes. Take `.abs()` first.",
            (lambda layer, x, order: (layer(x[:, order]) - layer(x)[:, order]).mean() < 1e-5,),
        ),
        Misconception(
            "this test cannot pass",
            "It says False whatever the layer does. Comparing a layer's output with its *input* would do that: a layer "
            "may change its input as it likes. The question is whether shuffling before it and shuffling after it "
            "agree.",
            (lambda layer, x, order: _same(layer(x[:, order]), x[:, order]),),
        ),
        Misconception(
            "only one position is compared",
            "You look at the first position alone. Under a causal mask it sees nothing but itself, so it has nothing "
            "to lose; the others do.",
            (lambda layer, x, order: _same(layer(x[:, order])[:, 0], layer(x)[:, order][:, 0]),),
        ),
        Misconception(
            "the answer is the wrong way round",
            "Your test says True where the equation fails and False where it holds. Is there a `not`, or a `>` where "
            "`<` is meant?",
            (lambda layer, x, order: not _same(layer(x[:, order]), layer(x)[:, order]),),
        ),
        Misconception(
            "the features are shuffled, not the positions",
            "You reorder the last axis. Features have places of their own in every weight matrix, so no layer here "
            "passes. The positions are axis 1.",
            (
                lambda layer, x, order: _same(
                    layer(x[..., torch.roll(torch.arange(x.shape[-1]), 1)]),
                    layer(x)[..., torch.roll(torch.arange(x.shape[-1]), 1)],
                ),
            ),
        ),
    ),
)
