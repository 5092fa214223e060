"""The zoo: every shipped model loads, is what its card says, and bad files are clear errors."""

import json
import shutil

import pytest
import torch

from attncourse import zoo


@pytest.fixture
def copy(tmp_path):
    """A folder with the smallest model's two files, to damage."""
    for suffix in (".json", ".safetensors"):
        shutil.copy(zoo.WEIGHTS / f"bahdanau-dates{suffix}", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", sorted(zoo.recipes()))
def test_card_describes_the_model(name):
    model, card = zoo.load(name)
    file = zoo.WEIGHTS / f"{name}.safetensors"
    assert not model.training
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert card["parameters"] == sum(p.numel() for p in model.parameters())
    assert file.stat().st_size <= 2_000_000
    for key in ("command", "seed", "minutes", "metrics", "device", "torch"):
        assert key in card
    assert name in card["command"]


def test_all_weights_are_small_together():
    assert sum(f.stat().st_size for f in zoo.WEIGHTS.glob("*.safetensors")) <= 40_000_000


def test_bahdanau_dates_holds_its_promise():
    """Fresh dates, a seed that no card has used: at least 99% exact, free-running."""
    model, card = zoo.load("bahdanau-dates")
    from attncourse.zoo.dates import evaluate

    metrics = evaluate(model, card["config"], seed=777, n=1_000)
    assert metrics["exact_match"] >= 0.99
    assert card["metrics"]["exact_match"] >= 0.99


def test_unknown_name_lists_the_known():
    with pytest.raises(zoo.UnknownModel, match=r"no model 'bahdanau'.*bahdanau-dates"):
        zoo.load("bahdanau")


def test_damaged_weights(copy):
    file = copy / "bahdanau-dates.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(zoo.DamagedWeights, match="checksum differs"):
        zoo.load("bahdanau-dates", folder=copy)


def test_damaged_card(copy):
    (copy / "bahdanau-dates.json").write_text("{")
    with pytest.raises(zoo.DamagedWeights, match=r"card bahdanau-dates\.json is damaged"):
        zoo.load("bahdanau-dates", folder=copy)


def test_missing_weights(tmp_path):
    with pytest.raises(zoo.DamagedWeights, match="`attncourse train bahdanau-dates` makes them"):
        zoo.load("bahdanau-dates", folder=tmp_path)


def test_mismatched_weights(copy):
    file = copy / "bahdanau-dates.json"
    card = json.loads(file.read_text())
    card["config"]["d_hidden"] = 48
    file.write_text(json.dumps(card))
    with pytest.raises(zoo.DamagedWeights, match="do not fit its model"):
        zoo.load("bahdanau-dates", folder=copy)
