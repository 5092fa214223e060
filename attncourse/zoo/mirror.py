"""GANs of mirrored windows: attention, a residual block or nothing between short-sighted networks (chapter 16)."""

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from ..mechanisms.mirror import MirrorGAN, Nothing, PlacedAttention, PlacedResidual, loss
from ..running.training import fit
from ..tasks import windows as task
from . import Recipe
from .symmetry import grid

BLOCKS = {"attention": PlacedAttention, "residual": PlacedResidual, "nothing": Nothing}
BOOST = 4  # see `groups`
STEPS, REPORTS = 3_000, 15  # the second: times that a training says how far it is


def build(config: dict) -> MirrorGAN:
    return MirrorGAN(BLOCKS[config["block"]], config["channels"], config["d_noise"])


@contextmanager
def closed(block: PlacedAttention | PlacedResidual):
    """The block's gate at 0 for as long as this lasts: the image goes past it unchanged."""
    gate = block.out.gamma
    kept = gate.detach().clone()
    with torch.no_grad():
        gate.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            gate.copy_(kept)


def on_partner(weights: Tensor) -> float:
    """How many times more than chance a place reads from its partner, on average.    weights (B, 8, 8)"""
    partner = task.partners().to(weights.device)
    return weights[:, torch.arange(len(partner)), partner].mean().item() * len(partner)


def overlaps(weights: Tensor) -> tuple[float, float]:
    """Which share of what a place reads its partner reads, too, from the same places; and of what strangers read.

    Two places that copy from one and the same source agree, though neither looks at the other.    weights (B, 8, 8)
    """
    shared = torch.minimum(weights[:, :, None], weights[:, None]).sum(-1).mean(0)  # (8, 8)
    partner = task.partners().to(weights.device)
    twins = shared[torch.arange(len(partner)), partner]
    strangers = (shared.sum() - twins.sum() - shared.diagonal().sum()) / (shared.numel() - 2 * len(partner))
    return twins.mean().item(), strangers.item()


@torch.no_grad()
def measure(model: MirrorGAN, n: int = 500, seed: int = 0) -> dict[str, float]:
    """Free-running: n fresh maps of noise, no look at any data."""
    noise = model.draw(n, torch.Generator().manual_seed(10**9 + seed))
    pictures = model(noise)
    at = dict(zip(task.APART, task.agreement(pictures.cpu()), strict=True))
    found = {"agreement_far": at[max(at)], "spread": task.spread(pictures.cpu())}
    found["agreement_strangers"] = task.strangers(pictures.cpu())
    found |= {f"agreement_{distance}": value for distance, value in at.items()}
    block = model.generator.block
    if hasattr(block, "out"):
        with closed(block):
            found["agreement_far_closed"] = task.agreement(model(noise).cpu())[-1]
        found["gamma_generator"] = block.out.gamma.item()
        found["gamma_discriminator"] = model.discriminator.block.out.gamma.item()
    if hasattr(block, "weights"):
        makes = on_partner(block.weights(model.generator.before(noise)))
        judges = on_partner(model.discriminator.block.weights(model.discriminator.before(pictures)))
        found |= {"partner_ratio": max(makes, judges)}
        found |= {"partner_ratio_generator": makes, "partner_ratio_discriminator": judges}
        twins, strangers = overlaps(block.weights(model.generator.before(noise)))
        found |= {"overlap_partners": twins, "overlap_strangers": strangers}
    return found


def groups(generator: nn.Module, discriminator: nn.Module, rates: list[float]) -> list[dict]:
    """Parameters and their learning rates: the discriminator's is the larger one (TTUR), and BOOST times as large are
    those of gates and places, numbers that have a long way to go: a step of Adam is as long as its rate says."""
    found = []
    for part, lr in zip((generator, discriminator), rates, strict=True):
        far = [p for name, p in part.named_parameters() if name.endswith(("gamma", "places"))]
        near = [p for name, p in part.named_parameters() if not name.endswith(("gamma", "places"))]
        found += [{"params": near, "lr": lr}] + ([{"params": far, "lr": BOOST * lr}] if far else [])
    return found


def train(model: MirrorGAN, config: dict, seed: int, steps: int, checkpoint=None, device=None):
    """Measures and says so now and then; a grid of samples lies beside the checkpoint."""

    def report(model: MirrorGAN) -> dict[str, float]:
        found = measure(model)
        print("\n" + ", ".join(f"{name} {value:.3f}" for name, value in found.items()), file=sys.stderr, flush=True)
        if checkpoint is not None:
            grid(model(model.draw(32, torch.Generator().manual_seed(0))), Path(checkpoint).with_suffix(".png"))
        return found

    chosen = torch.optim.Adam(groups(model.generator, model.discriminator, config["lr"]), betas=(0.0, 0.9))
    return fit(
        model, task.stream(config["batch"], seed), loss, steps, optimizer=chosen, clip=None,
        schedule=partial(rate, steps=steps), seed=seed, checkpoint=checkpoint, device=device,
        measure=report, measure_every=max(1, steps // REPORTS),
    )  # fmt: skip


def rate(step: int, steps: int) -> float:
    """The learning rate falls over the last third, so that the two come to rest."""
    return min(1.0, 3 * (1 - step / steps))


def evaluate(model: MirrorGAN, config: dict, seed: int) -> dict[str, float]:
    """2,000 fresh images."""
    return measure(model, 2000, seed)


def recipe(name: str, block: str, channels: int, about: str) -> Recipe:
    config = {"block": block, "channels": channels, "d_noise": 16, "batch": 16, "lr": [8e-4, 2e-3]}
    return Recipe(name, about, partial(dict, config), build, train, STEPS, evaluate)


RECIPES = [
    recipe("sagan-mirror", "attention", 48, "GAN of mirrored windows: nothing but attention sees far"),
    recipe("residual-mirror", "residual", 48, "the same GAN with a residual block in the attention's place"),
    recipe("plain-mirror", "nothing", 54, "the same GAN without a block, its layers wider instead"),
]
