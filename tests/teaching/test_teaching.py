"""For instructors: hand-outs without solutions, `verify`, and what Binder and Codespaces install."""

import ast
import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from functools import cache

import nbformat
import pytest
import run
import verify
import yaml
from bs4 import BeautifulSoup
from places import NOTEBOOKS, ROOT

from attncourse import course
from attncourse.errors import BadInput
from attncourse.exercises import find, manifest
from attncourse.exercises.engine import card
from attncourse.teaching import classroom, handout
from attncourse.teaching.copies import COLAB, STATE, VIEW, Kind, leaks, student_copy

ENTRIES = {entry.id: entry for entry in manifest()}
STEMS = tuple(path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb")))
MINE = "https://github.com/somebody/attention-2026"
AROUND = ("README.md", "requirements.txt", ".github/workflows/classroom.yml")


def attncourse(*arguments, cwd, **environment):
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | environment
    command = [sys.executable, "-m", "attncourse", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


@cache
def handed(hints=True, outputs=True, repository=MINE, stems=STEMS):
    return handout.made(NOTEBOOKS, Kind(stems, hints, outputs, repository))


@cache
def given(stem, **kind):
    return nbformat.reads(handed(**kind)[f"classroom/notebooks/{stem}.ipynb"].decode(), as_version=4)


@cache
def committed(stem):
    return json.loads((NOTEBOOKS / f"{stem}.ipynb").read_text(encoding="utf-8"))


def cell_of(notebook, id):
    [cell] = [c for c in notebook["cells"] if c["cell_type"] == "code" and f'"{id}"' in "".join(c["source"])]
    return cell


# --- leaks: what may not be in a hand-out ---------------------------------------------------------------------


def body(exercise):
    """The solution's lines after def and docstring, without comments, told by Python's own tokenizer."""
    source = inspect.getsource(exercise.solution)
    [function] = ast.parse(source).body
    first = function.body[1 if ast.get_docstring(function) else 0].lineno
    code = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            code[row - 1] = code[row - 1][:column]
    return ["".join(line.split()) for line in code[first - 1 :] if len(line.strip()) > 1]


def shown(notebook):
    """All text of a notebook that its author did not write as a cell: outputs as a browser shows them, and metadata."""
    found = [json.dumps(cell.metadata) for cell in notebook.cells]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for kind, data in output.get("data", {"text/plain": output.get("text", "")}).items():
                if not kind.startswith("image/"):
                    text = data if isinstance(data, str) else json.dumps(data)
                    found.append(BeautifulSoup(text, "html.parser").get_text() if "html" in kind else text)
    for model in notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {}).values():
        own = {key: value for key, value in model["state"].items() if key not in ("_esm", "_css")}
        found += [BeautifulSoup(text, "html.parser").get_text() for text in _texts(own)]
    found.append(json.dumps({key: value for key, value in notebook.metadata.items() if key != "widgets"}))
    return "".join("\n".join(found).split())


@cache
def all_shown(hints):
    """Of the whole hand-out, with the files around the notebooks."""
    around = "".join(handed(hints=hints)[f"classroom/{name}"].decode() for name in AROUND)
    return "".join(shown(given(stem, hints=hints)) for stem in STEMS) + "".join(around.split())


@cache
def all_hints():
    return "".join("".join(hint for id in ENTRIES for hint in find(id).hints).split())


@cache
def shown_before(stem):
    return shown(nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4))


def _texts(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in inner for text in _texts(item)]


@pytest.mark.parametrize("id", ENTRIES)
def test_no_line_of_a_solution_leaks(id):
    """Chapters show the mechanism after its exercise, by design; nothing but their own text may."""
    lines = body(find(id))
    assert all(line in shown_before(ENTRIES[id].chapter) for line in lines), "the search does not see what is there"
    assert [line for line in lines if line in all_shown(hints=False)] == []
    assert [line for line in lines if line in all_shown(hints=True) and line not in all_hints()] == []


@pytest.mark.parametrize("id", ENTRIES)
def test_the_exercises_own_cell_leaks_nothing(id):
    cell = cell_of(given(ENTRIES[id].chapter), id)
    source = cell.source.replace("from attncourse.exercises import exercise", "")
    assert source.strip() == find(id).cell.strip()
    [output] = cell.outputs
    assert "Solution" not in output.data["text/html"]
    assert "".join(find(id).title.split()[:1]) in output.data["text/html"], "the task has gone, too"


@pytest.mark.parametrize("id", ["bahdanau.masked-softmax", "luong.local-p"])
def test_a_live_cards_solution_does_not_leak(id):
    """A notebook that was worked in: the card has shown the solution, and its state was saved."""
    notebook, exercise = json.loads(json.dumps(committed(ENTRIES[id].chapter))), find(id)
    state = notebook["metadata"]["widgets"][STATE]["state"]
    state["a" * 32] = {"state": {"children": ["IPY_MODEL_" + "b" * 32]}}
    state["b" * 32] = {"state": {"value": card.help_html(exercise, 3, solution=True)}}
    cell = cell_of(notebook, id)
    cell["outputs"] = [{"output_type": "display_data", "data": {VIEW: {"model_id": "a" * 32}}, "metadata": {}}]
    cell["metadata"]["left"] = exercise.solution_source
    assert len(leaks(notebook, [exercise])) >= len(body(exercise)) - 1
    copied = student_copy(notebook, ENTRIES[id].chapter, Kind(STEMS))
    assert leaks(copied, [exercise]) == []
    assert not {"a" * 32, "b" * 32} & copied["metadata"]["widgets"][STATE]["state"].keys()


def _folder(tmp_path, stem, change):
    notebook = json.loads(json.dumps(committed(stem)))
    change(notebook)
    (tmp_path / f"{stem}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return tmp_path


def test_a_solution_in_another_cells_output_leaks_and_is_refused(tmp_path):
    solution = find("bahdanau.masked-softmax").solution_source

    def show(notebook):
        notebook["cells"][-1] |= {"cell_type": "code", "execution_count": 1, "source": "help()"}
        notebook["cells"][-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": solution}]

    with pytest.raises(BadInput, match=r"04_bahdanau\.ipynb: an output or widget shows a line of a solution"):
        handout.made(_folder(tmp_path, "04_bahdanau", show), Kind(("04_bahdanau",)))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (find("bahdanau.masked-softmax").solution_source, "bahdanau.masked-softmax is answered there"),
        ("def masked_softmax(scores, mask:", "the cell of bahdanau.masked-softmax is not Python"),
    ],
)
def test_an_answered_exercise_leaks_and_is_refused(answer, sentence, tmp_path):
    def solve(notebook):
        cell_of(notebook, "bahdanau.masked-softmax")["source"] = f'@exercise("bahdanau.masked-softmax")\n{answer}\n'

    with pytest.raises(BadInput, match=re.escape(f"04_bahdanau.ipynb: {sentence}")):
        handout.made(_folder(tmp_path, "04_bahdanau", solve), Kind(("04_bahdanau",)))


# --- the rest of a hand-out -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", STEMS)
def test_copies_are_whole_notebooks(stem):
    for kind in ({}, {"hints": False}, {"outputs": False}, {"repository": ""}):
        nbformat.validate(given(stem, **kind))
    cleared, source = given(stem, outputs=False), committed(stem)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cleared.cells)
    assert "widgets" not in cleared.metadata
    kept = given(stem)
    assert [cell.id for cell in kept.cells] == [cell["id"] for cell in source["cells"]]
    assert [len(c.get("outputs", [])) for c in kept.cells] == [len(c.get("outputs", [])) for c in source["cells"]]
    assert kept.metadata.get("widgets") == source["metadata"].get("widgets"), "an explorable lost its state"
    code = [("".join(c["source"])) for c in source["cells"] if c["cell_type"] == "code"]
    assert [c.source for c in kept.cells if c.cell_type == "code"] == code


def test_hints_are_there_or_not():
    for id, entry in ENTRIES.items():
        with_hints = cell_of(given(entry.chapter), id).outputs[0].data["text/html"]
        without = cell_of(given(entry.chapter, hints=False), id).outputs[0].data["text/html"]
        assert with_hints.count("<summary>Hint ") == len(find(id).hints) and "<details>" not in without


@pytest.mark.parametrize("repository", [MINE, ""])
def test_no_link_leads_to_a_notebook_with_solutions(repository):
    stems = STEMS[1:7]
    files = handed(repository=repository, stems=stems)
    for stem in stems:
        notebook = nbformat.reads(files[f"classroom/notebooks/{stem}.ipynb"].decode(), as_version=4)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        links = re.findall(r"\]\(([^)\s]+)", text) + re.findall(r'href=\\?"([^"\\]+)', json.dumps(notebook.cells))
        assert links
        own = {f"{COLAB}github/{MINE.removeprefix('https://github.com/')}/blob/main/notebooks/{stem}.ipynb"}
        assert {link for link in links if link.startswith(COLAB)} == (own if repository else set())
        assert "[]" not in text
        for link in links:
            path = link.partition("#")[0]
            if not re.match("https?:", link) and path:
                assert path.removesuffix(".ipynb") in stems, f"{stem}: {link} is not in the hand-out"
            assert not re.search(r"attncourse/attncourse/\S*notebooks/", link)


def test_the_zip_holds_the_same_and_is_the_same_each_time():
    stems = ("04_bahdanau",)
    files, again = (handout.made(NOTEBOOKS, Kind(stems)) for _ in range(2))
    assert files == again
    with zipfile.ZipFile(io.BytesIO(files["lms.zip"])) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
    assert inside == {name: files[f"classroom/{name}"] for name in ("README.md", "notebooks/04_bahdanau.ipynb")}


def test_the_workflow_gives_every_exercise_its_points():
    [job] = yaml.safe_load(handed()["classroom/.github/workflows/classroom.yml"])["jobs"].values()
    graders = [step for step in job["steps"] if "command-grader" in step.get("uses", "")]
    worth = {step["with"]["test-name"]: step["with"]["max-score"] for step in graders}
    assert worth == {id: entry.points for id, entry in ENTRIES.items()}
    reporter = job["steps"][-1]
    names = reporter["with"]["runners"].split(",")
    assert names == [step["id"] for step in graders] and len(set(names)) == len(names)
    expected = {f"{name.upper()}_RESULTS": f"${{{{ steps.{name}.outputs.result }}}}" for name in names}
    assert reporter["env"] == expected


@pytest.mark.slow
def test_the_workflows_commands_see_the_one_right_answer(tmp_path):
    """The steps' own command lines, in bash, on a hand-out in which one exercise was solved."""
    right = "bahdanau.masked-softmax"
    for name, content in handed(stems=("04_bahdanau",)).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    path = tmp_path / "classroom/notebooks/04_bahdanau.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cell_of(notebook, right)["source"] = f'@exercise("{right}")\n{find(right).solution_source}\n'
    path.write_text(json.dumps(notebook), encoding="utf-8")
    [job] = yaml.safe_load((tmp_path / "classroom/.github/workflows/classroom.yml").read_text("utf-8"))["jobs"].values()

    def bash(line):
        line = line.replace("${{ runner.temp }}", str(tmp_path)).replace("attncourse check", "$PY -m attncourse check")
        environment = os.environ | {"PY": sys.executable, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = ["bash", "-e", "-c", line]
        return subprocess.run(command, cwd=tmp_path / "classroom", env=environment, timeout=300).returncode

    [check] = [step["run"] for step in job["steps"] if step.get("name") == "attncourse check"]
    assert bash(check) == 0
    graders = [step["with"] for step in job["steps"] if "command-grader" in step.get("uses", "")]
    assert [g["test-name"] for g in graders if bash(g["command"]) == 0] == [right]


def test_nothing_is_half_written(tmp_path):
    with pytest.raises(OSError):
        handout.place({"a": b"1", "a/b": b"2"}, tmp_path / "out")  # a file cannot be a folder, too
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "out").mkdir()
    handout.place({"a/b": b"1"}, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out/a/b").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("chapters", "stems"),
    [("4", STEMS[4:5]), ("01-03", STEMS[1:4]), ("01,03-04", (STEMS[1], *STEMS[3:5])), ("00", STEMS[:1])],
)
def test_chapters_are_chosen_by_number(chapters, stems):
    assert handout.chosen(chapters, NOTEBOOKS) == stems


# --- the commands, as they are called -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["handout", "--out", "new"], "required: --chapters"),
        (["handout", "--chapters", "01-02"], "required: --out"),
        (["handout", "--chapters", "one", "--out", "new"], "--chapters one is not understood; expected numbers such"),
        (["handout", "--chapters", "06-01", "--out", "new"], "--chapters 06-01 is not understood"),
        (["handout", "--chapters", "01-99", "--out", "new"], "has no chapter"),
        (["handout", "--chapters", "01", "--out", "full"], "--out full is not empty; give a folder that does not"),
        (["handout", "--chapters", "01", "--out", "full/a-file"], "--out full/a-file is a file"),
        (["handout", "--chapters", "01", "--out", "new", "--notebooks", "nowhere"], "--notebooks nowhere is not a f"),
        (["handout", "--chapters", "01", "--out", "new", "--notebooks", "full"], "full holds no chapters; expected"),
        (["handout", "--chapters", "01", "--out", "new", "--notebooks", "bad"], "bad/01_bad.ipynb is not a notebook"),
        (["handout", "--chapters", "02", "--out", "new", "--notebooks", "bad"], "02_other.ipynb is no chapter of this"),
        (["handout", "--chapters", "01", "--out", "new", "--repository", "me"], "expected https://github.com/OWNER/N"),
        (["verify", "--chapter", "77"], "there is no chapter '77'; there are: 01_implicit_attention, 02_"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_arguments(arguments, sentence, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a-file").write_text("mine")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/01_bad.ipynb").write_text("{")
    (tmp_path / "bad/02_other.ipynb").write_text('{"cells": [], "metadata": {}}')
    before = sorted(tmp_path.rglob("*"))
    done = attncourse(*arguments, cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "full/a-file").read_text() == "mine"


@pytest.mark.slow
def test_an_installed_package_says_what_it_lacks_and_takes_notebooks(tmp_path):
    """The package's files without a checkout around them."""
    heavy = shutil.ignore_patterns("__pycache__", "node_modules", "*.safetensors", "*.npz")
    shutil.copytree(ROOT / "attncourse", tmp_path / "site/attncourse", ignore=heavy)
    shutil.copy(ROOT / "course.toml", tmp_path / "site/attncourse")  # as in the wheel
    site = {"cwd": tmp_path, "PYTHONPATH": str(tmp_path / "site")}
    done = attncourse("verify", **site)
    assert done.returncode == 2 and "verify needs a checkout of the course's repository" in done.stderr, done.stderr
    done = attncourse("handout", "--chapters", "01", "--out", "new", **site)
    assert done.returncode == 2 and "the installed package holds no notebooks" in done.stderr, done.stderr
    assert not (tmp_path / "new").exists()
    done = attncourse("handout", "--chapters", "01-02", "--out", "new", "--notebooks", str(NOTEBOOKS), **site)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["classroom", "lms.zip"]
    assert sorted(path.stem for path in tmp_path.glob("new/classroom/notebooks/*")) == list(STEMS[1:3])


# --- verify ---------------------------------------------------------------------------------------------------

CHAPTERS = course.read().chapters


@pytest.mark.parametrize("page", course.read().executed, ids=lambda page: page.id)
def test_a_page_is_verified_by_its_own_tests(page):
    steps = verify.steps(page)
    both = {"exercises", "leaks"} if getattr(page, "exercises", ()) else set()
    shown = {"explorables"} if page.widgets or getattr(page, "quiz", "") else set()
    assert set(steps) == {"fresh", "nbval", "book", "links"} | both | shown
    assert steps["nbval"].args == (page.id,)
    for argument in steps["explorables"].args if shown else ():
        assert (ROOT / argument.partition("::")[0]).is_file()


def test_every_explorable_belongs_to_the_chapters_that_show_it():
    own = {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/widgets/test_*.py")} - {*verify.SHARED}
    assert own <= {name for page in course.read().executed for name in verify.explorables(page)}


@pytest.mark.slow
def test_each_step_of_a_chapter_finds_tests():
    """A selection that matches nothing would be a step that proves nothing."""
    chosen = verify.steps(course.read().chapter(9))
    for name in ("fresh", "exercises", "leaks", "explorables"):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *chosen[name].args]
        assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0, name


@pytest.mark.slow
def test_a_real_step_in_the_table(capfd):
    links = {"fresh": verify.steps(course.read().page("00_start"))["fresh"], "broken": lambda: (3, 1)}
    assert run.table({"fresh": links["fresh"]}) == 0
    assert run.table(links) == 1
    out = capfd.readouterr().out
    assert re.search(
        r"^step +passed +failed +seconds\nfresh +\d+ +0 +\d+\nbroken +3 +1 +0\nFAILED: broken\.$", out, re.M
    )


# --- the page ---------------------------------------------------------------------------------------------------


def test_the_instructors_page_names_exercises_that_exist():
    page = (ROOT / "book/instructors.md").read_text(encoding="utf-8")
    names = {name for name in re.findall(r"`([a-z_]+\.[a-z-]+)`", page) if not name.endswith((".zip", ".txt", ".yml"))}
    assert names and names <= ENTRIES.keys()


# --- where learners launch it ---------------------------------------------------------------------------------

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_binder_installs_what_make_installs():
    [index] = re.findall(r"--index-url (\S+)", MAKEFILE)
    text = (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8")
    index_line, pins = [line for line in text.splitlines() if not line.startswith("#")]
    assert index_line == f"--extra-index-url {index}"
    option, path = pins.split()
    assert option == "-r" and (ROOT / ".binder" / path).resolve() == ROOT / "requirements.txt"
    assert re.search(r"^torch==[\d.]+$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    assert "INSTALL := $(PY) -m pip install -q\n" in MAKEFILE and "$(INSTALL) -r requirements.txt" in MAKEFILE
    post = ROOT / ".binder/postBuild"
    assert os.access(post, os.X_OK) and subprocess.run(["bash", "-n", post]).returncode == 0
    [package] = re.findall(r"-m pip install -q (.* -e \.)$", post.read_text(encoding="utf-8"), re.M)
    assert f"$(INSTALL) {package}\n" in MAKEFILE
    assert (ROOT / ".binder/runtime.txt").read_text().strip() == "python-3.11"
    assert classroom.CPU == index


def test_codespaces_install_by_the_makefile():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    target = re.fullmatch(r"make (\S+)", container["postCreateCommand"])[1]
    assert re.search(rf"^{re.escape(target)}: requirements.txt", MAKEFILE, re.M)
    [interpreter] = re.findall(r"^PY := (\S+)$", MAKEFILE, re.M)
    settings = container["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"] == f"${{containerWorkspaceFolder}}/{interpreter}"
    assert container["image"].endswith("python:3.11")


def test_the_workflow_verifies_with_the_command():
    job = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == ["make test", 'make verify CH="$CHAPTER"']
    assert re.search(
        r"^verify: \.venv/ready.*\n\t@\$\(PY\) -m attncourse verify \$\(if \$\(CH\),--chapter", MAKEFILE, re.M
    )
