"""The same verdict, proven: on the page's torch every function of every exercise is told what PyTorch tells it.

The page's side runs in a process of its own, in which `torch` is the page's and PyTorch cannot be imported. The
solution's and the wrong versions' results come from PyTorch, as in the page; the answers run on the page's torch.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attncourse.exercises import assess, find, manifest
from attncourse.page.packed import pack
from attncourse.page.record import record

IDS = [entry.id for entry in manifest()]
HERE = Path(__file__).parent
LIMIT = 500_000  # bytes per chapter


@pytest.fixture(scope="module")
def worker():
    process = subprocess.Popen(
        [sys.executable, HERE / "worker.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def ask(*question):
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield ask
    process.stdin.close()
    process.wait(10)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """An exercise's data as a file, made once."""
    folder, sizes = tmp_path_factory.mktemp("packed"), {}

    def path(id):
        file = folder / id
        if not file.exists():
            file.write_bytes(pack(record(find(id))))
            sizes[id] = file.stat().st_size
        return str(file)

    return path


def told(verdict):
    return [verdict.outcome.value, verdict.misconception, verdict.headline, verdict.message]


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_every_function_gets_the_same_verdict(id, worker, packed):
    it = find(id)
    functions = [it.solution, *it.spellings, *(version for wrong in it.wrong for version in wrong.versions)]
    wanted = [told(assess(it, function)) for function in functions]
    got = worker("verdicts", id, packed(id))["verdicts"]
    assert len(got) == len(wanted)
    for i, (theirs, ours) in enumerate(zip(wanted, got, strict=True)):
        assert ours[:4] == theirs, f"function {i}, {getattr(functions[i], '__name__', '')}: {ours[4]}"
