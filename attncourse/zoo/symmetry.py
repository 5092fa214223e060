"""GANs on mirrored patterns, with and without attention, and the classifier whose features measure them (ch. 16)."""

import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms.sagan import GAN, ImageAttention, Residual, frechet, loss, optimizer
from ..running.training import fit
from ..tasks import symmetry as task
from . import Recipe, load

BLOCKS = {"attention": partial(ImageAttention, pool=2), "residual": Residual}
CONFIG = {"d_latent": 32, "channels": 32, "batch": 16, "lr": [8e-4, 1.2e-3]}
ROWS = 24  # of the journal
COLUMNS = ("step", "consistency", "spread", "gamma_generator", "gamma_discriminator")
COLLAPSED = 0.2  # of the data's variance


class Symmetric(GAN):
    """A GAN with a journal: what was measured in training ships with the weights.    journal (ROWS, 5), see COLUMNS"""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("journal", torch.zeros(ROWS, len(COLUMNS)))


def build(config: dict) -> Symmetric:
    return Symmetric(BLOCKS[config["block"]], config["d_latent"], config["channels"])


@torch.no_grad()
def measure(model: GAN, n: int = 500, seed: int = 0) -> dict[str, float]:
    """Free-running: n fresh latents, no look at any data."""
    score = task.consistency(model(model.draw(n, torch.Generator().manual_seed(10**9 + seed))).cpu())
    gates = {f"gamma_{name}": getattr(model, name).block.out.gamma.item() for name in ("generator", "discriminator")}
    return {"consistency": score.value, "spread": score.spread, **gates}


def verdict(found: dict[str, float]) -> str:
    """Is the generator still drawing different images?"""
    if found["spread"] >= COLLAPSED:
        return ""
    return f"COLLAPSED: the images differ from each other {found['spread']:.0%} as much as the data's do"


def train(model: Symmetric, config: dict, seed: int, steps: int, checkpoint=None, device=None):
    """Measures and says so ROWS times; a grid of samples lies beside the checkpoint."""
    every = max(1, steps // ROWS)

    def report(model: Symmetric) -> dict[str, float]:
        found = measure(model)
        numbers = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"\n{numbers} {verdict(found)}".rstrip(), file=sys.stderr, flush=True)
        if checkpoint is not None:
            grid(model(model.draw(32, torch.Generator().manual_seed(0))), Path(checkpoint).with_suffix(".png"))
        return found

    history = fit(
        model, task.stream(config["batch"], seed), loss, steps, optimizer=optimizer(model, *config["lr"]), clip=None,
        schedule=lambda step: min(1.0, 3 * (1 - step / steps)), seed=seed, checkpoint=checkpoint, device=device,
        measure=report, measure_every=every,
    )  # fmt: skip
    rows = [[row[name] for name in COLUMNS] for row in history.measured[-ROWS:]]
    model.journal[: len(rows)] = torch.tensor(rows)
    return history


def grid(images: Tensor, path: Path) -> None:
    """Samples, eight in a row, as a PNG."""
    import matplotlib.image

    rows = images.detach().cpu().add(1).div(2).clamp(0, 1).unflatten(0, (-1, 8))  # (rows, 8, 3, 32, 32)
    path.parent.mkdir(parents=True, exist_ok=True)
    matplotlib.image.imsave(path, rows.permute(0, 3, 1, 4, 2).flatten(2, 3).flatten(0, 1).numpy())


def evaluate(model: Symmetric, config: dict, seed: int) -> dict[str, float]:
    """2,000 fresh images. `frechet` is of the features of our `symmetry-reader`, not of Inception: no FID."""
    found = measure(model, 2000, seed)
    device = next(model.parameters()).device
    with torch.no_grad():
        pictures = model(model.draw(2000, torch.Generator().manual_seed(10**9 + seed)))
    for distance, value in zip(task.APART, task.consistency(pictures.cpu()).at, strict=True):
        found[f"consistency_{distance}"] = value
    return found | {"frechet": frechet(features(task.images(2000, seed).to(device)), features(pictures)).item()}


class CellReader(nn.Module):
    """Which corner of the colour cube is each cell nearest to? images (B, 3, 32, 32) -> logits (B, 16, 8)

    Its 64 `features`, one linear layer before the answer, are what `frechet` compares.
    """

    def __init__(self, width: int = 24, d_features: int = 64):
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(3, width, 4, 4), nn.ReLU(), nn.Conv2d(width, width, (4, 1), (4, 1)), nn.ReLU(), nn.Flatten(),
            nn.Linear(width * task.ROWS * task.COLUMNS, d_features),
        )  # fmt: skip
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(d_features, 8 * task.ROWS * task.COLUMNS))

    def forward(self, images: Tensor) -> Tensor:
        return self.out(self.look(images)).unflatten(1, (-1, 8))


def corners(colours: Tensor) -> Tensor:
    """Red, green and blue above or below the middle: three bits.    colours (n, 3, 2, 8) -> classes (n, 16)"""
    bits = (colours > 0).long()
    return (bits * bits.new_tensor([1, 2, 4])[:, None, None]).sum(1).flatten(1)


def lessons(n: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Patterns without the mirror: the reader shall not know the rule that it is to measure."""
    rng = torch.Generator().manual_seed(seed)
    while True:
        colours = task.unmirrored(n, rng)
        yield task.render(colours), corners(colours)


def reading_loss(model: CellReader, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]).mT, batch[1])


def train_reader(model, config, seed, steps, checkpoint=None, device=None):
    return fit(
        model, lessons(config["batch"], seed), reading_loss, steps, lr=config["lr"], seed=seed, checkpoint=checkpoint,
        schedule=lambda step: min(1.0, 3 * (1 - step / steps)), device=device,
    )  # fmt: skip


@torch.no_grad()
def evaluate_reader(model: CellReader, config: dict, seed: int) -> dict[str, float]:
    images, classes = next(lessons(2000, 10**9 + seed))
    device = next(model.parameters()).device
    right = (model(images.to(device)).argmax(-1).cpu() == classes).float().mean().item()
    halves = (features(task.images(2000, seed + i), model, device) for i in (1, 2))
    return {"accuracy": right, "frechet_of_data": frechet(*halves).item()}


reader = cache(lambda: load("symmetry-reader")[0])


@torch.no_grad()
def features(images: Tensor, model: CellReader | None = None, device=None) -> Tensor:
    """What the reader makes of images, before it answers.    (n, 3, 32, 32) -> (n, 64)"""
    model = model or reader().to(images.device)
    return model.look(images.to(device or images.device)).cpu()


def recipe(name: str, block: str, about: str) -> Recipe:
    return Recipe(name, about, partial(dict, CONFIG | {"block": block}), build, train, 6_000, evaluate)


RECIPES = [
    Recipe(
        "symmetry-reader", "classifier of the colours of cells; its features are what `frechet` compares",
        partial(dict, {"batch": 64, "lr": 2e-3}), lambda config: CellReader(), train_reader, 1_000, evaluate_reader,
    ),
    recipe("sagan-symmetry", "attention", "GAN with attention at 16×16: mirrored patterns"),
    recipe("dcgan-symmetry", "residual", "the same GAN with a residual block in the attention's place"),
]  # fmt: skip
