"""Before an answer runs: has it been attempted, and can it be called as the check calls it?

`look` runs where the answer is and knows only what the learner was given; `before_running` turns what it saw
into a verdict, at home.
"""

import ast
import dis
import inspect
from collections.abc import Callable, Sequence
from types import CodeType

from torch import Tensor

from .core import Exercise, Look, Outcome, Verdict

EMPTY = [
    "def f(): pass",
    "def f(): return ...",
    "def f(): raise NotImplementedError",
    "def f(): raise NotImplementedError()",
    "def f(): raise NotImplementedError('')",
]


def look(answer: Callable, stub: str, parameters: Sequence[str]) -> Look:
    """`stub`: the function as it was handed out; `parameters`: those that the task names."""
    if is_stub(stub, answer):
        return Look(stub=True)
    try:
        found = inspect.signature(answer)
    except (TypeError, ValueError):  # some compiled functions have none: calling will tell
        return Look(outside=outside(answer))
    try:
        found.bind(**dict.fromkeys(parameters))
        return Look(parameters=tuple(found.parameters), outside=outside(answer))
    except TypeError as error:
        return Look(parameters=tuple(found.parameters), refusal=str(error))


def is_stub(stub: str, answer: Callable) -> bool:
    """Does it compile to what the stub, or an empty function, compiles to? Comments and docstrings do not count."""
    code = getattr(inspect.unwrap(answer), "__code__", None)
    if code is None:
        return False
    return _steps(code) in [_steps(_function(source)) for source in [stub, *EMPTY]]


def _function(source: str) -> CodeType:
    definition = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    module = compile(ast.Module([definition], []), "<stub>", "exec")
    return next(x for x in module.co_consts if isinstance(x, CodeType))


def _steps(code: CodeType) -> list[tuple]:
    """The instructions; which text an error carries is left out."""
    steps = [(i.opname, i.argval) for i in dis.get_instructions(code)]
    return [(name, "" if name == "LOAD_CONST" and isinstance(arg, str) else arg) for name, arg in steps]


def outside(answer: Callable) -> tuple[str, ...]:
    """Tensors of the notebook that an answer uses by name: a forgotten line finds those of an earlier cell."""
    inner = inspect.unwrap(answer)
    space = getattr(inner, "__globals__", None) or {}
    steps = dis.get_instructions(inner) if space else iter(())
    names = dict.fromkeys(step.argval for step in steps if step.opname == "LOAD_GLOBAL")
    return tuple(name for name in names if isinstance(space.get(name), Tensor))


def before_running(exercise: Exercise, seen: Look) -> Verdict | None:
    """The verdict on an answer that need not be run; None for one that must be."""
    if seen.stub:
        text = "Replace the `...` in the cell by your code, run the cell, then check."
        return Verdict(Outcome.NOT_ATTEMPTED, "Not attempted yet", text)
    if not seen.refusal:
        return None
    wanted = ", ".join(exercise.parameters)
    text = (
        "The check calls your function by name, with the parameters that the task gives. "
        f"Let its first line be `def {exercise.solution.__name__}({wanted}):`. "
        "Inside it, name things as you like."
    )
    names = ", ".join(seen.parameters) or "nothing"
    lines = (f"yours takes {names}", f"calling it with {wanted}: {seen.refusal}")
    return Verdict(Outcome.SIGNATURE, "The parameters are not those of the task", text, lines)


def not_python(line: int | None, text: str, message: str) -> Verdict:
    """The verdict on an answer in a cell that does not parse."""
    seen = (f"line {line}:  {text.strip()}", f"SyntaxError: {message}")
    return Verdict(Outcome.RAISED, "The cell is not Python", "Python cannot read the cell of this answer.", seen)


def no_function(why: str) -> Verdict:
    """The verdict on an answer whose cell ended in an error."""
    text = "The cell of this answer could not be run, so there is no function to check."
    return Verdict(Outcome.RAISED, "The cell fails", text, (why,))


def ended_the_process(how: str) -> Verdict:
    text = "It closed the process, or the process broke down or ran out of time: an answer only returns."
    return Verdict(Outcome.RAISED, "Your code ended the process it ran in", text, (how,))
