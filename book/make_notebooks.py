"""book/chapters/ID.md -> notebooks/ID.ipynb, executed; then book/ledger.md from what they claim.

python book/make_notebooks.py [NN ...]   convert and execute the pages whose text, code, models or exercises changed
python book/make_notebooks.py --check    say which notebooks and pages are not what their sources give; write nothing
"""

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))
import freshness
import generated
from api_page import anchor
from ledger_page import page as ledger_page

from attncourse import course
from attncourse.widgets.state import STATE, VIEW, reachable

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS, NOTEBOOKS = ROOT / "book/chapters", ROOT / "notebooks"
TIMINGS = ROOT / "book/timings.json"
BOOTSTRAP = """\
import importlib.util
if not importlib.util.find_spec("attncourse"):  # in Colab
    %pip install -q "attncourse @ git+{url}"
import attncourse
"""
# Asked of the kernel after the last cell: seconds of work, and the most memory that it held at once (kilobytes).
USED = """\
import resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(x.ru_utime + x.ru_stime for x in used), max(x.ru_maxrss for x in used))
"""


@cache
def repository() -> dict:
    """The one place where the repository's address stands."""
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]


def colab_url(stem: str) -> str:
    project = repository()["url"].removeprefix("https://")
    host, path = project.split("/", 1)
    service = host.removesuffix(".com")
    return f"https://colab.research.google.com/{service}/{path}/blob/{repository()['branch']}/notebooks/{stem}.ipynb"


def convert(chapter: Path) -> nbformat.NotebookNode:
    """Text -> cells: adds under the title the minutes, the Colab link and what a run takes, the bootstrap to the set-up
    cell, what folds a cell, and ids by content."""
    source = jupytext.reads(chapter.read_text(encoding="utf-8"), fmt="md:myst")
    title, _, rest = source.cells[0].source.partition("\n")
    source.cells[0].source = f"{title}\n\n{header(chapter.stem)}\n{rest}"
    notebook = nbformat.v4.new_notebook(metadata=_metadata())
    seen: dict[str, int] = {}
    for cell in source.cells:
        if "setup" in cell.metadata.get("tags", []):
            cell.source = BOOTSTRAP.format(url=repository()["url"]) + cell.source
        fold(cell, chapter.name)
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1  # the same text twice still needs two ids
        make = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        notebook.cells.append(make(cell.source, id=f"{digest}-{seen[digest]}", metadata=cell.metadata))
    return notebook


def fold(cell: nbformat.NotebookNode, where: str) -> None:
    """`fold: How this was measured` in a cell's header -> all that folds it: in the page, in JupyterLab, in Colab.

    JupyterLab shows the first line of a folded cell, and Colab takes the title from it. `book/_ext` leaves that line
    out of the page, where the summary says the same.
    """
    tags = cell.metadata.get("tags", [])
    if "fold" not in cell.metadata and "hide-input" not in tags:
        return
    title = cell.metadata.pop("fold", None)
    if cell.cell_type != "code" or not isinstance(title, str) or len(title.splitlines()) != 1:
        raise SystemExit(
            f"{where}: fold is {title!r}; expected a title such as `fold: How this was measured` in the header of a "
            "code cell (text is folded by <details>)"
        )
    cell.metadata["tags"] = [*tags, *(["hide-input"] if "hide-input" not in tags else [])]
    cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | {"code_prompt_show": title, "code_prompt_hide": title}
    cell.metadata["jupyter"] = {"source_hidden": True}
    cell.metadata["cellView"] = "form"
    cell.source = f"#@title {title}\n{cell.source}"


def timings() -> dict[str, dict[str, float]]:
    """What each chapter's last execution took, by its name."""
    return json.loads(TIMINGS.read_text(encoding="utf-8")) if TIMINGS.exists() else {}


def header(stem: str) -> str:
    """The line under a title."""
    minutes = getattr(course.read().page(stem), "minutes", None)
    parts = [f"{minutes} minutes to read"] if minutes else []
    parts.append(f"[Open this page in Colab]({colab_url(stem)})")
    if took := timings().get(stem):
        parts.append(f"runs in {took['seconds']:.0f} s on one CPU thread, {took['gigabytes']:.1f} GB")
    if modules := getattr(course.read().page(stem), "mechanisms", ()):
        links = ", ".join(f"[{name}](../book/api.md#{anchor(name)})" for name in modules)
        parts.append(f"its code: {links}")
    return " · ".join(parts)


def _metadata() -> dict:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"kernelspec": kernel, "language_info": {"name": "python"}}


# --- executing ---------------------------------------------------------------------------------------------


def execute(notebook: nbformat.NotebookNode, stem: str) -> tuple[dict[str, float], freshness.Used]:
    """Run all cells in an empty folder, as a reader in Colab would, on one thread.    -> what that took, what it used

    Seconds are the kernel's work, not the clock's: a busy machine takes longer by the clock, and no more work.
    """
    environment = {
        "ATTNCOURSE_STATIC": colab_url(stem),  # exercise cards as plain HTML: a page has no kernel
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    notebook.cells.append(nbformat.v4.new_code_cell(USED))
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("r", encoding="utf-8") as record:
        environment["ATTNCOURSE_RECORD"] = record.name
        client = NotebookClient(
            notebook, timeout=120, kernel_name="python3", store_widget_state=True, record_timing=False,
            resources={"metadata": {"path": folder}}, extra_arguments=["--IPKernelApp.log_level=ERROR"],
        )  # fmt: skip
        client.execute(env=os.environ | environment)
        used = defaultdict(list)
        for line in sorted(set(record.read().splitlines())):
            kind, _, name = line.partition(" ")
            used[kind].append(name)
    seconds, kilobytes = map(float, notebook.cells.pop().outputs[0].text.split())
    gigabytes = kilobytes / (1e6 if sys.platform != "darwin" else 1e9)
    return {"seconds": round(seconds), "gigabytes": round(gigabytes, 1)}, dict(used)


def tidy(notebook: nbformat.NotebookNode, stem: str) -> None:
    """Leave nothing that differs from run to run: progress bars, random ids, versions of the kernel."""
    notebook.metadata = nbformat.from_dict(_metadata() | {"widgets": notebook.metadata.get("widgets", {})})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined([out for out in cell.outputs if not _is_progress(out)])
    state = notebook.metadata.widgets.get(STATE, {}).get("state", {})
    shown = [out.data[VIEW]["model_id"] for out in _outputs(notebook) if VIEW in out.get("data", {})]
    kept = reachable(state, shown)
    if not kept:
        del notebook.metadata["widgets"]
        return
    ids = {old: hashlib.md5(f"{stem}/{i}".encode()).hexdigest() for i, old in enumerate(kept)}
    views = json.dumps(
        {"state": {k: state[k] for k in kept}, "outputs": [c.get("outputs", []) for c in notebook.cells]}
    )
    renamed = json.loads(re.sub("|".join(map(re.escape, ids)), lambda m: ids[m[0]], views))
    for cell, outputs in zip(notebook.cells, renamed["outputs"], strict=True):
        if cell.cell_type == "code":
            cell.outputs = nbformat.from_dict(outputs)
    notebook.metadata.widgets[STATE]["state"] = nbformat.from_dict(renamed["state"])


def _is_progress(output) -> bool:
    return output.output_type == "stream" and output.name == "stderr" and "\r" in output.text


def _joined(outputs: list) -> list:
    """One output for a run of prints, however the kernel happened to cut it; no addresses of objects."""
    kept = []
    for out in outputs:
        if kept and out.output_type == kept[-1].output_type == "stream" and out.name == kept[-1].name:
            kept[-1].text += out.text
        else:
            kept.append(out)
        data = out.get("data", {})
        if "text/plain" in data:
            data["text/plain"] = re.sub(r" at 0x[0-9a-f]+", "", data["text/plain"])
        if "image/png" in data:
            data["image/png"] = _smaller(data["image/png"])
        if "text/html" in data:  # figures inside of a prediction
            data["text/html"] = re.sub(
                r"(?<=data:image/png;base64,)[\w+/=]+", lambda png: _smaller(png[0]), data["text/html"]
            )
    return kept


def _smaller(png: str) -> str:
    """256 colours are enough for a plot, and a third of the bytes."""
    image, small = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"), io.BytesIO()
    image.quantize(256, method=Image.Quantize.FASTOCTREE).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def _outputs(notebook):
    return [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]


def build(chapter: Path) -> dict[str, float]:
    """Convert, execute, tidy, write.    -> what the execution took"""
    notebook = convert(chapter)
    took, used = execute(notebook, chapter.stem)
    tidy(notebook, chapter.stem)
    notebook.metadata["attncourse"] = {"used": used, "inputs": freshness.inputs(chapter, code(notebook), used)}
    nbformat.validate(notebook)
    write(notebook, chapter.stem)
    return took


def write(notebook: nbformat.NotebookNode, stem: str) -> None:
    (NOTEBOOKS / f"{stem}.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def note(took: dict[str, dict[str, float]]) -> None:
    """Keep what the executions took, and say it in the notebooks' first cells, which executing does not read."""
    TIMINGS.write_text(json.dumps(dict(sorted((timings() | took).items())), indent=1) + "\n", encoding="utf-8")
    for stem in took:
        notebook, first = (nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4), convert(CHAPTERS / f"{stem}.md"))
        notebook.cells[0] = first.cells[0]
        write(notebook, stem)


# --- commands ----------------------------------------------------------------------------------------------


def code(notebook: nbformat.NotebookNode) -> str:
    return freshness.python(cell.source for cell in notebook.cells if cell.cell_type == "code")


def stale(chapter: Path) -> str | None:
    """Why the notebook is not what the chapter gives, or None."""
    path = NOTEBOOKS / f"{chapter.stem}.ipynb"
    if not path.exists():
        return "there is no notebook"
    committed, wanted = nbformat.read(path, as_version=4), convert(chapter)
    same = [(c.id, c.cell_type, c.source, dict(c.metadata)) for c in committed.cells] == [
        (c.id, c.cell_type, c.source, dict(c.metadata)) for c in wanted.cells
    ]
    if not same:
        return "its cells differ from the text"
    known = committed.metadata.get("attncourse", {})
    today = freshness.inputs(chapter, code(wanted), known.get("used", {}))
    before = known.get("inputs", {})
    if differ := sorted(name for name in {*today, *before} if today.get(name) != before.get(name)):
        more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
        return f"{', '.join(differ[:3])}{more} changed since it was executed"
    return None


def check() -> list[str]:
    problems = [f"{c.stem}: {why}" for c in chapters() if (why := stale(c))]
    orphans = {p.stem for p in NOTEBOOKS.glob("*.ipynb")} - {c.stem for c in chapters()}
    problems += [f"{name}: a notebook without a text in book/chapters" for name in sorted(orphans)]
    page = ROOT / "book/ledger.md"
    if not page.exists() or page.read_text(encoding="utf-8") != ledger_page(NOTEBOOKS):
        problems.append("book/ledger.md is not what the notebooks claim")
    return problems + generated.stale()


def chapters(prefixes: tuple[str, ...] = ()) -> list[Path]:
    found = sorted(p for p in CHAPTERS.glob("*.md") if not prefixes or p.stem.startswith(prefixes))
    if not found:
        raise SystemExit(
            f"no chapter begins with {' or '.join(prefixes)}; there are: {', '.join(p.stem for p in chapters())}"
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "chapters", nargs="*", metavar="NN", help="only chapters whose name begins so; executed in any case"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is stale")
    args = parser.parse_args()
    if args.check:
        problems = check()
        print("\n".join([*problems, "make notebooks brings them up to date"]) if problems else "notebooks are fresh")
        return bool(problems)
    generated.write()
    wanted = chapters(tuple(args.chapters))
    todo = [chapter for chapter in wanted if args.chapters or stale(chapter)]
    print(f"{len(wanted) - len(todo)} pages unchanged, {len(todo)} to execute", flush=True)
    failed = run(todo)
    (ROOT / "book/ledger.md").write_text(ledger_page(NOTEBOOKS), encoding="utf-8")
    return failed


def run(todo: list[Path]) -> int:
    """Execute the chapters, one per core. One that fails keeps its old notebook, and the others go on.    -> 0 or 1"""
    took, failed, began = {}, False, time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        waiting = {pool.submit(build, chapter): chapter.stem for chapter in todo}
        for done in as_completed(waiting):
            stem = waiting[done]
            try:
                took[stem] = done.result()
                print("{:24} {seconds:3.0f} s {gigabytes:4.1f} GB".format(stem, **took[stem]), flush=True)
            except CellExecutionError as error:
                failed = True
                print(f"{stem} failed; its notebook is left as it was\n{error}", flush=True)
    note(took)
    total = sum(x["seconds"] for x in took.values())
    print(f"{len(took)} executed: {total:.0f} s of work, {time.perf_counter() - began:.0f} s by the clock")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
