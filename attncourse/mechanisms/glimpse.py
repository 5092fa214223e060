"""Hard attention: look at one place, then decide where to look next (Mnih et al. 2014); and its soft relatives."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def glimpse(images: Tensor, place: Tensor, size: int, scales: int = 1) -> Tensor:
    """What a retina sees at `place`: squares around it, each twice as wide as the last, each on size × size points.

    images (B, C, rows, columns); place (B, 2) = (x, y), -1 and 1 are the image's edges, beyond them it is dark
    returns (B, C, scales, size, size), the finest first                        Mnih et al. 2014, sec. 3.1
    """
    if place.shape != (len(images), 2):
        raise ValueError(f"one place (x, y) for each image: places are {tuple(place.shape)}, not {(len(images), 2)}")
    step = torch.arange(size, device=place.device, dtype=place.dtype) - (size - 1) / 2  # (size,) pixels from the middle
    pixels = step * 2 ** torch.arange(scales, device=place.device)[:, None]  # (scales, size)
    x, y = (place[:, i, None, None] + pixels * 2 / images.shape[3 - i] for i in (0, 1))  # (B, scales, size) each
    grid = torch.stack([x[:, :, None].expand(-1, -1, size, -1), y[..., None].expand(-1, -1, -1, size)], -1)
    seen = F.grid_sample(images, grid.flatten(1, 2).to(images.dtype), align_corners=False)  # (B, C, scales·size, size)
    return seen.unflatten(2, (scales, size))


class PlaceChoice(NamedTuple):
    """The next place, which carries no gradient, and how probable it was, which does."""

    place: Tensor  # (B, 2)
    log_prob: Tensor  # (B,)


Policy = Callable[[Tensor], PlaceChoice]  # mean (B, 2) -> PlaceChoice


def gaussian(std: float) -> Policy:
    """place ~ N(mean, std²), and its log-probability *as drawn*; only then is it brought back into the image."""

    def draw(mean: Tensor) -> PlaceChoice:
        drawn = (mean + std * torch.randn_like(mean)).detach()
        each = -(((drawn - mean) / std) ** 2) / 2 - math.log(std * math.sqrt(2 * math.pi))  # (B, 2)
        return PlaceChoice(drawn.clamp(-1, 1), each.sum(-1))

    return draw


def greedy(mean: Tensor) -> PlaceChoice:
    """The most probable place: what is done when nothing is to be learned."""
    return PlaceChoice(mean.detach().clamp(-1, 1), mean.new_zeros(len(mean)))


def uniform(mean: Tensor) -> PlaceChoice:
    """Anywhere: the looks that a policy has to beat."""
    return PlaceChoice(2 * torch.rand_like(mean.detach()) - 1, mean.new_zeros(len(mean)))


class Looks(NamedTuple):
    """What happened in T looks. There are T - 1 choices: nobody chooses a place after the last look."""

    logits: Tensor  # (B, T, classes), after each look
    places: Tensor  # (B, T, 2)
    log_prob: Tensor  # (B, T - 1)
    baseline: Tensor  # (B, T - 1)


class RAM(nn.Module):
    """The recurrent attention model: five small networks and a state.             Mnih et al. 2014, fig. 1

        g_t = relu(W_g [relu(W_p ρ(image, l_t)); relu(W_l l_t)]),   h_t = relu(W_h [h_{t-1}; g_t])
        l_{t+1} ~ N(tanh(W_m h_t), σ²),   P(class) = softmax(W_a h_t),   b_t = w_b h_t

    images (B, 1, rows, columns), looks T, policy: `gaussian(σ)` to learn, `greedy` to act -> Looks

    Differs from the paper: a tanh keeps the mean inside the image; the first look is at the middle; g has 128
    numbers instead of 256; the class is asked after every look, not only after the last.
    """

    def __init__(self, size: int = 8, scales: int = 1, classes: int = 10, d_part=128, d_glimpse=128, d_core=256):
        super().__init__()
        self.size, self.scales = size, scales
        self.what, self.where = nn.Linear(scales * size**2, d_part), nn.Linear(2, d_part)
        self.join, self.core = nn.Linear(2 * d_part, d_glimpse), nn.Linear(d_core + d_glimpse, d_core)
        self.location, self.baseline, self.action = (nn.Linear(d_core, d) for d in (2, 1, classes))

    def look(self, images: Tensor, place: Tensor, h: Tensor) -> Tensor:
        """One look at place (B, 2) moves the state.    h (B, d_core) -> (B, d_core)"""
        seen = glimpse(images, place, self.size, self.scales).flatten(1)  # (B, scales·size²)
        parts = torch.cat([self.what(seen).relu(), self.where(place).relu()], -1)
        return self.core(torch.cat([h, self.join(parts).relu()], -1)).relu()

    def forward(self, images: Tensor, looks: int, policy: Policy) -> Looks:
        h = images.new_zeros(len(images), self.core.out_features)
        choices, states = [policy(images.new_zeros(len(images), 2))], []
        for t in range(looks):  # the next place needs the state after this look
            h = self.look(images, choices[t].place, h)
            states.append(h)
            if t + 1 < looks:
                choices.append(policy(self.location(h).tanh()))
        h = torch.stack(states, 1)  # (B, T, d_core)
        places, log_prob = (torch.stack(part, 1) for part in zip(*choices, strict=True))
        baseline = self.baseline(h[:, :-1].detach())[..., 0]  # learned by regression, not through the policy
        return Looks(self.action(h), places, log_prob[:, 1:], baseline)


def returns(rewards: Tensor) -> Tensor:
    """What comes after each choice: the mean of the later looks' rewards.    (B, T) -> (B, T - 1)"""
    later = rewards[:, 1:].flip(1).cumsum(1)  # from the last look backwards
    return (later / torch.arange(1, rewards.shape[1], device=rewards.device)).flip(1)


def hybrid(looks: Looks, labels: Tensor, weight: float = 0.1) -> Tensor:
    """Cross-entropy for what it says, REINFORCE for where it looks, regression for the baseline. -> loss

        -mean log P(label) - weight · mean log π(l) (R - b) + mean (R - b)²         Mnih et al. 2014, sec. 3.2

    Differs from the paper: the reward is P(label), the mean of its 0-or-1 reward over draws of the class, after
    every look; R is the mean of the rewards that follow.
    """
    if not looks.log_prob.numel():
        raise ValueError("after one look nothing has been chosen, so no policy can be learned: take at least two looks")
    chosen = labels[:, None, None].expand(-1, looks.logits.shape[1], 1)
    log_p = looks.logits.log_softmax(-1).gather(-1, chosen)[..., 0]  # (B, T)
    advantage = returns(log_p.detach().exp()) - looks.baseline  # (B, T - 1)
    policy = looks.log_prob * advantage.detach()  # the advantage is a number here, not a function
    return -log_p.mean() - weight * policy.mean() + advantage.square().mean()


def affine_read(images: Tensor, theta: Tensor, size: int) -> Tensor:
    """A window that may be moved, scaled, turned and sheared, read on size × size points, bilinearly.

        (x_s, y_s) = theta (x_t, y_t, 1)                            Jaderberg et al. 2015, eq. 1

    images (B, C, rows, columns), theta (B, 2, 3), which maps the window's -1..1 into the image's -> (B, C, size, size)
    """
    grid = F.affine_grid(theta, [*images.shape[:2], size, size], align_corners=False)  # (B, size, size, 2)
    return F.grid_sample(images, grid.to(images.dtype), align_corners=False)


class SpatialTransformer(nn.Module):
    """A place, chosen softly: theta comes from the image itself, and the gradient from what is read.

    images (B, 1, rows, columns) of `pixels` pixels -> what is read (B, 1, size, size), theta (B, 2, 3)
    The last layer starts as the identity: the whole image, neither moved nor turned.    Jaderberg et al. 2015, sec. 3
    """

    def __init__(self, pixels: int, size: int, d_hidden: int = 32):
        super().__init__()
        self.size, self.hidden, self.theta = size, nn.Linear(pixels, d_hidden), nn.Linear(d_hidden, 6)
        nn.init.zeros_(self.theta.weight)
        with torch.no_grad():
            self.theta.bias.copy_(self.theta.bias.new_tensor([1, 0, 0, 0, 1, 0]))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        theta = self.theta(self.hidden(images.flatten(1)).relu()).unflatten(-1, (2, 3))  # (B, 2, 3)
        return affine_read(images, theta, self.size), theta


def filterbank(centre: Tensor, stride: Tensor, sigma: Tensor, size: int, pixels: int) -> Tensor:
    """`size` Gaussians along a line of pixels, each normalised over the pixels.    Gregor et al. 2015, sec. 3.2

        mu_i = centre + (i - size/2 + 1/2) stride,   F[i, a] = exp(-(a - mu_i)²/2σ²) / Z_i

    centre, stride, sigma (B,), in pixels, the first is 0 -> (B, size, pixels)
    """
    i, a = (torch.arange(n, device=centre.device, dtype=centre.dtype) for n in (size, pixels))
    mu = centre[:, None] + (i - size / 2 + 0.5) * stride[:, None]  # (B, size)
    scores = -((a - mu[..., None]) ** 2) / (2 * sigma[:, None, None] ** 2)  # (B, size, pixels)
    return scores.softmax(-1)  # the same as exp / Z, also where every exp would be 0


def draw_read(images: Tensor, place: Tensor, spread: Tensor, sigma: Tensor, size: int, intensity=1.0) -> Tensor:
    """A place, read softly: every point of the grid is a Gaussian mean over the whole image.

        intensity · F_Y image F_Xᵀ                              Gregor et al. 2015, sec. 3.2

    images (B, C, rows, columns), place (B, 2) as in `glimpse`, spread (B,): 1 = the grid spans the image's longer
    side, sigma (B,) in pixels -> (B, C, size, size)

    Differs from the paper: pixels count from 0, place is in the units of `glimpse`, and all five numbers are given
    here, where DRAW's decoder says them.
    """
    rows, columns = images.shape[2:]
    stride = (max(rows, columns) - 1) / (size - 1) * spread  # (B,) pixels
    x, y = (((place[:, i] + 1) * n - 1) / 2 for i, n in ((0, columns), (1, rows)))  # (B,) pixels
    F_X, F_Y = (filterbank(at, stride, sigma, size, n)[:, None] for at, n in ((x, columns), (y, rows)))
    return intensity * (F_Y @ images @ F_X.mT)  # (B, 1, size, rows) (B, C, rows, columns) (B, 1, columns, size)
