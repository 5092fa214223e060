"""The NTM's tasks: what is asked can be answered from what was given, and the optimum is the optimum."""

import math

import pytest
import torch
from torch.testing import assert_close

from attncourse.tasks import algorithmic as task


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_copy():
    inputs, targets, counts = task.copy(3, 5, generator())
    assert inputs.shape == (3, 11, 9) and targets.shape == (3, 11, 8)
    assert torch.equal(targets[:, counts], inputs[:, :5, :8]) and int(counts.sum()) == 5
    assert inputs[:, :, 8].sum(0).tolist() == [0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0]
    assert not inputs[:, counts].any()  # silence while it answers


def test_repeat_copy():
    inputs, targets, counts = task.repeat_copy(3, 4, 3, generator())
    answer = targets[:, counts]
    for i in range(3):
        assert torch.equal(answer[:, 4 * i : 4 * i + 4, :8], inputs[:, :4, :8])
    assert answer[:, :, 8].sum(0).tolist() == [0] * 12 + [3]
    said = torch.stack([task.repeat_copy(1, 1, k, generator()).inputs[0, 1, 9] for k in range(1, 11)])
    assert_close(said.mean(), torch.tensor(0.0))
    assert_close(said.square().mean(), torch.tensor(1.0))


@pytest.mark.parametrize("items", [2, 6, 15])
def test_associative_recall(items):
    inputs, targets, counts = task.associative_recall(50, items, generator())
    marks = [t for t in range(inputs.shape[1]) if inputs[0, t, 6] == 1]
    asked_at = [t for t in range(inputs.shape[1]) if inputs[0, t, 7] == 1]
    assert len(marks) == items and len(asked_at) == 2
    for b in range(50):
        given = [inputs[b, t + 1 : t + 4, :6] for t in marks]
        asked = inputs[b, asked_at[0] + 1 : asked_at[1], :6]
        followers = [given[i + 1] for i in range(items - 1) if torch.equal(given[i], asked)]
        assert any(torch.equal(targets[b, counts], f) for f in followers)
    with pytest.raises(ValueError, match="at least 2 items"):
        task.associative_recall(1, 1, generator())


def test_optimal_counts_what_it_has_seen():
    inputs = task.ngrams(4, generator(), length=60).inputs
    best = task.optimal(inputs)
    for b in range(4):
        seen, row = {}, inputs[b, :, 0].int().tolist()
        for t in range(60):
            if t < 4:
                assert best[b, t, 0] == 0.5
                continue
            zeros, ones = seen.get(tuple(row[t - 4 : t + 1]), (0, 0))
            assert best[b, t, 0].item() == pytest.approx((ones + 0.5) / (zeros + ones + 1))
            if t + 1 < 60:
                counts = [zeros, ones]
                counts[row[t + 1]] += 1
                seen[tuple(row[t - 4 : t + 1])] = tuple(counts)


def test_nothing_beats_the_optimum():
    """Its loss lies below a guess of ½ and below the same counts with another prior."""
    inputs, targets, counts = task.ngrams(400, generator())

    def bits(p):
        p = torch.where(targets > 0.5, p, 1 - p)[:, counts]
        return -p.log2().sum((1, 2)).mean().item()

    best = task.optimal(inputs)
    flatter = 0.5 + (best - 0.5) * 0.8
    assert bits(best) < bits(flatter) < bits(torch.full_like(best, 0.5)) == 196


def test_ngram_chances_are_beta_half_half():
    """Var of Beta(½, ½) is 1/8: seen in the pairwise agreement of bits that follow the same context."""
    rng = generator(3)
    chance = torch._sample_dirichlet(torch.full((20_000, 2), 0.5), rng)[:, 0]
    assert chance.var().item() == pytest.approx(1 / 8, abs=4 * math.sqrt(1 / 8 / 20_000))


def test_priority_sort():
    inputs, targets, counts = task.priority_sort(3, generator())
    assert inputs.shape == (3, 37, 10) and int(counts.sum()) == 16
    for b in range(3):
        pairs = sorted(zip(inputs[b, :20, 8].tolist(), inputs[b, :20, :8].tolist(), strict=True), reverse=True)
        assert targets[b, counts].tolist() == [vector for _, vector in pairs[:16]]


def test_streams_repeat_and_keep_to_their_ranges():
    first, again = (task.stream(task.copy, 2, 5, length=(1, 4)) for _ in range(2))
    lengths = set()
    for _ in range(40):
        a, b = next(first), next(again)
        assert torch.equal(a.inputs, b.inputs)
        lengths.add((a.inputs.shape[1] - 1) // 2)
    assert lengths == {1, 2, 3, 4}


def test_bit_errors():
    batch = task.copy(2, 3, generator())
    logits = 2 * batch.targets - 1
    assert task.bit_errors(logits, batch).tolist() == [0, 0]
    logits[0, 4, :3] *= -1
    logits[1, 0] = 9  # before the answer: nobody asks
    assert task.bit_errors(logits, batch).tolist() == [3, 0]
