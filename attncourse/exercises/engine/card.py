"""The card that an exercise shows: live in a notebook (ipywidgets), static in the built page."""

from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path

import ipywidgets as widgets

from ...markup import to_html, to_html_inline
from . import progress
from .core import Exercise, Outcome, Verdict
from .examine import assess

CARDS: dict[str, "Card"] = {}
LOOK = {  # outcome -> CSS class and icon; anything else is wrong
    Outcome.CORRECT: ("attn-correct", "✓"),
    Outcome.NOT_ATTEMPTED: ("attn-open", "○"),
    Outcome.RAISED: ("attn-raised", "⚠"),
    Outcome.TIMED_OUT: ("attn-raised", "⚠"),
}


@cache
def css() -> str:
    return (Path(__file__).parent / "card.css").read_text(encoding="utf-8")


def of(exercise: Exercise, answer: Callable) -> "Card":
    """One card an exercise: a cell that is run again shows the same, with its hints, for the new answer."""
    card = CARDS.get(exercise.id)
    if card is None or card.exercise is not exercise:
        card = CARDS[exercise.id] = Card(exercise)
    card.take(answer)
    return card


def header(exercise: Exercise) -> str:
    points = f"{exercise.points} point{'' if exercise.points == 1 else 's'}"
    title = f"Exercise: {to_html_inline(exercise.title)}"
    return f'<p class="attn-title">{title} <span class="attn-points">({points})</span></p>{to_html(exercise.task)}'


def code(source: str) -> str:
    """A block that scrolls by itself on a narrow screen; reachable by keyboard, as what scrolls must be."""
    return f'<pre tabindex="0"><code>{escape(source)}</code></pre>'


def verdict_html(verdict: Verdict) -> str:
    look, icon = LOOK.get(verdict.outcome, ("attn-wrong", "✗"))
    parts = [
        f'<div class="attn-message {look}" role="alert">',
        f'<p><span class="attn-icon" aria-hidden="true">{icon}</span>',
        f"<strong>{to_html_inline(verdict.headline)}</strong></p>",
        to_html(verdict.message),
    ]
    if verdict.seen:
        parts.append(f'<pre class="attn-seen">{escape(chr(10).join(verdict.seen))}</pre>')
    if verdict.printed:
        printed = f'<pre class="attn-seen">{escape(verdict.printed)}</pre>'
        parts.append(f"<details><summary>What your code printed</summary>{printed}</details>")
    return "".join(parts) + "</div>"


def static(exercise: Exercise, page: str) -> str:
    """For the built page, where there is no kernel: nothing on it pretends to work. `page`: the notebook in Colab."""
    folded = [(f"Hint {i} of {len(exercise.hints)}", to_html(hint)) for i, hint in enumerate(exercise.hints, 1)]
    folded.append(("Solution", code(exercise.solution_source)))
    details = "".join(f"<details><summary>{name}</summary>{text}</details>" for name, text in folded)
    link = f'<p><a class="attn-colab" href="{escape(page)}">Open in Colab to try it</a></p>'
    return (
        f'<section class="attn-exercise attn-static" aria-label="Exercise: {escape(exercise.title)}">'
        f"{header(exercise)}{details}{link if page.startswith('http') else ''}</section>"
    )


def status_html(entry: dict) -> str:
    attempts = entry.get("attempts", 0)
    text = f"{attempts} attempt{'' if attempts == 1 else 's'} so far" if attempts else "Not attempted yet"
    if entry.get("solved"):
        text = f"✓ Solved on {str(entry['solved'])[:10]}"
    return f'<p class="attn-status">{escape(text)}</p>'


def help_html(exercise: Exercise, hints: int, solution: bool) -> str:
    parts = [f"<p><strong>Hint {i}</strong></p>{to_html(hint)}" for i, hint in enumerate(exercise.hints[:hints], 1)]
    if solution:
        parts.append(f"<p><strong>Solution</strong></p>{code(exercise.solution_source)}")
    return f'<div class="attn-message" role="status">{"".join(parts)}</div>'


def checked(exercise: Exercise, answer: Callable) -> tuple[str, dict | None]:
    """The message, and the new entry of the progress file if this was an attempt."""
    try:
        verdict = assess(exercise, answer)
        entry = None
        if verdict.outcome is not Outcome.NOT_ATTEMPTED:
            entry = progress.record(exercise.id, verdict.outcome.value, verdict.outcome is Outcome.CORRECT)
        return verdict_html(verdict), entry
    except Exception as error:  # a fault of ours must not leave a dead card behind
        text = escape(f"The check itself failed, which is not your fault. {type(error).__name__}: {error}")
        return f'<div class="attn-message attn-raised" role="alert">{text}</div>', None


class Card:
    """Task, status, three buttons, and what they said."""

    def __init__(self, exercise: Exercise):
        self.exercise, self.hints, self.solution_shown = exercise, 0, False
        self.entry: dict = {}  # of the progress file
        purposes = {"Check": "Check your answer", "Hint": "Show the next hint", "Solution": "Show the solution"}
        buttons = [widgets.Button(description=k, tooltip=f"{v}: {exercise.title}") for k, v in purposes.items()]
        self.check, self.hint, self.solution = buttons
        for button, action in zip(buttons, [self._check, self._hint, self._solution], strict=True):
            button.on_click(action)
        self.status, self.message, self.help = widgets.HTML(), widgets.HTML(), widgets.HTML()
        top = widgets.HTML(f"<style>{css()}</style>{header(exercise)}")
        row = widgets.HBox(buttons).add_class("attn-buttons")
        self.box = widgets.VBox([top, self.status, row, self.message, self.help]).add_class("attn-exercise")

    def take(self, answer: Callable) -> None:
        """From now on, check this answer."""
        self.answer, self.message.value = answer, ""
        self.entry = progress.read().get(self.exercise.id, self.entry)
        self._update()

    def _update(self) -> None:
        total = len(self.exercise.hints)
        self.status.value, self.solution.disabled = status_html(self.entry), not self.entry.get("attempts")
        self.hint.disabled = self.hints == total
        self.hint.description = "No more hints" if self.hint.disabled else f"Hint {self.hints + 1} of {total}"
        if self.hints or self.solution_shown:
            self.help.value = help_html(self.exercise, self.hints, self.solution_shown)

    def _check(self, _: object) -> None:
        self.message.value = '<p class="attn-status">Checking…</p>'
        self.message.value, entry = checked(self.exercise, self.answer)
        self.entry = entry or self.entry
        self._update()

    def _hint(self, _: object) -> None:
        self.hints = min(self.hints + 1, len(self.exercise.hints))
        self._update()

    def _solution(self, _: object) -> None:
        self.solution_shown = True
        self._update()
