"""A plain convolutional network on digits that may stand anywhere (chapter 01)."""

from itertools import count

import torch
import torch.nn.functional as F
from torch import nn

from ..mechanisms import implicit
from ..running.training import fit
from ..tasks import digits
from . import Recipe

LAST = "features.3"  # the layer that Grad-CAM looks at


def config() -> dict:
    return {"widths": [24, 40, 56, 64], "size": 40, "clutter": 2, "zoom": [22, 34]}


def build(config: dict) -> implicit.ConvNet:
    return implicit.ConvNet(tuple(config["widths"]))


def loss(model: nn.Module, batch) -> torch.Tensor:
    images, labels, _ = batch
    return F.cross_entropy(model(images), labels)


def train(model, config, seed, steps, checkpoint=None, device=None):
    """Two batches of lonely digits, then one among clutter in which the size varies, as in readers' drawings."""
    alone = digits.stream(32, seed, config["size"])
    among = digits.stream(32, seed + 1, config["size"], config["clutter"], config["zoom"])
    data = (tuple(next(among if step % 3 == 2 else alone)) for step in count())

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 200, 1 - step / steps)

    return fit(model, data, loss, steps, lr=5e-3, schedule=schedule, seed=seed, checkpoint=checkpoint, device=device)


def pointing(maps: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    """Is the largest entry of each map inside its box?    maps (N, S, S), boxes (N, 4) -> bool (N,)"""
    at = maps.flatten(1).argmax(1, keepdim=True)
    return digits.inside(boxes.to(maps.device), maps.shape[-1]).flatten(1).gather(1, at)[:, 0]


def evaluate(model, config, seed, n: int = 5_000) -> dict[str, float]:
    """accuracy: of translated test digits. gradcam_pointing: is the largest entry of the predicted class's Grad-CAM,
    enlarged to the image, inside the box around the digit's ink? Both again among clutter."""
    device = next(model.parameters()).device
    metrics = {}
    for suffix, clutter in (("", 0), ("_cluttered", config["clutter"])):
        right, found = [], []
        test = digits.sample(n, seed, config["size"], clutter, held_out=True)
        for images, labels, boxes in zip(*(x.split(250) for x in test), strict=True):
            images = images.to(device)
            with torch.no_grad():
                predicted = model(images).argmax(1)
            maps = implicit.enlarge(implicit.gradcam(model, images, predicted, LAST), images.shape[2:])
            right.append(predicted.cpu() == labels)
            found.append(pointing(maps.cpu(), boxes))
        metrics["accuracy" + suffix] = torch.cat(right).float().mean().item()
        metrics["gradcam_pointing" + suffix] = torch.cat(found).float().mean().item()
    return metrics


RECIPES = [
    Recipe(
        "digits-cnn",
        "a plain convolutional network: MNIST digits anywhere on a ground of 40×40, with and without clutter",
        config,
        build,
        train,
        steps=6_500,
        evaluate=evaluate,
    )
]
