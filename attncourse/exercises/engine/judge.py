"""Compare at home: one result beside the solution's -> what to tell the learner about this case."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from .compare import changed, differences, finite, given, kind_of, named, outputs, read_shape, same
from .core import Case, Exercise, Outcome, Output, Recorded, Result, Verdict
from .run import build, run, tensors

TIPS = {  # found in "Type: message" -> what to think about
    r"llipsis": "A `...` of the stub is still there.",
    r"NotImplementedError": "The `raise NotImplementedError` of the stub is still there.",
    r"NameError": "A name is not defined where your code runs: run the cell that defines or imports it.",
    r"RecursionError": "A function calls itself without an end in sight.",
    r"SystemExit": "Your code asks Python to exit; an answer only returns.",
    r"Boolean value of Tensor": "`if`, `not`, `and`, `or` want a single truth value. For a tensor entry by entry there "
    "are `~`, `&`, `|` and `torch.where`.",
    r"inplace operation|does not require grad": "Backward needs a value that has been overwritten or cut off.",
    r"size|shape|dimension": "Write the shape of each tensor beside the line that makes it: axes that meet in `+` or "
    "`*` have equal sizes, or one of them is 1; those that meet in `@` are summed away.",
}


@cache  # grading judges everyone on the same cases
def reference(function: Callable, case: Case) -> Result:
    """What one of our own functions, the solution or a wrong version, gives."""
    if isinstance(function, Recorded):
        return function.results[case.kind]
    return run(function, case, seconds=120.0)


def judge(exercise: Exercise, case: Case, result: Result) -> Verdict:
    """The verdict on one case."""
    expected = reference(exercise.solution, case)
    pair = outputs(expected.value), outputs(result.value)
    return (
        _ending(case, result)
        or _count(exercise, result)
        or _form(exercise, case, *pair)
        or _values(exercise, case, *pair)
        or _gradients(case, expected, result)
        or _changed(case, result)
        or Verdict(Outcome.CORRECT, "Correct")
    )


def _ending(case: Case, result: Result) -> Verdict | None:
    """Time out and exceptions."""
    if result.timed_out:
        text = (
            f"On {case.kind} it was stopped after {result.timed_out:g} seconds; the inputs are tiny. "
            "Does a `while` loop change what it tests? Does a `for` loop append to what it runs over?"
        )
        return Verdict(Outcome.TIMED_OUT, f"No answer after {result.timed_out:g} seconds", text)
    problem = result.problem
    if not problem:
        return None
    words = f"{problem.type}: {problem.message}" if problem.message else problem.type
    tip = next((tip for pattern, tip in TIPS.items() if re.search(pattern, words)), "")
    there = "; ".join(f"{name} {shape}" for name, shape in problem.shapes.items())
    seen: tuple[str, ...] = (words, f"there: {there}" if there else given(case))
    where = "outside your code, or while the gradient was computed"
    if problem.line is not None:
        seen, where = (f"line {problem.line}:  {problem.text}", *seen), f"at line {problem.line}"
    return Verdict(Outcome.RAISED, f"{problem.type} {where}", f"It happened on {case.kind}. {tip}".strip(), seen)


def _count(exercise: Exercise, result: Result) -> Verdict | None:
    """The number of returned values."""
    wanted = ", ".join(f"`{output.name}`" for output in exercise.returns)
    if result.value is None:
        text = f"A function without `return` gives `None`. It should return {wanted}."
        return Verdict(Outcome.TYPE, "Your function returns nothing", text)
    if len(outputs(result.value)) == len(exercise.returns):
        return None
    text = f"It returns {kind_of(result.value)}; it should return {wanted}, in this order."
    if len(exercise.returns) == 1:
        text = f"It returns a list or tuple of {len(result.value)}; it should return {wanted} alone. "
        text += "`torch.stack` joins a list of tensors into one."
    return Verdict(Outcome.TYPE, "Another number of values is returned", text)


def _form(exercise: Exercise, case: Case, expected: tuple, got: tuple) -> Verdict | None:
    """Type, shape and dtype of each output, in this order."""
    for check in (_type, _shape, _dtype):
        for output, x, y in zip(exercise.returns, expected, got, strict=True):
            found = check(exercise, case, output, x, y, expected)
            if found:
                return found
    return None


def _type(exercise: Exercise, case: Case, output: Output, x: Any, y: Any, _: tuple) -> Verdict | None:
    if kind_of(x) == kind_of(y) or (isinstance(y, Tensor) and not isinstance(x, str)):
        return None
    text = f"`{output.name}` came back as {kind_of(y)}; it should be {kind_of(x)}"
    why = ": stay with torch operations from input to output, so that shape, device and gradient are kept."
    text += why if isinstance(x, Tensor) else "."
    return Verdict(Outcome.TYPE, f"`{output.name}` is not {kind_of(x)}", text)


def _shape(exercise: Exercise, case: Case, output: Output, x: Any, y: Any, expected: tuple) -> Verdict | None:
    if isinstance(x, str) or torch.as_tensor(x).shape == torch.as_tensor(y).shape:
        return None
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    reading = read_shape(exercise, case, y.shape)
    seen = f"{output.name} has shape {tuple(y.shape)}" + (f", which reads {reading}" if reading else "")
    seen += f"; it should be {named(output.axes, x.shape) if x.ndim else 'a single number'}"
    shapes = [getattr(e, "shape", None) for e in expected]
    twins = [o.name for o, shape in zip(exercise.returns, shapes, strict=True) if shape == y.shape]
    if twins:
        text = f"It has the shape of `{twins[0]}`: are the values returned in the order of the task?"
    elif sorted(x.shape) == sorted(y.shape):
        text = "The sizes are the right ones in another order: two axes have changed places."
    elif [n for n in x.shape if n != 1] == [n for n in y.shape if n != 1]:
        text = "Only an axis of size 1 is too many or missing: index it away with `[:, 0]`, or make it with `None`."
    elif y.ndim < x.ndim:
        text = "An axis is missing: it was summed away, or never made. Which line loses it?"
    elif y.ndim > x.ndim:
        text = "An axis is left over: which one should be summed away, and in which line?"
    else:
        text = "Write the shape of each tensor beside its line, and find the first that surprises you."
    headline = f"`{output.name}` has the wrong shape"
    return Verdict(Outcome.SHAPE, headline, f"On {case.kind}. {text}", (seen, given(case)))


def _dtype(exercise: Exercise, case: Case, output: Output, x: Any, y: Any, _: tuple) -> Verdict | None:
    if not isinstance(x, Tensor) or x.dtype == y.dtype:
        return None
    short = {t: str(t).removeprefix("torch.") for t in (x.dtype, y.dtype)}
    text = (
        f"On {case.kind}, `{output.name}` came back as {short[y.dtype]}; it should be {short[x.dtype]}, as the inputs "
        "are. A tensor was made, or converted, without asking for the dtype of an input: "
        "`torch.zeros(…, dtype=x.dtype, device=x.device)` or `torch.zeros_like(x)` do."
    )
    return Verdict(Outcome.TYPE, f"`{output.name}` has the wrong dtype", text)


def _values(exercise: Exercise, case: Case, expected: tuple, got: tuple) -> Verdict | None:
    triples = list(zip(exercise.returns, expected, got, strict=True))
    wrong = [triple for triple in triples if not same(*triple[1:])]
    if not wrong:
        return None
    names = join(f"`{output.name}`" for output, _, _ in wrong)
    seen = [line for triple in wrong for line in differences(*triple)]
    right = [output.name for output, x, y in triples if same(x, y)]
    seen += [f"right: {join(right)}"] if right else []
    text = "The shape is right, the numbers are not. Compute the entry named below by hand, one line at a time."
    if all(isinstance(x, str) for _, x, _ in wrong):
        text = "Ask what in this input speaks for the answer you gave, and what against it."
    headline = f"{names} {'has' if len(wrong) == 1 else 'have'} wrong values"
    if any(not finite(y) for _, _, y in wrong):
        headline = f"{names} {'is' if len(wrong) == 1 else 'are'} not finite"
        text = (
            "NaN and infinity come from 0/0, from ∞ − ∞, from 0 · ∞, and from `exp` of a large number. "
            "Which line can meet one of these?"
        )
    return Verdict(Outcome.VALUE, headline, f"On {case.kind}. {text}", (*seen, given(case)))


def _gradients(case: Case, expected: Result, result: Result) -> Verdict | None:
    for name, wanted in expected.gradients.items():
        got = result.gradients.get(name)
        if wanted is None or (not wanted.any() if got is None else same(wanted, got)):
            continue
        text = f"The values are right, but training needs more: on {case.kind}, the gradient with respect to `{name}` "
        if got is None:
            text += "is lost. `.item()`, `.detach()`, `.data`, `.numpy()`, `torch.tensor()`, `torch.no_grad()` cut it."
            return Verdict(Outcome.GRADIENT, f"No gradient reaches `{name}`", text)
        if got.isnan().any() and not wanted.isnan().any():
            text += (
                "is NaN. Replacing a NaN after the fact repairs the value only: backward multiplies by the local slope "
                "of every line, and 0 · NaN is NaN. The NaN must not arise."
            )
            return Verdict(Outcome.GRADIENT, f"The gradient of `{name}` is NaN", text)
        text += "is another one: a part of the computation is cut off from it, or counted twice."
        return Verdict(Outcome.GRADIENT, f"The gradient of `{name}` is wrong", text)
    return None


def written(case: Case, result: Result) -> list[str]:
    return changed(tensors({name: build(value) for name, value in case.inputs.items()}), result.after)


def _changed(case: Case, result: Result) -> Verdict | None:
    names = written(case, result)
    if not names:
        return None
    text = (
        f"The values are right, but after the call `{names[0]}` is no longer what it was, and the caller may still "
        "need it. `x[…] = …`, `x += …` and methods that end in `_` write into the tensor they are given: "
        "use the method without `_`, or work on `x.clone()`."
    )
    return Verdict(Outcome.CHANGED, f"Your function changes `{names[0]}`", text, (f"on {case.kind}",))


def join(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
