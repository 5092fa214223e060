"""How far does a stack of dilated convolutions see, and does it see everything on the way?"""

from itertools import product

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def receptive_field(dilations, kernel):
    distances = {0}
    for r in dilations.tolist():  # a layer adds 0, r, 2r, … to what the layers after it see
        distances = {d + i * r for d in distances for i in range(kernel)}
    return max(distances) + 1, len(distances)


def _by_product(dilations, kernel):
    steps = [[i * r for i in range(kernel)] for r in dilations.tolist()]
    sums = {sum(choice) for choice in product(*steps)}
    return 1 + (kernel - 1) * sum(dilations.tolist()), len(sums)


def _by_impulse(dilations, kernel):
    """Put a one somewhere, convolve with ones, count what is not zero."""
    span = 1 + (kernel - 1) * int(dilations.sum())
    seen = torch.zeros(span, dtype=torch.float64)
    seen[0] = 1
    for r in dilations.tolist():
        moved = torch.zeros_like(seen)
        for i in range(kernel):
            moved[i * r :] += seen[: span - i * r]
        seen = moved
    return span, int((seen > 0).sum())


def _case(kind, dilations, kernel):
    return Case(kind, {"dilations": torch.tensor(dilations, dtype=torch.long), "kernel": kernel})


def _cases(seed):
    rng = torch.Generator().manual_seed(seed)

    def some(n, top):
        return torch.randint(1, top, (n,), generator=rng).tolist()

    return [
        _case("dilations 1, 2, 4", [1, 2, 4], 2),
        _case("dilations 2, 4, 8, as in the paper's pseudo-code", [2, 4, 8], 2),
        _case("one layer", [some(1, 9)[0] + 3], 2),
        _case("dilations 1, 1, 1", [1, 1, 1], 2),
        _case("dilations 1, 2, 4 with three taps", [1, 2, 4], 3),
        _case("dilations 1, 3, 9 with three taps", [1, 3, 9], 3),
        _case("dilations in another order", [4, 1, 2, 8], 2),
        _case("a stack that is used twice", [1, 2, 4, 1, 2, 4], 2),
        _case("gaps", [1, 5 + some(1, 4)[0]], 2),
        _case("random dilations", some(4, 7), 2 + some(1, 3)[0] % 2),
        _case("a single tap", some(2, 5), 1),
    ]


def _version(span, seen=None):
    """Two formulas of (dilations, kernel); without the second, everything up to the span is taken to be seen."""

    def version(dilations, kernel):
        r = dilations.tolist()
        reach = span(r, kernel)
        return reach, reach if seen is None else seen(r, kernel)

    return version


def _right(r, k):
    return 1 + (k - 1) * sum(r)


def _count(r, k):
    return receptive_field(torch.tensor(r), k)[1]


def _each(span):
    """With a wrong span: the true count of what is seen, or the span again."""
    return _version(span), _version(span, _count)


EXERCISE = Exercise(
    id="snail.receptive-field",
    title="How far back, and how many?",
    points=2,
    task=r"""
Causal convolutions with `kernel` taps are stacked, one for each number in `dilations`. A layer with dilation $r$
computes $y_t$ from $x_t, x_{t-r}, \dots, x_{t-(k-1)r}$. Which inputs can the last answer depend on? Return two whole
numbers:

* `span`: how long the stretch is, from the furthest input that is seen up to and including the present one;
* `seen`: how many inputs of that stretch are seen at all.

By counting, not by a formula only: the two differ for some stacks.

| argument | |
|---|---|
| `dilations` | (L): whole numbers, one a layer |
| `kernel` | how many taps |
| returns `span`, `seen` | two whole numbers |
""",
    stub="""
def receptive_field(dilations, kernel):
    ...  # your code: span, seen
""",
    hints=(
        "Write down the *distances*. One layer with two taps and dilation 4 sees the distances 0 and 4. Put a layer "
        "with dilation 1 before it: what does each of the two become?",
        "A path from an input to the answer chooses one tap in every layer. Its distance is the sum of what was "
        "chosen. The furthest path takes the first tap everywhere.",
        "Keep a set of distances, start with the set that holds 0, and let each layer turn every member into "
        "`kernel` of them. A set counts each only once, however many paths lead there.",
    ),
    solution=receptive_field,
    spellings=(_by_product, _by_impulse),
    axes={"dilations": "L"},
    returns=(Output("span", ""), Output("seen", "")),
    cases=_cases,
    wrong=(
        Misconception(
            "everything on the way is taken to be seen",
            "The span is right, but not all of it is seen. With two taps and dilations 2, 4, 8 every distance is a sum "
            "of even numbers: the answer at $t$ cannot know $x_{t-1}$, or any other odd distance. Only if the steps "
            "are small enough to fill the gaps are the two numbers equal.",
            (_version(_right),),
        ),
        Misconception(
            "paths are counted, not inputs",
            "You count every way of choosing taps, $k^L$. Several paths may end at one input: with dilations 1, 1, 1 "
            "distance 1 is reached in three ways. Collect distances in a set.",
            (
                _version(_right, lambda r, k: k ** len(r)),
                _version(_right, lambda r, k: 2 ** len(r)),
                _version(lambda r, k: k ** len(r)),
                _version(lambda r, k: 1 + sum(r), lambda r, k: k ** len(r)),
            ),
        ),
        Misconception(
            "the present is not counted",
            "The sum of the steps is the *distance* to the furthest input. The stretch holds one input more than that: "
            "between posts and gaps there is always one post more.",
            (
                *_each(lambda r, k: _right(r, k) - 1),
                _version(lambda r, k: _right(r, k) - 1, lambda r, k: _count(r, k) - 1),
                _version(_right, lambda r, k: _count(r, k) - 1),
            ),
        ),
        Misconception(
            "a kernel of k is taken to step k times",
            "Between $k$ taps there are $k - 1$ steps. With two taps a layer reaches back by its dilation once, not "
            "twice.",
            (*_each(lambda r, k: 1 + k * sum(r)), *_each(lambda r, k: k * sum(r))),
        ),
        Misconception(
            "the reaches are multiplied",
            "Layers *add* their reach: each path is a sum of steps. That 1, 2, 4 gives 8 = 2 · 2 · 2 is because these "
            "dilations double, not because layers multiply.",
            (
                *_each(lambda r, k: torch.tensor([1 + (k - 1) * d for d in r]).prod().item()),
                *_each(lambda r, k: 1 + (k - 1) * torch.tensor(r).prod().item()),
            ),
        ),
        Misconception(
            "only the largest dilation is taken",
            "You take the reach of one layer, the widest or the last. What it reads are answers of the layers below, "
            "and those have looked back already.",
            (
                *_each(lambda r, k: 1 + (k - 1) * max(r)),
                *_each(lambda r, k: 1 + (k - 1) * r[-1]),
                *_each(lambda r, k: 2 * max(r)),
                *_each(lambda r, k: k * max(r)),
                *_each(lambda r, k: k * r[-1]),
            ),
        ),
        Misconception(
            "the dilations are not used",
            "You count layers as if all dilations were 1: $1 + L (k - 1)$. A dilated layer steps over its neighbours.",
            (
                *_each(lambda r, k: 1 + (k - 1) * len(r)),
                _version(_right, lambda r, k: 1 + (k - 1) * len(r)),
            ),
        ),
        Misconception(
            "two taps are taken for granted",
            "Right for kernels of two. A tap more reaches back by another dilation.",
            (
                *_each(lambda r, k: 1 + sum(r)),
                _version(lambda r, k: 1 + sum(r), lambda r, k: _count(r, 2)),
                _version(_right, lambda r, k: _count(r, 2)),
            ),
        ),
        Misconception(
            "one dilation is counted once only",
            "You have dropped dilations that occur twice. Two layers with the same dilation are two steps.",
            (
                _version(lambda r, k: _right(sorted(set(r)), k), lambda r, k: _count(sorted(set(r)), k)),
                _version(_right, lambda r, k: _count(sorted(set(r)), k)),
                _version(lambda r, k: _right(sorted(set(r)), k)),
            ),
        ),
        Misconception(
            "the two numbers have changed places",
            "`span` comes first, how many of it are seen second; the second is never larger.",
            (_version(_count, _right),),
        ),
    ),
)
