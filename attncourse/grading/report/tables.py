"""grades.csv, gradebook.csv, and what a second run changed."""

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import BadInput

COLUMNS = ("student", "exercise", "points", "outcome", "misconception", "seconds")


def cell(text: str) -> str:
    """A spreadsheet takes a text that begins like this for a formula; behind an apostrophe it does not."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@contextmanager
def writing(path: Path) -> Iterator:
    """The file is there when it is complete, or as it was."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write(folder: Path, entries: Iterable[dict], points: dict[str, int]) -> None:
    """`entries`: a student each; `points`: what each exercise is worth."""
    with writing(folder / "grades.csv") as grades, writing(folder / "gradebook.csv") as book:
        rows, sums = csv.writer(grades), csv.writer(book)
        rows.writerow(COLUMNS)
        sums.writerow(["student", *points, "points", "of"])
        for entry in entries:
            student, gained = cell(entry["student"]), {row["exercise"]: row["points"] for row in entry["rows"]}
            for row in entry["rows"]:
                rows.writerow([student, *(cell(x) if isinstance(x := row[name], str) else x for name in COLUMNS[1:])])
            sums.writerow([student, *(gained[id] for id in points), sum(gained.values()), sum(points.values())])


def read(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    """(student, exercise) -> the row, of a grades.csv or of the folder that holds one."""
    file = path / "grades.csv" if path.is_dir() else path
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        return {(row["student"], row["exercise"]): {name: row[name] for name in COLUMNS} for row in rows}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError):
        raise BadInput(f"{file} is not a table of grades; expected the columns {', '.join(COLUMNS)}") from None


def changes(old: dict, new: dict) -> list[str]:
    """What a second run changed, a line each."""
    lines = []
    for key in sorted(old.keys() | new.keys()):
        before, after = (_told(table.get(key)) for table in (old, new))
        if before != after:
            lines.append(f"{key[0]}  {key[1]}: {before} -> {after}")
    return lines


def _told(row: dict[str, str] | None) -> str:
    if row is None:
        return "not there"
    return f"{row['points']} ({row['outcome']}{': ' if row['misconception'] else ''}{row['misconception']})"
