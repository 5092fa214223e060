"""SNAIL and its two halves alone on characters of scripts that they have never seen (chapter 15)."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms import snail
from ..running.training import fit
from ..tasks import glyphs as task
from . import Recipe

WAYS, SHOTS = 5, (1, 5)
LENGTH = WAYS * max(SHOTS) + 1  # 26: the longest sequence
READERS = {
    "snail": partial(snail.snail, length=LENGTH),
    "attention": snail.attention_only,
    "convolution": partial(snail.convolution_only, length=LENGTH),
}


def build(config: dict) -> nn.Module:
    embed = snail.Embed(config["d_embed"])
    reader = READERS[config["reader"]](config["d_embed"] + WAYS, WAYS, **config["sizes"])
    return snail.FewShot(embed, reader, WAYS)


def loss(model: nn.Module, batch: task.Episodes) -> Tensor:
    """The reader's loss, and that of a plain match of the images' vectors: without the second, which is there from
    the first step on, the vectors mean nothing, the reader has nothing to read, and neither finds a way out.
    """
    shots = batch.labels.shape[1] - WAYS  # every letter is asked once
    labels, asked = batch.labels.split([shots, WAYS], 1)
    vectors = model.vectors(batch.images)
    logits, _ = model.read(vectors, labels)  # (B, Q, ways)
    matched, _ = snail.match(vectors, labels, WAYS)
    plain = F.nll_loss(matched.clamp_min(1e-6).log().flatten(0, 1), asked.flatten())
    return F.cross_entropy(logits.flatten(0, 1), asked.flatten()) + plain


def train(model, config, seed, steps, checkpoint=None, device=None):
    model.embed.standardise(next(task.stream(1000, seed)).images.flatten(0, 1))

    def schedule(step):  # a short climb, then half a cosine down to nothing
        return min((step + 1) / 100, 0.5 * (1 + torch.tensor(torch.pi * step / steps).cos().item()))

    return fit(
        model, task.stream(config["images"], seed), loss, steps, lr=config["lr"], schedule=schedule, clip=1.0,
        seed=seed, checkpoint=checkpoint, device=device,
    )  # fmt: skip


@torch.no_grad()
def answers(model: nn.Module, images: Tensor, labels: Tensor, poses: int = 1) -> Tensor:
    """images (B, S + 1, 28, 28), labels (B, S) -> probabilities (B, ways)

    With 8 `poses` the whole episode is read lying, on its head and in the mirror too, and the answers are averaged.
    """
    B, T = images.shape[:2]
    turned = [task.pose(images.flatten(0, 1), torch.full((B * T,), p)).unflatten(0, (B, T)) for p in range(poses)]
    device = next(model.parameters()).device
    return sum(model(x.to(device), labels.to(device))[0][:, 0].softmax(-1) for x in turned).cpu() / poses


def right(model: nn.Module, shots: int, seed: int, n: int = 1000, poses: int = 1, **which) -> Tensor:
    """One query an episode, of scripts that no training saw.    -> (n,) bool"""
    batch = task.episodes(n, 10**9 + seed, WAYS, shots, test=True, **which)
    parts = zip(batch.images.split(50), batch.labels.split(50), strict=True)
    return torch.cat([answers(model, x, y[:, :-1], poses).argmax(1) == y[:, -1] for x, y in parts])


def evaluate(model, config, seed) -> dict[str, float]:
    """Accuracy over 1,000 episodes each; chance is 0.2. `single` reads each episode once, `accuracy` in 8 poses."""
    found = {f"single_{WAYS}way_{k}shot": right(model, k, seed + k) for k in SHOTS}
    found |= {f"accuracy_{WAYS}way_{k}shot": right(model, k, seed + k, poses=8) for k in SHOTS}
    return {name: hits.float().mean().item() for name, hits in found.items()}


def evaluate_short(model, config, seed) -> dict[str, float]:
    """Read once, over 500 episodes each."""
    return {f"single_{WAYS}way_{k}shot": right(model, k, seed + k, 500).float().mean().item() for k in SHOTS}


def config(reader: str, images: int, **sizes: int) -> dict:
    return {"reader": reader, "d_embed": 64, "sizes": sizes, "images": images, "lr": 2e-3}


# The whole and its halves, with the same number of parameters within 1%, and one short training for all.
SHORT = {"snail": {}, "attention": {"d_key": 143}, "convolution": {"filters": 32}}
RECIPES = [
    Recipe(
        "snail-glyphs", "SNAIL: 5-way characters of unseen scripts, one or five shots",
        partial(config, "snail", 320), build, train, 1_200, evaluate,
    )
]  # fmt: skip
RECIPES += [
    Recipe(
        f"glyphs-short-{reader}", f"the same task, a short training: {reader}",
        partial(config, reader, 120, **sizes), build, train, 150, evaluate_short,
    )
    for reader, sizes in SHORT.items()
]  # fmt: skip
