"""Numbers beside numbers: do two results agree, and if not, what is there to see?"""

from typing import Any

import torch
from torch import Tensor

from .core import Case, Exercise, Foreign, Output, Result

# relative, absolute: another order of summation or an epsilon in a denominator passes, another formula does not
TOLERANCE = {torch.float64: (1e-4, 1e-5), torch.float32: (1e-4, 1e-5)}
COARSE = {torch.float16: (1e-2, 1e-3), torch.bfloat16: (5e-2, 1e-2)}


def outputs(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def close(a: Any, b: Any) -> Tensor:
    """Entry by entry, at the tolerance of the coarser of the two; NaN equals NaN."""
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    known = TOLERANCE | COARSE
    relative, absolute = max(known.get(a.dtype, (0.0, 0.0)), known.get(b.dtype, (0.0, 0.0)))
    return torch.isclose(a.double(), b.double(), relative, absolute, equal_nan=True)


def same(a: Any, b: Any) -> bool:
    numbers = (Tensor, bool, int, float)
    if not (isinstance(a, numbers) and isinstance(b, numbers)):
        return type(a) is type(b) and a == b
    return torch.as_tensor(a).shape == torch.as_tensor(b).shape and bool(close(a, b).all())


def alike(a: Result, b: Result, gradients: bool = False) -> bool:
    """Do two programs behave alike on a case? Dtypes, inputs written into and lost gradients are let pass:
    an answer can follow a misconception and have such a fault besides."""
    if a.timed_out or b.timed_out:
        return False
    if a.problem or b.problem:
        return a.problem is not None and b.problem is not None and a.problem.type == b.problem.type
    x, y = outputs(a.value), outputs(b.value)
    pairs = [*zip(x, y, strict=False)]
    if gradients:
        both = [name for name in a.gradients if a.gradients[name] is not None and b.gradients.get(name) is not None]
        pairs += [(a.gradients[name], b.gradients[name]) for name in both]
    return len(x) == len(y) and all(same(*pair) for pair in pairs)


def finite(x: Any) -> bool:
    return isinstance(x, str) or bool(torch.as_tensor(x).double().isfinite().all())


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """The inputs that an answer has written into: here no tolerance."""

    def equal(a: Tensor, b: Tensor | None) -> bool:
        if b is None or a.shape != b.shape or a.dtype != b.dtype:
            return False
        return bool(torch.isclose(a.double(), b.double(), 0.0, 0.0, equal_nan=True).all())

    return [name for name, x in before.items() if not equal(x, after.get(name))]


def kind_of(value: Any) -> str:
    """What to call a returned value: in words a learner would use."""
    if isinstance(value, Foreign):
        return {"numpy.ndarray": "a NumPy array", "ellipsis": "a `...`"}.get(value.type, f"a `{value.type}`")
    if isinstance(value, tuple):
        return f"{len(value)} values"
    words = {bool: "a bool", int: "a number", float: "a number", str: "a text", type(None): "nothing (`None`)"}
    return words.get(type(value), "a tensor")


def named(axes: str, sizes: tuple[int, ...]) -> str:
    """(B, Tq, Tk) = (2, 3, 5)"""
    return f"{_tuple(axes.split())} = {tuple(sizes)}"


def _tuple(names: list[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def read_shape(exercise: Exercise, case: Case, shape: tuple[int, ...]) -> str:
    """The seen sizes as axes, (B, Tk, Tq), where that can be read in one way only; else an empty text."""
    names: dict[int, set[str]] = {}
    for name, axes in exercise.axes.items():
        value = case.inputs[name]
        sizes = value.shape if isinstance(value, Tensor) else ()
        for axis, size in zip(axes.split(), sizes, strict=True):
            names.setdefault(size, set()).add(axis)
    found = ["1" if size == 1 else "".join(names.get(size, {""})) for size in shape]
    clear = all(found) and all(len(names.get(size, "1")) == 1 for size in shape if size != 1)
    return _tuple(found) if clear and found else ""


def given(case: Case) -> str:
    """The shapes that a case hands in."""
    shapes = [f"{name} {tuple(x.shape)}" for name, x in case.inputs.items() if isinstance(x, Tensor)]
    return f"given: {', '.join(shapes)}"


def place(axes: str, flat: int, shape: tuple[int, ...]) -> str:
    index = torch.unravel_index(torch.tensor(flat), shape)
    return "[" + ", ".join(f"{axis}={int(i)}" for axis, i in zip(axes.split(), index, strict=True)) + "]"


def differences(output: Output, expected: Tensor, got: Tensor) -> list[str]:
    """How a value of the right shape is wrong: where, by how much at most, and what it looks like."""
    if isinstance(expected, str):
        return [f"{output.name} is another text"]
    expected, got = torch.as_tensor(expected), torch.as_tensor(got)
    strange = ~got.double().isfinite() & expected.double().isfinite()
    off, n = ~close(expected, got), got.numel()
    if strange.any():
        word = "NaN" if got.double().isnan().any() else "infinite"
        first = place(output.axes, int(strange.flatten().int().argmax()), got.shape)
        return [f"{output.name} is {word} in {int(strange.sum())} of {n} entries, first at {output.name}{first}"]
    gap = (expected.double() - got.double()).abs().nan_to_num(0.0)
    worst = place(output.axes, int(gap.argmax()), got.shape)
    at = f", the most at {output.name}{worst}" if got.ndim else ""
    lines = [f"{output.name} is off in {int(off.sum())} of {n} entries, by {gap.max():.2g} at most{at}"]
    factor = _factor(expected.double(), got.double())
    if factor is not None:
        lines.append(f"every entry is the right one times {factor:.3g}")
    return lines + (_as_distribution(output, expected, got) if output.distribution else [])


def _factor(expected: Tensor, got: Tensor) -> float | None:
    """The c of got = c · expected, if there is one."""
    factor = float((expected * got).sum() / (expected * expected).sum())
    telling = got.numel() > 3 and 0 < abs(factor) and abs(factor - 1) > 0.01
    return factor if telling and torch.allclose(got, factor * expected, 1e-3, 1e-6) else None


def _as_distribution(output: Output, expected: Tensor, got: Tensor) -> list[str]:
    rows, axis = output.axes.rpartition(" ")[::2]
    sums, wanted = got.double().sum(-1), expected.double().sum(-1)
    if close(wanted, sums).all():
        lines = [f"over {axis}, its rows sum to what they should"]
    else:
        flat = int((sums - wanted).abs().argmax())
        row, total = place(rows, flat, sums.shape), float(sums.flatten()[flat])
        why = "1" if wanted.flatten()[flat] > 0 else "0, since it may attend to nothing"
        lines = [f"over {axis}, row {output.name}{row} sums to {total:.2g}; it should sum to {why}"]
    leak = got.double().abs()[expected == 0]
    if leak.numel() and leak.max() > 1e-5:
        lines.append(f"up to {leak.max():.2g} of weight lies on entries of {output.name} that must be exactly 0")
    return lines
