"""Submissions that want points they did not earn, or that others get none. One class of them, graded for real.

Each of them answers `masked-softmax` by a trick, and two other exercises honestly: the trick must earn nothing,
what is honest must still count, and nobody else's row may differ from a class without them.
"""

import os
import re
import socket
import threading
import time
import zipfile
from pathlib import Path

import pytest
from graded import AFTER, HEAD, SCORE, SOFTMAX, STEP, answer, grade, notebook, points, rows, script, write
from hostile import TRICKS

from attncourse.grading.sandbox.view import PACKAGE

pytestmark = pytest.mark.slow

HIDDEN = PACKAGE / "exercises/chapters/bahdanau/masked_softmax.py"
SPOILT = {"patched-allclose", "replaced-module"}  # their process stays alive, and what comes later in it is their loss
BROKEN = {
    "broken-json.ipynb": '{"cells": [',
    "deep-json.ipynb": "[" * 200_000,
    "empty.ipynb": "",
    "empty-script.py": "",
    "bytes.py": b"\xff\xfe\x00",
    "nbformat-3.ipynb": '{"worksheets": [{"cells": [{"cell_type": "code", "input": "x"}]}], "nbformat": 3}',
    "brackets.py": HEAD + answer(SOFTMAX, "def masked_softmax(scores, mask):\n    return " + "(" * 5_000 + ")" * 5_000),
    "minuses.py": HEAD + answer(SOFTMAX, "def masked_softmax(scores, mask):\n    return " + "-" * 100_000 + "1"),
    "numbers.ipynb": '{"cells": [{"cell_type": "code", "source": ' + "9" * 10_000 + "}]}",
    "folder/readme.txt": "no notebook",
}
HONEST = {
    "alice.py": script(answer(SCORE), answer(SOFTMAX), answer(STEP)),
    "bob.ipynb": notebook("%matplotlib inline\n" + HEAD, answer(SCORE), answer(SOFTMAX, AFTER), STEP.cell),
    "zoe/homework.ipynb": notebook(HEAD, answer(SOFTMAX), answer(SCORE, "def additive_score(query): return 1")),
}


def trick(text: str, port: int) -> str:
    """Honest, the trick, honest. What stands before its function has to be needed by it, or it would not even run."""
    text = text.replace("PORT", str(port)).replace("SOLUTION", str(HIDDEN))
    before, mark, body = re.split(r"^(def masked|@)", text, maxsplit=1, flags=re.M)
    block = re.sub("^", "    ", f"{before}\nneeded = 1", flags=re.M)
    body = re.sub(r"(?<=mask\):\n)", "    needed\n", mark + body, count=1)
    return script(answer(SCORE), f"if True:\n{block}", answer(SOFTMAX, body), answer(STEP))


@pytest.fixture(scope="module")
def listener():
    """A server on this machine that nobody in the class may reach."""
    seen = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            while True:
                try:
                    seen.append(server.accept()[0].recv(10))
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], seen


@pytest.fixture(scope="module")
def graded(tmp_path_factory, listener):
    """The class with the hostile ones, two workers; -> folder of grades, what was printed."""
    place = tmp_path_factory.mktemp("hostile")
    port, _ = listener
    files = {f"{name}.py": trick(it, port) for name, it in TRICKS.items()} | BROKEN | HONEST
    folder = write(place / "class", files)
    (folder / "link.ipynb").symlink_to(folder / "bob.ipynb")
    (folder / "link-out.py").symlink_to("/etc/passwd")
    (folder / "linked-folder").symlink_to(folder / "zoe")
    os.mkfifo(folder / "fifo.py")
    (place / "temporary").mkdir()
    order = (folder, "--out", place / "out", "--chapter", "04", "--seed", "11", "--seconds", "1", "--workers", "2")
    done = grade(*order, temporary=place / "temporary")
    assert done.returncode == 0, done.stderr[-2000:]
    return place / "out", done.stdout


def test_no_trick_earns_a_point(graded):
    got = points(graded[0])
    names = {name.replace("=HYPER", "'=HYPER") for name in TRICKS}
    assert names <= set(got)
    assert {name: got[name][SOFTMAX.id] for name in names} == dict.fromkeys(names, 0)


def test_a_trick_costs_only_its_own_points(graded):
    """The honest answer before it counts, and the one after it: in a new process, if the trick has ended the first."""
    got = points(graded[0])
    names = {name: name.replace("=HYPER", "'=HYPER") for name in TRICKS}
    assert {x for x, who in names.items() if got[who][SCORE.id] != SCORE.points} == set()
    assert {x for x, who in names.items() if got[who][STEP.id] != STEP.points} <= SPOILT


def test_tricks_are_told_as_what_they_are(graded):
    table = rows(graded[0])
    told = {name: table[name, SOFTMAX.id]["outcome"] for name in TRICKS if (name, SOFTMAX.id) in table}
    for name in ("endless", "endless-and-deaf"):
        assert told[name] == "timed out", name
    for name in ("os-exit", "sys-exit", "abort", "segfault", "imports-the-solution", "endless-before", "huge-tensor"):
        assert told[name] == "raised", (name, told[name])
    assert told["lying-eq"] == "wrong type" and told["lying-subclass"] == told["knows-where-it-lies"] == "wrong value"
    assert not (graded[0].parent / "class" / "pickled").exists()


def test_everyone_else_is_graded_as_without_them(graded, tmp_path):
    write(tmp_path / "class", HONEST)
    out = tmp_path / "out"
    done = grade(
        tmp_path / "class", "--out", out, "--chapter", "04", "--seed", "11", "--seconds", "1", "--workers", "1"
    )
    assert done.returncode == 0, done.stderr
    alone, among = rows(out), rows(graded[0])
    assert alone == {key: among[key] for key in alone}
    assert points(out) == {
        "alice": {SCORE.id: 2, SOFTMAX.id: 2, STEP.id: 3},
        "bob": {SCORE.id: 2, SOFTMAX.id: 0, STEP.id: 0},
        "zoe": {SCORE.id: 0, SOFTMAX.id: 2, STEP.id: 0},
    }
    assert alone["bob", SOFTMAX.id]["misconception"] == "the mask is applied after the softmax"


def test_what_cannot_be_read_is_said(graded):
    table = rows(graded[0])
    for name in BROKEN:
        who = name.split("/")[0].partition(".")[0]
        assert table[who, SOFTMAX.id]["points"] == "0"
    for who in (
        "broken-json",
        "deep-json",
        "empty",
        "bytes",
        "nbformat-3",
        "link",
        "link-out",
        "linked-folder",
        "fifo",
    ):
        assert table[who, SOFTMAX.id]["outcome"] == "not readable", who
    assert "symbolic link" in (graded[0] / "feedback" / "link.html").read_text()
    assert "root:" not in (graded[0] / "feedback" / "link-out.html").read_text()


def test_nothing_leaked(graded, listener):
    assert listener[1] == []
    for page in (graded[0] / "feedback").iterdir():
        assert "LEAK" not in page.read_text(encoding="utf-8"), page.name


def test_pages_and_tables_run_nothing(graded):
    """A name and an exception's text are the student's: they must be shown, not executed."""
    out = graded[0]
    for page in [out / "class.html", *(out / "feedback").iterdir()]:
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text and "<img" not in text and 'evil/x.png"' not in text
        assert "default-src 'none'" in text
    (page,) = (out / "feedback").glob("_img*")
    assert "&lt;script&gt;alert(4)&lt;/script&gt;" in page.read_text()
    for line in (out / "grades.csv").read_text().splitlines() + (out / "gradebook.csv").read_text().splitlines():
        assert not line.startswith(("=", "+", "@"))
    assert {p.name for p in out.iterdir()} == {"grades.csv", "gradebook.csv", "class.html", "feedback", "journal.jsonl"}


def test_nothing_of_a_student_is_left(graded):
    """All processes of a run carry its temporary folder in their command line: the runner's, and its children's."""
    temporary = graded[0].parent / "temporary"
    assert list(temporary.iterdir()) == []
    time.sleep(0.2)
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert str(temporary).encode() not in line.read_bytes(), line
        except OSError:
            continue
    assert "isolation: " in graded[1]
    if "namespaces: " in graded[1]:
        assert "NOT KEPT OUT" not in graded[1]


def test_zip_paths_that_leave_the_folder(tmp_path):
    """Nothing is unpacked, nothing outside is read, and the others are graded."""
    (tmp_path / "secret.py").write_text(script(answer(SOFTMAX)))
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("class/alice.py", HONEST["alice.py"])
        archive.writestr("class/bob.ipynb", HONEST["bob.ipynb"])
        archive.writestr("../../evil.py", script(answer(SOFTMAX)))
        archive.writestr("/etc/absolute.py", script(answer(SOFTMAX)))
        archive.writestr("class\\..\\..\\back.py", script(answer(SOFTMAX)))
        archive.writestr("class/bomb.py", b"#" * (200 << 20))
        link = zipfile.ZipInfo("class/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "../secret.py")
        archive.writestr("__MACOSX/class/._alice.py", b"\0")
    done = grade(path, "--out", tmp_path / "out", "--chapter", "04", "--seed", "11", "--seconds", "1", "--workers", "1")
    assert done.returncode == 0, done.stderr
    got = points(tmp_path / "out")
    assert {who: sum(x.values()) for who, x in got.items() if who in ("alice", "bob")} == {"alice": 7, "bob": 2}
    assert sum(sum(x.values()) for who, x in got.items() if who not in ("alice", "bob")) == 0
    assert rows(tmp_path / "out")["link", SOFTMAX.id]["outcome"] == "not readable"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["class.zip", "out", "secret.py"]


SOME = ("os-exit", "kills-everyone", "endless", "fork-bomb", "forged-replies", "imports-the-solution", "closes-files")


@pytest.mark.skipif(os.geteuid() != 0, reason="as an ordinary user without namespaces there are limits only")
def test_without_namespaces_an_unprivileged_user_holds_them(tmp_path, listener):
    files = {f"{name}.py": trick(TRICKS[name], listener[0]) for name in SOME} | HONEST
    write(tmp_path / "class", files)
    out = tmp_path / "out"
    done = grade(tmp_path / "class", "--out", out, "--chapter", "04", "--seed", "11", "--seconds", "1", modes=("user",))
    if "cannot be read by user" in done.stderr:  # Python is installed where only root may read
        assert done.returncode == 2 and not out.exists() and len(done.stderr.strip().splitlines()) == 1
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    got = points(tmp_path / "out")
    assert all(got[name] == {SCORE.id: 2, SOFTMAX.id: 0, STEP.id: 3} for name in SOME), got
    assert got["alice"] == {SCORE.id: 2, SOFTMAX.id: 2, STEP.id: 3}
    assert "NOT KEPT OUT: the network" in done.stdout and "no namespaces here" in done.stdout
