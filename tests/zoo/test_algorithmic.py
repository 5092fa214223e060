"""The machines of the zoo: what they promise, and that an ablation takes away one stage and nothing else."""

import pytest
import torch
from torch.testing import assert_close

from attncourse import zoo
from attncourse.mechanisms import ntm
from attncourse.running.training import to
from attncourse.tasks import algorithmic as task
from attncourse.zoo import algorithmic as trained


@pytest.mark.parametrize("length", [1, 20, 120])
def test_ntm_copy_makes_no_mistake(length):
    """Fresh rows, a seed that no card has used; training has seen up to 20."""
    model, card = zoo.load("ntm-copy")
    assert trained.wrong(model, card["config"], 777, 20, length=length).sum() == 0


@pytest.mark.parametrize("items", [2, 6])
def test_ntm_associative_recall_costs_less_than_a_bit(items):
    model, card = zoo.load("ntm-associative-recall")
    assert trained.bits(model, card["config"], 777, 100, items=items).mean() < 1


def test_ntm_repeat_copy_within_its_range():
    model, card = zoo.load("ntm-repeat-copy")
    assert trained.evaluate_repeat(model, card["config"], 777)["bit_errors"] <= 1


def test_lstm_copy_has_ten_times_the_parameters_and_the_same_batches():
    machine, lstm = zoo.card("ntm-copy"), zoo.card("lstm-copy")
    assert lstm["parameters"] >= 10 * machine["parameters"]
    assert all(machine[k] == lstm[k] for k in ("steps", "seed"))
    assert machine["config"]["batch"] == lstm["config"]["batch"]


@pytest.mark.parametrize("part", [*trained.PINS, "empty memory"])
def test_an_ablation_changes_one_stage(part):
    torch.manual_seed(0)
    sizes = {"slots": 6, "width": 4, "d_hidden": 5}
    whole, less = ntm.NTM(3, 2, **sizes), trained.MACHINES[part](3, 2, **sizes)
    less.load_state_dict(whole.state_dict(), strict=False)  # the noise is its own
    h, x = torch.randn(2, 5), torch.randn(2, 4, 3)
    free, pinned = whole.told(h), less.told(h)
    changed = [name for name in free._fields if not torch.equal(getattr(free, name), getattr(pinned, name))]
    assert changed == ([] if part == "empty memory" else [trained.PINS[part][0]])
    assert not torch.allclose(whole(x)[0], less(x)[0])


def test_pinned_stages_do_nothing():
    state = ntm.NTM(3, 2, slots=6, width=4, d_hidden=5).begin(torch.zeros(1, 3))
    for part, stage in {"content": "found", "shift": "moved", "sharpening": "sharp"}.items():
        machine = trained.Without(part, 3, 2, slots=6, width=4, d_hidden=5)
        told = machine.told(torch.randn(1, 5))
        stages = {
            "found": (ntm.interpolate(torch.rand(1, 2, 6), state.weights, told.gate), state.weights),
            "moved": (ntm.rotate(state.weights, told.moves), state.weights),
            "sharp": (ntm.sharpen(torch.full((1, 2, 6), 1 / 6), told.power), torch.full((1, 2, 6), 1 / 6)),
        }
        assert_close(*stages[stage])


def test_cost_counts_bits_where_the_answer_counts():
    batch = task.copy(3, 2, torch.Generator().manual_seed(0))
    assert_close(task.cost(torch.full((3, 5, 8), 0.5), batch), torch.full((3,), 16.0))
    sure = torch.where(batch.targets > 0.5, 1.0, 0.0)
    sure[:, :3] = 1 - sure[:, :3]  # before the answer nobody asks
    assert_close(task.cost(sure, batch), torch.zeros(3))


def test_test_data_is_not_training_data():
    """Streams of trainings start at small seeds; measurements draw from 10^9 on."""
    model, card = zoo.load("ntm-small")
    _, batch = trained.run(model, card["config"], 0, 4, length=3)
    first = next(task.stream(task.copy, 4, 0, length=(3, 3)))
    assert not torch.equal(batch.inputs, first.inputs)


def test_a_named_batch_keeps_its_names_on_its_way_to_the_device():
    moved = to(task.copy(2, 3, torch.Generator().manual_seed(0)), torch.device("meta"))
    assert isinstance(moved, task.Batch) and moved.inputs.device.type == "meta"


def test_lessons_go_from_long_copies_to_many_repetitions():
    sizes = []
    for _, batch in zip(range(300), trained.lessons(1, 0, alone=100, growth=100), strict=False):
        length = int(batch.inputs[0, :, 8].argmax())
        sizes.append((length, (batch.inputs.shape[1] - length - 2) // length))
    first, last = sizes[:100], sizes[200:]
    assert {times for _, times in first} == {1} and max(length for length, _ in first) == 20
    assert max(length for length, _ in last) == 10 and {times for _, times in last} == set(range(1, 11))
    grown = [max(times for _, times in sizes[a : a + 25]) for a in (100, 150, 200)]
    assert grown == sorted(grown)
