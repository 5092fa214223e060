"""A process in which `torch` is the page's: it checks what it is asked to, line by line. Started by the tests."""

import importlib
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "attncourse/page"), str(ROOT)]  # the small torch before the one that is installed

import torch  # noqa: E402

from attncourse.exercises.engine import examine, judge  # noqa: E402
from attncourse.page.check import check, load  # noqa: E402
from attncourse.page.packed import unpack  # noqa: E402


def functions(id):
    """The exercise's own functions, on the page's torch."""
    topic, _, name = id.partition(".")
    module = importlib.import_module(f"attncourse.exercises.chapters.{topic}.{name.replace('-', '_')}")
    it = module.EXERCISE
    return [it.solution, *it.spellings, *(version for wrong in it.wrong for version in wrong.versions)]


def told(verdict):
    return [verdict.outcome.value, verdict.misconception, verdict.headline, verdict.message, list(verdict.seen)]


def verdicts(id, path):
    started = time.process_time()
    exercise = load(unpack(Path(path).read_bytes()))
    loaded = time.process_time() - started
    found, seconds = [], []
    for function in functions(id):
        started = time.process_time()
        found.append(told(examine.assess(exercise, function)))
        seconds.append(time.process_time() - started)
    examine.cases_of.cache_clear()
    judge.reference.cache_clear()
    return {"verdicts": found, "seconds": seconds, "load": loaded}


def answer(id, path, source):
    return {"verdict": told(check(load(unpack(Path(path).read_bytes())), source))}


if __name__ == "__main__":
    assert torch.__file__ == str(ROOT / "attncourse/page/torch/__init__.py"), torch.__file__
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(globals()[name](*arguments)), flush=True)
