"""The core: masks, scores, attend."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close

from attncourse import attend
from attncourse.bench import core as bench
from attncourse.core import masks, scores

B, TQ, TK, D, DV = 3, 4, 5, 6, 7


def qkv(dtype=torch.float64):
    return torch.randn(B, TQ, D, dtype=dtype), torch.randn(B, TK, D, dtype=dtype), torch.randn(B, TK, DV, dtype=dtype)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def additive():
    return scores.Additive(D, D, 8).double()


def loop_dot(query, keys):
    return torch.stack(
        [torch.stack([torch.stack([q @ k for k in ks]) for q in qs]) for qs, ks in zip(query, keys, strict=True)]
    )


def loop_additive(score, query, keys):
    W_q, W_k, v = score.W_q.weight, score.W_k.weight, score.v
    rows = [[[v @ torch.tanh(W_q @ q + W_k @ k) for k in ks] for q in qs] for qs, ks in zip(query, keys, strict=True)]
    return torch.stack([torch.stack([torch.stack(r) for r in rs]) for rs in rows])


def test_scores_equal_their_loops():
    query, keys, _ = qkv()
    assert_close(scores.dot(query, keys), loop_dot(query, keys))
    assert_close(scores.scaled_dot(query, keys), loop_dot(query, keys) / D**0.5)
    score = additive()
    assert_close(score(query, keys), loop_additive(score, query, keys))


def test_additive_takes_different_sizes_and_extra_axes():
    score = scores.Additive(3, 9, 8)
    assert score(torch.randn(2, 4, 3), torch.randn(2, 5, 9)).shape == (2, 4, 5)
    assert score(torch.randn(2, 6, 4, 3), torch.randn(2, 6, 5, 9)).shape == (2, 6, 4, 5)


@pytest.mark.parametrize("score", [scores.dot, scores.scaled_dot, additive()], ids=["dot", "scaled", "additive"])
def test_gradients_of_attend(score):
    mask = torch.rand(B, TQ, TK) > 0.4
    inputs = [x.requires_grad_() for x in qkv()]
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, score, mask), inputs)


@pytest.mark.parametrize("masked", [False, True])
def test_attend_equals_torch(masked):
    query, keys, values = qkv()
    mask = (torch.rand(B, TQ, TK) > 0.4) if masked else None
    if masked:
        mask[..., 0] = True  # torch leaves a fully masked row undefined
    context, weights = attend(query, keys, values, mask=mask)
    assert_close(context, F.scaled_dot_product_attention(query, keys, values, mask))
    assert_close(weights.sum(-1), torch.ones(B, TQ, dtype=torch.float64))


def test_masked_softmax_equals_softmax_of_what_is_left():
    row = torch.randn(1, 1, 6)
    mask = torch.tensor([True, False, True, True, False, False])
    weights = masks.softmax(row, mask)
    assert_close(weights[..., mask], row[..., mask].softmax(-1))
    assert (weights[..., ~mask] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_fully_masked_rows_are_zero_forward_and_backward(dtype):
    logits = torch.randn(2, 3, 4, dtype=dtype, requires_grad=True)
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    mask[0, 1] = False
    weights = masks.softmax(logits, mask)
    assert (weights[0, 1] == 0).all()
    (weights * torch.randn_like(weights)).sum().backward()
    assert logits.grad.isfinite().all()
    assert (logits.grad[0, 1] == 0).all()
    assert (logits.grad[0, 0] != 0).any()


def test_masked_softmax_survives_large_logits():
    logits = torch.tensor([[[1e4, -1e4, 1e4, 3e4]]])
    weights = masks.softmax(logits, torch.tensor([True, True, True, False]))
    assert_close(weights, torch.tensor([[[0.5, 0.0, 0.5, 0.0]]]))


def test_masked_values_cannot_be_seen():
    query, keys, values = qkv()
    mask = masks.padding(torch.tensor([5, 2, 3]), TK)
    before, _ = attend(query, keys, values, mask=mask)
    hidden = ~mask.transpose(1, 2)  # (B, TK, 1)
    noise = 100 * torch.randn(B, TK, 1, dtype=torch.float64) * hidden
    after, _ = attend(query, keys + noise, values + noise, mask=mask)
    assert_close(before, after)


def test_keys_have_no_order():
    query, keys, values = qkv()
    order = torch.randperm(TK)
    context, weights = attend(query, keys, values)
    moved, moved_weights = attend(query, keys[:, order], values[:, order])
    assert_close(context, moved)
    assert_close(weights[..., order], moved_weights)


def test_padding_and_causal_masks():
    assert masks.padding(torch.tensor([1, 3]), 3).tolist() == [[[True, False, False]], [[True, True, True]]]
    assert masks.causal(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_errors_say_what_would_be_right():
    query, keys, values = qkv()
    with pytest.raises(ValueError, match=r"dot needs equal sizes: query has 6, keys have 5; use `General\(6, 5\)`"):
        scores.dot(query, torch.randn(B, TK, 5))
    with pytest.raises(TypeError, match=r"True = may attend.*int64"):
        attend(query, keys, values, mask=torch.ones(B, TQ, TK, dtype=torch.long))
    with pytest.raises(ValueError, match=r"mask \(3, 5\) does not broadcast.*masks.padding"):
        attend(query, keys, values, mask=torch.ones(B, TK, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"keys have 5 positions.*values have 4"):
        attend(query, keys, values[:, :4])


def test_attend_equals_torchs_math_path_and_multi_head_attention():
    """The partners of `attncourse bench core` compute the same thing, weights included."""
    query, keys, values = qkv()
    with sdpa_kernel(SDPBackend.MATH):
        assert_close(attend(query, keys, values)[0], F.scaled_dot_product_attention(query, keys, values))
    x, module = torch.randn(2, 5, 12), torch.nn.MultiheadAttention(12, 3, batch_first=True).eval()
    assert_close(bench.multi_head(x, module), module(x, x, x, need_weights=True, average_attn_weights=False))
