"""A dilated convolution that never sees the future: where do the zeros go, and how many?"""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def causal_convolution(x, weight, bias, dilation):
    reach = (weight.shape[-1] - 1) * dilation  # how far back the first tap looks
    padded = F.pad(x, (0, 0, reach, 0))  # (B, reach + T, D): F.pad counts axes from the last
    return F.conv1d(padded.mT, weight, bias, dilation=dilation).mT  # (B, T, d_out)


def _by_loops(x, weight, bias, dilation):
    kernel, rows = weight.shape[-1], []
    for t in range(x.shape[1]):
        y = bias + torch.zeros(len(x), len(bias), dtype=x.dtype)
        for k in range(kernel):
            s = t - (kernel - 1 - k) * dilation
            if s >= 0:
                y = y + x[:, s] @ weight[..., k].T
        rows.append(y)
    return torch.stack(rows, 1)


def _by_shifts(x, weight, bias, dilation):
    """One shifted copy a tap, each through its own matrix."""
    kernel, T, total = weight.shape[-1], x.shape[1], bias
    for k in range(kernel):
        back = min((kernel - 1 - k) * dilation, T)
        shifted = torch.cat([torch.zeros_like(x[:, :back]), x[:, : T - back]], 1)
        total = total + torch.einsum("btd,od->bto", shifted, weight[..., k])
    return total


def _pad_both_and_cut(x, weight, bias, dilation):
    reach = (weight.shape[-1] - 1) * dilation
    y = F.conv1d(x.transpose(1, 2), weight, bias, padding=reach, dilation=dilation)
    return y[..., : x.shape[1]].transpose(1, 2)


def _case(kind, seed, B=2, T=7, D=3, out=4, kernel=2, dilation=2, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=rng, dtype=dtype)

    inputs = {"x": normal(B, T, D), "weight": normal(out, D, kernel), "bias": normal(out), "dilation": dilation}
    return Case(kind, inputs, gradients)


def _cases(seed):
    return [
        _case("two taps, dilation 2", seed),
        _case("two taps, dilation 1", seed + 1, dilation=1),
        _case("three taps, dilation 1", seed + 2, kernel=3, dilation=1),
        _case("three taps, dilation 3", seed + 3, kernel=3, dilation=3, T=9),
        _case("four taps, dilation 2", seed + 4, kernel=4, T=9),
        _case("a single tap", seed + 5, kernel=1, dilation=4),
        _case("a dilation beyond the sequence", seed + 6, T=4, dilation=8),
        _case("a sequence of one", seed + 7, T=1, dilation=1),
        _case("a batch of one", seed + 8, B=1),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 9, B=4, T=4, D=4, out=4),
        _case("float64 inputs", seed + 10, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 11, gradients=("x", "weight", "bias")),
    ]


def _version(
    pad, taps=lambda weight: weight, cut=lambda y, T: y, step=lambda dilation: dilation, bias=1, mode="constant"
):
    """The solution with one part exchanged. pad(kernel, dilation) -> zeros on the left, on the right"""

    def version(**inputs):
        x, weight, dilation = inputs["x"], inputs["weight"], inputs["dilation"]
        padded = F.pad(x.mT, pad(weight.shape[-1], dilation), mode=mode)
        y = F.conv1d(padded, taps(weight), bias * inputs["bias"] if bias else None, dilation=step(dilation))
        return cut(y, x.shape[1]).mT

    return version


def _left(kernel, dilation):
    return (kernel - 1) * dilation, 0


def _plain(kernel, dilation):
    return kernel - 1, 0


def _loop(back, inside):
    """y_t from the taps x_{t - back(i)}, where inside(s, T) holds; i = 0 is the last tap."""

    def version(x, weight, bias, dilation):
        kernel, T, rows = weight.shape[-1], x.shape[1], []
        for t in range(T):
            places = [(k, t - back(kernel - 1 - k, dilation)) for k in range(kernel)]
            rows.append(bias + sum(x[:, s % T] @ weight[..., k].T * inside(s, T) for k, s in places))
        return torch.stack(rows, 1)

    return version


EXERCISE = Exercise(
    id="snail.causal-convolution",
    title="Where do the zeros go?",
    points=2,
    task=r"""
Write a causal dilated convolution: the answer at time $t$ sees the present and the past, never the future, and there
are as many answers as inputs.

$$y_t = b + \sum_{i=0}^{k-1} W_i\, x_{t - i \cdot r}, \qquad x_s = 0 \text{ for } s < 0$$

`weight` has the layout of `nn.Conv1d`: the *last* tap, `weight[..., -1]`, is $W_0$, which meets the present.
`F.conv1d` may be used; it wants time as the last axis.

| argument | |
|---|---|
| `x` | (B, T, D) |
| `weight` | (d_out, D, kernel) |
| `bias` | (d_out) |
| `dilation` | $r$, a whole number |
| returns `y` | (B, T, d_out) |
""",
    stub="""
def causal_convolution(x, weight, bias, dilation):
    ...  # your code: y (B, T, d_out)
""",
    hints=(
        "`F.conv1d` gives fewer answers than inputs: its first answer stands where its *first* tap has met something. "
        "How many positions lie between its first and its last tap?",
        "Every missing answer is one at the beginning of the sequence. If you lay zeros before $x_0$, the last tap "
        "meets $x_0$ in the first answer. Zeros after the end would let it meet $x_1$ or later.",
        "Two taps $r$ apart reach back $r$; three taps $2r$. Put that many zeros before the sequence and none after. "
        "In `F.pad` the numbers come in pairs, (before, after), and the first pair belongs to the *last* axis.",
    ),
    solution=causal_convolution,
    spellings=(_by_loops, _by_shifts, _pad_both_and_cut),
    axes={"x": "B T D", "weight": "out D kernel", "bias": "out"},
    returns=(Output("y", "B T out"),),
    cases=_cases,
    wrong=(
        Misconception(
            "the zeros stand on both sides",
            'Half of your zeros stand before the sequence and half after it, as `padding="same"` does. That centres '
            "the taps: $y_t$ meets $x_{t + 1}$ or later. For an image that is fine; here the model reads the answer "
            "before it is asked. All zeros belong before the first input.",
            (
                _version(lambda k, r: ((k - 1) * r // 2, (k - 1) * r - (k - 1) * r // 2)),
                _version(lambda k, r: ((k - 1) * r - (k - 1) * r // 2, (k - 1) * r // 2)),
                _version(lambda k, r: ((k - 1) * r // 2,) * 2),
                _version(lambda k, r: (k // 2 * r,) * 2),
                _version(lambda k, r: (k // 2 * r,) * 2, cut=lambda y, T: y[..., :T]),
                _version(lambda k, r: (k // 2,) * 2),
                _version(lambda k, r: ((k - 1) // 2,) * 2),
                _version(lambda k, r: ((k - 1) // 2 * r,) * 2),
            ),
        ),
        Misconception(
            "the dilation is missing in the padding",
            "You lay kernel − 1 zeros before the sequence. That is right for neighbouring taps. With a dilation the "
            "first tap looks $(k - 1) \\cdot r$ back, so your answers come too few, or, cut or filled up to size, "
            "stand at the wrong times and see the future.",
            (
                _version(_plain),
                _version(lambda k, r: (k - 1, (k - 1) * (r - 1))),
                _version(lambda k, r: (k - 1, k - 1)),
                _version(lambda k, r: (k - 1, k - 1), cut=lambda y, T: y[..., :T]),
                _version(_plain, cut=lambda y, T: F.pad(y, (0, T - y.shape[-1]))),
                _version(_plain, cut=lambda y, T: F.pad(y, (T - y.shape[-1], 0))),
            ),
        ),
        Misconception(
            "the zeros stand on the right",
            "Your zeros come after the sequence, or the wrong end was cut off: $y_t$ is computed from $x_t$ and what "
            "comes *later*. Perturb the last input: earlier answers change. The zeros belong before the first input.",
            (
                _version(lambda k, r: (0, (k - 1) * r)),
                _version(lambda k, r: (0, k - 1)),
                _loop(lambda i, r: -i * r, lambda s, T: s < T),
            ),
        ),
        Misconception(
            "zeros on both sides, and all answers kept",
            "`padding=(kernel − 1) · dilation` lays that many zeros on *each* side, and all that comes out is "
            "returned: more answers than inputs. The first T of them are the causal ones; the others look beyond the "
            "end.",
            (
                _version(lambda k, r: ((k - 1) * r,) * 2),
                _version(lambda k, r: (r, r)),
                _version(lambda k, r: (k * r,) * 2),
            ),
        ),
        Misconception(
            "two taps are taken for granted",
            "You pad by the dilation alone, which is right for two taps. With $k$ of them the first looks "
            "$(k - 1) \\cdot r$ back.",
            (
                _version(lambda k, r: (r, 0)),
                _version(lambda k, r: (r, 0), cut=lambda y, T: y[..., :T]),
                _version(lambda k, r: (r, 0), cut=lambda y, T: y[..., -T:]),
            ),
        ),
        Misconception(
            "the padding is one tap too long",
            "You lay $k \\cdot r$ zeros, one tap too many: the last tap then meets $x_{t - r}$, and the present is "
            "never seen. Between $k$ taps there are $k - 1$ gaps.",
            (
                _version(lambda k, r: (k * r, 0)),
                _version(lambda k, r: (k * r, 0), cut=lambda y, T: y[..., :T]),
            ),
        ),
        Misconception(
            "the present is not seen",
            "Your answer at $t$ starts from $x_{t-1}$: the whole sequence came one step too late. That is right where "
            "$x_t$ *is* the answer to be guessed. Here the sum starts at $i = 0$, with $x_t$ itself.",
            (
                _version(lambda k, r: ((k - 1) * r + 1, 0), cut=lambda y, T: y[..., :T]),
                _version(lambda k, r: ((k - 1) * r + 1, 0)),
            ),
        ),
        Misconception(
            "no zeros at all",
            "You convolve the sequence as it is: $(k - 1) \\cdot r$ answers are missing, and answer 0 stands where the "
            "last tap meets $x_{(k-1) r}$. Zeros before the sequence give every time its answer.",
            (
                _version(lambda k, r: (0, 0)),
                _version(lambda k, r: (0, 0), cut=lambda y, T: F.pad(y, (T - y.shape[-1], 0))),
            ),
        ),
        Misconception(
            "the taps are not dilated",
            "You pad for a dilation, or not even that, but the taps themselves stand side by side. "
            "`F.conv1d(…, dilation=…)` spreads them; without it $y_t$ sees $x_{t-1}$ where it should see $x_{t-r}$.",
            (
                _version(_plain, step=lambda r: 1),
                _version(_left, step=lambda r: 1),
                _version(_left, step=lambda r: 1, cut=lambda y, T: y[..., :T]),
            ),
        ),
        Misconception(
            "the taps are in the wrong order",
            "The present meets `weight[..., 0]` in your code, and the furthest past the last tap. A convolution in "
            "torch is a correlation: nothing is flipped, the taps run with time, and the last one is the latest.",
            (_version(_left, taps=lambda weight: weight.flip(-1)),),
        ),
        Misconception(
            "the end is wrapped to the beginning",
            'Before $x_0$ you put the *end* of the sequence: `roll`, a negative index and `mode="circular"` all do. '
            "The first answers then know the last inputs. There is nothing before the first input: zeros.",
            (_loop(lambda i, r: i * r, lambda s, T: True), _loop(lambda i, r: i * r, lambda s, T: s >= -T)),
        ),
        Misconception(
            "the first input is repeated",
            "Before $x_0$ you put copies of $x_0$. No future leaks, but the beginning looks as if it had gone on for "
            "ever. The formula has $x_s = 0$ for $s < 0$.",
            (_version(_left, mode="replicate"),),
        ),
        Misconception(
            "the bias is left out",
            "Without $b$ everything is off by a constant for each output feature.",
            (_version(_left, bias=0),),
        ),
    ),
)
