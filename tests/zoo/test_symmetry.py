"""The GANs of the zoo: what they promise on fresh latents, that training can be killed, and that a collapse is said."""

import json
from itertools import count

import pytest
import torch
from torch.testing import assert_close

from attncourse import zoo
from attncourse.running.training import fit
from attncourse.tasks import symmetry as task
from attncourse.zoo import symmetry as trained

NAMES = ("sagan-symmetry", "dcgan-symmetry")


@pytest.fixture(scope="module")
def images():
    rng = torch.Generator().manual_seed(4242)
    with torch.no_grad():
        return {name: (model := zoo.load(name)[0])(model.draw(1000, rng)) for name in NAMES}


def test_sagan_is_at_least_halfway_from_chance_to_the_data(images):
    """Fresh latents, a seed that no card has used; chance is 0 and the data have 1."""
    score = task.consistency(images["sagan-symmetry"])
    assert score.value >= 0.5
    assert 0.5 < score.spread < 1.5


@pytest.mark.parametrize("name", NAMES)
def test_three_seeds_with_the_same_steps_and_the_same_tuning(name):
    card, other = zoo.card(name), zoo.card("sagan-symmetry")
    assert [card["seed"], *(run["seed"] for run in card["runs"])] == [0, 1, 2]
    commands = [card["command"], *(run["command"] for run in card["runs"])]
    assert len({command.split("--steps ")[1] for command in commands} | {str(other["steps"])}) == 1
    assert {k: v for k, v in card["config"].items() if k != "block"} == {
        k: v for k, v in other["config"].items() if k != "block"
    }
    assert abs(card["parameters"] / other["parameters"] - 1) < 0.05


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_what_the_weights_reach(name):
    model, card = zoo.load(name)
    again = trained.evaluate(model, card["config"], card["metrics_seed"])
    assert again == pytest.approx(card["metrics"], abs=2e-3, rel=2e-2)
    assert json.dumps(again)


@pytest.mark.parametrize("name", NAMES)
def test_the_journal_ships_with_the_weights(name):
    model, card = zoo.load(name)
    step, consistency, _, *gates = model.journal.T
    assert step.max() >= 0.99 * card["steps"] and (step.diff() > 0).all() and (consistency[-1] - consistency[0]) > 0
    ends = [model.generator.block.out.gamma, model.discriminator.block.out.gamma]
    assert_close(torch.stack([gate[-1] for gate in gates]), torch.stack(ends).detach(), rtol=0, atol=2e-3)


def test_the_readers_distance_knows_the_data_from_what_is_not():
    data, other, broken = task.images(1000, 1), task.images(1000, 2), task.unmirrored(1000, torch.Generator())
    same = trained.frechet(trained.features(data), trained.features(other))
    assert same < 0.2 * trained.frechet(trained.features(data), trained.features(task.render(broken)))
    assert zoo.card("symmetry-reader")["metrics"]["accuracy"] > 0.6  # chance is one in eight


def test_corners_by_hand():
    colours = torch.tensor([[0.5, -0.5], [-0.1, 0.2], [0.3, 0.4]]).view(1, 3, 1, 2)
    assert trained.corners(colours).tolist() == [[1 + 4, 2 + 4]]


CONFIG = {"block": "attention", "d_latent": 6, "channels": 8, "batch": 4, "lr": [1e-3, 2e-3]}


@pytest.fixture
def rarely(monkeypatch):
    """Measure twice in a training, not 24 times."""
    monkeypatch.setattr(trained, "ROWS", 2)


def run(folder, steps, name="gan"):
    torch.manual_seed(3)
    model = trained.build(CONFIG)
    history = trained.train(model, CONFIG, 3, steps, folder / f"{name}.checkpoint", "cpu")
    return model, history


def test_a_killed_training_goes_on_where_it_was(tmp_path, rarely, capsys):
    whole, history = run(tmp_path, 6, "whole")

    def killed(*args, measure, **more):
        calls = count(1)

        def until(model, batch):
            if next(calls) == 4:
                raise KeyboardInterrupt
            return args[2](model, batch)

        return fit(*args[:2], until, *args[3:], measure=measure, **more | {"checkpoint_seconds": 0})

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trained, "fit", killed)
        run(tmp_path, 6)
    resumed, rest = run(tmp_path, 6)
    assert rest.loss == pytest.approx(history.loss)
    for a, b in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert_close(a, b)
    assert (tmp_path / "gan.png").stat().st_size > 500
    assert "consistency" in capsys.readouterr().err


def test_a_collapse_is_said(tmp_path, capsys, monkeypatch):
    assert trained.verdict({"spread": 0.9}) == ""
    monkeypatch.setattr(trained.GAN, "forward", lambda self, z: torch.zeros(len(z), 3, 32, 32) + 0 * self.generator(z))
    run(tmp_path, 1)
    assert "COLLAPSED: the images differ from each other 0% as much" in capsys.readouterr().err
