"""How long does a class take? `python tests/measure_grading.py [STUDENTS] [WORKERS]`; run by hand, not a test.

The class: chapter 04's notebook with the solution, the stub or a registered wrong version in each exercise cell. Every
verdict is compared with what was put in. Prints seconds and the peak memory of the largest process.
"""

import ast
import inspect
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from graded import HEAD, LOST, ROOT, SCORE, SOFTMAX, STEP, answer, command, rows

from attncourse.exercises import Exercise

NOTEBOOK = ROOT / "notebooks/04_bahdanau.ipynb"


def versions(it: Exercise) -> list[tuple[str, str]]:
    """(what should be told, cell): the stub, the solution, every wrong version of the exercise's module."""
    source = inspect.getsource(inspect.getmodule(it.solution))
    tree = ast.parse(source)
    imports = [x for x in tree.body if isinstance(x, ast.ImportFrom) and x.level == 3]  # from ...masks import …
    imports = [f"from attncourse.{x.module} import {', '.join(name.name for name in x.names)}" for x in imports]
    kept = [x for x in tree.body if isinstance(x, (ast.FunctionDef, ast.Assign)) and "Case" not in ast.unparse(x)]
    lines = [ast.unparse(x) for x in kept if not ast.unparse(x).startswith("EXERCISE")]
    helpers = textwrap.indent("\n".join([*imports, *lines]), "    ")
    calls = [x for x in ast.walk(tree) if isinstance(x, ast.Call) and getattr(x.func, "id", "") == "Misconception"]
    names = ", ".join(it.parameters)
    made = [("not attempted", answer(it, it.stub.strip())), ("correct", answer(it))]
    for call in calls:
        for version in call.args[2].elts:
            make = f"_make_{it.solution.__name__}"  # a notebook has one namespace, and the helpers' names repeat
            call_it = f"return {make}()({', '.join(f'{x}={x}' for x in it.parameters)})"
            cell = f"def {make}():\n{helpers}\n    return {ast.unparse(version)}\n\n"
            made.append((call.args[0].value, cell + answer(it, f"def mine({names}):\n    {call_it}")))
    return made


def hand_in(folder: Path, students: int) -> dict[tuple[str, str], str]:
    """-> (student, exercise) -> what should be told"""
    notebook, draw, expected = json.loads(NOTEBOOK.read_text(encoding="utf-8")), random.Random(0), {}
    made = {it: versions(it) for it in (SCORE, SOFTMAX, STEP)}
    for number in range(students):
        content = json.loads(json.dumps(notebook))
        for it, known in made.items():
            told, text = draw.choice([known[1], draw.choice(known)])
            expected[f"student{number:03}", it.id] = told
            (cell,) = [c for c in content["cells"] if f'@exercise("{it.id}")' in "".join(c["source"])]
            cell["source"] = HEAD + text
        (folder / f"student{number:03}.ipynb").write_text(json.dumps(content), encoding="utf-8")
    return expected


def main(students: int = 200, workers: int = 2) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place, "class"), Path(place, "out")
        folder.mkdir()
        expected, began = hand_in(folder, students), time.perf_counter()
        order = command(folder, "--out", out, "--chapter", "04", "--seed", "1", "--workers", workers)
        subprocess.run(order, env=os.environ | LOST, check=True)
        seconds, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        wrong = {key: (told, rows(out)[key]) for key, told in expected.items() if _told(rows(out)[key]) != told}
        print(f"{students} submissions, {workers} workers: {seconds:.0f} s by the clock, load {os.getloadavg()[0]:.1f}")
        print(f"work {used.ru_utime + used.ru_stime:.0f} s, the largest process {used.ru_maxrss / 1024:.0f} MB")
        print(
            f"{len(expected) - len(wrong)} of {len(expected)} verdicts as expected", *list(wrong.items())[:5], sep="\n"
        )


def _told(row: dict) -> str:
    return row["misconception"] or row["outcome"]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
