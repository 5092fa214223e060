"""Implicit attention: what a network that has no attention in it depends on.

Every function takes any module with scores (B, K) as output, a batch `x` (B, …) and the class `target` (B,) whose
score is asked about. The module is used in eval mode and left as it was: modes, gradients, hooks, `x` itself.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ConvNet(nn.Module):
    """A plain convolutional classifier: four convolutions, the mean over all places, one linear layer.

    x (B, 1, H, W), any H and W from 6 up -> scores (B, classes)
    """

    def __init__(self, widths: tuple[int, ...] = (24, 40, 56, 64), classes: int = 10):
        super().__init__()
        a, b, c, d = widths
        # Strides instead of pooling, in windows that are a multiple of them: every pixel is read equally often.
        layers = [block(1, a, 6, stride=2), block(a, b, 4, stride=2), block(b, c, 3), block(c, d, 3)]
        self.features = nn.Sequential(*layers)
        self.out = nn.Linear(d, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.features(x).mean((2, 3)))  # (B, d, H/4, W/4) -> (B, d) -> (B, classes)


def block(d_in: int, d_out: int, size: int, stride: int = 1) -> nn.Sequential:
    """Convolution, batch normalisation, ReLU."""
    convolution = nn.Conv2d(d_in, d_out, size, stride, padding=(size - 1) // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(d_out), nn.ReLU())


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """Eval mode inside: dropout off, and no image of a batch depends on another. Each part's mode is put back."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.enable_grad():
            yield
    finally:
        for part, training in modes:
            part.training = training


def chosen(scores: Tensor, target: Tensor) -> Tensor:
    """The score of each example's target class.    scores (B, K), target (B,) int -> (B,)"""
    if scores.dim() != 2 or target.shape != scores.shape[:1]:
        seen = f"scores {tuple(scores.shape)} and target {tuple(target.shape)}"
        raise ValueError(f"a model's scores are (B, K) and target is (B,), one class a row; these are {seen}")
    return scores.gather(1, target[:, None])[:, 0]


def jacobian(model: nn.Module, x: Tensor) -> Tensor:
    """All of ∂S/∂x, one row a score; K backward passes, run side by side.    x (B, …) -> (B, K, …)"""
    with at_rest(model):
        return torch.func.vmap(torch.func.jacrev(lambda one: model(one[None])[0]))(x.detach())


def gradient(model: nn.Module, x: Tensor, target: Tensor) -> Tensor:
    """One row of the Jacobian, ∂S_c/∂x, in one backward pass for the whole batch.    -> as x"""
    with at_rest(model):
        x = x.detach().requires_grad_()
        total = chosen(model(x), target).sum()  # no score depends on another image: the sum mixes nothing
        return torch.autograd.grad(total, x)[0]


def saliency(model: nn.Module, x: Tensor, target: Tensor) -> Tensor:
    """|∂S_c/∂x|                                            Simonyan et al. 2013, sec. 3.1        -> as x

    Of the score S_c, before any softmax. For colour images the paper goes on with the largest of the channels.
    """
    return gradient(model, x, target).abs()


def gradient_x_input(model: nn.Module, x: Tensor, target: Tensor) -> Tensor:
    """x · ∂S_c/∂x: the first-order change of the score if this entry were set to zero.    -> as x"""
    return x.detach() * gradient(model, x, target)


def smoothgrad(model: nn.Module, x: Tensor, target: Tensor, sigma: float = 0.2, n: int = 25, rng=None) -> Tensor:
    """The mean gradient over n noisy copies of x.          Smilkov et al. 2017, sec. 3           -> as x

    `sigma` is in the units of x; `draw` a torch.Generator on x's device. The mean is signed: take abs() to show it.
    """
    copies = x.detach().repeat_interleave(n, 0)  # (B·n, …)
    noise = torch.randn(copies.shape, generator=rng, device=x.device, dtype=x.dtype)
    gradients = gradient(model, copies + sigma * noise, target.repeat_interleave(n))
    return gradients.unflatten(0, (-1, n)).mean(1)


def integrated_gradients(
    model: nn.Module, x: Tensor, target: Tensor, baseline: Tensor | float = 0.0, steps: int = 50
) -> Tensor:
    """(x − x̄) ∫₀¹ ∂S_c/∂x at x̄ + a (x − x̄) da              Sundararajan et al. 2017, eq. 1         -> as x

    x̄ is the baseline; the integral is the mean over `steps` midpoints. Its sum is S_c(x) − S_c(x̄), nearly.
    """
    way = x.detach() - baseline
    total = torch.zeros_like(way)
    for k in range(steps):  # one batch at a time: `steps` copies at once would need that many times the memory
        total += gradient(model, baseline + (k + 0.5) / steps * way, target)
    return way * total / steps


def gradcam(model: nn.Module, x: Tensor, target: Tensor, layer: str) -> Tensor:
    """relu(Σ_k α_k A^k), α_k = the mean over places of ∂S_c/∂A^k        Selvaraju et al. 2017, eq. 1 and 2

    A is the output of the module called `layer`, (B, K, h, w) -> (B, h, w); `enlarge` brings it to x's size.
    """
    names = dict(model.named_modules())
    if layer not in names:
        raise ValueError(f"there is no layer {layer!r}; there are: {', '.join(filter(None, names))}")
    kept = []
    hook = names[layer].register_forward_hook(lambda module, inputs, output: kept.append(output))
    try:
        with at_rest(model):
            total = chosen(model(x.detach().requires_grad_()), target).sum()
            if not kept or kept[0].dim() != 4:
                seen = f"gives {tuple(kept[0].shape)}" if kept else "was not run"
                raise ValueError(f"Grad-CAM needs a layer with output (B, K, h, w); {layer} {seen}")
            [slope] = torch.autograd.grad(total, kept[0])  # (B, K, h, w)
    finally:
        hook.remove()
    alpha = slope.mean((2, 3), keepdim=True)  # (B, K, 1, 1)
    return (alpha * kept[0].detach()).sum(1).relu()  # (B, h, w)


def enlarge(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """maps (B, h, w) -> (B, *size), bilinear"""
    return F.interpolate(maps[:, None], size=size, mode="bilinear", align_corners=False)[:, 0]


@torch.no_grad()
def occlusion(
    model: nn.Module, x: Tensor, target: Tensor, window: int = 8, stride: int = 4, fill: float = 0.0
) -> Tensor:
    """How far the score falls when a window is covered; a pixel's mean over the windows that cover it.

    Asks the model for scores only, no gradient: the check on all others.    x (B, C, H, W) -> (B, H, W)
    Zeiler & Fergus 2014, sec. 4.2
    """
    H, W = x.shape[2:]
    rows, columns = ([*range(0, max(n - window, 0) + stride, stride)] for n in (H, W))
    masks = x.new_zeros(len(rows) * len(columns), H, W)
    for i, (r, c) in enumerate((r, c) for r in rows for c in columns):
        masks[i, r : r + window, c : c + window] = 1  # at the edge a window may be cut off
    with at_rest(model), torch.no_grad():
        before = chosen(model(x), target)  # (B,)
        after = [chosen(model(torch.where(mask > 0, fill, x)), target) for mask in masks]
    fall = before - torch.stack(after)  # (P, B)
    return torch.einsum("pb,phw->bhw", fall, masks) / masks.sum(0)


def cascade(model: nn.Module, seed: int = 0) -> Iterator[tuple[str, nn.Module]]:
    """Adebayo et al. 2018, sec. 3: from the output down, replace the weights of one more layer by random ones.

    Yields each layer's name and a copy of the model in which it and all layers above it are random.
    """
    model = copy.deepcopy(model)
    layers = [(name, part) for name, part in model.named_modules() if hasattr(part, "reset_parameters")]
    for i, (name, part) in enumerate(reversed(layers)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1_000_003 * (i + 1) + seed)  # not the seed that the model itself began with
            part.reset_parameters()
        if next(part.parameters()).dim() > 1:  # a batch normalisation goes with the convolution below it
            yield name, model
