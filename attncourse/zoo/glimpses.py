"""The recurrent attention model on MNIST, as it is and lost among clutter (chapter 07)."""

from functools import partial
from itertools import count

import torch
import torch.nn.functional as F
from torch import nn

from ..mechanisms.glimpse import RAM, gaussian, greedy, hybrid, uniform
from ..running.training import batches, fit
from ..tasks import digits
from . import Recipe

PLAIN = {"size": 8, "scales": 1, "looks": 6, "ground": 28, "clutter": 0}
CLUTTERED = {"size": 12, "scales": 3, "looks": 6, "ground": 60, "clutter": 4}
LEARN = {"std": [0.2, 0.1], "random": 0.15}  # σ at the start and at the end; the share of steps with random looks
ONLY_RANDOM = {"std": [0.2, 0.1], "random": 1.0}


def build(config: dict) -> RAM:
    return RAM(config["size"], config["scales"])


def images(config: dict, size: int, seed: int):
    """Batches of images and labels, without end; MNIST as it is where the ground is as large as a digit."""
    if config["ground"] == 28:
        pixels, labels = digits.mnist("train")
        return ((x[:, None] / 255, y) for x, y in batches((pixels, labels), size, seed))
    return ((x, y) for x, y, _ in digits.stream(size, seed, config["ground"], config["clutter"]))


def loss(model: nn.Module, batch) -> torch.Tensor:
    x, labels, looks, std = batch
    return hybrid(model(x, looks, gaussian(std) if std else uniform), labels)


def train(model, config, seed, steps, checkpoint=None, device=None):
    """Random looks first, so that the net can read any glimpse before it decides where to look; then σ shrinks."""
    first, last = config["std"]

    def std(step):
        return first * (last / first) ** (step / steps) if step >= config["random"] * steps else None

    pairs = images(config, 128, seed)
    data = ((*next(pairs), config["looks"], std(step)) for step in count())

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 200, 1 - step / steps)

    return fit(
        model, data, loss, steps, lr=1e-3, schedule=schedule, clip=5.0, seed=seed, checkpoint=checkpoint, device=device
    )


def test_set(config: dict, seed: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """All of MNIST's test set, or n of it among fresh clutter.    -> images, labels"""
    if config["ground"] == 28:
        pixels, labels = digits.mnist("test")
        return pixels[:, None] / 255, labels
    return digits.sample(n, seed, config["ground"], config["clutter"], held_out=True)[:2]


@torch.no_grad()
def wrong(model: nn.Module, x: torch.Tensor, labels: torch.Tensor, looks: int, policy=greedy) -> torch.Tensor:
    """Is the answer after each look wrong?    -> bool (N, looks)"""
    device = next(model.parameters()).device
    answers = [model(part.to(device), looks, policy).logits.argmax(-1).cpu() for part in x.split(500)]
    return torch.cat(answers) != labels[:, None]


def evaluate(model, config, seed, n: int = 10_000) -> dict[str, float]:
    """error: greedy looks. error_random_glimpses: the same network, looking anywhere."""
    x, labels = test_set(config, seed, n)
    torch.manual_seed(seed)
    policies = {"error": greedy, "error_random_glimpses": uniform}
    return {
        name: wrong(model, x, labels, config["looks"], policy)[:, -1].float().mean().item()
        for name, policy in policies.items()
    }


class TwoLayers(nn.Module):
    """A convolutional net of two layers, which reads the whole image at once.    (B, 1, S, S) -> (B, classes)"""

    def __init__(self, ground: int, classes: int = 10):
        super().__init__()
        self.filters = nn.Conv2d(1, 8, 10, stride=5)
        self.hidden, self.out = nn.Linear(8 * ((ground - 10) // 5 + 1) ** 2, 256), nn.Linear(256, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.hidden(self.filters(x).relu().flatten(1)).relu())


def train_conv(model, config, seed, steps, checkpoint=None, device=None):
    def schedule(step):
        return min((step + 1) / 200, 1 - step / steps)

    return fit(
        model, images(config, 128, seed), lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]), steps,
        lr=1e-3, schedule=schedule, seed=seed, checkpoint=checkpoint, device=device,
    )  # fmt: skip


@torch.no_grad()
def evaluate_conv(model, config, seed, n: int = 10_000) -> dict[str, float]:
    x, labels = test_set(config, seed, n)
    device = next(model.parameters()).device
    answers = torch.cat([model(part.to(device)).argmax(-1).cpu() for part in x.split(500)])
    return {"error": (answers != labels).float().mean().item()}


RAMS = {  # name: about, config, steps
    "ram-mnist": ("six looks of 8×8 at MNIST digits", PLAIN | LEARN, 40_000),
    "ram-cluttered": ("six looks of 12×12 at three scales, 60×60 with clutter", CLUTTERED | LEARN, 50_000),
    "ram-cluttered-random": ("the same network, trained on random looks", CLUTTERED | ONLY_RANDOM, 50_000),
}
RECIPES = [
    Recipe(name, f"recurrent attention model: {about}", partial(dict, config), build, train, steps, evaluate)
    for name, (about, config, steps) in RAMS.items()
]
RECIPES.append(
    Recipe(
        "conv-cluttered",
        "a convolutional net of two layers: the same 60×60 images with clutter",
        partial(dict, CLUTTERED),
        lambda config: TwoLayers(config["ground"]),
        train_conv,
        steps=15_000,
        evaluate=evaluate_conv,
    )
)
