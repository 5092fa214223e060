"""Implicit attention: every map against Captum, loops and what must hold; and the model is left as it was found."""

from itertools import pairwise

import captum.attr as captum
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from attncourse.mechanisms import implicit
from attncourse.mechanisms.implicit import (
    ConvNet,
    cascade,
    gradcam,
    gradient,
    integrated_gradients,
    jacobian,
    occlusion,
)

LAST = "features.3"


@pytest.fixture
def net():
    torch.manual_seed(0)
    model = ConvNet((4, 5, 6, 7), classes=3)
    for _ in range(3):
        model(torch.rand(8, 1, 20, 20))  # batch normalisation has seen something
    return model.eval()


@pytest.fixture
def batch():
    torch.manual_seed(1)
    return torch.rand(4, 1, 20, 16), torch.tensor([0, 2, 1, 2])


class Words(nn.Module):
    """No image, no convolution: (B, T, D) -> (B, K), with dropout."""

    def __init__(self):
        super().__init__()
        self.hidden, self.drop, self.out = nn.Linear(5, 6), nn.Dropout(0.5), nn.Linear(6, 3)

    def forward(self, x):
        return self.out(self.drop(torch.tanh(self.hidden(x))).mean(1))


# ---- each map equals Captum's ----


def test_saliency_and_gradient_times_input_equal_captum(net, batch):
    x, target = batch
    assert_close(implicit.saliency(net, x, target), captum.Saliency(net).attribute(x, target))
    assert_close(implicit.gradient_x_input(net, x, target), captum.InputXGradient(net).attribute(x, target).detach())


def test_smoothgrad_equals_captum_with_the_same_noise(net, batch):
    x, target = batch
    tunnel = captum.NoiseTunnel(captum.Saliency(net))
    torch.manual_seed(3)
    options = {"nt_type": "smoothgrad", "nt_samples": 6, "stdevs": 0.3, "target": target, "abs": False}
    expected = tunnel.attribute(x, **options)
    torch.manual_seed(3)
    assert_close(implicit.smoothgrad(net, x, target, sigma=0.3, n=6), expected)


@pytest.mark.parametrize("baseline", [0.0, 0.7])
def test_integrated_gradients_equal_captum(net, batch, baseline):
    x, target = batch
    ours = integrated_gradients(net, x, target, baseline, steps=20)
    options = {"n_steps": 20, "method": "riemann_middle"}
    assert_close(ours, captum.IntegratedGradients(net).attribute(x, baseline, target, **options))


@pytest.mark.parametrize("layer", ["features.0", "features.2.0", LAST])
def test_gradcam_equals_captum(net, batch, layer):
    x, target = batch
    oracle = captum.LayerGradCam(net, net.get_submodule(layer))
    expected = oracle.attribute(x, target, relu_attributions=True)[:, 0]
    assert_close(gradcam(net, x, target, layer), expected.detach())


@pytest.mark.parametrize(("window", "stride", "fill"), [(8, 4, 0.0), (6, 5, 0.5), (3, 3, 0.0)])
def test_occlusion_equals_captum(net, batch, window, stride, fill):
    x, target = batch  # 20 and 16 are no multiples of every stride: windows are cut at the edge
    options = {"sliding_window_shapes": (1, window, window), "strides": (1, stride, stride), "baselines": fill}
    expected = captum.Occlusion(net).attribute(x, target=target, **options)[:, 0]
    assert_close(occlusion(net, x, target, window, stride, fill), expected)


# ---- the Jacobian ----


def test_jacobian_equals_torchs_own_and_its_rows_are_the_gradients(net, batch):
    x, _ = batch
    rows = jacobian(net, x)
    assert rows.shape == (4, 3, 1, 20, 16)
    for i, one in enumerate(x):
        assert_close(rows[i], torch.autograd.functional.jacobian(lambda z: net(z[None])[0], one))
    for k in range(3):
        assert_close(rows[:, k], gradient(net, x, torch.full((4,), k)))


def test_jacobian_predicts_a_small_step(net, batch):
    x, _ = (t.double() if t.is_floating_point() else t for t in batch)
    net.double()
    step = 1e-6 * torch.randn_like(x)
    with torch.no_grad():
        change = net(x + step) - net(x)
    assert_close(torch.einsum("bkchw,bchw->bk", jacobian(net, x), step), change, rtol=1e-3, atol=1e-9)


# ---- what must hold ----


def test_integrated_gradients_sum_to_the_difference_of_scores(net, batch):
    x, target = batch
    with torch.no_grad():
        gained = implicit.chosen(net(x) - net(torch.zeros_like(x)), target)
    assert_close(integrated_gradients(net, x, target, steps=200).sum((1, 2, 3)), gained, rtol=0.02, atol=0.01)


def test_gradcam_is_class_activation_mapping_before_a_mean_and_a_linear_layer(net, batch):
    """With the mean and one linear layer on top, α_k = w_k / (h·w): the map of Zhou et al. 2016 and a factor."""
    x, target = batch
    A = net.features(x)
    cam = torch.einsum("bk,bkhw->bhw", net.out.weight[target], A).relu() / A[0, 0].numel()
    assert_close(gradcam(net, x, target, LAST), cam.detach())


def test_gradcam_by_loop(net, batch):
    x, target = batch
    for i in range(4):
        A = net.features(x[i : i + 1]).detach().requires_grad_()
        net.out(A.mean((2, 3)))[0, target[i]].backward()
        total = sum(A.grad[0, k].mean() * A[0, k] for k in range(A.shape[1]))
        assert_close(gradcam(net, x, target, LAST)[i], total.clamp(min=0).detach())


def test_an_image_alone_and_in_a_batch(net, batch):
    x, target = batch
    net.train()  # batch normalisation would mix the images, were it not put to rest
    for method in (implicit.saliency, occlusion, lambda *a: gradcam(*a, LAST), integrated_gradients):
        assert_close(method(net, x, target)[1:2], method(net, x[1:2], target[1:2]))


def test_any_module_and_any_input():
    torch.manual_seed(0)
    model, x, target = Words(), torch.randn(2, 4, 5), torch.tensor([2, 0])
    assert jacobian(model, x).shape == (2, 3, 4, 5)
    assert_close(implicit.saliency(model, x, target), implicit.saliency(model, x, target))  # dropout is off
    tunnelled = implicit.smoothgrad(model, x, target, sigma=0.0, n=3)
    assert_close(tunnelled, gradient(model, x, target))
    assert_close(integrated_gradients(model, x, target, baseline=x), torch.zeros_like(x))


def test_a_pixel_that_is_not_read_is_not_salient(batch):
    class Left(nn.Module):
        def forward(self, x):
            return x[..., :8].flatten(1) @ torch.linspace(0, 1, 8 * 20 * 3).reshape(-1, 3)

    x, target = batch
    for m in (implicit.saliency(Left(), x, target)[:, 0], occlusion(Left(), x, target, 2, 2)):
        assert m[..., 8:].eq(0).all() and m[..., :8].gt(0).float().mean() > 0.9


# ---- as it was found ----


@pytest.mark.parametrize("training", [True, False])
def test_everything_is_left_as_it_was(net, batch, training):
    x, target = batch
    x.requires_grad_()
    net.train(training)
    net.features[1].eval()  # a part may be in another mode than the whole
    net.out.weight.grad = torch.ones_like(net.out.weight)
    net.features[2].requires_grad_(False)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    modes = [m.training for m in net.modules()]
    with torch.no_grad():  # also inside, a map can be asked for
        implicit.saliency(net, x, target)
        implicit.gradient_x_input(net, x, target)
        implicit.smoothgrad(net, x, target, n=2)
        integrated_gradients(net, x, target, steps=2)
        jacobian(net, x)
        occlusion(net, x, target, 10, 10)
        gradcam(net, x, target, LAST)
        with pytest.raises(ValueError):
            gradcam(net, x, target[:2], LAST)
    assert modes == [m.training for m in net.modules()] and x.grad is None and x.requires_grad
    assert_close(dict(net.state_dict()), before)
    assert net.out.weight.grad.eq(1).all() and net.out.bias.grad is None
    assert not any(p.requires_grad for p in net.features[2].parameters())
    assert not any(m._forward_hooks or m._backward_hooks or m._forward_pre_hooks for m in net.modules())


def test_gradcam_where_no_parameter_learns(net, batch):
    expected = gradcam(net, *batch, LAST)
    assert_close(gradcam(net.requires_grad_(False), *batch, LAST), expected)


def test_errors_teach(net, batch):
    x, target = batch
    with pytest.raises(ValueError, match=r"no layer 'conv5'; there are: features, features.0, .*out"):
        gradcam(net, x, target, "conv5")
    with pytest.raises(ValueError, match=r"output \(B, K, h, w\); out gives \(4, 3\)"):
        gradcam(net, x, target, "out")
    with pytest.raises(ValueError, match=r"one class a row; these are scores \(4, 3\) and target \(2,\)"):
        implicit.saliency(net, x, target[:2])


# ---- parameter randomisation ----


def test_the_cascade_replaces_one_layer_after_another_from_the_top(net):
    before = {k: v.clone() for k, v in net.state_dict().items()}
    names, changed = [], []
    for name, model in cascade(net):
        names.append(name)
        state = model.state_dict()
        changed.append({k for k in state if "weight" in k and state[k].dim() > 1 and not state[k].equal(before[k])})
    assert names == ["out", "features.3.0", "features.2.0", "features.1.0", "features.0.0"]
    assert [len(c) for c in changed] == [1, 2, 3, 4, 5] and all(a < b for a, b in pairwise(changed))
    assert_close(dict(net.state_dict()), before)  # the model itself is untouched


def test_the_cascade_is_the_same_for_the_same_seed_and_leaves_the_global_one(net):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, second = ([m.out.weight.clone() for _, m in cascade(net, s)][-1] for s in (0, 1))
    assert torch.rand(1).equal(expected) and not first.equal(second)
