"""Brackets that match at a distance: the task by a stack, and the two networks that are compared on it."""

import pytest
import torch

from attncourse import zoo
from attncourse.tasks import brackets as task
from attncourse.tasks.recall import PAD, one_hot, show
from attncourse.zoo import brackets as recipe


def by_stack(text):
    """Where each CLOSE's bracket was opened, -1 elsewhere; and how deep it went."""
    stack, partner, deepest = [], [], 0
    for t, symbol in enumerate(text):
        partner.append(stack.pop() if symbol == task.CLOSE else -1)
        if symbol in task.OPEN:
            stack.append(t)
        deepest = max(deepest, len(stack))
    assert not stack, "something is left open"
    return partner, deepest


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("distance", [1, 2, 7, 20])
def test_matching_by_a_stack(distance, noise):
    symbols, target, source = task.matching(60, distance, seed=1, noise=noise)
    assert symbols.shape == target.shape == source.shape == (60, task.BEFORE + distance + 1)
    for row in range(60):
        text = show(symbols[row], task.BRACKETS)
        partner, deepest = by_stack(text)
        assert source[row].tolist() == partner and deepest <= task.DEEPEST
        assert partner[-1] == task.BEFORE  # the last symbol closes a bracket at exactly this distance
        answers = [task.OPEN.index(text[s]) if s >= 0 else PAD for s in partner]
        assert target[row].tolist() == answers
        longest = max(t - s for t, s in enumerate(partner) if s >= 0)
        assert longest <= max(distance, task.BEFORE - 1)


def test_noise_alone_is_copying_at_a_distance():
    symbols, target, _ = task.matching(50, 9, seed=2, noise=1.0)
    assert ((target != PAD).sum(1) == 1).all()
    assert (symbols[:, task.BEFORE + 1 : -1] >= task.BRACKETS.index(task.NOISE[0])).all()


def test_each_row_may_have_its_own_noise():
    noise = torch.tensor([0.0] * 40 + [1.0] * 40)
    closed = (task.matching(80, 20, seed=3, noise=noise)[1] != PAD).sum(1).float()
    assert closed[:40].mean() > 5 and (closed[40:] == 1).all()


def test_kinds_are_equally_likely_and_nothing_gives_them_away():
    symbols, target, _ = task.matching(4_000, 8, seed=4)
    share = torch.bincount(target[:, -1], minlength=4) / 4_000
    assert (share - 0.25).abs().max() < 0.03
    before = symbols[:, -2]  # the symbol next to the question says nothing about the answer
    for symbol in before.unique():
        chosen = target[before == symbol, -1]
        if len(chosen) > 300:
            assert (torch.bincount(chosen, minlength=4) / len(chosen) - 0.25).abs().max() < 0.12


def test_a_distance_of_zero_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        task.matching(2, 0, seed=0)


def test_training_stays_within_its_distance_and_never_uses_a_measured_seed():
    config, stream = recipe.config("lstm", 8), recipe.data(recipe.config("lstm", 8), seed=0)
    sizes = {x.shape[1] for x, _ in (next(stream) for _ in range(200))}
    assert sizes == {task.BEFORE + d + 1 for d in range(1, config["farthest"] + 1)}
    assert max(recipe.BEYOND) > config["farthest"] == min(recipe.BEYOND)


def test_equal_parameters_steps_and_tuning():
    cards = [zoo.card(name) for name in recipe.KINDS]
    a, b = (card["parameters"] for card in cards)
    assert abs(a - b) / min(a, b) < 0.05
    for key in ("lr", "batch", "farthest"):
        assert len({card["config"][key] for card in cards}) == 1
    assert len({card["steps"] for card in cards}) == 1
    assert all(len(zoo.seeds(name, "match_24")) == 3 for name in recipe.KINDS)


@pytest.mark.parametrize("name", recipe.KINDS)
def test_shipped_networks_copy_within_the_training_distance(name):
    """Fresh rows: what the card says, within what 300 rows can tell."""
    model, card = zoo.load(name)
    right = recipe.right(model, recipe.FARTHEST, seed=999, noise=1.0, n=300).float().mean()
    assert abs(right - card["metrics"][f"copy_{recipe.FARTHEST}"]) < 0.1 and right > 0.9


def test_lstmn_looks_only_at_the_past_and_its_answer_needs_the_bracket():
    model, _ = zoo.load("brackets-lstmn")
    symbols, _, source = task.matching(20, 10, seed=5)
    x = one_hot(symbols, task.BRACKETS)
    hidden, weights = model.core(x)
    assert (weights.triu() == 0).all() and hidden.shape[:2] == symbols.shape
    assert torch.allclose(model.out(hidden), model(x))
    other = symbols.clone()
    other[:, task.BEFORE] = (other[:, task.BEFORE] + 1) % len(task.OPEN)
    changed = model(one_hot(other, task.BRACKETS))[:, -1].argmax(-1) != model(x)[:, -1].argmax(-1)
    assert source[0, -1] == task.BEFORE and changed.float().mean() > 0.5
