"""Mirrored patterns: what an image is, and the score against a loop over all pairs of images."""

import pytest
import torch
from torch.testing import assert_close

from attncourse.tasks import symmetry as task


def test_images_are_mirrored_cells():
    images = task.images(20, 0)
    assert images.shape == (20, 3, 32, 32) and images.abs().max() <= task.REACH
    assert images.equal(images.flip(3))
    cells = task.cells(images)
    assert_close(task.render(cells), images)
    assert task.unmirrored(20, torch.Generator().manual_seed(0)).unique().numel() == 20 * 3 * 16


def test_the_same_seed_gives_the_same_and_training_never_meets_the_test():
    first, again = (next(task.stream(4, 7)) for _ in range(2))
    assert first.equal(again) and not first.equal(next(task.stream(4, 8)))
    assert task.images(4, 7).equal(task.images(4, 7)) and not task.images(4, 7).equal(first)
    stream = task.stream(4, 7)
    assert not next(stream).equal(next(stream))


def test_partners_and_how_far_they_are_apart():
    assert task.APART == [4, 12, 20, 28]
    pictures = torch.zeros(1, 3, 32, 32)
    pictures[..., 12] = 1  # in the fourth column of cells, next to the middle
    left, right = task.halves(pictures)
    assert left[0, 0, 0].tolist() == [0.25, 0.0, 0.0, 0.0] and right.sum() == 0
    pictures = torch.zeros(1, 3, 32, 32)
    pictures[..., 31] = 1  # the outermost column on the right
    left, right = task.halves(pictures)
    assert right[0, 0, 0].tolist() == [0.0, 0.0, 0.0, 0.25] and left.sum() == 0


def test_consistency_is_the_loop_over_all_pairs():
    torch.manual_seed(0)
    pictures = torch.randn(7, 3, 32, 32)
    pictures[..., 16:] += 0.7 * pictures[..., :16].flip(3) + 0.2
    left, right = task.halves(pictures.double())

    def apart(i, j, k):
        return (left[i, :, :, k] - right[j, :, :, k]).square().mean().item()

    strangers = [(i, j) for i in range(7) for j in range(7) if i != j]
    at, others = [], []
    for k in range(4):
        own = sum(apart(i, i, k) for i in range(7)) / 7
        other = sum(apart(i, j, k) for i, j in strangers) / len(strangers)
        others.append(other)
        at.append(1 - own / other)
    score = task.consistency(pictures)
    assert score.at == pytest.approx(at)
    each = [1 - sum(apart(i, i, k) for k in range(4)) / sum(others) for i in range(7)]
    assert score.each.tolist() == pytest.approx(each) and score.value == pytest.approx(sum(each) / 7)


def test_the_data_score_one_and_chance_is_zero():
    data = task.consistency(task.images(300, 1))
    assert data.value == pytest.approx(1) and data.spread == pytest.approx(1, abs=0.05)
    rng = torch.Generator().manual_seed(1)
    chance = task.consistency(task.render(task.unmirrored(4000, rng)))
    assert abs(chance.value) < 0.02 and max(map(abs, chance.at)) < 0.03


@pytest.mark.parametrize("picture", ["mirrored", "unmirrored"])
def test_one_image_again_and_again_scores_zero_and_has_no_spread(picture):
    rng = torch.Generator().manual_seed(2)
    colours = (task.patterns if picture == "mirrored" else task.unmirrored)(1, rng)
    score = task.consistency(task.render(colours).expand(50, -1, -1, -1))
    assert score.value == pytest.approx(0, abs=1e-6) and score.spread == pytest.approx(0)


def test_halves_that_agree_only_in_the_middle():
    rng = torch.Generator().manual_seed(3)
    colours = task.patterns(2000, rng)
    colours[..., 7] = task.unmirrored(2000, rng)[..., 0]
    *near, far = task.consistency(task.render(colours)).at
    assert near == pytest.approx([1, 1, 1]) and abs(far) < 0.05
