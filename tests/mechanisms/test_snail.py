"""The convolution against Conv1d and a loop, sight by perturbation, causality in training too, and the whole model."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from attncourse.core import masks
from attncourse.mechanisms import snail

READERS = {
    "snail": lambda: snail.snail(6, 3, 12, filters=4, d_key=4),
    "attention only": lambda: snail.attention_only(6, 3, d_key=4),
    "convolution only": lambda: snail.convolution_only(6, 3, 12, filters=4),
}


def seen_by(model, x, t):
    """Which inputs change output t when they alone are changed.    x (1, T, D) -> set of positions"""

    def first(found):
        return found[0] if isinstance(found, tuple) else found

    before, seen = first(model(x))[0, t], set()
    for s in range(x.shape[1]):
        other = x.clone()
        other[:, s] += torch.randn_like(other[:, s])
        if not torch.equal(first(model(other))[0, t], before):
            seen.add(s)
    return seen


@pytest.mark.parametrize("dilation", [1, 2, 5, 20])
@pytest.mark.parametrize("kernel", [1, 2, 3])
def test_the_convolution_is_conv1d_with_zeros_on_the_left(dilation, kernel):
    layer, x = snail.CausalConv(3, 4, dilation, kernel).double(), torch.randn(2, 9, 3).double()
    weight = layer.W.weight.unflatten(1, (kernel, 3)).mT  # (4, D, kernel): the layout of Conv1d
    padded = F.pad(x.mT, ((kernel - 1) * dilation, 0))
    assert_close(layer(x), F.conv1d(padded, weight, layer.W.bias, dilation=dilation).mT)
    by_loop = torch.stack([
        layer.W.bias + sum(weight[:, :, kernel - 1 - i] @ x[1, t - i * dilation]
                           for i in range(kernel) if t >= i * dilation)
        for t in range(9)
    ])  # fmt: skip
    assert_close(layer(x)[1], by_loop)


def test_a_dense_block_keeps_its_input_and_adds_a_gated_convolution():
    block, x = snail.DenseBlock(3, 5, 2).double(), torch.randn(2, 7, 3).double()
    y = block(x)
    assert y.shape == (2, 7, 8) and torch.equal(y[..., :3], x)
    new, gate = block.both(x)[..., :5], block.both(x)[..., 5:]
    assert_close(y[..., 3:], new.tanh() / (1 + (-gate).exp()))


@pytest.mark.parametrize(
    ("length", "expected"), [(1, [1]), (2, [1]), (3, [1, 2]), (8, [1, 2, 4]), (9, [1, 2, 4, 8]), (26, [1, 2, 4, 8, 16])]
)
def test_as_few_doublings_as_it_takes(length, expected):
    assert snail.dilations(length) == expected
    assert 1 + sum(expected) >= length and (len(expected) == 1 or 1 + sum(expected[:-1]) < length)


@pytest.mark.parametrize("length", [2, 5, 8, 12])
def test_the_last_position_sees_the_first(length):
    torch.manual_seed(0)
    block = snail.TCBlock(3, 4, length).double()
    reach = 2 ** len(snail.dilations(length))
    x = torch.randn(1, reach + 3, 3).double()
    assert seen_by(block, x, reach + 2) == set(range(3, reach + 3))  # 2ⁿ positions, and not one more


def test_dilations_from_two_see_even_distances_only():
    """Why `dilations` starts at 1 and not where the paper's pseudo-code does."""
    torch.manual_seed(0)
    blocks = nn.Sequential(snail.DenseBlock(3, 4, 2), snail.DenseBlock(7, 4, 4), snail.DenseBlock(11, 4, 8)).double()
    assert seen_by(blocks, torch.randn(1, 16, 3).double(), 15) == {1, 3, 5, 7, 9, 11, 13, 15}


def test_the_attention_block_looks_back_row_by_row():
    torch.manual_seed(0)
    block, x = snail.AttentionBlock(4, 3, 5).double(), torch.randn(2, 6, 4).double()
    block.key.weight.data.normal_()  # it starts equal to the query's
    y, [weights] = block(x)
    assert y.shape == (2, 6, 9) and torch.equal(y[..., :4], x)
    assert_close(weights.sum(-1), torch.ones(2, 6).double())
    for t in range(6):
        scores = block.key(x[1, : t + 1]) @ block.query(x[1, t]) / 3**0.5
        assert_close(weights[1, t, : t + 1], scores.softmax(0))
        assert_close(y[1, t, 4:], scores.softmax(0) @ block.value(x[1, : t + 1]))
        assert not weights[1, t, t + 1 :].any()


def test_query_and_key_start_alike_and_learn_apart():
    block = snail.AttentionBlock(4, 3, 5)
    assert torch.equal(block.query.weight, block.key.weight) and block.query.weight is not block.key.weight


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", READERS)
def test_the_future_changes_nothing(name, mode):
    torch.manual_seed(0)
    model, x = READERS[name](), torch.randn(3, 12, 6)
    getattr(model, mode)()
    y, weights = model(x)
    for t in range(11):
        other = x.clone()
        other[:, t + 1 :] = 100 * torch.randn_like(other[:, t + 1 :])
        changed, looked = model(other)
        assert_close(changed[:, : t + 1], y[:, : t + 1])
        assert all(torch.equal(a[:, : t + 1], b[:, : t + 1]) for a, b in zip(weights, looked, strict=True))
        assert not torch.allclose(changed[:, t + 1 :], y[:, t + 1 :])


def test_the_test_above_finds_the_leak_of_a_softmax_over_queries():
    """Mask, then softmax over dim 1: each column sums to one over the queries, so a later query takes weight away."""
    scores = torch.randn(1, 6, 6)
    masked = scores.masked_fill(~masks.causal(6), -torch.inf)
    other = masked.clone()
    other[:, 5, :] += torch.randn(6)
    assert torch.equal(masked.softmax(2)[:, :5], other.softmax(2)[:, :5])
    assert not torch.allclose(masked.softmax(1)[:, :5], other.softmax(1)[:, :5])


def test_the_halves_are_the_whole_without_the_other_half():
    kinds = {name: [type(block) for block in make().blocks] for name, make in READERS.items()}
    attention, convolution = snail.AttentionBlock, snail.TCBlock
    assert kinds["snail"] == [attention, convolution, attention, convolution, attention]
    assert kinds["attention only"] == [attention] * 3 and kinds["convolution only"] == [convolution] * 2
    assert [len(make()(torch.randn(1, 12, 6))[1]) for make in READERS.values()] == [3, 3, 0]


def few_shot():
    torch.manual_seed(0)
    return snail.FewShot(snail.Embed(8, (8, 8, 8, 8)), snail.snail(8 + 5, 5, 12, 4, 4))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_a_query_is_asked_by_itself(mode):
    """Neither another query nor another episode of the batch changes the answer, not even in training."""
    model, images, labels = few_shot(), torch.rand(3, 10 + 4, 28, 28), torch.randint(5, (3, 10))
    getattr(model, mode)()
    logits, weights = model(images, labels)
    assert logits.shape == (3, 4, 5) and [w.shape for w in weights] == [(3, 4, 11, 11)] * 3
    for b in range(3):
        for q in range(4):
            alone = torch.cat([images[b : b + 1, :10], images[b : b + 1, 10 + q : 11 + q]], 1)
            one, looked = model(alone, labels[b : b + 1])
            assert_close(one[0, 0], logits[b, q], atol=1e-5, rtol=1e-4)
            assert_close(looked[2][0, 0], weights[2][b, q], atol=1e-5, rtol=1e-4)


def test_the_query_comes_without_a_label():
    model, vectors = few_shot(), torch.randn(2, 7, 8)
    x = model.sequences(vectors, torch.tensor([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]))
    assert x.shape == (2, 2, 6, 13)
    assert torch.equal(x[1, 0, :5, 8:], torch.eye(5).flip(0)) and not x[:, :, 5, 8:].any()
    assert torch.equal(x[:, 1, 5, :8], vectors[:, 6]) and torch.equal(x[:, 0, :5, :8], vectors[:, :5])
