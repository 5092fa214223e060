"""What made this Jacobian? Its exact zeros tell."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def which_architecture(J):
    T = len(J)
    t = torch.arange(T)
    distance = t[:, None] - t  # (T, T), into the past
    seen = J != 0
    if seen[distance < 0].any():
        return "bidirectional"
    if seen[distance >= 0].all():
        return "recurrent"
    reach = distance[seen].max()  # the farthest that any output sees
    same_for_all = seen[(distance >= 0) & (distance <= reach)].all()
    return "convolution" if same_for_all else "detached"


def _by_loop(J):
    T, future, by_distance = J.shape[0], False, {}
    for t in range(T):
        for s in range(T):
            future = future or (s > t and J[t, s].item() > 0)
            if s <= t:
                by_distance.setdefault(t - s, []).append(J[t, s].item() > 0)
    if future:
        return "bidirectional"
    if all(all(found) for found in by_distance.values()):
        return "recurrent"
    return "detached" if any(len(set(found)) == 2 for found in by_distance.values()) else "convolution"


def _by_first_column(J):
    """Each row's first seen input: always 0, or at a fixed distance behind t, or in steps."""
    if torch.triu(J, 1).abs().sum() > 0:
        return "bidirectional"
    first = (J != 0).int().argmax(1)
    if (first == 0).all():
        return "recurrent"
    behind = torch.arange(len(J)) - first
    return "convolution" if bool((behind == torch.arange(len(J)).clamp(max=int(behind.max()))).all()) else "detached"


def _kind(name, T, rng, dtype, size):
    """A map with the support of `name`; size: of the receptive field, or of the steps between two detaches."""
    t = torch.arange(T)
    distance = t[:, None] - t
    support = {
        "recurrent": distance >= 0,
        "bidirectional": distance == distance,
        "convolution": (distance >= 0) & (distance < size),
        "detached": (distance >= 0) & (t[:, None] // size == t // size),
    }[name]
    values = (0.5 + torch.rand(T, T, generator=rng, dtype=dtype)) * 0.8 ** distance.abs()
    return torch.where(support, values, 0.0)


def _case(kind, seed, name, T=9, size=3, factor=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    J = _kind(name, T, rng, dtype, size)
    t = torch.arange(T)
    return Case(kind, {"J": J * factor ** (t[:, None] - t).abs()}, gradients)


def _cases(seed):
    return [
        _case("a plain recurrent network", seed, "recurrent"),
        _case("a bidirectional network", seed + 1, "bidirectional"),
        _case("a stack of causal convolutions", seed + 2, "convolution"),
        _case("a recurrent network that is detached every third step", seed + 3, "detached"),
        _case("a recurrent network that forgets fast", seed + 4, "recurrent", T=14, factor=0.1),
        _case("a bidirectional network whose view of the future is faint", seed + 5, "bidirectional", factor=1e-2),
        _case("a wide convolution", seed + 6, "convolution", T=12, size=8),
        _case("a single detach, in the middle", seed + 7, "detached", T=8, size=4),
        _case("a convolution that sees two steps", seed + 8, "convolution", T=6, size=2),
        _case("a sequence of one step", seed + 9, "recurrent", T=1),
        _case("float64 inputs", seed + 10, "convolution", dtype=torch.float64),
        _case("an input whose gradient is asked", seed + 11, "recurrent", gradients=("J",)),
    ]


def _tolerant(J, small=1e-3):
    return which_architecture(torch.where(J.abs() < small * J.abs().max(), 0.0, J))


def _corner(J):
    if J.triu(1).any():
        return "bidirectional"
    return "recurrent" if J[-1, 0] != 0 else "convolution"


def _detached_if_zero(J):
    if J.triu(1).any():
        return "bidirectional"
    return "recurrent" if bool((J != 0)[torch.ones_like(J).tril() > 0].all()) else "detached"


def _other_triangle(J):
    if J.tril(-1).any():
        return "bidirectional"
    return "recurrent"


def _diagonal_counts(J):
    return "bidirectional" if J.triu().any() else which_architecture(J)


def _first_row_band(J):
    """A zero anywhere, the upper triangle included, is taken for a convolution."""
    return "recurrent" if bool((J != 0).all()) else "convolution"


EXERCISE = Exercise(
    id="sequential_jacobian.which-architecture",
    title="Which architecture made this Jacobian?",
    points=2,
    task="""
Given nothing but a map `J` (T, T), row = output, column = input, say what made it. Return one of four texts:

| text | what it is | how far it sees |
|---|---|---|
| `"recurrent"` | an RNN or LSTM | everything before, however faintly |
| `"bidirectional"` | one that also reads backwards | the future too |
| `"convolution"` | a causal stack of convolutions | a fixed number of steps back, the same for every output |
| `"detached"` | a recurrent network whose state was detached every k steps | back to the last detach, and no further |

Zeros are exact where an architecture cannot see. What has merely faded is small and not zero. A map without any
zero in the past is `"recurrent"`.
""",
    stub="""
def which_architecture(J):
    ...  # your code: one of the four texts
""",
    hints=(
        "Ask three questions in turn, each of which settles one case: is anything seen of the future? is anything of "
        "the past *not* seen? is what is not seen the same for every output?",
        "`J.triu(1)` is the future, without the diagonal. `J > 0` compares with zero exactly; a norm is "
        "never negative.",
        "`distance = t[:, None] - t` with `t = torch.arange(T)`. A convolution sees everything up to its farthest "
        "distance, `distance[J > 0].max()`, in every row; behind a detach even a short distance is cut.",
    ),
    solution=which_architecture,
    spellings=(_by_loop, _by_first_column),
    axes={"J": "T T"},
    returns=(Output("architecture", ""),),
    cases=_cases,
    wrong=(
        Misconception(
            "faint is taken for nothing",
            "Your answer treats small entries as zeros, so a recurrent network that forgets fast passes for another "
            "kind. Fading is a matter of weights and can be trained away; a convolution's end, and a detach, are a "
            "matter of wiring, and there the derivative is exactly 0.",
            (
                _tolerant,
                lambda J: _tolerant(J, 0.03),
            ),
        ),
        Misconception(
            "a missing corner is taken for a convolution",
            "You look whether the first input still reaches the last output. Behind a detach it does not either. What "
            "tells them apart is the *same* distance in other rows: a convolution moves along with the output, a "
            "detach stays where it is.",
            (_corner,),
        ),
        Misconception(
            "every zero in the past is taken for a detach",
            "A zero in the past has two possible causes. A convolution forgets at a fixed distance behind *every* "
            "output; a detach at a fixed *place*, so that the same distance is seen in one row and not in another.",
            (_detached_if_zero,),
        ),
        Misconception(
            "rows and columns are exchanged",
            "You look for the future below the diagonal. Row $t$ is the output, column $s$ the input: the future is "
            "$s > t$, to the right of the diagonal and above it.",
            (_other_triangle,),
        ),
        Misconception(
            "the present is taken for the future",
            "`torch.triu(J)` includes the diagonal, $s = t$: every output may see the input of its own step. "
            "The future begins one to the right: `J.triu(1)`.",
            (_diagonal_counts,),
        ),
        Misconception(
            "the zeros of the future are counted",
            "A causal network has zeros above the diagonal, whatever it is made of. Look for missing influence only "
            "where influence is possible, at $s \\le t$.",
            (_first_row_band,),
        ),
    ),
)
