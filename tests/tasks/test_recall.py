"""Recall at a distance and re-ordering: the tasks, and what the shipped networks reach on them."""

import pytest
import torch

from attncourse import zoo
from attncourse.mechanisms.sequential import sequential_jacobian
from attncourse.tasks import recall as task
from attncourse.zoo.recall import latch_data, latched, loss, recall_data, recalled, reorder_data


def test_recall_asks_for_every_distance():
    symbols, target = task.recall(30, 20, seed=1, farthest=6)
    assert target.shape == (30, 20, 6)
    for t in range(20):
        for d in range(1, 7):
            wanted = symbols[:, t - d] if t >= d else torch.full((30,), task.PAD)
            assert torch.equal(target[:, t, d - 1], wanted)


def test_latch_names_the_last_letter_by_brute_force():
    symbols, target, source = task.latch(200, 40, seed=1)
    for row in range(200):
        text, answer, last = task.show(symbols[row], task.LATCH), task.show(target[row], task.LATCH), 0
        for t, character in enumerate(text):
            last = t if character in task.LETTERS else last
            assert source[row, t] == last and answer[t] == text[last]


def test_gaps_between_letters_are_short_and_long():
    symbols, _, source = task.latch(2_000, 48, seed=2)
    distance = torch.arange(48) - source
    assert (distance == 0).float().mean() > 0.1 and (distance > 24).float().mean() > 0.05
    letters = symbols[:, 1:] < len(task.LETTERS)
    assert 1 / 32 < letters.float().mean() < 1 / 2


@pytest.mark.parametrize("distance", [0, 1, 17])
def test_latch_at_a_distance_is_at_that_distance(distance):
    symbols, target, source = task.latch_at(50, distance, seed=3)
    assert symbols.shape == (50, 9 + distance)
    assert (source[:, -1] == 8).all() and (target[:, -1] == symbols[:, 8]).all()
    assert (symbols[:, 9:] >= len(task.LETTERS)).all()


def test_reorder_by_brute_force():
    symbols, target, source, lengths = task.reorder(300, 20, seed=4)
    for row in range(300):
        text, answer = task.show(symbols[row], task.REORDER), task.show(target[row], task.REORDER)
        assert len(text) == len(answer) == lengths[row] and text.endswith(",")
        clauses = text[:-1].split(",")
        assert answer == "".join(f"{clause[1:]}{clause[0]}," for clause in clauses)
        assert all(c[0] in task.VERBS and set(c[1:]) <= set(task.NOUNS) and 2 <= len(c) <= 8 for c in clauses)
        assert answer == "".join(text[s] for s in source[row, : lengths[row]].tolist())
    assert (target[torch.arange(20) >= lengths[:, None]] == task.PAD).all()
    assert lengths.min() < lengths.max() == 20


def test_one_hot_of_padding_is_nothing():
    x = task.one_hot(torch.tensor([[2, 0, -1]]), task.REORDER)
    assert x.shape == (1, 3, 13) and x.sum(-1).tolist() == [[1.0, 1.0, 0.0]]


def test_the_same_seed_gives_the_same_data():
    for make in (lambda s: task.recall(5, 9, s), lambda s: task.reorder(5, 12, s), lambda s: task.latch_at(5, 4, s)):
        assert all(torch.equal(a, b) for a, b in zip(make(1), make(1), strict=True))
        assert not torch.equal(make(1)[0], make(2)[0])


def test_a_clause_must_fit():
    with pytest.raises(ValueError, match="up to 8 words and a comma does not fit into 6 positions"):
        task.reorder(1, 6, seed=0)


def test_streams_of_different_seeds_differ():
    for data in (recall_data, latch_data, reorder_data):
        assert not torch.equal(next(data(0))[0], next(data(1))[0])


def test_the_loss_counts_no_padding():
    x, target, lengths = next(reorder_data(0))

    class Sure(torch.nn.Module):  # right on every real position, and nothing said about padding
        def forward(self, x, lengths):
            return 50.0 * torch.nn.functional.one_hot(target.clamp(min=0), 13).float()

    assert loss(Sure(), (x, target, lengths)) < 1e-6


def test_the_loss_counts_every_distance_and_nothing_before_the_start():
    x, target = next(recall_data(0))

    class Uniform(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(*x.shape[:2], 4 * task.FARTHEST)

    assert loss(Uniform(), (x, target)).item() == pytest.approx(torch.tensor(4.0).log().item(), abs=1e-4)


# ---- the shipped networks ----


def test_convolutions_recall_up_to_their_reach_and_no_further():
    for network in zoo.load("recall-bytenet")[0]:
        right, n = recalled(network, seed=50)
        past, future = network.reach
        assert (past, future) == (30, 0) and right[:10].min() / n > 0.9
        assert (right[past:] / n < 0.3).all()  # chance is 1/4


def test_rnn_has_an_edge_and_lstm_a_slope():
    for network in zoo.load("recall-rnn")[0]:
        right, n = recalled(network, seed=51)
        assert right[4] / n > 0.95 and right[29] / n < 0.3
    for network in zoo.load("recall-lstm")[0]:
        right, n = recalled(network, seed=51)
        assert right[9] / n < 0.8 and right[29] / n > 0.35


def test_the_rnn_depends_most_on_the_letter_it_is_asked_for():
    x = task.one_hot(task.recall(4, 24, seed=80)[0], task.RECALL)
    for network in zoo.load("recall-rnn")[0]:
        J = sequential_jacobian(lambda x, net=network: net(x)[:, 12:, 16:20], x)  # the letter five steps ago
        assert (J.argmax(-1) == torch.arange(12, 24) - 5).float().mean() > 0.9


def test_latches_hold_for_hundreds_of_steps():
    assert min(latched(network, 200, seed=81) / 500 for network in zoo.load("latch-rnn")[0]) > 0.85


@pytest.mark.parametrize("name", ["recall-rnn", "latch-rnn", "reorder-bytenet"])
def test_cards_say_what_evaluation_gives(name):
    networks, card = zoo.load(name)
    found = zoo.recipe(name).evaluate(networks, card["config"], card["metrics_seed"])
    assert found == pytest.approx(card["metrics"], abs=0.01) and len(networks) == 3
    if name == "reorder-bytenet":
        assert found["accuracy"] > 0.98


def test_training_leaves_weights_and_card_and_no_checkpoint(tmp_path):
    about = zoo.train("reorder-bytenet", tmp_path, steps=2)
    assert about["steps"] == 2 and {p.name for p in tmp_path.iterdir()} == {
        "reorder-bytenet.json",
        "reorder-bytenet.safetensors",
    }
