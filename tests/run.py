"""`make test`: the steps, their time, one summary line. `python tests/run.py STEP ...` runs some of them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

from attncourse.widgets import bundle

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # two workers on two cores: more threads only wait


def run(*command: str, cwd: Path = ROOT, **environment: str) -> int:
    return subprocess.run([str(c) for c in command], cwd=cwd, env=os.environ | ONE_THREAD | environment).returncode


def pytest(*arguments: str, cwd: Path = ROOT, **environment: str) -> tuple[int, int]:
    """-> passed, failed. What pytest could not even collect counts as failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        code = run(sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments, cwd=cwd, **environment)
        if not report.exists():
            return 0, 1
        suite = ElementTree.parse(report).getroot().find("testsuite").attrib
    bad = int(suite["failures"]) + int(suite["errors"])
    return int(suite["tests"]) - bad - int(suite["skipped"]), max(bad, int(code != 0))


def single(*command: str, cwd: Path = ROOT) -> tuple[int, int]:
    good = run(*command, cwd=cwd) == 0
    return int(good), int(not good)


def lint() -> tuple[int, int]:
    """Style, format, types, and that vendored files and bundles are the ones that were recorded."""
    ruff = (sys.executable, "-m", "ruff")
    parts = [single(*ruff, "check", "-q", "."), single(*ruff, "format", "-q", "--check", ".")]
    parts += [single(sys.executable, "book/vendor.py", "--check"), single(sys.executable, "-m", "mypy"), scripts()]
    return sum(p[0] for p in parts), sum(p[1] for p in parts)


def scripts() -> tuple[int, int]:
    """The explorables' bundles are those of their sources: by their hashes; where Node's tools are, by making them."""
    if stale := bundle.stale():
        print(f"not the bundles of their sources: {', '.join(stale)}. Run `make widgets`.")
        return 0, 1
    if (bundle.HERE / "node_modules").is_dir():
        return single("npm", "run", "--silent", "check", cwd=bundle.HERE)
    return 1, 0


def unit(which: str = "not book") -> tuple[int, int]:
    return pytest("tests", "-m", which, "-n", "2", "--dist", "worksteal", "--ignore=tests/book/test_notebooks_fresh.py")


def quick() -> tuple[int, int]:
    """For daily work: without the commands' real subprocesses and whole trainings."""
    return unit("not book and not slow")


def fresh() -> tuple[int, int]:
    return pytest("tests/book/test_notebooks_fresh.py")


def book() -> tuple[int, int]:
    return single(sys.executable, "book/pages.py", "--strict")


def browser(*which: str) -> tuple[int, int]:
    if run(sys.executable, "tests/helpers/browser.py"):
        return 0, 1
    return pytest(*(which or ("tests", "-m", "book")), "-n", "2", "--dist", "worksteal")


def nbval(which: str = "*") -> tuple[int, int]:
    """Every notebook once, as in Colab: an empty folder, the package from its wheel, a stand-in google.colab."""
    work = ROOT / "_build/colab"
    shutil.rmtree(work, ignore_errors=True)
    (work / "empty").mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "-q")
    if run(*pip, "wheel", "--no-deps", "-w", work, ROOT) or run(
        *pip, "install", "--no-deps", "--target", work / "site", *work.glob("*.whl")
    ):
        return 0, 1
    notebooks = sorted((ROOT / "notebooks").glob(f"{which}.ipynb"))
    for notebook in notebooks:
        shutil.copy(notebook, work / "empty")
    trace = work / "trace"
    paths = os.pathsep.join([str(work / "site"), str(ROOT / "tests/colab")])
    environment = {"PYTHONPATH": paths, "COLAB_TRACE": str(trace), "MPLBACKEND": "agg"}
    origin = "import attncourse, sys; sys.exit('_build' not in attncourse.__file__)"
    if run(sys.executable, "-c", origin, cwd=work / "empty", **environment):
        print("the notebooks would not run on the wheel")
        return 0, 1
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=120", "-n", "2", "--dist", "loadscope"]
    passed, failed = pytest(
        *options, "-p", "no:cacheprovider", f"--rootdir={work / 'empty'}", ".", cwd=work / "empty", **environment
    )
    kernels = len(set(trace.read_text().split())) if trace.exists() else 0
    if kernels != len(notebooks):
        print(f"{kernels} of {len(notebooks)} notebooks woke Colab's widget manager: is attncourse.setup() called?")
        failed += 1
    return passed, failed


STEPS = {"lint": lint, "unit": unit, "fresh": fresh, "book": book, "browser": browser, "nbval": nbval}
ALONE = {"quick": quick}  # a part of unit


def main() -> int:
    chosen = sys.argv[1:] or list(STEPS)
    steps = STEPS | ALONE
    if unknown := set(chosen) - set(steps):
        print(f"no step {', '.join(sorted(unknown))}; there are: {', '.join(steps)}")
        return 2
    return table({name: steps[name] for name in chosen}, "make test STEP={}")


def table(steps: dict[str, Callable[[], tuple[int, int]]], again: str = "") -> int:
    """Run the steps, print one table. -> 1 if anything failed. `again`: how to run one step alone."""
    rows = []
    for name, step in steps.items():
        print(f"\n== {name}", flush=True)
        started = time.monotonic()
        rows.append((name, *step(), time.monotonic() - started))
    print("\nstep         passed  failed  seconds")
    for name, passed, failed, seconds in rows:
        print(f"{name:12} {passed:6} {failed:7} {seconds:8.0f}")
    for name, _, failed, _ in rows:
        if failed:
            print(f"FAILED: {name}." + (f" Alone: {again.format(name)}" if again else ""))
    bad = sum(row[2] for row in rows)
    print(f"\n{sum(row[1] for row in rows)} passed, {bad} failed", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
