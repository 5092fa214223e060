"""book/chapters/NN_name.md -> notebooks/NN_name.ipynb, executed; then book/ledger.md from what they claim.

python book/build.py [NN ...]     convert and execute the chapters whose text, code or weights changed
python book/build.py --check      say which notebooks and pages are not what their sources give; write nothing
"""

import argparse
import ast
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS, NOTEBOOKS, PACKAGE = ROOT / "book/chapters", ROOT / "notebooks", ROOT / "attncourse"
WIDGET_VIEW, WIDGET_STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"
BOOTSTRAP = """\
import importlib.util
if not importlib.util.find_spec("attncourse"):  # in Colab
    %pip install -q "attncourse @ git+{url}"
import attncourse
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
    """Text -> cells: adds the Colab link under the title, the bootstrap to the set-up cell, and ids by content."""
    source = jupytext.reads(chapter.read_text(encoding="utf-8"), fmt="md:myst")
    link = f"[Open this page in Colab]({colab_url(chapter.stem)})"
    title, _, rest = source.cells[0].source.partition("\n")
    source.cells[0].source = f"{title}\n\n{link}\n{rest}"
    notebook = nbformat.v4.new_notebook(metadata=_metadata())
    seen: dict[str, int] = {}
    for cell in source.cells:
        if "setup" in cell.metadata.get("tags", []):
            cell.source = BOOTSTRAP.format(url=repository()["url"]) + cell.source
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1  # the same text twice still needs two ids
        make = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        notebook.cells.append(make(cell.source, id=f"{digest}-{seen[digest]}", metadata=cell.metadata))
    return notebook


def _metadata() -> dict:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"kernelspec": kernel, "language_info": {"name": "python"}}


# --- which files does a chapter rest on? -------------------------------------------------------------------


def dependencies(chapter: Path) -> list[Path]:
    """The chapter, the modules that it imports (and those that they import), the weights and contents that it names."""
    text = chapter.read_text(encoding="utf-8")
    code = "\n".join(c.source for c in convert(chapter).cells if c.cell_type == "code")
    start = {
        PACKAGE / "__init__.py",
        *_imports(re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.M), PACKAGE / "x.py"),
    }
    models = {p.stem for p in (PACKAGE / "zoo/weights").glob("*.json")}
    for name in models & set(re.findall(r"""["']([\w-]+)["']""", text)):
        start |= {p for p in (PACKAGE / "zoo").glob("*.py") if f'"{name}"' in p.read_text(encoding="utf-8")}
        start |= set((PACKAGE / "zoo/weights").glob(f"{name}.*"))
    for topic in re.findall(r"""(?:exercise|quiz)\(["']([\w]+)""", text):
        start |= {*PACKAGE.glob(f"quizzes/{topic}.py"), *PACKAGE.glob(f"exercises/{topic}/*.py")}
    found, todo = {chapter, Path(__file__).resolve()}, list(start)
    while todo:
        path = todo.pop()
        if path not in found and path.exists():
            found.add(path)
            if path.suffix == ".py":
                todo += _imports(path.read_text(encoding="utf-8"), path)
                if path.parent.parent == PACKAGE / "widgets":  # an explorable's script and style, and what they share
                    todo += [*path.parent.glob("*"), *(PACKAGE / "widgets").glob("*.*")]
    return sorted(p for p in found if p.is_file())


def _imports(code: str, importer: Path) -> list[Path]:
    """The package's files that this code imports; a name may be a module or something in it."""
    files = []
    for node in ast.walk(ast.parse(code)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importer.parent
            for _ in range(node.level - 1):
                base = base.parent
            prefix = ".".join(base.relative_to(ROOT).parts) + "." if node.level else ""
            names = [
                f"{prefix}{node.module or ''}".strip("."),
                *(f"{prefix}{node.module or ''}".strip(".") + f".{a.name}" for a in node.names),
            ]
        for name in names:
            path = ROOT / name.replace(".", "/")
            files += [p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists() and PACKAGE in p.parents]
    return files


def digest(chapter: Path) -> str:
    total = hashlib.sha256()
    for path in dependencies(chapter):
        total.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


# --- executing ---------------------------------------------------------------------------------------------


def execute(notebook: nbformat.NotebookNode, stem: str) -> None:
    """Run all cells in an empty folder, as a reader in Colab would, on one thread."""
    environment = {
        "ATTNCOURSE_STATIC": colab_url(stem),  # exercise cards as plain HTML: a page has no kernel
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=120, kernel_name="python3", store_widget_state=True, record_timing=False,
            resources={"metadata": {"path": folder}}, extra_arguments=["--IPKernelApp.log_level=ERROR"],
        )  # fmt: skip
        client.execute(env=os.environ | environment)


def tidy(notebook: nbformat.NotebookNode, stem: str) -> None:
    """Leave nothing that differs from run to run: progress bars, random ids, versions of the kernel."""
    notebook.metadata = nbformat.from_dict(_metadata() | {"widgets": notebook.metadata.get("widgets", {})})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined([out for out in cell.outputs if not _is_progress(out)])
    state = notebook.metadata.widgets.get(WIDGET_STATE, {}).get("state", {})
    shown = [out.data[WIDGET_VIEW]["model_id"] for out in _outputs(notebook) if WIDGET_VIEW in out.get("data", {})]
    kept = _reachable(state, shown)
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
    notebook.metadata.widgets[WIDGET_STATE]["state"] = nbformat.from_dict(renamed["state"])


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
    return kept


def _smaller(png: str) -> str:
    """256 colours are enough for a plot, and a third of the bytes."""
    image, small = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGBA"), io.BytesIO()
    image.quantize(256, method=Image.Quantize.FASTOCTREE).save(small, "png", optimize=True)
    return base64.b64encode(small.getvalue()).decode()


def _outputs(notebook):
    return [out for cell in notebook.cells if cell.cell_type == "code" for out in cell.outputs]


def _reachable(state: dict, shown: list[str]) -> list[str]:
    """The shown widgets and those inside them; the others (a closed bar, say) need not be kept."""
    kept, todo = [], list(shown)
    while todo:
        name = todo.pop(0)
        if name in state and name not in kept:
            kept.append(name)
            todo += re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[name]))
    return kept


def build(chapter: Path, wanted: str) -> float:
    """Convert, execute, tidy, write. Returns seconds."""
    started, target = time.perf_counter(), NOTEBOOKS / f"{chapter.stem}.ipynb"
    notebook = convert(chapter)
    execute(notebook, chapter.stem)
    tidy(notebook, chapter.stem)
    notebook.metadata["attncourse"] = {"inputs": wanted}
    nbformat.validate(notebook)
    target.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    return time.perf_counter() - started


# --- the ledger page ---------------------------------------------------------------------------------------


def claims_of(notebook) -> list[dict]:
    """What attncourse.ledger.claim() left in the metadata of its outputs."""
    return [out.metadata.claim for out in _outputs(notebook) if "claim" in out.get("metadata", {})]


def ledger() -> str:
    """Every claim of every executed chapter as one Markdown page."""
    lines = [
        "# The ledger",
        "",
        "Every claim of every chapter, as its notebook measured it when it was last executed, beside what was expected "
        "and what the paper reports. A claim that does not hold stops its notebook, and with it the build. Intervals "
        "are 95%. This page is written by `make notebooks` from the notebooks' outputs; do not edit it.",
    ]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        claims = claims_of(notebook)
        if claims:
            title = notebook.cells[0].source.splitlines()[0].lstrip("# ")
            lines += [
                "",
                f"## [{title}](../notebooks/{path.name})",
                "",
                "| claim | measured | expected | the paper |",
                "|---|---|---|---|",
            ]
            lines += [
                "| "
                + " | ".join(c[k].replace("|", "\\|") or "–" for k in ("text", "measured", "expected", "paper"))
                + " |"
                for c in claims
            ]
    return "\n".join(lines) + "\n"


# --- commands ----------------------------------------------------------------------------------------------


def stale(chapter: Path) -> str | None:
    """Why the notebook is not what the chapter gives, or None."""
    path = NOTEBOOKS / f"{chapter.stem}.ipynb"
    if not path.exists():
        return "there is no notebook"
    committed, wanted = nbformat.read(path, as_version=4), convert(chapter)
    same = [(c.id, c.cell_type, c.source, dict(c.metadata)) for c in committed.cells] == [
        (c.id, c.cell_type, c.source, dict(c.metadata)) for c in wanted.cells
    ]
    return None if same else "its cells differ from the text"


def check() -> list[str]:
    problems = [f"{c.stem}: {why}" for c in chapters() if (why := stale(c))]
    orphans = {p.stem for p in NOTEBOOKS.glob("*.ipynb")} - {c.stem for c in chapters()}
    problems += [f"{name}: a notebook without a text in book/chapters" for name in sorted(orphans)]
    page = ROOT / "book/ledger.md"
    if not page.exists() or page.read_text(encoding="utf-8") != ledger():
        problems.append("book/ledger.md is not what the notebooks claim")
    return problems


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
    for chapter in chapters(tuple(args.chapters)):
        wanted, path = digest(chapter), NOTEBOOKS / f"{chapter.stem}.ipynb"
        known = (
            nbformat.read(path, as_version=4).metadata.get("attncourse", {}).get("inputs") if path.exists() else None
        )
        if known == wanted and not args.chapters:
            print(f"{chapter.stem}: unchanged")
            continue
        print(f"{chapter.stem}: executing ...", end=" ", flush=True)
        try:
            print(f"{build(chapter, wanted):.0f} s")
        except CellExecutionError as error:
            print(f"failed; its notebook is left as it was\n{error}")
            return 1
    (ROOT / "book/ledger.md").write_text(ledger(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
