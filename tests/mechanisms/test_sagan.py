"""Chapter 16's block, networks and losses: against loops, `attend`, torch.linalg and scipy."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized
from torch.testing import assert_close

from attncourse import attend
from attncourse.bench import sagan as sagan_bench
from attncourse.core import scores
from attncourse.mechanisms import sagan

POOLED = partial(sagan.ImageAttention, pool=2)


def opened(block):
    """The block with its gate open, so that what it reads can be seen."""
    block.out.gamma.data.fill_(0.7)
    return block.eval()


def small(block=POOLED):
    torch.manual_seed(0)
    return sagan.GAN(block, d_latent=5, channels=8)


# ---- the block ----


@pytest.mark.parametrize("widths", [(3, 6), (6, 3), (4, 4)])
def test_the_fused_path_reads_what_attend_reads(widths):
    torch.manual_seed(0)
    d_key, d_value = widths
    parts = [torch.randn(2, n, d, requires_grad=True) for n, d in ((7, d_key), (5, d_key), (5, d_value))]
    upstream = torch.randn(2, 7, d_value)
    ours = sagan.fused(*parts)
    expected, _ = attend(*parts, scores.dot)
    assert_close(ours, expected)
    for a, b in zip(*(torch.autograd.grad(y, parts, upstream) for y in (ours, expected)), strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("pool", [1, 2])
def test_the_block_is_the_papers_sum_over_positions(pool):
    torch.manual_seed(1)
    block, x = opened(sagan.ImageAttention(8, pool)), torch.randn(2, 8, 4, 6)
    y, weights = block(x), block.weights(x)
    f, g, h = block.keys(x), block.query(x), block.values(x)
    n, m = 24, 24 // pool**2
    assert weights.shape == (2, n, m)
    for b in range(2):
        for j in range(n):
            r, c = divmod(j, 6)
            at = (b, slice(None), r, c)
            cells = [divmod(i, 6 // pool) for i in range(m)]
            score = torch.stack([f[b, :, r, c] @ g[at] for r, c in cells])
            beta = score.exp() / score.exp().sum()
            assert_close(weights[b, j], beta)
            read = sum(w * h[b, :, r, c] for w, (r, c) in zip(beta, cells, strict=True))
            out = (block.out.inner.weight[:, :, 0, 0] @ read) * 0.7 + x[at]
            assert_close(y[at], out)


def test_the_general_block_with_a_dot_product_is_the_papers():
    torch.manual_seed(2)
    block, x = opened(sagan.ImageAttention(16)), torch.randn(2, 16, 5, 5)
    general = sagan.NonLocal(block.query, block.keys, block.values, block.out)
    assert_close(general(x), block(x))
    context, weights = attend(*block.parts(x), scores.dot)
    assert_close(block.weights(x), weights)
    assert_close(block(x), x + block.out(context.mT.reshape(2, 8, 5, 5)))


def test_another_score_is_another_non_local_block():
    torch.manual_seed(3)
    block, x = opened(sagan.ImageAttention(16)), torch.randn(2, 16, 5, 5)
    general = sagan.NonLocal(block.query, block.keys, block.values, block.out, scores.scaled_dot)
    assert_close(general.weights(x), attend(*block.parts(x), scores.scaled_dot)[1])
    assert (general(x) - block(x)).abs().max() > 1e-3


def test_f_and_g_exchanged_is_a_renaming():
    """A block with keys and query exchanged, and their weights too, is the same function."""
    torch.manual_seed(4)
    block, x = opened(sagan.ImageAttention(8)), torch.randn(2, 8, 4, 4)
    query, keys, _ = block.parts(x)
    scored = torch.einsum("bjd,bid->bji", query, keys)  # s_ij with g at j and f at i
    renamed = torch.einsum("bid,bjd->bji", keys, query)  # the two factors in the other order
    assert_close(scored, renamed)
    wrong = scored.softmax(1)  # what is not a renaming: the other axis
    assert (wrong.sum(-1) - 1).abs().max() > 0.05 and (wrong - block.weights(x)).abs().max() > 0.05


@pytest.mark.parametrize("block", [sagan.ImageAttention, POOLED, sagan.Residual])
def test_on_the_first_step_the_output_is_the_input_and_only_the_gate_learns(block):
    torch.manual_seed(5)
    block, x = block(16), torch.randn(2, 16, 8, 8, requires_grad=True)
    y = block(x)
    assert y.equal(x)
    upstream = torch.randn_like(y)
    y.backward(upstream)
    assert x.grad.equal(upstream)
    inside = {name: p.grad for name, p in block.named_parameters() if not name.endswith("gamma")}
    assert inside and all((grad == 0).all() for grad in inside.values())
    assert block.out.gamma.grad.abs() > 1e-3


def test_the_map_moves_with_the_image():
    """A 1×1 convolution does not know where it is: positions that change places take their weights along."""
    torch.manual_seed(6)
    block, x = opened(sagan.ImageAttention(8)), torch.randn(1, 8, 4, 4)
    order = torch.randperm(16)
    moved = x.flatten(2)[:, :, order].view_as(x)
    assert_close(block(moved).flatten(2), block(x).flatten(2)[:, :, order])


@pytest.mark.parametrize("channels", [32, 64])
def test_the_control_has_as_many_parameters(channels):
    def count(module):
        return sum(p.numel() for p in module.parameters())

    assert abs(count(sagan.Residual(channels)) / count(sagan.ImageAttention(channels)) - 1) < 0.05
    assert abs(count(sagan.GAN(sagan.Residual)) / count(sagan.GAN(POOLED)) - 1) < 0.05


def test_the_control_sees_its_neighbours_only():
    torch.manual_seed(7)
    x = torch.randn(1, 16, 9, 9, requires_grad=True)
    for block, reach in ((sagan.Residual(16), 1), (sagan.ImageAttention(16), 8)):
        [slope] = torch.autograd.grad(opened(block)(x)[0, :, 0, 0].sum(), x)
        rows, columns = slope[0].abs().sum(0).nonzero().T
        assert max(rows.max(), columns.max()) == reach


# ---- the networks ----


def test_shapes_and_range():
    model = small()
    z = model.draw(3)
    images = model(z)
    assert images.shape == (3, 3, 32, 32) and images.abs().max() <= 1
    assert model.generator.before(z).shape == model.discriminator.before(images).shape == (3, 8, 16, 16)
    assert model.discriminator(images).shape == (3,)


def test_every_layer_of_both_networks_has_spectral_norm_one():
    model = small()
    for _ in range(60):  # a forward pass in training is a step of the power iteration
        model.discriminator(model(model.draw(2)))
    layers = [m for m in model.modules() if isinstance(m, nn.Conv2d | nn.ConvTranspose2d | nn.Linear)]
    assert len(layers) == 16 and all(is_parametrized(layer, "weight") for layer in layers)
    for layer in layers:
        weight = layer.weight.transpose(0, 1) if isinstance(layer, nn.ConvTranspose2d) else layer.weight
        assert_close(torch.linalg.matrix_norm(weight.flatten(1), 2), torch.tensor(1.0), rtol=0, atol=0.02)


def test_variety_is_the_spread_over_the_batch():
    torch.manual_seed(8)
    x = torch.randn(5, 4, 3, 3)
    y = sagan.variety(x)
    assert y[:, :4].equal(x)
    for r in range(3):
        for c in range(3):
            spread = np.mean([np.sqrt(np.var(x[:, k, r, c].numpy()) + 1e-6) for k in range(4)])
            assert_close(y[:, 4, r, c], torch.full((5,), float(spread)))
    assert sagan.variety(x[:1].expand(5, -1, -1, -1))[:, 4].max() < 2e-3


# ---- the losses ----


def test_hinge_by_hand():
    real, fake = torch.tensor([2.0, 0.5, -1.0]), torch.tensor([-3.0, 0.0])
    assert sagan.discriminator_loss(real, fake).item() == pytest.approx((0 + 0.5 + 2) / 3 + (0 + 1) / 2)
    assert sagan.generator_loss(fake).item() == pytest.approx(1.5)


def test_one_backward_pass_gives_each_network_its_own_gradient(monkeypatch):
    monkeypatch.setattr(sagan, "blur", lambda images: images)
    model, real = small().eval(), torch.randn(4, 3, 32, 32).tanh()
    model.generator.block.out.gamma.data.fill_(0.3)
    torch.manual_seed(9)
    sagan.loss(model, real).backward()
    together = {name: p.grad.clone() for name, p in model.named_parameters()}
    torch.manual_seed(9)
    fake = model(model.draw(4))
    judged = sagan.discriminator_loss(model.discriminator(real), model.discriminator(fake))
    judge = dict(model.discriminator.named_parameters())
    expected = dict(zip(judge, torch.autograd.grad(judged, judge.values(), retain_graph=True), strict=True))
    for name, grad in expected.items():
        assert_close(together[f"discriminator.{name}"], grad)
    maker = dict(model.generator.named_parameters())
    cheated = torch.autograd.grad(sagan.generator_loss(model.discriminator(fake)), maker.values())
    for name, grad in zip(maker, cheated, strict=True):
        assert_close(together[f"generator.{name}"], grad)
    assert all(p.requires_grad for p in model.parameters())


def test_frozen_thaws_after_an_error():
    model = small()
    with pytest.raises(RuntimeError), sagan.frozen(model.discriminator):
        raise RuntimeError
    assert all(p.requires_grad for p in model.parameters())


def test_two_learning_rates():
    model = small()
    first, second = sagan.optimizer(model).param_groups
    assert (first["lr"], second["lr"], first["betas"]) == (1e-4, 4e-4, (0.0, 0.9))
    assert {id(p) for p in first["params"]} == {id(p) for p in model.generator.parameters()}
    assert {id(p) for p in second["params"]} == {id(p) for p in model.discriminator.parameters()}


# ---- the distance of two clouds ----


def test_frechet_is_scipys():
    draw = np.random.default_rng(0)
    for n, d in ((200, 6), (40, 12), (9, 12)):  # the last with covariances that have no inverse
        a, b = draw.normal(size=(n, d)) @ draw.normal(size=(d, d)), draw.normal(size=(n + 7, d)) + 0.3
        sigma, other = np.cov(a.T), np.cov(b.T)
        root = scipy.linalg.sqrtm((sigma + 1e-10 * np.eye(d)) @ (other + 1e-10 * np.eye(d))).real
        expected = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(sigma + other - 2 * root)
        assert sagan.frechet(torch.from_numpy(a), torch.from_numpy(b)).item() == pytest.approx(expected, rel=1e-3)


def test_frechet_of_known_clouds():
    x = torch.randn(500, 4, dtype=torch.float64)
    assert abs(sagan.frechet(x, x).item()) < 1e-9
    assert sagan.frechet(x, x + 2).item() == pytest.approx(16)  # |μ − μ'|² = 4 · 2²
    spread = x.var(0).sum().item()
    assert sagan.frechet(x, 3 * x - 2 * x.mean(0)).item() == pytest.approx(4 * spread)  # (3 − 1)² tr Σ
    assert math.isclose(sagan.frechet(x, x + 1).item(), sagan.frechet(x + 1, x).item(), rel_tol=1e-9)


# ---- the benchmark ----


def test_the_benchmark_compares_equal_things():
    block, x = sagan.ImageAttention(16, pool=2).eval(), torch.randn(2, 16, 8, 8)
    assert_close(sagan_bench.explicit(block, x), sagan_bench.by_fusing(block, x))
    for run in sagan_bench.candidates(8, 2, 16).values():
        run()


def test_the_benchmark_measures_the_map():
    """16 maps of 1024×1024 floats are 64 MiB each: a step that holds them needs more than one that does not."""
    explicit, fused = (sagan_bench.peak(32, name) for name in ("explicit map", "fused"))
    assert explicit > fused + 100
