"""Run an answer on a case and bring home what it did, as plain data. Knows no solution and compares nothing."""

import importlib
import inspect
import io
import linecache
import re
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from .core import Case, Fixture, Foreign, Problem, Result
from .limit import TimeUp, time_limit

PRINTED = 2_000  # characters kept of what an answer prints in one case
MANY = 1_000  # values kept of a list that an answer returns


@cache
def wake_autograd() -> None:
    """torch loads hundreds of modules for its first gradient: not on the learner's clock."""
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad([x * 2], [x], [x.detach()])


def run(answer: Callable, case: Case, seconds: float = 10.0) -> Result:
    """Call `answer` with fresh copies of the inputs, by name. Whatever it does, a Result comes back."""
    inputs = {name: build(value) for name, value in case.inputs.items()}
    leaves = {name: inputs[name].requires_grad_() for name in case.gradients}
    # Copies of the leaves: writing into one is told as what it is, not as autograd's complaint about leaves.
    inputs |= {name: leaf.clone() for name, leaf in leaves.items()}
    printed, gradients = _Bounded(), {}
    wake_autograd()
    try:
        # fork_rng: an answer that draws random numbers draws the same each time, and leaves the notebook's alone.
        with redirect_stdout(printed), redirect_stderr(printed), torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            with torch.enable_grad(), time_limit(seconds):
                value = answer(**inputs)
                if leaves:
                    gradients = _gradients(value, leaves)
                value = plain(value)
    except TimeUp:
        return Result(timed_out=seconds, printed=printed.getvalue())
    except BaseException as error:  # also SystemExit: nothing that an answer raises may end a notebook or a check
        return Result(after=tensors(inputs), problem=_problem(error, answer), printed=printed.getvalue())
    return Result(value, tensors(inputs), gradients, printed=printed.getvalue())


def build(value: Any) -> Any:
    """A fresh copy of an input: cloned, or rebuilt from its description."""
    if isinstance(value, Tensor):
        return value.clone()
    if not isinstance(value, Fixture):
        return value
    module, _, name = value.make.rpartition(".")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(value.seed)
        made = getattr(importlib.import_module(module), name)(*value.args).to(getattr(torch, value.dtype)).eval()
    if value.weights is not None:
        made.load_state_dict(value.weights)
    return made


def tensors(inputs: dict[str, Any]) -> dict[str, Tensor]:
    """Every tensor among the inputs, a module's by their full names, as it is now."""
    found = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            found[name] = value.detach().clone()
        elif isinstance(value, nn.Module):
            found |= {f"{name}.{key}": x.detach().clone() for key, x in value.state_dict().items()}
    return found


def plain(value: Any) -> Any:
    """Tensors, numbers, texts, or a tuple of them; anything else only as the name of its type."""
    if isinstance(value, (tuple, list)):
        return tuple(_item(x) for x in value[:MANY])
    return _item(value)


def _item(value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value if value.layout is torch.strided else value.to_dense()
        return value.detach().cpu().as_subclass(Tensor).clone()
    if value is None or isinstance(value, (float, str)) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return Foreign(f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins."))


def _gradients(value: Any, leaves: dict[str, Tensor]) -> dict[str, Tensor | None]:
    """The gradient of a fixed weighted sum of all that was returned; None for an input it does not depend on."""
    outputs = [x for x in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(x, Tensor)]
    outputs = [x for x in outputs if x.requires_grad]
    if not outputs:
        return dict.fromkeys(leaves)
    weights = [torch.arange(x.numel(), dtype=x.dtype).cos().view_as(x) for x in outputs]  # unlike anywhere
    found = torch.autograd.grad(outputs, list(leaves.values()), weights, allow_unused=True)
    return dict(zip(leaves, found, strict=True))


class _Bounded(io.StringIO):
    """Keeps the first characters; the rest of a print in an endless loop costs no memory."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, PRINTED - self.tell())])
        return len(text)


def _problem(error: BaseException, answer: Callable) -> Problem:
    """The innermost line of the learner's: of the answer or of a helper from the same notebook."""
    home = getattr(inspect.unwrap(answer), "__globals__", None)
    place = _innermost(error.__traceback__, home)
    try:
        words = str(error)
    except Exception:
        words = "(its message cannot be shown)"
    if place is None:
        return Problem(type(error).__name__, words[:500])
    frame, line = place
    text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals).strip()
    return Problem(type(error).__name__, words[:500], line, text[:200], _shapes(text, frame))


def _innermost(step: TracebackType | None, home: dict | None) -> tuple[FrameType, int] | None:
    place = None
    while step is not None:
        if step.tb_frame.f_globals is home:
            place = step.tb_frame, step.tb_lineno
        step = step.tb_next
    return place


def _shapes(text: str, frame: FrameType) -> dict[str, str]:
    """Shapes of the tensors that the line names: most errors of a beginner are explained by them."""
    known = {**frame.f_globals, **frame.f_locals}
    named = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text))
    return {name: str(tuple(known[name].shape)) for name in named if isinstance(known.get(name), Tensor)}
