"""Submissions for the tests of grading, and the command itself as a user calls it."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from places import ROOT

from attncourse.exercises import find

SCORE, SOFTMAX, STEP = (find(f"bahdanau.{name}") for name in ("additive-score", "masked-softmax", "decoder-step"))

HEAD = """import os, sys, torch
import torch.nn.functional as F
from attncourse import attend
from attncourse.exercises import exercise
"""
AFTER = "def masked_softmax(scores, mask):\n    return F.softmax(scores, -1) * mask"  # the mask after the softmax
LOST = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def answer(it, source: str | None = None) -> str:
    """A cell that answers an exercise; with its solution, if nothing else is given."""
    return f'@exercise("{it.id}")\n{source or it.solution_source}\n\n'


def script(*cells: str) -> str:
    return HEAD + "\n\n".join(cells)


def notebook(*cells: str, **more) -> str:
    code = [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": []} for cell in cells]
    return json.dumps({"cells": code, "nbformat": 4, "nbformat_minor": 5, "metadata": {}} | more)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def command(*arguments, modes=None) -> list[str]:
    """`modes`: which walls may be tried; all of them, if nothing is said."""
    if modes is None:
        return [sys.executable, "-m", "attncourse", "grade", *map(str, arguments)]
    program = f"from attncourse.grading import grade; grade.MODES = {modes!r}; from attncourse import cli; import sys"
    return [sys.executable, "-c", f"{program}; sys.exit(cli.main(sys.argv[1:]))", "grade", *map(str, arguments)]


def grade(*arguments, modes=None, cwd=None, temporary=None) -> subprocess.CompletedProcess:
    """`temporary`: where the grader may keep what it needs while it runs."""
    environment = os.environ | LOST | ({"TMPDIR": str(temporary)} if temporary else {})
    order = command(*arguments, modes=modes)
    return subprocess.run(order, cwd=cwd, env=environment, capture_output=True, text=True, timeout=900)


def rows(out: Path) -> dict[tuple[str, str], dict]:
    """(student, exercise) -> the row, without its time."""
    with open(out / "grades.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["student", "exercise", "points", "outcome", "misconception", "seconds"]
    return {(row["student"], row["exercise"]): {k: x for k, x in row.items() if k != "seconds"} for row in table}


def points(out: Path) -> dict[str, dict[str, int]]:
    """student -> exercise -> points"""
    table: dict[str, dict[str, int]] = {}
    for (student, id), row in rows(out).items():
        table.setdefault(student, {})[id] = int(row["points"])
    return table
