"""The short-sighted pair of chapter 16: what it can see is computed, before anything is trained."""

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized
from torch.testing import assert_close

from attncourse.mechanisms import mirror, sagan

BLOCKS = {"attention": mirror.PlacedAttention, "residual": mirror.PlacedResidual, "nothing": mirror.Nothing}
SHORT = ("residual", "nothing")


def opened(kind, **sizes):
    """The pair with open gates, as it is when used: a closed gate would hide what the block sees."""
    torch.manual_seed(0)
    model = mirror.MirrorGAN(BLOCKS[kind], **{"channels": 12, "d_noise": 4} | sizes).double().eval()
    for name, parameter in model.named_parameters():
        if name.endswith("gamma"):
            parameter.data.fill_(0.7)
    return model


def columns_seen(model, pixel):
    """Which of the eight columns of noise move a pixel of the top row, by the Jacobian."""
    noise = model.draw(1).requires_grad_()
    [slope] = torch.autograd.grad(model(noise)[0, :, 0, pixel].sum(), noise)
    return set(slope[0].abs().sum((0, 1)).nonzero()[:, 0].tolist())


@pytest.mark.parametrize("kind", SHORT)
def test_without_attention_far_partners_are_made_from_different_noise(kind):
    """So they are independent, whatever the weights: functions of different parts of independent noise.

    The residual block reaches one window further than nothing: its partners 12 pixels apart share some noise.
    """
    model = opened(kind)
    pairs = [(0, 31), (4, 27), *([(8, 23)] if kind == "nothing" else [])]  # partners 28, 20 and 12 pixels apart
    for left, right in pairs:
        assert not columns_seen(model, left) & columns_seen(model, right), (left, right)
    assert columns_seen(model, 12) & columns_seen(model, 19)  # the two columns in the middle may agree by themselves


def test_attention_sees_all_of_the_noise():
    model = opened("attention")
    assert columns_seen(model, 0) == columns_seen(model, 31) == set(range(8))


@pytest.mark.parametrize("kind", SHORT)
def test_independent_is_what_it_measures_too(kind):
    """New noise for the right half, the same for the left one: the left windows stay as they are to the last bit."""
    model, rng = opened(kind), torch.Generator().manual_seed(1)
    noise = model.draw(3, rng)
    other = noise.clone()
    other[..., 4:] = model.draw(3, rng)[..., 4:]
    with torch.no_grad():
        before, after = model(noise), model(other)
    assert before[..., :8].equal(after[..., :8]) and not before[..., -8:].equal(after[..., -8:])


def test_the_same_test_fails_for_attention():
    model, rng = opened("attention"), torch.Generator().manual_seed(1)
    noise = model.draw(3, rng)
    other = noise.clone()
    other[..., 4:] = model.draw(3, rng)[..., 4:]
    assert not model(noise)[..., :8].equal(model(other)[..., :8])


@pytest.mark.parametrize("kind", BLOCKS)
def test_the_judge_adds_what_it_thinks_of_near_places(kind):
    """∂²D / ∂(left pixel) ∂(right pixel) = 0 without attention: no score depends on both, so none asks them to agree.

    The batch's variety does not help: it compares the same place of different images.
    """
    judge = opened(kind).discriminator
    images = torch.rand(2, 3, 32, 32, dtype=torch.double, requires_grad=True)
    [slope] = torch.autograd.grad(judge(images)[0], images, create_graph=True)
    [second] = torch.autograd.grad((slope[0, :, :, :4] ** 2).sum(), images)
    far = second[..., -4:].abs().max()
    assert far > 1e-3 * second.abs().max() if kind == "attention" else far == 0


@pytest.mark.parametrize("kind", BLOCKS)
def test_shapes_and_range(kind):
    model = opened(kind)
    noise = model.draw(3)
    images = model(noise)
    assert images.shape == (3, 3, 32, 32) and images.abs().max() <= 1
    assert model.generator.before(noise).shape == model.discriminator.before(images).shape == (3, 12, 1, 8)
    assert model.discriminator(images).shape == (3,)


def test_the_block_is_the_equation():
    torch.manual_seed(1)
    block, x = opened("attention").generator.block, torch.randn(2, 12, 1, 8, dtype=torch.double)
    rows = x.flatten(2).mT  # (B, N, C)
    g, f, h = (rows @ w.mT for w in block.look.weight[:, :, 0, 0].split(block.widths))
    for b in range(2):
        for j in range(8):
            score = torch.stack([(g[b, j] + block.places[0, j]) @ (f[b, i] + block.places[1, i]) for i in range(8)])
            beta = score.exp() / score.exp().sum()
            assert_close(block.weights(x)[b, j], beta)
            read = 0.7 * block.out.inner.weight[:, :, 0, 0] @ (beta[:, None] * h[b]).sum(0)
            assert_close(block(x)[b, :, j // 8, j % 8], rows[b, j] + read)


@pytest.mark.parametrize("kind", ["attention", "residual"])
def test_at_first_the_block_is_nothing(kind):
    block, x = BLOCKS[kind](12), torch.randn(2, 12, 1, 8)
    assert block(x).equal(x)


def test_the_three_have_as_many_parameters():
    def count(model):
        return sum(p.numel() for p in model.parameters())

    from attncourse import zoo

    attention, *others = (count(zoo.recipe(f"{name}-mirror").build(zoo.recipe(f"{name}-mirror").config()))
                          for name in ("sagan", "residual", "plain"))  # fmt: skip
    assert all(abs(other / attention - 1) < 0.05 for other in others)


def test_two_batches_judged_in_one_call_are_two_batches():
    judge = opened("attention").discriminator
    real, fake = torch.rand(2, 5, 3, 32, 32, dtype=torch.double)
    assert_close(judge(torch.cat([real, fake]), parts=2), torch.cat([judge(real), judge(fake)]))


def test_one_backward_pass_gives_each_network_its_own_gradient(monkeypatch):
    model, real = opened("attention"), torch.rand(4, 3, 32, 32, dtype=torch.double)
    monkeypatch.setattr(model.discriminator, "train", lambda mode=True: model.discriminator)  # no power iteration
    torch.manual_seed(9)
    mirror.loss(model, real).backward()
    together = {name: p.grad.clone() for name, p in model.named_parameters()}
    torch.manual_seed(9)
    fake = model(model.draw(4))
    judged = sagan.discriminator_loss(model.discriminator(real), model.discriminator(fake))
    for part, value in (("discriminator", judged), ("generator", sagan.generator_loss(model.discriminator(fake)))):
        own = dict(getattr(model, part).named_parameters())
        for name, grad in zip(own, torch.autograd.grad(value, own.values(), retain_graph=True), strict=True):
            assert_close(together[f"{part}.{name}"], grad)


def test_every_layer_of_the_judge_has_spectral_norm_one():
    model = mirror.MirrorGAN(mirror.PlacedAttention, 12, 4)
    for _ in range(60):  # a forward pass in training is a step of the power iteration
        model.discriminator(torch.rand(2, 3, 32, 32))
    layers = [m for m in model.discriminator.modules() if isinstance(m, nn.Conv2d)]
    assert len(layers) == 5 and all(is_parametrized(layer, "weight") for layer in layers)
    for layer in layers:
        assert_close(torch.linalg.matrix_norm(layer.weight.flatten(1), 2), torch.tensor(1.0), rtol=0, atol=0.02)
