"""Before an answer runs: has it been attempted, and can it be called as the check calls it?"""

import ast
import dis
import inspect
from collections.abc import Callable
from types import CodeType

from .core import Exercise, Outcome, Verdict

EMPTY = [
    "def f(): pass",
    "def f(): return ...",
    "def f(): raise NotImplementedError",
    "def f(): raise NotImplementedError()",
    "def f(): raise NotImplementedError('')",
]


def before_running(exercise: Exercise, answer: Callable) -> Verdict | None:
    """The verdict on an answer that need not be run; None for one that must be."""
    if is_stub(exercise, answer):
        text = "Replace the `...` in the cell by your code, run the cell, then check."
        return Verdict(Outcome.NOT_ATTEMPTED, "Not attempted yet", text)
    return _signature(exercise, answer)


def is_stub(exercise: Exercise, answer: Callable) -> bool:
    """Does it compile to what the stub, or an empty function, compiles to? Comments and docstrings do not count."""
    code = getattr(inspect.unwrap(answer), "__code__", None)
    if code is None:
        return False
    return _steps(code) in [_steps(_function(source)) for source in [exercise.stub, *EMPTY]]


def _function(source: str) -> CodeType:
    definition = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    module = compile(ast.Module([definition], []), "<stub>", "exec")
    return next(x for x in module.co_consts if isinstance(x, CodeType))


def _steps(code: CodeType) -> list[tuple]:
    """The instructions; which text an error carries is left out."""
    steps = [(i.opname, i.argval) for i in dis.get_instructions(code)]
    return [(name, "" if name == "LOAD_CONST" and isinstance(arg, str) else arg) for name, arg in steps]


def _signature(exercise: Exercise, answer: Callable) -> Verdict | None:
    wanted = list(inspect.signature(exercise.solution).parameters)
    try:
        found = inspect.signature(answer)
    except (TypeError, ValueError):  # some compiled functions have none: calling will tell
        return None
    try:
        found.bind(**dict.fromkeys(wanted))
        return None
    except TypeError as error:
        text = (
            "The check calls your function by name, with the parameters that the task gives. "
            f"Let its first line be `def {exercise.solution.__name__}({', '.join(wanted)}):`. "
            "Inside it, name things as you like."
        )
        names = ", ".join(found.parameters) or "nothing"
        seen = (f"yours takes {names}", f"calling it with {', '.join(wanted)}: {error}")
        return Verdict(Outcome.SIGNATURE, "The parameters are not those of the task", text, seen)
