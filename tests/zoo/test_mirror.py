"""The mirrored windows of the zoo: what the three promise on every seed, and that side by side is as good as alone."""

import copy
import json

import pytest
import torch
from torch.testing import assert_close

from attncourse import zoo
from attncourse.mechanisms import mirror
from attncourse.tasks import windows as task
from attncourse.zoo import mirror as trained
from attncourse.zoo import mirror_seeds

NAMES = ("sagan-mirror", "residual-mirror", "plain-mirror")


@pytest.mark.parametrize("name", NAMES)
def test_five_seeds_with_the_same_steps_and_the_same_tuning(name):
    card, other = zoo.card(name), zoo.card("sagan-mirror")
    assert [card["seed"], *(run["seed"] for run in card["runs"])] == [0, 1, 2, 3, 4]
    assert card["steps"] == other["steps"] and abs(card["parameters"] / other["parameters"] - 1) < 0.05
    tuning = {"lr", "batch", "d_noise"}
    assert {k: card["config"][k] for k in tuning} == {k: other["config"][k] for k in tuning}


def test_with_attention_the_farthest_windows_agree_on_every_seed():
    assert min(zoo.seeds("sagan-mirror", "agreement_far")) >= 0.8
    assert min(zoo.seeds("sagan-mirror", "partner_ratio")) >= 3
    for far, closed in zip(
        *(zoo.seeds("sagan-mirror", k) for k in ("agreement_far", "agreement_far_closed")), strict=True
    ):
        assert closed <= far / 2


@pytest.mark.parametrize("name", ["residual-mirror", "plain-mirror"])
def test_without_it_they_do_not_on_any_seed(name):
    assert max(map(abs, zoo.seeds(name, "agreement_far"))) <= 0.1


@pytest.mark.parametrize("name", NAMES)
def test_images_differ_about_as_much_as_the_data_do(name):
    """Else agreement would be cheap: one image again and again agrees with everything."""
    assert 0.5 < min(zoo.seeds(name, "spread")) and max(zoo.seeds(name, "spread")) < 1.5


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_what_the_weights_reach(name):
    model, card = zoo.load(name)
    again = trained.evaluate(model, card["config"], card["metrics_seed"])
    assert again == pytest.approx(card["metrics"], abs=2e-3, rel=2e-2)
    assert json.dumps(again)


def test_fresh_noise_that_no_card_has_used():
    model, _ = zoo.load("sagan-mirror")
    found = trained.measure(model, 1000, seed=4242)
    assert found["agreement_far"] >= 0.8 and found["agreement_far_closed"] <= found["agreement_far"] / 2
    assert found["agreement_strangers"] <= found["agreement_far"] / 4  # partners agree, not everybody with everybody
    assert found["overlap_partners"] >= found["overlap_strangers"] + 0.3  # because they read from the same places


def test_a_closed_gate_opens_again():
    model, _ = zoo.load("sagan-mirror")
    before = model.generator.block.out.gamma.item()
    with trained.closed(model.generator.block):
        x = torch.randn(1, 48, 1, 8)
        assert model.generator.block(x).equal(x)
    assert model.generator.block.out.gamma.item() == before != 0


def test_weight_on_the_partner_by_hand():
    uniform = torch.full((3, 8, 8), 1 / 8)
    assert trained.on_partner(uniform) == pytest.approx(1)
    assert trained.on_partner(torch.eye(8)[task.partners()][None]) == pytest.approx(8)
    assert trained.on_partner(torch.eye(8)[None]) == 0


def test_what_two_places_read_in_common_by_hand():
    source = torch.tensor([0, 1, 2, 3, 3, 2, 1, 0])  # partners copy from the same place, nobody from its partner
    assert trained.overlaps(torch.eye(8)[source][None]) == (1, 0)
    assert trained.overlaps(torch.eye(8)[task.partners()][None]) == (0, 0)
    assert trained.overlaps(torch.full((2, 8, 8), 1 / 8)) == pytest.approx((1, 1))


# ---- five at once ----


@pytest.mark.parametrize("kind", trained.BLOCKS)
def test_a_step_side_by_side_is_each_ones_own_step(kind, monkeypatch):
    torch.manual_seed(0)
    models = [mirror.MirrorGAN(trained.BLOCKS[kind], 12, 4).double().train() for _ in range(3)]
    for model in models:
        for name, parameter in model.named_parameters():
            if name.endswith("gamma"):
                parameter.data.fill_(0.5)
    alone = copy.deepcopy(models)
    real, noise = torch.rand(4, 9, 32, 32).double(), torch.randn(4, 12, 1, 8).double()
    wide = mirror_seeds.SideBySide(models).double()  # its norms are new
    step(wide, wide.loss(real, noise))
    for i, (one, model) in enumerate(zip(alone, wide.give_back(), strict=True)):
        monkeypatch.setattr(one, "draw", lambda n, i=i: noise[:, 4 * i : 4 * i + 4])
        step(one, mirror.loss(one, real[:, 3 * i : 3 * i + 3]))
        for expected, found in zip(one.state_dict().values(), model.state_dict().values(), strict=True):
            assert_close(found, expected)


def step(module, value):
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    value.backward()
    optimizer.step()
