"""The recipes of chapter 07: what they train on, how they are measured, and what the shipped ones reach."""

import inspect
import json
from itertools import islice

import pytest
import torch

from attncourse import zoo
from attncourse.mechanisms.glimpse import RAM, greedy, uniform
from attncourse.tasks import digits
from attncourse.zoo import glimpses
from attncourse.zoo.glimpses import CLUTTERED, LEARN, ONLY_RANDOM, PLAIN, TwoLayers, images, test_set, wrong

test_set.__test__ = False  # a function of the recipes, not a test


def fixed(answer):
    """A model that says the same after every look, and notes how it was asked."""

    class Stubborn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p, self.asked = torch.nn.Parameter(torch.zeros(())), []

        def forward(self, x, looks, policy):
            self.asked.append((len(x), looks, policy))
            logits = torch.zeros(len(x), looks, 10)
            logits[..., answer] = 1
            return RAM(4, 1)(x[:1], 1, policy)._replace(logits=logits)

    return Stubborn()


def test_plain_digits_are_mnist_and_the_others_fresh_clutter():
    x, labels = next(images(PLAIN, 32, seed=0))
    assert x.shape == (32, 1, 28, 28) and x.max() == 1 and labels.shape == (32,)
    library = {image.numpy().tobytes() for image in digits.mnist("train")[0]}
    assert all((image[0] * 255).round().byte().numpy().tobytes() in library for image in x)
    batches = list(islice(images(CLUTTERED, 16, seed=0), 3))
    assert all(x.shape == (16, 1, 60, 60) for x, _ in batches) and not batches[0][0].equal(batches[1][0])
    assert batches[0][0].equal(next(images(CLUTTERED, 16, seed=0))[0])


def test_all_of_the_test_set_is_measured():
    x, labels = test_set(PLAIN, seed=5, n=3)
    assert len(x) == 10_000 and labels.equal(digits.mnist("test")[1])
    x, labels = test_set(CLUTTERED, seed=5, n=30)
    assert x.shape == (30, 1, 60, 60)
    assert x.equal(digits.sample(30, 5, 60, 4, held_out=True).images)


def test_wrong_answers_are_counted():
    x, labels = test_set(CLUTTERED, seed=0, n=1_200)
    model = fixed(3)
    found = wrong(model, x, labels, 4)
    assert found.equal((labels != 3)[:, None].expand(-1, 4))
    assert [n for n, _, _ in model.asked] == [500, 500, 200] and {p for _, _, p in model.asked} == {greedy}


def test_evaluate_measures_both_ways_of_looking_and_is_repeatable():
    torch.manual_seed(0)
    model = RAM(12, 3).eval()
    one, two = (glimpses.evaluate(model, CLUTTERED, seed=3, n=300) for _ in range(2))
    assert one == two and one.keys() == {"error", "error_random_glimpses"}
    assert all(0.8 < error <= 1 for error in one.values())  # it has not learned anything
    said = fixed(0)
    glimpses.evaluate(said, CLUTTERED, seed=3, n=10)
    assert [policy for _, _, policy in said.asked] == [greedy, uniform]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fall"), [("ram-mnist", 0.4), ("ram-cluttered", 0.05), ("conv-cluttered", 0.03)])
def test_a_short_training_learns(name, fall):
    """The recipe's own training, cut short: by then the warm-up is hardly over, and the loss already falls."""
    recipe = zoo.recipe(name)
    torch.manual_seed(0)
    model = recipe.build(recipe.config())
    history = recipe.train(model, recipe.config(), seed=0, steps=150, device="cpu")
    assert len(history.loss) == 150 and history.smoothed()[-1] < history.smoothed()[19] - fall
    assert all(p.isfinite().all() for p in model.parameters())


class Noting(RAM):
    """A RAM that notes with which policy it was trained: the spread, or None for anywhere."""

    def forward(self, x, looks, policy):
        self.noted = getattr(self, "noted", [])
        self.noted.append(None if policy is uniform else inspect.getclosurevars(policy).nonlocals["std"])
        return super().forward(x, looks, policy)


def test_random_looks_come_first_then_a_policy_whose_spread_shrinks():
    small = {"size": 4, "scales": 1, "looks": 2, "ground": 28, "clutter": 0}
    model = Noting(4, 1, d_part=4, d_glimpse=4, d_core=4)
    glimpses.train(model, small | LEARN, seed=0, steps=40, device="cpu")
    stds = model.noted
    assert stds[:6] == [None] * 6 and None not in stds[6:]
    assert stds[6:] == sorted(stds[6:], reverse=True) and 0.1 < stds[-1] < 0.105 and stds[6] < 0.2
    model.noted = []
    glimpses.train(model, small | ONLY_RANDOM, seed=0, steps=10, device="cpu")
    assert model.noted == [None] * 10


def test_the_convolutional_net_reads_its_ground():
    for ground in (28, 60):
        assert TwoLayers(ground)(torch.rand(2, 1, ground, ground)).shape == (2, 10)


# ---- the shipped ones ----


def test_ram_mnist_does_what_its_card_says():
    model, card = zoo.load("ram-mnist")
    assert card["metrics"]["error"] <= 0.015 and card["parameters"] < 160_000
    x, labels = test_set(PLAIN, 0, 0)
    error = wrong(model, x[:2_000], labels[:2_000], card["config"]["looks"]).float().mean(0)
    assert error[-1] < 0.03 and error[0] > 0.1  # the first 2,000 are the harder half; one look is not enough


def test_ram_cluttered_does_what_its_card_says():
    model, card = zoo.load("ram-cluttered")
    assert card["metrics"]["error"] <= 0.5 * card["metrics"]["error_random_glimpses"]
    found = glimpses.evaluate(model, card["config"], seed=7, n=1_000)
    assert found.keys() == card["metrics"].keys()
    assert found["error"] <= 0.5 * found["error_random_glimpses"]
    assert json.loads((zoo.WEIGHTS / "ram-cluttered.json").read_text())["command"].startswith("attncourse train ram-cl")
