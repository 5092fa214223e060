"""What is installed, where: pins for each Python, lower bounds, one version, the wheel alone."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from places import NOTEBOOKS, ROOT

import attncourse

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
UV = Path(sys.executable).with_name("uv")


def resolves(*arguments, python):
    """Only wheels, only what is named: pip would evaluate markers for the running Python, uv does for any."""
    command = [UV, "pip", "compile", "--no-deps", "--only-binary", ":all:", "--python-version", python, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_has_a_wheel(python):
    found = resolves("requirements.txt", python=python)
    assert found["torch"] == "2.13.0" and len(found) > 25


@pytest.mark.slow
def test_every_lower_bound_has_a_wheel_on_the_floor():
    floor = resolves("--resolution", "lowest-direct", "pyproject.toml", python="3.11")
    for requirement in PROJECT["dependencies"]:
        name, bound = requirement.split(">=")
        assert found_version(floor[name.lower()]) >= found_version(bound), requirement


def found_version(text):
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def test_the_classifiers_name_the_pythons_that_are_tried():
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert tuple(named) == PYTHONS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"


def test_the_version_is_written_once():
    assert attncourse.__version__ == importlib.metadata.version("attncourse")
    written = re.compile(rf"(?<![\w.]){re.escape(attncourse.__version__)}(?![\w.])")
    listed = subprocess.run(["git", "ls-files", "*.py", "*.toml", "*.cff", "*.yml", "*.md"], cwd=ROOT, text=True,
                            capture_output=True).stdout.split()  # fmt: skip
    places = [name for name in listed if written.search((ROOT / name).read_text(encoding="utf-8"))]
    assert places == ["attncourse/__init__.py"]
    release = attncourse.__version__.partition(".dev")[0]
    assert f"## {release}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_wheel_alone_checks_a_notebook(tmp_path):
    """Nothing of the checkout is in reach, and nothing but what the wheel asks for: other packages cannot be found."""
    build = [sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True)
    [wheel] = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    for distribution in closure(PROJECT["dependencies"]):
        for top in tops(distribution):
            if not (site / top.name).exists():
                (site / top.name).symlink_to(top)
    notebook = tmp_path / "work/x.ipynb"
    notebook.parent.mkdir()
    shutil.copy(NOTEBOOKS / "04_bahdanau.ipynb", notebook)
    program = "import sys; from attncourse import cli, __file__ as f; assert 'site' in f, f; sys.exit(cli.main())"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONPATH": str(site)}
    # -S: no site-packages of this environment
    command = [sys.executable, "-S", "-c", program, "check", "x.ipynb"]
    done = subprocess.run(command, cwd=notebook.parent, env=environment, capture_output=True, text=True)
    assert "bahdanau.additive-score" in done.stdout, done.stdout + done.stderr
    assert "not attempted" in done.stdout and "Traceback" not in done.stderr


def closure(requirements):
    """The installed distributions that these need, and what those need."""
    found, todo = {}, list(requirements)
    while todo:
        text = todo.pop()
        name = re.match(r"[\w.-]+", text)[0].lower().replace("_", "-")
        if name in found or "extra ==" in text:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system or Python
        todo += found[name].requires or []
    return found.values()


def tops(distribution):
    """Its files and folders in site-packages."""
    return {
        Path(str(distribution.locate_file(file.parts[0])))
        for file in distribution.files or []
        if file.parts[0] not in ("..", "__pycache__")
    }


@pytest.mark.parametrize("name", ["test", "release", "pages"])
def test_workflows_are_yaml_with_jobs(name):
    workflow = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text(encoding="utf-8"))
    assert all(job["runs-on"] and job["timeout-minutes"] for job in workflow["jobs"].values() if "needs" not in job)


def test_the_matrix_has_the_oldest_and_the_newest_python_on_three_systems():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
