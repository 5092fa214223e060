"""The small networks that the answers of this chapter are given."""

import torch
from torch import Tensor, nn


class Net(nn.Module):
    """features, then head: x (B, C, H, W) -> A (B, K, H, W) -> scores (B, classes)."""

    def __init__(self, channels: int, d_features: int, classes: int):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(channels, d_features, 3, padding=1), nn.ReLU())
        self.head = nn.Sequential(
            nn.Conv2d(d_features, 6, 3, padding=1),
            nn.Tanh(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(6, classes),
        )
        with torch.no_grad():  # larger than PyTorch begins with: every slope has to show
            for p in self.parameters():
                p *= 4

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


class Counted(nn.Module):
    """A function of n_in numbers with n_out results that counts how often it is differentiated.

    jvp(x, v) gives J v, one pass forwards; vjp(x, u) gives Jᵀ u, one pass forwards and backwards.
    """

    def __init__(self, n_in: int, n_out: int):
        super().__init__()
        self.inner, self.outer = nn.Linear(n_in, 8), nn.Linear(8, n_out)
        self.n_in, self.n_out, self.passes = n_in, n_out, 0

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.tanh(3 * self.inner(x)))

    # By the chain rule, written out: torch.func loads for seconds at its first call, on the learner's clock.
    def jvp(self, x: Tensor, v: Tensor) -> Tensor:
        self.passes += 1
        return (self.outer.weight @ (self._slope(x) * (3 * self.inner.weight @ v))).detach()  # (n_out,)

    def vjp(self, x: Tensor, u: Tensor) -> Tensor:
        self.passes += 1
        return (3 * self.inner.weight.T @ (self._slope(x) * (self.outer.weight.T @ u))).detach()  # (n_in,)

    def _slope(self, x: Tensor) -> Tensor:
        return 1 - torch.tanh(3 * self.inner(x)) ** 2
