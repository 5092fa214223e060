"""Grading: reading submissions, the wire, the view, the tables; and the command, as an instructor calls it."""

import csv
import json
import os
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
import torch
from graded import (
    AFTER,
    HEAD,
    LOST,
    SCORE,
    SOFTMAX,
    STEP,
    answer,
    command,
    grade,
    notebook,
    points,
    rows,
    script,
    write,
)

from attncourse import __version__, cli
from attncourse.exercises import Outcome, assess, find, manifest
from attncourse.exercises.engine.core import Case, Fixture, Foreign, Result
from attncourse.exercises.engine.examine import cases_of, telling_cases
from attncourse.exercises.engine.notebook import BadInput
from attncourse.exercises.engine.run import run
from attncourse.grading.grade import chosen
from attncourse.grading.judging import judged
from attncourse.grading.protocol.examiner import Attempt, read_look, read_result
from attncourse.grading.protocol.wire import BODY, SIZES, Broken, Channel, Late
from attncourse.grading.report import pages, tables
from attncourse.grading.report.journal import Journal
from attncourse.grading.sandbox import view
from attncourse.grading.sandbox.walls import Walls
from attncourse.grading.submissions import gather

# --- the wire ----------------------------------------------------------------------------------------------


@pytest.fixture
def ends():
    import socket

    one, two = (Channel(end) for end in socket.socketpair())
    yield one, two
    one.close()
    two.close()


def test_everything_an_answer_can_be_crosses_the_wire(ends):
    dtypes = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
    tensors = {name: torch.arange(6).view(2, 3).to(getattr(torch, name)) for name in dtypes}
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4), "view": torch.arange(6.0).view(2, 3).T}
    tensors["odd"] = torch.tensor([float("nan"), float("inf"), -0.0])
    sent = {"value": (1, 2.5, "ö\n", None, True, Foreign("numpy.ndarray")), **tensors, "file": b"\0\xff", "none": {}}
    ends[0].send(sent)
    got = ends[1].receive(5)
    assert got.keys() == sent.keys() and got["value"] == sent["value"] and got["file"] == b"\0\xff"
    for name, x in tensors.items():
        assert got[name].dtype is x.dtype and got[name].shape == x.shape
        assert torch.equal(got[name].nan_to_num(7), x.nan_to_num(7)), name
    fixture = Fixture("attncourse.mechanisms.seq2seq.AttentiveDecoder", (9, 4, 5), 3, "float64")
    ends[0].send({"x": fixture, "c": torch.zeros(2, dtype=torch.complex64)})
    assert ends[1].receive(5) == {"x": fixture, "c": Foreign("tensor of complex64")}


def _raw(header, body=b"", sizes=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return SIZES.pack(*(sizes or (len(text), len(body)))) + text + body


FORGERIES = {
    "not json": _raw(b"{"),
    "pickle": _raw(b"\x80\x04\x95\x05"),
    "unknown kind": _raw(["object", 1]),
    "no kind": _raw([]),
    "unknown dtype": _raw(["tensor", "complex64", [1]], bytes(8)),
    "too few bytes": _raw(["tensor", "float32", [3]], bytes(8)),
    "too many bytes": _raw(["tensor", "float32", [1]], bytes(8)),
    "negative size": _raw(["tensor", "float32", [-1]], bytes(4)),
    "size that overflows": _raw(["tensor", "float32", [2**30, 2**30, 2**30]]),
    "size that is a float": _raw(["tensor", "float32", [1.0]], bytes(4)),
    "size that is a bool": _raw(["tensor", "float32", [True]], bytes(4)),
    "many axes": _raw(["tensor", "float32", [1] * 64], bytes(4)),
    "shape of another kind": _raw(["tensor", "float32", 4], bytes(4)),
    "deep": _raw(b'["list", ' * 5_000 + b"]" * 5_000),
    "wide": _raw(["list", *range(10_000)]),
    "large number": _raw(b"9" * 5_000),
    "huge header": _raw(b"", sizes=(2**32 - 1, 0)),
    "huge body": _raw(b"", sizes=(0, 2**63)),
    "body beyond the limit": _raw(b"{}", sizes=(2, BODY + 1)),
    "cut off": _raw({"a": 1})[:-1],
    "nothing": b"",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_reply_out_of_form_is_refused(name, ends):
    ends[0].end.sendall(FORGERIES[name])
    ends[0].end.close()
    with pytest.raises(Broken):
        ends[1].receive(5)


def test_a_byte_that_is_no_truth_value_becomes_one(ends):
    ends[0].end.sendall(_raw(["tensor", "bool", [3]], b"\x00\x02\xff"))
    got = ends[1].receive(5)
    assert got.tolist() == [False, True, True] and got.double().tolist() == [0.0, 1.0, 1.0]


def test_a_late_reply_and_one_that_nobody_asked_for(ends):
    with pytest.raises(Late):
        ends[1].receive(0.05)
    assert ends[1].silent()
    ends[0].end.sendall(b"x")
    assert not ends[1].silent()


def test_texts_that_could_mislead_a_reader_are_cleaned(ends):
    ends[0].send({"text": "a\x1b[31m\u202eb\x00c", "lone": "\ud800", "long": "x" * 30_000})
    got = ends[1].receive(5)
    assert got["text"] == "a\ufffd[31m\ufffdb\ufffdc" and got["lone"] == "\ufffd" and len(got["long"]) == 20_000


def _reply(**more):
    return {"value": None, "after": {}, "gradients": {}, "printed": "", "timed_out": False, "problem": None} | more


def test_a_reply_holds_only_what_was_asked():
    case = Case("x", {"x": torch.ones(2)}, gradients=("x",))
    lies = {"x": "not a tensor", "y": torch.ones(2)}
    got = read_result(_reply(value={"a": 1}, after=lies, gradients=lies, printed=3), case, 2.0)
    assert got.value == Foreign("something else") and got.gradients == {} and got.printed == ""
    assert set(got.after) == {"y"}
    assert read_result(_reply(timed_out="yes"), case, 2.0) == Result(timed_out=2.0)
    named = read_result(_reply(problem={"type": "![x](http://evil)", "line": "1", "shapes": [1]}), case, 2.0).problem
    assert named.type == "xhttpevil" and named.line is None and named.shapes == {}
    assert read_look({"stub": "yes", "parameters": "abc"}).stub is False
    with pytest.raises(Broken):
        read_look(None)


def test_whatever_an_answer_sends_the_judge_stands():
    cases = cases_of(SOFTMAX, 0)
    odd = [None, Foreign("x"), (), (Foreign("x"),), torch.zeros(0), torch.zeros(2**20, 0), float("nan"), "x", 2**62,
           torch.zeros(2, 3, 5, dtype=torch.bool), torch.full((2, 3, 5), float("inf")), (((1,),),)]  # fmt: skip
    for value in odd:
        told = judged(SOFTMAX, cases, Attempt(results=[Result(value=value)] * len(cases)))
        assert told.outcome is not Outcome.CORRECT


def test_sent_home_over_the_wire_an_answer_is_judged_as_here(ends):
    """Every case of every exercise of three chapters, by the real messages."""
    for id in (entry.id for entry in manifest() if entry.chapter[:2] in ("01", "03", "04")):
        it = find(id)
        for case in cases_of(it, 3):
            ends[0].send({"inputs": case.inputs, "gradients": case.gradients})
            request = ends[1].receive(5)
            result = run(it.solution, Case("", request["inputs"], request["gradients"]))
            ends[1].send(_reply(value=result.value, after=result.after, gradients=result.gradients))
            got = read_result(ends[0].receive(5), case, 10.0)
            assert judged(it, [case], Attempt(results=[got])).outcome is Outcome.CORRECT


# --- submissions -------------------------------------------------------------------------------------------


def _names(path, table=None):
    return {x.student: [file.name for file in x.files] for x in gather(path, table)}


def test_students_by_file_and_by_folder(tmp_path):
    files = ["b.ipynb", "a.py", "c/x.ipynb", "c/deep/y.py", "a.ipynb", "d/notes.txt", ".hidden.py", "notes.txt"]
    write(tmp_path, {name: "" for name in [*files, "c/.ipynb_checkpoints/x-checkpoint.ipynb", "__pycache__/z.py"]})
    expected = {"a": ["a.ipynb", "a.py"], "b": ["b.ipynb"], "c": ["c/deep/y.py", "c/x.ipynb"], "d": []}
    assert _names(tmp_path) == expected and list(_names(tmp_path)) == sorted(expected)


@pytest.mark.parametrize("around", ["", "homework/"])
def test_a_zip_reads_like_its_folder(tmp_path, around):
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("b.ipynb", "c/x.ipynb", "c/deep/y.py", "readme.txt"):
            archive.writestr(around + name, name)
    assert _names(path) == {"b": ["b.ipynb"], "c": ["c/deep/y.py", "c/x.ipynb"]}
    assert gather(path)[0].load() == ({"b.ipynb": b"b.ipynb"}, [])


def test_a_table_names_students(tmp_path):
    write(tmp_path, {"class/x1.py": "1", "class/x2.py": "2", "class/c 17_file/h.py": "3", "class/x3.py": "4"})
    table = tmp_path / "map.csv"
    table.write_text("student,file\nAda,x1.py\nAda,x2.py\nBo,c 17_file\nCy,\n", encoding="utf-8-sig")
    assert _names(tmp_path / "class", table) == {
        "Ada": ["x1.py", "x2.py"],
        "Bo": ["c 17_file/h.py"],
        "Cy": [],
        "x3": ["x3.py"],
    }


def test_large_files_are_refused(tmp_path, monkeypatch):
    write(tmp_path, {"a/1.py": "x" * 70, "a/2.py": "x" * 120, "a/3.py": "y" * 70})
    monkeypatch.setattr("attncourse.grading.submissions.FILE", 100)
    monkeypatch.setattr("attncourse.grading.submissions.STUDENT", 130)
    contents, refused = gather(tmp_path)[0].load()
    assert set(contents) == {"a/1.py"} and [line[:6] for line in refused] == ["a/2.py", "a/3.py"]


def test_chapters_by_number_and_by_name():
    ids = [x.id for x in chosen("04")]
    assert ids == [SCORE.id, SOFTMAX.id, STEP.id] == [x.id for x in chosen("bahdanau")]
    assert [x.id for x in chosen(None)] == [entry.id for entry in manifest()]


def test_a_seed_on_which_a_wrong_version_would_pass_is_left_out():
    """Found by trying seeds: on this one, a decoder without its memory writes what the right one writes."""
    it, seed = find("bottleneck.free-running"), 1372175472
    forgets = next(wrong.versions[0] for wrong in it.wrong if wrong.name == "the carry is not handed on")
    assert assess(it, forgets, seed).outcome is Outcome.CORRECT
    cases = telling_cases(it, seed)
    assert judged(it, cases, Attempt(results=[run(forgets, case) for case in cases])).outcome is Outcome.MISCONCEPTION
    assert judged(it, cases, Attempt(results=[run(it.solution, case) for case in cases])).outcome is Outcome.CORRECT
    assert telling_cases(it, 0) == cases_of(it, 0)


# --- what a student may see --------------------------------------------------------------------------------


def test_the_view_holds_the_course_without_its_solutions(tmp_path):
    view.build(tmp_path / "course")
    folder = tmp_path / "course/attncourse/exercises"
    assert {path.name for path in folder.iterdir()} == {"__init__.py", "engine", "fixtures"}
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    for entry in manifest():
        body = find(entry.id).solution_source.partition("\n")[2]
        assert body not in text, entry.id
    fixtures = {
        x.make for e in manifest() for c in cases_of(find(e.id), 0) for x in c.inputs.values() if isinstance(x, Fixture)
    }
    lines = [f"assert {make.rpartition('.')[0]}.{make.rpartition('.')[2]}" for make in fixtures]
    program = "\n".join([*(f"import {make.rpartition('.')[0]}" for make in fixtures), *lines])
    program += "\nimport attncourse; assert 'course' in attncourse.__file__"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "course")}
    subprocess.run([os.sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True)


def test_mounts_show_python_and_hide_the_project(tmp_path):
    mounts = view.plan("namespaces", tmp_path, 65520, view.Limits(), [tmp_path])["mounts"]
    package = str(view.PACKAGE)
    for kind, source, target in mounts[:-2]:
        assert (
            kind != "bind"
            or not (package + os.sep).startswith(source.rstrip(os.sep) + os.sep)
            or any(hidden[0] == "hide" and package.startswith(hidden[2]) for hidden in mounts)
        ), (source, target)
    assert mounts[-2:] == [
        ("bind", package, "/course/attncourse"),
        ("bind", str(tmp_path / "course/attncourse/exercises"), "/course/attncourse/exercises"),
    ]
    assert view.plan("bubblewrap", tmp_path, 65520, view.Limits(), [])["uid"] is None


def test_bubblewrap_is_given_the_same_view(tmp_path):
    """The order only: bubblewrap itself is not installed everywhere. A start that fails falls back, and says so."""
    plan = view.plan("bubblewrap", tmp_path, 65520, view.Limits(), [])
    order = view.command(plan)
    options = {"bind": "--ro-bind", "link": "--symlink", "hide": "--tmpfs"}
    expected = [x for kind, *rest in plan["mounts"] for x in [options[kind], *filter(None, rest)]]
    start = order.index(expected[0])
    assert order[0] == "bwrap" and order[start : start + len(expected)] == expected
    assert {"--unshare-user", "--unshare-all", "--die-with-parent", "--proc", "--dev"} <= set(order)
    assert order[-1] == "/course/attncourse/grading/sandbox/isolate.py" and plan["launch_as"] == 65520


def test_walls_say_what_does_not_hold():
    kept = {"user": 65520, "network": False, "readable": (), "sees_grader": False, "python": True}
    assert "NOT" not in " ".join(Walls("namespaces", kept).words())
    for name, word in {"network": "network", "readable": "solutions", "sees_grader": "same user"}.items():
        (line,) = [x for x in Walls("user", kept | {name: ("x",)}).words() if "NOT KEPT OUT" in x]
        assert word in line


# --- journal, tables, pages --------------------------------------------------------------------------------


def _entry(student, gained=2, verdict=None):
    told = verdict or {
        "outcome": "correct",
        "headline": "Correct",
        "message": "",
        "seen": [],
        "misconception": "",
        "printed": "",
    }
    row = {"exercise": SOFTMAX.id, "points": gained, "outcome": told["outcome"], "misconception": "", "seconds": 0.1}
    return {"student": student, "digest": f"d{gained}", "notes": [], "rows": [row | {"verdict": told}]}


def test_a_journal_that_was_cut_off_goes_on(tmp_path):
    journal = Journal(tmp_path)
    journal.create({"seed": 1})
    journal.add(_entry("ä"))
    journal.add(_entry("b"))
    journal.add(_entry("b", 0))  # handed in again
    with open(journal.path, "ab") as file:
        file.write(b'{"student": "c", "dig')
    again = Journal(tmp_path)
    assert again.open() == {"seed": 1}
    assert again.has("ä", "d2") and again.has("b", "d0") and not again.has("b", "d2") and not again.has("c", "d2")
    again.add(_entry("c"))
    assert [(e["student"], e["rows"][0]["points"]) for e in again.entries(["c", "b", "ä"])] == [
        ("c", 2),
        ("b", 0),
        ("ä", 2),
    ]
    journal.path.write_text("not a journal\n")
    with pytest.raises(BadInput, match=r"journal.jsonl is not the journal"):
        Journal(tmp_path).open()


def test_tables_are_safe_in_a_spreadsheet_and_can_be_compared(tmp_path):
    names = ["=1+1", "+a", "-b", "@c", 'quo"te', "a,b", "line\\x0abreak"]
    tables.write(tmp_path, [_entry(name) for name in names], {SOFTMAX.id: 2})
    with open(tmp_path / "gradebook.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["student"] for row in table] == ["'=1+1", "'+a", "'-b", "'@c", *names[4:]]
    assert table[0] == {"student": "'=1+1", SOFTMAX.id: "2", "points": "2", "of": "2"}
    old = tables.read(tmp_path)
    assert tables.changes(old, old) == []
    tables.write(tmp_path, [_entry("a,b", 0), _entry("new")], {SOFTMAX.id: 2})
    lines = tables.changes(old, tables.read(tmp_path / "grades.csv"))
    assert f"a,b  {SOFTMAX.id}: 2 (correct) -> 0 (correct)" in lines and len(lines) == len(names) + 1
    assert f"new  {SOFTMAX.id}: not there -> 2 (correct)" in lines


def test_file_names_of_students_stay_in_the_folder():
    names = ["alice", "../../etc/passwd", "a/b", "a_b", "..", "", "x" * 500, "Ünï cödé", "a\\b", "con\n"]
    files = [pages.file_name(name) for name in names]
    assert len(set(files)) == len(files) and files[0] == "alice.html" and files[7] == "Ünï cödé.html"
    assert all("/" not in f and "\\" not in f and not f.startswith(".") and len(f) < 120 for f in files)


# --- the command -------------------------------------------------------------------------------------------

CLASS = {
    "ann.py": script(answer(SCORE), answer(SOFTMAX), answer(STEP)),
    "ben.ipynb": notebook("%matplotlib inline\n!ls\n" + HEAD, answer(SCORE), answer(SOFTMAX, AFTER), STEP.cell),
    "cat/one.py": script(answer(SCORE)),
    "cat/two.py": script(answer(STEP)),
    "dan.ipynb": notebook(
        HEAD + "1 / 0",
        "def helper(x):\n    return x.softmax(-1)",
        "%%bash\nexit 1",
        answer(SOFTMAX, "def first(scores, mask):\n    return scores"),
        "%%time\n" + answer(SOFTMAX, "def second(scores, mask):\n    return helper(scores) * mask"),
        answer(SCORE, "def f(query, keys, W_q, W_k, v:\n    return 1"),
        '@exercise("bahdanau.misspelt")\ndef f(x): return x',
    ),
}
EXPECTED = {
    "ann": {SCORE.id: 2, SOFTMAX.id: 2, STEP.id: 3},
    "ben": {SCORE.id: 2, SOFTMAX.id: 0, STEP.id: 0},
    "cat": {SCORE.id: 2, SOFTMAX.id: 0, STEP.id: 3},
    "dan": {SCORE.id: 0, SOFTMAX.id: 0, STEP.id: 0},
}


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    place = tmp_path_factory.mktemp("grading")
    write(place / "class", CLASS)
    done = grade(place / "class", "--out", place / "out", "--chapter", "04", "--seed", "3", "--workers", "2")
    assert done.returncode == 0, done.stderr
    return place, done.stdout


@pytest.mark.slow
def test_a_class(first):
    place, said = first
    out, table = place / "out", rows(place / "out")
    assert points(out) == EXPECTED
    assert table["ben", SOFTMAX.id]["misconception"] == table["dan", SOFTMAX.id]["misconception"] != ""
    assert table["ben", STEP.id]["outcome"] == table["cat", SOFTMAX.id]["outcome"] == "not attempted"
    assert table["dan", SCORE.id]["outcome"] == "raised"
    with open(out / "gradebook.csv", newline="") as file:
        assert [(row["student"], row["points"], row["of"]) for row in csv.DictReader(file)] == [
            (who, str(sum(x.values())), "7") for who, x in EXPECTED.items()
        ]
    assert "4 students, 3 exercises, seed 3" in said and "2 × the mask is applied after the softmax" in said
    page = (out / "feedback/dan.html").read_text(encoding="utf-8")
    assert "The mask is applied after the softmax" in page and "The cell is not Python" in page
    assert "bahdanau.misspelt" in page and "Exercise: The additive score" in page
    assert "the mask is applied after the softmax</td><td>2</td>" in (out / "class.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_same_seed_same_verdicts_whatever_the_number_of_workers_and_resumed_after_a_kill(first, tmp_path):
    """The grader is killed after its first student; what it started must be gone; --resume gives the same tables."""
    place, _ = first
    out = tmp_path / "out"
    arguments = (place / "class", "--out", out, "--chapter", "04", "--seed", "3", "--workers", "1")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        command(*arguments),
        env=os.environ | LOST | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 300
    while time.monotonic() < until and not (
        out.exists() and len((out / "journal.jsonl").read_bytes().splitlines()) > 1
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = grade(*arguments[:-2], "--workers", "2", "--resume", "--diff", place / "out")
    assert done.returncode == 0, done.stderr
    assert rows(out) == rows(place / "out") and f"As in {place / 'out'}." in done.stdout
    until = time.monotonic() + 60
    while list(temporary.iterdir()) and time.monotonic() < until:  # the killed one's runner clears up behind it
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(temporary) in _read(p)]
    assert (out / "feedback/ann.html").read_bytes() == (place / "out/feedback/ann.html").read_bytes()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.mark.slow
def test_every_solution_passes_in_the_isolated_process(tmp_path):
    """All chapters, with their fixtures, in one submission; a second one runs its whole notebook."""
    imports = ("import math", "from torch import nn", "from attncourse import masks, ntm",
               "from attncourse.core.scores import dot", "from attncourse.core.masks import padding")  # fmt: skip
    head = HEAD + "\n".join(imports) + "\n"
    write(tmp_path / "class", {"all.py": head + "\n".join(answer(find(entry.id)) for entry in manifest())})
    write(
        tmp_path / "class",
        {"full.ipynb": notebook(HEAD, "%pip install x\nunused = open('side', 'w').write('x')", answer(SOFTMAX))},
    )
    done = grade(tmp_path / "class", "--out", tmp_path / "out", "--seed", "8", "--full", "--students", _table(tmp_path))
    assert done.returncode == 0, done.stderr
    got = points(tmp_path / "out")
    assert got["Everything"] == {entry.id: entry.points for entry in manifest()}
    assert got["full"] == {entry.id: SOFTMAX.points * (entry.id == SOFTMAX.id) for entry in manifest()}
    assert list(got) == ["Everything", "Nobody", "full"] and sum(got["Nobody"].values()) == 0


def _table(folder: Path) -> Path:
    (folder / "map.csv").write_text("file,student\nall.py,Everything\n,Nobody\n")
    return folder / "map.csv"


BAD = {
    "no folder": (["nowhere", "--out", "out"], "nowhere is not there; give a folder or a .zip"),
    "no zip": (["text.zip", "--out", "out"], "text.zip is neither a folder nor a .zip"),
    "empty": (["empty", "--out", "out"], "empty holds no submission"),
    "no out": (["class"], "required: --out"),
    "out is a file": (["class", "--out", "text.zip"], "--out text.zip is a file"),
    "out is taken": (["class", "--out", "taken"], "--out taken holds a run already; add --resume"),
    "chapter": (["class", "--out", "out", "--chapter", "99"], "there is no chapter '99'"),
    "seed": (["class", "--out", "out", "--seed", "x"], "'x' is not a whole number"),
    "workers": (["class", "--out", "out", "--workers", "0"], "'0' is not a whole number above zero"),
    "seconds": (["class", "--out", "out", "--seconds", "nan"], "'nan' is not a number of seconds"),
    "no table": (["class", "--out", "out", "--students", "no.csv"], "no.csv cannot be read as a table of students"),
    "table": (
        ["class", "--out", "out", "--students", "bad.csv"],
        "bad.csv, line 2: expected the columns file and student",
    ),
    "file of the table": (["class", "--out", "out", "--students", "far.csv"], "far.csv, line 2: there is no z.py"),
    "old": (["class", "--out", "out", "--diff", "empty"], "grades.csv is not a table of grades"),
    "resumed with another seed": (["class", "--out", "taken", "--resume", "--seed", "2"], "a run with another seed"),
    "resumed for another chapter": (
        ["class", "--out", "taken", "--resume", "--chapter", "05"],
        "with another exercises",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_nothing_is_written(name, tmp_path, monkeypatch, capsys):
    arguments, sentence = BAD[name]
    tables = {"bad.csv": "a,b\n1,2\n", "far.csv": "file,student\nz.py,Z\n"}
    write(tmp_path, {"class/a.py": "", "text.zip": "no zip", **tables})
    (tmp_path / "empty").mkdir()
    ids = [SCORE.id, SOFTMAX.id, STEP.id]
    settings = {"version": __version__, "exercises": ids, "full": False, "seconds": None, "seed": 1}
    write(tmp_path, {"taken/journal.jsonl": json.dumps(settings) + "\n"})
    before = {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")}
    monkeypatch.chdir(tmp_path)
    try:
        code = cli.main(["grade", *arguments, *([] if "--chapter" in arguments else ["--chapter", "04"])])
    except SystemExit as ended:  # argparse's own way
        code = ended.code
    said = capsys.readouterr()
    assert code == 2 and said.out == ""
    assert sentence in said.err and len(said.err.strip().splitlines()) == 1, said.err
    assert {p: p.is_file() and p.read_bytes() for p in tmp_path.rglob("*")} == before
