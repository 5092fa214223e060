"""The four stages against loops and brute force, the machine against one head at a time, and what it must never do."""

import numpy as np
import pytest
import torch
from scipy.ndimage import convolve1d
from torch.testing import assert_close

from attncourse.bench import ntm as ntm_bench
from attncourse.mechanisms import ntm


def weighting(*shape):
    return torch.rand(*shape).double().softmax(-1)


def test_content_is_the_softmax_of_the_scaled_cosine():
    key, memory, strength = torch.randn(2, 3, 4).double(), torch.randn(2, 6, 4).double(), torch.rand(2, 3).double() * 9
    weights = ntm.content(key, strength, memory)
    for b in range(2):
        for h in range(3):
            cosine = torch.stack([key[b, h] @ m / key[b, h].norm() / m.norm() for m in memory[b]])
            assert_close(weights[b, h], (strength[b, h] * cosine).softmax(0))
    assert_close(ntm.content(5 * key, strength, 3 * memory), weights)  # only directions count


def test_content_of_an_empty_memory_is_uniform_and_has_a_gradient():
    key = torch.randn(1, 1, 4, requires_grad=True)
    weights = ntm.content(key, torch.ones(1, 1), torch.zeros(1, 5, 4))
    assert_close(weights, torch.full((1, 1, 5), 0.2))
    weights[0, 0, 0].backward()
    assert key.grad.isfinite().all()


def test_a_trace_in_an_empty_slot_decides_nothing():
    """The plain cosine would send a gradient of about 1e6 there."""
    memory = torch.full((1, 4, 20), 1e-6).double().requires_grad_()
    key, strength = torch.linspace(-1, 1, 20).double().view(1, 1, 20), torch.full((1, 1), 5.0).double()
    weights = ntm.content(key, strength, memory)
    weights[0, 0, 0].backward()
    assert_close(weights, torch.full((1, 1, 4), 0.25).double(), atol=1e-3, rtol=0)
    assert memory.grad.abs().max() < 5 / ntm.EMPTY
    full = ntm.content(key, strength, torch.eye(4, 20)[None].double() * ntm.EMPTY)  # from there on it is the cosine
    assert_close(full, ntm.content(key, strength, torch.eye(4, 20)[None].double()))


def test_interpolation_ends():
    found, previous = weighting(2, 3, 5), weighting(2, 3, 5)
    one = torch.ones(2, 3).double()
    assert_close(ntm.interpolate(found, previous, one), found)
    assert_close(ntm.interpolate(found, previous, 0 * one), previous)
    assert_close(ntm.interpolate(found, previous, 0.25 * one), 0.25 * found + 0.75 * previous)


@pytest.mark.parametrize("size", [1, 3, 5])
@pytest.mark.parametrize("slots", [6, 7])
def test_shift_is_a_circular_convolution(size, slots):
    weights, moves = weighting(2, 3, slots), weighting(2, 3, size)
    shifted = ntm.rotate(weights, moves)
    for b, h in np.ndindex(2, 3):
        expected = convolve1d(weights[b, h].numpy(), moves[b, h].numpy(), mode="wrap")
        assert_close(shifted[b, h], torch.from_numpy(expected))
        by_the_paper = [
            sum(weights[b, h, j] * moves[b, h, (i - j + size // 2) % slots] for j in range(slots)
                if (i - j + size // 2) % slots < size)
            for i in range(slots)
        ]  # fmt: skip
        assert_close(shifted[b, h], torch.stack(by_the_paper))
    assert_close(shifted.sum(-1), torch.ones(2, 3).double())


def test_a_move_of_one_goes_to_the_next_slot():
    at_the_end = torch.tensor([[[0.0, 0.0, 1.0]]])
    assert ntm.rotate(at_the_end, torch.tensor([[[0.0, 0.0, 1.0]]]))[0, 0].tolist() == [1, 0, 0]
    assert ntm.rotate(at_the_end, torch.tensor([[[1.0, 0.0, 0.0]]]))[0, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("size", [2, 4, 7])
def test_moves_that_make_no_sense_are_refused(size):
    with pytest.raises(ValueError, match=f"{size} moves over 3 slots"):
        ntm.rotate(weighting(1, 1, 3), weighting(1, 1, size))


def test_sharpen():
    weights, power = weighting(2, 3, 5), 1 + 4 * torch.rand(2, 3).double()
    expected = weights ** power[..., None]
    assert_close(ntm.sharpen(weights, power), expected / expected.sum(-1, keepdim=True))
    assert_close(ntm.sharpen(weights, torch.ones(2, 3).double()), weights)


def test_sharpening_survives_zeros_and_large_powers():
    weights = torch.tensor([[[1e-30, 1e-30, 0.0]]], requires_grad=True)
    sharp = ntm.sharpen(weights, torch.tensor([[50.0]]))
    sharp[0, 0, 0].backward()
    assert_close(sharp.sum(), torch.tensor(1.0))
    assert weights.grad.isfinite().all()


def test_all_heads_erase_before_any_adds():
    memory, weights = torch.rand(2, 5, 4).double(), weighting(2, 3, 5)
    erase, add = torch.rand(2, 3, 4).double(), torch.randn(2, 3, 4).double()
    expected = memory.clone()
    for h in range(3):
        expected = expected * (1 - torch.einsum("bn,bw->bnw", weights[:, h], erase[:, h]))
    for h in range(3):
        expected = expected + torch.einsum("bn,bw->bnw", weights[:, h], add[:, h])
    assert_close(ntm.write(memory, weights, erase, add), expected)


def test_a_full_erase_leaves_just_what_is_added():
    one_slot = torch.tensor([[[0.0, 1.0, 0.0]]])
    memory = ntm.write(torch.full((1, 3, 2), 7.0), one_slot, torch.ones(1, 1, 2), torch.tensor([[[3.0, 4.0]]]))
    assert memory[0].tolist() == [[7, 7], [3, 4], [7, 7]]
    assert ntm.read(memory, one_slot)[0, 0].tolist() == [3, 4]


@pytest.mark.parametrize("stage", ["content", "interpolate", "rotate", "sharpen", "write"])
def test_gradients(stage):
    torch.manual_seed(0)
    inputs = {
        "content": (torch.randn(1, 2, 3), torch.rand(1, 2) * 3, torch.randn(1, 4, 3)),
        "interpolate": (weighting(1, 2, 4), weighting(1, 2, 4), torch.rand(1, 2)),
        "rotate": (weighting(1, 2, 4), weighting(1, 2, 3)),
        "sharpen": (weighting(1, 2, 4), 1 + torch.rand(1, 2)),
        "write": (torch.randn(1, 4, 3), weighting(1, 2, 4), torch.rand(1, 2, 3), torch.randn(1, 2, 3)),
    }[stage]
    assert torch.autograd.gradcheck(getattr(ntm, stage), [x.double().requires_grad_() for x in inputs])


def one_head_at_a_time(model, x):
    """The machine as the paper tells it: a loop over batch and heads."""
    outputs = []
    for b in range(len(x)):
        state, ys = model.begin(x[b : b + 1]), []
        memory, weights, reads, inner = state
        for x_t in x[b : b + 1].unbind(1):
            h, inner = model.controller(torch.cat([x_t, reads.flatten(1)], -1), inner)
            numbers = model.address(h).view(model.readers + model.writers, -1)
            found = []
            for head, row in enumerate(numbers):
                k, beta, g, s, gamma = row.split(model.sizes)
                stages = torch.cosine_similarity(k[None], memory[0], dim=-1, eps=ntm.EMPTY)
                w = (torch.nn.functional.softplus(beta) * stages).softmax(0)
                w = g.sigmoid() * w + (1 - g.sigmoid()) * weights[0, head]
                w = sum(
                    p * w.roll(o) for p, o in zip(s.softmax(0), range(-(len(s) // 2), len(s) // 2 + 1), strict=True)
                )
                w = w ** (1 + torch.nn.functional.softplus(gamma))
                found.append(w / w.sum())
            weights = torch.stack(found)[None]
            e, a = model.change(h).view(model.writers, -1).chunk(2, -1)
            writing = weights[0, model.readers :]
            for w, one in zip(writing, e, strict=True):
                memory = memory * (1 - w[:, None] * one.sigmoid())
            for w, one in zip(writing, a, strict=True):
                memory = memory + w[:, None] * one
            reads = torch.stack([w @ memory[0] for w in weights[0, : model.readers]])[None]
            ys.append(model.out(torch.cat([h, reads.flatten(1)], -1)))
        outputs.append(torch.stack(ys, 1))
    return torch.cat(outputs)


@pytest.mark.parametrize("controller", [ntm.FeedForward, ntm.Recurrent])
@pytest.mark.parametrize(("readers", "writers", "reach"), [(1, 1, 1), (3, 2, 2)])
def test_the_machine_equals_one_head_at_a_time(controller, readers, writers, reach):
    torch.manual_seed(0)
    model = ntm.NTM(3, 2, controller, 7, slots=6, width=4, readers=readers, writers=writers, reach=reach).double()
    x = torch.randn(2, 5, 3).double()
    logits, state = model(x)
    assert_close(logits, one_head_at_a_time(model, x))
    assert_close(state.weights.sum(-1), torch.ones(2, readers + writers).double())


def test_stepping_equals_running_and_a_run_can_be_continued():
    model, x = ntm.NTM(3, 2, slots=6, width=4, d_hidden=5), torch.randn(2, 6, 3)
    logits, last = model(x)
    first, state = model(x[:, :4])
    second, state = model(x[:, 4:], state)
    assert_close(torch.cat([first, second], 1), logits)
    assert_close(state.memory, last.memory)


def test_no_input_changes_an_earlier_output():
    model, x = ntm.NTM(3, 2, slots=6, width=4, d_hidden=5), torch.randn(2, 6, 3)
    other = torch.cat([x[:, :4], torch.randn(2, 2, 3)], 1)
    for mode in (True, False):
        model.train(mode)
        assert torch.equal(model(x)[0][:, :4], model(other)[0][:, :4])


@pytest.mark.parametrize("kind", [ntm_bench.Plain, ntm_bench.PerSample, ntm_bench.OneByOne])
def test_what_the_benchmark_compares_computes_the_same(kind):
    torch.manual_seed(0)
    model, other = (make(3, 2, slots=6, width=4, d_hidden=5, readers=2, writers=2).double() for make in (ntm.NTM, kind))
    other.load_state_dict(model.state_dict())
    x = torch.randn(3, 5, 3).double()
    assert_close(other(x)[0], model(x)[0])
