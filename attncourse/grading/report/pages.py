"""feedback/STUDENT.html and class.html: plain pages without a script. What students wrote is escaped everywhere."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ...exercises.engine.card import css, header, verdict_html
from ...exercises.engine.core import Exercise, Outcome, Verdict
from .tables import writing

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table.attn-table { border-collapse: collapse; width: 100%; }
table.attn-table th, table.attn-table td { padding: 0.3em 0.6em; border-bottom: 1px solid #8886; text-align: left; }
table.attn-table td.number, table.attn-table th.number { text-align: right; font-variant-numeric: tabular-nums; }
.attn-bar { display: inline-block; height: 0.7em; background: #0072b2; vertical-align: baseline; }
@media (prefers-color-scheme: dark) { .attn-bar { background: #56b4e9; } }
"""


def page(title: str, body: str) -> str:
    """Nothing is loaded and nothing runs, whatever a student's text says."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{css()}{STYLE}</style></head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )


def file_name(student: str) -> str:
    """The student's own name where it can be the name of a file; else what is left of it, and a digest."""
    plain = re.sub(r"[^\w. -]", "_", student).strip(" .")[:80]
    if plain and plain == student:
        return f"{plain}.html"
    return f"{plain or 'student'}-{hashlib.sha256(student.encode()).hexdigest()[:8]}.html"


def feedback(entry: dict, exercises: Sequence[Exercise]) -> str:
    """One student's page: every exercise, its task and the verdict."""
    gained = sum(row["points"] for row in entry["rows"])
    parts = [f"<p>{gained} of {sum(x.points for x in exercises)} points.</p>"]
    if entry["notes"]:
        parts.append(f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in entry['notes'])}</ul>")
    for exercise, row in zip(exercises, entry["rows"], strict=True):
        told = verdict_html(read_verdict(row["verdict"]))
        parts.append(f'<section class="attn-exercise">{header(exercise)}{told}<p>{row["points"]} points</p></section>')
    return page(f"Feedback for {entry['student']}", "".join(parts))


def read_verdict(fields: dict) -> Verdict:
    return Verdict(**fields | {"outcome": Outcome(fields["outcome"]), "seen": tuple(fields["seen"])})


@dataclass
class Tally:
    """What a class did, counted while the students go by."""

    students: int = 0
    points: int = 0
    outcomes: dict[str, Counter] = field(default_factory=dict)  # exercise -> outcome -> how many
    misconceptions: Counter = field(default_factory=Counter)  # (exercise, its name)
    unreadable: list[str] = field(default_factory=list)

    def add(self, entry: dict) -> None:
        self.students += 1
        for row in entry["rows"]:
            self.points += row["points"]
            self.outcomes.setdefault(row["exercise"], Counter())[row["outcome"]] += 1
            if row["misconception"]:
                self.misconceptions[row["exercise"], row["misconception"]] += 1
        if any(row["outcome"] == Outcome.UNREADABLE.value for row in entry["rows"]):
            self.unreadable.append(entry["student"])


def class_page(tally: Tally, exercises: Sequence[Exercise], walls: Iterable[str], seed: int) -> str:
    """Which misconceptions, how often; the hardest exercises first; what the isolation was."""
    total = sum(x.points for x in exercises)
    mean = tally.points / max(1, tally.students)
    parts = [f"<p>{tally.students} students, {mean:.2f} of {total} points on average. Seed {seed}.</p>"]
    hard = sorted(exercises, key=lambda x: (tally.outcomes[x.id][Outcome.CORRECT.value], x.id))
    parts.append("<h2>Which exercises were the hardest?</h2>" + _table(
        ["exercise", "correct", "share", "not attempted", "misconception", "otherwise wrong"],
        [_difficulty(x, tally.outcomes[x.id], tally.students) for x in hard],
    ))  # fmt: skip
    parts.append("<h2>Which misconceptions, how often?</h2>")
    rows = [[id, name, str(n), bar(n / tally.students)] for (id, name), n in tally.misconceptions.most_common()]
    parts.append(
        _table(["exercise", "misconception", "students", "share"], rows) if rows else "<p>None was recognised.</p>"
    )
    if tally.unreadable:
        names = "".join(f"<li>{escape(name)}</li>" for name in tally.unreadable)
        parts.append(f"<h2>What could not be read</h2><ul>{names}</ul>")
    parts.append("<h2>What the isolation was</h2><ul>" + "".join(f"<li>{escape(x)}</li>" for x in walls) + "</ul>")
    return page("The class", "".join(parts))


def _difficulty(exercise: Exercise, outcomes: Counter, students: int) -> list[str]:
    correct, none, known = (outcomes[x.value] for x in (Outcome.CORRECT, Outcome.NOT_ATTEMPTED, Outcome.MISCONCEPTION))
    counts = [none, known, outcomes.total() - correct - none - known]
    return [exercise.id, f"{correct} of {students}", bar(correct / students), *map(str, counts)]


class Markup(str):
    """Not to be escaped."""


def bar(share: float) -> Markup:
    return Markup(f'<span class="attn-bar" style="width: {6 * share:.2f}em"></span> {100 * share:.0f} %')


def _table(head: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str], tag: str) -> str:
        made = (f"<{tag}>{x if isinstance(x, Markup) else escape(x)}</{tag}>" for x in cells)
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="scroll" tabindex="0"><table class="attn-table">{line(head, "th")}{body}</table></div>'


def write(folder: Path, entries: Iterable[dict], exercises: Sequence[Exercise], walls: list[str], seed: int) -> Tally:
    """All pages. -> what the class did"""
    (folder / "feedback").mkdir(exist_ok=True)
    tally = Tally()
    for entry in entries:
        tally.add(entry)
        with writing(folder / "feedback" / file_name(entry["student"])) as file:
            file.write(feedback(entry, exercises))
    with writing(folder / "class.html") as file:
        file.write(class_page(tally, exercises, walls, seed))
    return tally
