"""Mirrored windows: what an image is, where partners are, and that agreement is 1 for the data and 0 by chance."""

import pytest
import torch
from torch.testing import assert_close

from attncourse.tasks import windows as task


def test_images_are_mirrored_windows():
    images = task.images(20, 0)
    assert images.shape == (20, 3, 32, 32) and images.abs().max() <= 1
    assert images.equal(images.flip(3))
    assert_close(task.render(task.colours_of(images)), images)
    assert task.unmirrored(20, torch.Generator().manual_seed(0)).unique().numel() == 20 * 3 * 8


def test_the_same_seed_gives_the_same_and_training_never_meets_the_test():
    first, again = (next(task.stream(4, 7)) for _ in range(2))
    assert first.equal(again) and not first.equal(next(task.stream(4, 8)))
    assert task.images(4, 7).equal(task.images(4, 7)) and not task.images(4, 7).equal(first)
    stream = task.stream(4, 7)
    assert not next(stream).equal(next(stream))


def test_partners_have_the_same_colour_and_are_as_far_apart_as_is_said():
    colours = task.patterns(5, torch.Generator().manual_seed(1)).flatten(2)  # (5, 3, 8)
    partner = task.partners()
    assert colours.equal(colours[..., partner])
    assert partner[partner].equal(torch.arange(8)) and (partner != torch.arange(8)).all()
    apart = (partner - torch.arange(8)).abs() * task.PANE[1]  # in the same row
    assert apart.unique().tolist() == task.APART == [4, 12, 20, 28]


def test_agreement_is_the_loop_over_all_pairs_of_images():
    torch.manual_seed(0)
    pictures = torch.randn(6, 3, 32, 32)
    pictures[..., 16:] += 0.7 * pictures[..., :16].flip(3) + 0.2
    colours = task.colours_of(pictures.double())

    def apart(i, j, k):
        return (colours[i, :, :, 3 - k] - colours[j, :, :, 4 + k]).square().mean().item()

    strangers = [(i, j) for i in range(6) for j in range(6) if i != j]
    expected = []
    for k in range(4):
        own, other = (sum(apart(i, j, k) for i, j in pairs) / len(pairs) for pairs in (own_pairs(6), strangers))
        expected.append(1 - own / other)
    assert task.agreement(pictures) == pytest.approx(expected)


def own_pairs(n):
    return [(i, i) for i in range(n)]


def test_the_data_score_one_and_chance_is_zero():
    assert task.agreement(task.images(300, 1)) == pytest.approx([1] * 4)
    assert task.spread(task.images(300, 1)) == pytest.approx(1, abs=0.05)
    chance = task.render(task.unmirrored(3000, torch.Generator().manual_seed(1)))
    assert max(map(abs, task.agreement(chance))) < 0.03


def test_one_image_again_and_again_agrees_no_more_than_by_chance():
    same = task.images(1, 3).expand(50, -1, -1, -1)
    assert task.agreement(same) == pytest.approx([0] * 4, abs=1e-6) and task.spread(same) == pytest.approx(0)


def test_strangers_agree_when_all_windows_of_an_image_look_alike():
    assert abs(task.strangers(task.images(3000, 1))) < 0.03
    alike = task.render(task.unmirrored(300, torch.Generator().manual_seed(1))[..., :1].expand(-1, -1, -1, 8))
    assert task.strangers(alike) == pytest.approx(1) and task.agreement(alike) == pytest.approx([1] * 4)
