"""The commands, as a user calls them: real subprocesses, real exit codes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attncourse import zoo

pytestmark = pytest.mark.slow


def attncourse(*arguments, cwd):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "attncourse", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["train"], "which model? attncourse train NAME"),
        (["train", "nothing"], "no model 'nothing' in the zoo; there are: bag-documents, bag-stories, bahdanau-dates"),
        (["train", "bahdanau-dates", "--steps", "0"], "'0' is not a whole number above zero"),
        (["train", "bahdanau-dates", "--seed", "-1"], "'-1' is not a whole number"),
        (["train", "bahdanau-dates", "--out", "a-file"], "--out a-file is a file"),
        (["train", "bahdanau-dates", "--device", "abacus"], "abacus"),
        (["evaluate"], "required: NAME"),
        (["evaluate", "nothing"], "no model 'nothing'"),
        (["evaluate", "bahdanau-dates", "--seed", "x"], "'x' is not a whole number"),
        (["evaluate", "bahdanau-dates", "--weights", "nowhere"], "has no weights in nowhere/"),
        (["bench", "everything"], "no benchmark 'everything'; there are: core"),
        (["bench", "--rounds", "none"], "'none' is not a whole number"),
        (["check"], "required: NOTEBOOK"),
        (["check", "nowhere.ipynb"], "nowhere.ipynb is not a file"),
        (["check", "a-file"], "a-file is not a notebook"),
        (["doctor", "now"], "unrecognized arguments: now"),
    ],
    ids=" ".join,
)
def test_bad_arguments(arguments, sentence, tmp_path):
    (tmp_path / "a-file").write_text("mine")
    done = attncourse(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["a-file"]
    assert (tmp_path / "a-file").read_text() == "mine"


def test_train_evaluate_and_resume_from_the_command_line(tmp_path):
    done = attncourse("train", "bahdanau-dates", "--steps", "2", "--seed", "3", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "out/bahdanau-dates.json").read_text())
    assert card["command"] == "attncourse train bahdanau-dates --seed 3 --steps 2"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["bahdanau-dates.json", "bahdanau-dates.safetensors"]
    done = attncourse("evaluate", "bahdanau-dates", "--weights", "out", "--seed", "5", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert set(result) == {"name", "seed", "metrics", "seconds"}
    assert result["seed"] == 5
    assert set(result["metrics"]) == {"exact_match", "alignment_accuracy"}


def test_another_seed_adds_its_numbers_and_leaves_the_weights(tmp_path):
    command = ("train", "bahdanau-dates", "--steps", "2", "--out", ".", "--seed", "1", "--beside")
    done = attncourse(*command, cwd=tmp_path)
    assert done.returncode == 2 and "has no weights" in done.stderr  # before the training, not after it
    weights, card = (tmp_path / f"bahdanau-dates.{suffix}" for suffix in ("safetensors", "json"))
    weights.write_bytes(b"as they are")
    shipped = zoo.card("bahdanau-dates")
    card.write_text(json.dumps(shipped | {"runs": [{"seed": 1, "command": "an earlier run of the same seed"}]}))
    assert attncourse(*command, cwd=tmp_path).returncode == 0
    after = json.loads(card.read_text())
    (run,) = after.pop("runs")
    assert after == shipped and weights.read_bytes() == b"as they are"
    assert "--seed 1" in run["command"] and set(run["metrics"]) == set(shipped["metrics"])


def test_doctor_is_content(tmp_path):
    done = attncourse("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "torch 2" in done.stdout
    assert "weights bahdanau-dates" in done.stdout
    assert "Everything is in place." in done.stdout


def test_doctor_names_what_is_damaged_and_the_remedy(tmp_path):
    """A copy of the package with a spoilt weights file; `-m` takes the package of the current folder."""
    light = shutil.ignore_patterns("node_modules")
    shutil.copytree(Path(zoo.__file__).parent.parent, tmp_path / "attncourse", ignore=light)
    (tmp_path / "attncourse/zoo/weights/bahdanau-dates.safetensors").write_bytes(b"spoilt")
    done = attncourse("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert "LOOK  weights bahdanau-dates" in done.stdout
    assert "-> reinstall the package" in done.stdout
    assert "1 to look at" in done.stdout


def test_bench_prints_ratios(tmp_path):
    done = attncourse("bench", "core", "--rounds", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "a loop over batch and queries" in done.stdout


def test_help_reads_well(tmp_path):
    for command in ("doctor", "train", "evaluate", "check", "grade", "bench"):
        done = attncourse(command, "--help", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stdout.startswith("usage: attncourse " + command)
