"""A chapter's notebook -> a student's copy without solutions; and the search for what of them may be left."""

import ast
import copy
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from .. import __version__
from ..errors import BadInput
from ..exercises import Exercise, UnknownExercise, find
from ..exercises.engine import card
from ..exercises.engine.notebook import parse
from ..widgets.state import STATE, VIEW, reachable

COLAB = "https://colab.research.google.com/"
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
SOLUTION = re.compile(r"<details><summary>Solution</summary>.*?</details>", re.DOTALL)


@dataclass(frozen=True)
class Kind:
    """What a student's copy is to be like."""

    stems: tuple[str, ...]  # the notebooks that are handed out together
    hints: bool = True
    outputs: bool = True
    repository: str = ""  # where students open it: https://github.com/OWNER/NAME; "": no links to Colab
    branch: str = "main"

    def colab(self, stem: str) -> str:
        """Where `stem` opens in Colab; "" when nobody said where the hand-out will lie."""
        path = self.repository.removeprefix("https://github.com/")
        return f"{COLAB}github/{path}/blob/{self.branch}/notebooks/{stem}.ipynb" if path else ""


def student_copy(notebook: dict, stem: str, kind: Kind) -> dict:
    """Exercise cells get their card anew, without the solution, so that nothing that stood there is left."""
    course = address(notebook, stem)
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        source = text(cell["source"])
        kept = ("tags", "mystnb", "jupyter", "cellView")  # the last three fold it
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key in kept}
        if cell["cell_type"] != "code":
            cell["source"] = lines(_relinked(source, course, kind))
            continue
        posed = posed_by(source, stem)
        if not kind.outputs:
            cell["outputs"], cell["execution_count"] = [], None
        elif posed:
            cell["outputs"] = [_card(exercise, kind.colab(stem), kind.hints) for exercise in posed]
    kernel = {key: notebook["metadata"][key] for key in ("kernelspec", "language_info") if key in notebook["metadata"]}
    notebook["metadata"] = kernel | _widgets(notebook) | {"attncourse": {"handout": __version__}}
    return notebook


def text(source: str | list[str]) -> str:
    """A notebook keeps a text as one string, or as a list of its lines."""
    return source if isinstance(source, str) else "".join(source)


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def address(notebook: dict, stem: str) -> str:
    """The course's own files on the web, from the set-up cell that installs the package and the link to Colab."""
    words = "\n".join(text(cell["source"]) for cell in notebook["cells"])
    found = re.search(r'attncourse @ git\+(https://[^"@\s]+)', words)
    if not found:
        raise BadInput(f"{stem}.ipynb is no chapter of this course: no cell installs attncourse from its repository")
    branch = re.search(rf"/blob/(\S+)/notebooks/{re.escape(stem)}\.ipynb", words)
    return f"{found[1]}/blob/{branch[1] if branch else 'main'}"


def posed_by(source: str, stem: str) -> list[Exercise]:
    """The exercises of a cell. BadInput if one is answered there already: a hand-out would give the answer away."""
    read = parse(f"{stem}.py", source.encode())
    if read.broken:
        raise BadInput(
            f"{stem}.ipynb: the cell of {', '.join(read.broken)} is not Python; expected the exercise's stub"
        )
    posed = []
    for step in read.steps:
        for id in step.ids:
            exercise = _found(id, stem)
            [stub] = [node for node in ast.parse(exercise.stub).body if isinstance(node, ast.FunctionDef)]
            if list(map(ast.dump, getattr(step.node, "body", []))) != list(map(ast.dump, stub.body)):
                raise BadInput(f"{stem}.ipynb: {id} is answered there; expected its stub, or all would get the answer")
            posed.append(exercise)
    return posed


def _found(id: str, stem: str) -> Exercise:
    try:
        return find(id)
    except UnknownExercise as error:
        raise BadInput(f"{stem}.ipynb: {error}") from None


def _card(exercise: Exercise, page: str, hints: bool) -> dict:
    shown = card.static(exercise if hints else replace(exercise, hints=()), page)
    data = {"text/html": lines(SOLUTION.sub("", shown)), "text/plain": ["<IPython.core.display.HTML object>"]}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _relinked(markdown: str, course: str, kind: Kind) -> str:
    """Pages of the book lead to the course's repository, chapters to their copy; one not handed out is only named.

    The course's own notebooks hold the solutions: no link may lead there.
    """

    def link(match: re.Match) -> str:
        words, target = match.groups()
        notebook = re.fullmatch(r"(?:.*/)?([^/#]+)\.ipynb(#.*)?", target)
        if target.startswith("../"):
            return f"[{words}]({course}/{target.removeprefix('../')})"
        if not notebook:
            return match[0]
        stem, place = notebook[1], notebook[2] or ""
        there = kind.colab(stem) if target.startswith(COLAB) else f"{stem}.ipynb{place}"
        return f"[{words}]({there})" if stem in kind.stems and there else words * (not target.startswith(COLAB))

    return re.sub(r"\n\n\n+", "\n\n", LINK.sub(link, markdown))


def _widgets(notebook: dict) -> dict:
    """The state of the widgets that are still shown, and of those inside them; nothing else of it."""
    state = notebook["metadata"].get("widgets", {}).get(STATE, {"state": {}})
    shown = [output["data"][VIEW]["model_id"] for output in _outputs(notebook) if VIEW in output.get("data", {})]
    kept = {name: state["state"][name] for name in reachable(state["state"], shown)}
    return {"widgets": {STATE: state | {"state": kept}}} if kept else {}


def _outputs(notebook: dict) -> Iterator[dict]:
    for cell in notebook["cells"]:
        yield from cell.get("outputs", [])


# --- what may not be there ----------------------------------------------------------------------------------


def solution_lines(exercise: Exercise) -> list[str]:
    """The lines of the solution's body, without comments and docstring."""
    [function] = [node for node in ast.parse(exercise.solution_source).body if isinstance(node, ast.FunctionDef)]
    body = function.body[1:] if ast.get_docstring(function) else function.body
    bare = [re.sub(r"\s+#.*|^\s*#.*", "", line) for line in exercise.solution_source.splitlines()]
    return [line.strip() for line in bare[body[0].lineno - 1 :] if len(line.strip()) > 1]  # a bracket is no secret


def leaks(notebook: dict, exercises: list[Exercise], allowed: str = "") -> list[str]:
    """Lines of solutions that stand where no chapter's author put them: in outputs, widget states or metadata.

    What the author wrote is another matter: a chapter shows the mechanism after its exercise, by design; that the
    exercise's own cell is its stub, `posed_by` has seen. `allowed`: the hints, where they are handed out.
    """
    places = [notebook["metadata"], *(_without_source(cell) for cell in notebook["cells"])]
    found, known = _plain("\n".join(words for place in places for words in _strings(place))), _plain(allowed)
    wanted = [(exercise.id, line) for exercise in exercises for line in solution_lines(exercise)]
    return [f"{id}: {line}" for id, line in wanted if _plain(line) in found and _plain(line) not in known]


def _without_source(cell: dict) -> dict:
    return {key: value for key, value in cell.items() if key != "source"}


def _strings(value) -> Iterator[str]:
    """Every text below a value; the lines of a list are one text. Not images, and not an explorable's own script."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield "".join(value)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not str(key).startswith(("image/", "_esm", "_css")):
                yield from _strings(item)


def _plain(words: str) -> str:
    """Without HTML and white space: a line is the same however it was coloured, indented or cut."""
    words = re.sub(r"<(style|script)>.*?</\1>", "", words, flags=re.DOTALL)  # a prediction's own
    return re.sub(r"\s+", "", html.unescape(re.sub(r"</?[a-zA-Z][^<>]*>", "", words)))
