"""What the parts of a model promise each other. A class need not inherit from these: having the methods is enough."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor


class Score(Protocol):
    """How well does a query match a key? `scores.dot`, `scores.General(…)`, or a function of your own."""

    def __call__(self, query: Tensor, keys: Tensor) -> Tensor:
        """query (B, Tq, Dq), keys (B, Tk, Dk) -> scores (B, Tq, Tk)"""
        ...


@runtime_checkable
class Projecting(Protocol):
    """A score whose work on the keys does not depend on the query: done once per sentence, not once per step.

    score(query, keys) = score.match(query, score.project(keys))
    """

    def project(self, keys: Tensor) -> Tensor:
        """keys (B, Tk, Dk) -> what `match` takes for them (B, Tk, A)"""
        ...

    def match(self, query: Tensor, projected: Tensor) -> Tensor:
        """query (B, Tq, Dq), projected (B, Tk, A) -> scores (B, Tq, Tk)"""
        ...


def prepare(score: Score, keys: Tensor) -> Tensor:
    """The keys as they are scored at every step: projected once, where the score can do that.

    keys (B, Tk, Dk) -> (B, Tk, A); `matcher(score)` scores them
    """
    return score.project(keys) if isinstance(score, Projecting) else keys


def matcher(score: Score) -> Callable[[Tensor, Tensor], Tensor]:
    """The part of a score that is left to do at every step, after `prepare`."""
    return score.match if isinstance(score, Projecting) else score


class Stepper(Protocol):
    """Something that writes one symbol at a time: every decoder of the course, and what `decoding.greedy` asks for.

    `begin(…)` reads the source and returns a *carry*, all that is kept between two steps: a NamedTuple of batch-first
    tensors. What it is given differs (a text with its lengths, an image), so only `step` is the same for all.
    """

    def begin(self, *source: Any) -> NamedTuple: ...

    def step(self, previous: Tensor, carry: Any) -> tuple[Tensor, Any, Tensor]:
        """previous (B,) int, the last symbol -> logits (B, V), the next carry, weights (B, S)"""
        ...
