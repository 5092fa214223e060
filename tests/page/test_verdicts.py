"""The same verdict, proven: on the page's torch every function of every exercise is told what PyTorch tells it.

The page's side runs in a process of its own, in which `torch` is the page's and PyTorch cannot be imported. The
solution's and the wrong versions' results come from PyTorch, as in the page; the answers run on the page's torch.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from test_house import PACKAGE, imports, room

from attncourse.exercises import find, manifest
from attncourse.exercises.engine.attempt import look
from attncourse.exercises.engine.examine import conclude
from attncourse.exercises.engine.run import run
from attncourse.page.packed import pack, unpack
from attncourse.page.record import cases_for_the_page, record, rounded

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
    folder = tmp_path_factory.mktemp("packed")

    def path(id):
        file = folder / id
        if not file.exists():
            file.write_bytes(pack(record(find(id))))
        return file

    return path


def told(verdict):
    return [verdict.outcome.value, verdict.misconception, verdict.headline, verdict.message]


def told_by_torch(it, function):
    """What the Check button of the notebook says, on the cases of the page."""
    cases = cases_for_the_page(it)
    return told(conclude(it, cases, look(function, it.stub, it.parameters), [run(function, case) for case in cases]))


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_every_function_gets_the_same_verdict(id, worker, packed):
    it = find(id)
    functions = [it.solution, *it.spellings, *(version for wrong in it.wrong for version in wrong.versions)]
    got = worker("verdicts", id, str(packed(id)))["verdicts"]
    assert len(got) == len(functions)
    for i, (function, ours) in enumerate(zip(functions, got, strict=True)):
        assert ours[:4] == told_by_torch(it, function), (i, getattr(function, "__name__", ""), ours)


GENERAL = "luong.general-score"
HEAD = "def general_score(query, keys, W):\n"
ANSWERS = {  # what a learner might type into the editor, and the beginning of the headline
    HEAD + "    return query @ W @ keys.mT\n": "Correct",
    '@exercise("luong.general-score")\n'
    + HEAD
    + "    return torch.einsum('bqi,ij,bkj->bqk', query, W, keys)\n": "Correct",
    HEAD + "    return torch.stack([q @ W @ k.T for q, k in zip(query, keys)])\n": "Correct",
    "import nothing\n" + HEAD + "    return nothing.matmul(query, keys)\n": "The cell fails",
    "def general_score(query, keys, W)\n    return 1\n": "The cell is not Python",
    "def other(query, keys, W):\n    return 1\n": "The cell fails",
    find(GENERAL).cell: "Not attempted yet",
    "def general_score(q, k, W):\n    return q @ W @ k.mT\n": "The parameters are not those of the task",
    HEAD + "    return torch.fft.fft(query)\n": "Unknown at line 2",
    HEAD + "    x = query @ keys\n    return x\n": "RuntimeError at line 2",
    HEAD + "    print(query.shape)\n": "Your function returns nothing",
    HEAD + "    W *= 1.5\n    return query @ (W / 1.5) @ keys.mT\n": "Your function changes `W`",
    HEAD + "    with torch.no_grad():\n        return query @ W @ keys.mT\n": "No gradient reaches",
}


@pytest.mark.parametrize("source", ANSWERS)
def test_what_a_learner_types_is_run_and_judged(source, worker, packed):
    told = worker("answer", GENERAL, str(packed(GENERAL)), source)["verdict"]
    assert told[2].startswith(ANSWERS[source]), told
    if "fft" in source:
        assert "this page's small torch does not know torch.fft; open the notebook to use it" in told[4][1]


def test_nothing_else_of_the_package_rests_on_the_page():
    others = [path for path in PACKAGE.rglob("*.py") if "page" not in path.relative_to(PACKAGE).parts]
    assert len(others) > 100
    assert [path for path in others if any(room(target) == "page" for _, target in imports(path))] == []


# --- the data --------------------------------------------------------------------------------------


def test_packed_data_comes_back():
    data = {
        "a": [torch.arange(5), torch.tensor([True, False]), torch.tensor(2.5), torch.zeros(0, 3)],
        "b": {"c": None, "d": "text", "e": math.inf, "f": 3, "g": True, "h": [1, [2.5]]},
        "i": [torch.tensor([1e300, 1 / 3], dtype=torch.float64), torch.tensor([300, -70000])],
        "j": [torch.tensor([math.nan, -math.inf, 1e-40])] * 2,
    }
    back = unpack(pack(data))
    assert back["b"] == data["b"]
    for key in "aij":
        for x, y in zip(data[key], back[key], strict=True):
            assert x.dtype == y.dtype and x.shape == y.shape and torch.equal(x.nan_to_num(), y.nan_to_num())
            assert torch.equal(x.isnan(), y.isnan())


def test_equal_tensors_are_stored_once():
    x = torch.randn(2000, generator=torch.Generator().manual_seed(0))
    assert len(pack([x] * 20)) < len(pack([x])) + 200
    with pytest.raises(TypeError, match="set is no plain data"):
        pack({"a": {1, 2}})


def test_rounding_keeps_what_the_judge_looks_at():
    x = torch.randn(5000, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 10
    for kind in (torch.float32, torch.float64):
        y = rounded(x.to(kind))
        assert y.dtype == kind and ((y - x.to(kind)).abs() <= 1.6e-5 * x.abs()).all()
    special = torch.tensor([0.0, math.inf, -math.inf, math.nan, torch.finfo(torch.float32).min, 1.0, -2.0])
    assert torch.equal(rounded(special).nan_to_num(7.0), special.nan_to_num(7.0))
    large = torch.tensor([1e300, -1e39], dtype=torch.float64)
    assert torch.equal(rounded(large), large)


@pytest.mark.slow
@pytest.mark.parametrize("chapter", list(dict.fromkeys(entry.chapter for entry in manifest())))
def test_a_chapter_is_small(chapter, packed):
    ids = [entry.id for entry in manifest() if entry.chapter == chapter]
    assert sum(packed(id).stat().st_size for id in ids) <= LIMIT
