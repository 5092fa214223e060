"""What an exercise is made of: plain data and functions, no comparing, no showing.

An exercise is examined in two steps that share nothing but plain data: `attempt.look` and `run.run` deal with the
answer (perhaps in another process: `grading`), `examine.conclude` compares what came of it with the solution's
(always at home).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from torch import Tensor


class Outcome(StrEnum):
    """How a check ends. The values are shown, and stand in reports: they do not change."""

    CORRECT = "correct"
    NOT_ATTEMPTED = "not attempted"
    SIGNATURE = "wrong signature"
    RAISED = "raised"
    TIMED_OUT = "timed out"
    TYPE = "wrong type"
    SHAPE = "wrong shape"
    CHANGED = "changed its inputs"
    MISCONCEPTION = "misconception"
    VALUE = "wrong value"
    GRADIENT = "wrong gradient"
    UNREADABLE = "not readable"  # grading only: what was handed in is no notebook


@dataclass(frozen=True)
class Verdict:
    """What the learner is told: a headline, a text that teaches, and what was seen.

    `message` is our Markdown; `seen` and `printed` are plain text, since they quote the learner's code.
    """

    outcome: Outcome
    headline: str
    message: str = ""
    seen: tuple[str, ...] = ()
    misconception: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Fixture:
    """A module that an answer is given, as plain data: it is rebuilt, the same each time, where the answer runs."""

    make: str  # where its class stands: "attncourse.mechanisms.seq2seq.AttentiveDecoder"
    args: tuple[int, ...]
    seed: int = 0
    dtype: str = "float32"
    weights: dict[str, Tensor] | None = field(default=None, compare=False)  # where the seed would draw others


@dataclass(frozen=True, eq=False)
class Case:
    """One input. `kind` completes the sentence "on …"; `gradients` names the inputs whose gradient is asked."""

    kind: str
    inputs: dict[str, Tensor | Fixture | int | float | str]
    gradients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """An exception of the learner's code, in its own words, at the learner's own line."""

    type: str
    message: str
    line: int | None = None  # None: it was raised while the gradient was computed
    text: str = ""
    shapes: dict[str, str] = field(default_factory=dict)  # of the tensors that this line names


@dataclass(frozen=True)
class Foreign:
    """Something returned that is no tensor, number or text; only its type is kept."""

    type: str


@dataclass(frozen=True)
class Look:
    """An answer before it is called: plain data, as `Result` is."""

    stub: bool = False  # it is the stub still, or empty
    parameters: tuple[str, ...] = ()
    refusal: str = ""  # Python's words, where it cannot be called with the parameters of the task
    outside: tuple[str, ...] = ()  # tensors of the notebook that it uses by name


@dataclass(frozen=True)
class Result:
    """What came of running an answer on a case: plain data that may have crossed from another process."""

    value: Any = None  # tensor, number, text, None, Foreign, or a tuple of these
    after: dict[str, Tensor] = field(default_factory=dict)  # the tensors of the input, as the answer left them
    gradients: dict[str, Tensor | None] = field(default_factory=dict)
    problem: Problem | None = None
    timed_out: float = 0.0  # the limit in seconds, when it was reached
    printed: str = ""


@dataclass(frozen=True)
class Output:
    """One returned value: its name, its axes, and whether it is a distribution over the last of them."""

    name: str
    axes: str  # "B Tq Tk"
    distribution: bool = False


class Recorded:
    """One of our own functions whose results, by the kind of case, were computed elsewhere: nothing is left to run."""

    def __init__(self, name: str, signature: inspect.Signature, results: dict[str, Result]):
        self.__name__, self.__signature__, self.results = name, signature, results

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self.__name__} was recorded: only its results are here")


@dataclass(frozen=True, eq=False)
class Misconception:
    """A wrong idea: `versions` are programs that follow it, `message` says what it does and what to think about."""

    name: str  # short, in words: the headline on the card, and a column of the class report
    message: str
    versions: tuple[Callable, ...]


@dataclass(frozen=True, eq=False)
class Exercise:
    id: str  # "chapter.exercise"; published, so it never changes
    title: str
    points: int
    task: str  # Markdown with $…$
    stub: str  # the function that the learner completes
    hints: tuple[str, ...]  # Markdown, from a nudge to nearly all
    solution: Callable
    spellings: tuple[Callable, ...]  # other correct versions: they prove that the check is not picky
    wrong: tuple[Misconception, ...]
    cases: Callable[[int], list[Case]]  # seed -> cases, the simplest first
    axes: dict[str, str]  # of each input that is a tensor
    returns: tuple[Output, ...]
    seconds: float = 10.0  # of work, for one case

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.solution).parameters)

    @property
    def cell(self) -> str:
        """The notebook cell that poses the exercise."""
        return f'@exercise("{self.id}")\n{self.stub.strip()}\n'

    @property
    def solution_source(self) -> str:
        return inspect.getsource(self.solution).strip()
