"""Five seeds of a GAN of chapter 16 trained at once, each with its own weights, noise and images.

A small network spends its time on calls, not on numbers. Side by side, as groups of the channels of one wide network,
five cost little more than one, and none of them touches another: a convolution in groups, a norm per channel and Adam
all treat each group by itself. `attncourse train sagan-mirror --seed 3` trains one alone; its noise comes in another
order, so it ends with other numbers of the same kind.

    python -m attncourse.zoo.mirror_seeds sagan-mirror --out attncourse/zoo/weights
"""

import argparse
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from ..mechanisms.mirror import MirrorGAN, Nothing, PlacedAttention
from ..running.training import History
from ..tasks import windows as task
from . import mirror, recipe, write

RECIPES: list = []  # the recipes are mirror's


class Layers(nn.Module):
    """The same convolution of several models, as one in groups.    (B, S · in, H, W) -> (B, S · out, H, W)"""

    def __init__(self, layers: list):
        super().__init__()
        self.like, self.layers = layers[0], [layers]  # in a list, so that they are not parameters of this one
        self.normed = is_parametrized(layers[0])
        weights = [x.parametrizations.weight.original if self.normed else x.weight for x in layers]
        self.weight = nn.Parameter(torch.stack([w.detach() for w in weights]))
        biased = layers[0].bias is not None
        self.bias = nn.Parameter(torch.stack([x.bias.detach() for x in layers])) if biased else None
        if self.normed:
            self.u, self.v = (
                torch.stack([getattr(x.parametrizations.weight[0], k).clone() for x in layers]) for k in ("_u", "_v")
            )

    def kernel(self) -> Tensor:
        """(S, …): each seed's own weights, divided by their own largest singular value where that is asked for"""
        if not self.normed:
            return self.weight
        rows = self.weight.flatten(2)  # (S, out, in · size)
        if self.training:
            with torch.no_grad():
                self.u = F.normalize((rows @ self.v[..., None])[..., 0], dim=1)
                self.v = F.normalize((self.u[:, None] @ rows)[:, 0], dim=1)
        sigma = (self.u[:, None] @ rows @ self.v[..., None]).flatten()  # (S,)
        return self.weight / sigma.view(-1, 1, 1, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        weight, like = self.kernel(), self.like
        bias = None if self.bias is None else self.bias.flatten()
        if isinstance(like, nn.ConvTranspose2d):
            return F.conv_transpose2d(x, weight.flatten(0, 1), bias, like.stride, groups=len(weight))
        return F.conv2d(x, weight.flatten(0, 1), bias, like.stride, like.padding, groups=len(weight))

    @torch.no_grad()
    def give_back(self) -> None:
        for i, layer in enumerate(self.layers[0]):
            if self.normed:
                layer.parametrizations.weight.original.copy_(self.weight[i])
                layer.parametrizations.weight[0]._u.copy_(self.u[i])
                layer.parametrizations.weight[0]._v.copy_(self.v[i])
            else:
                layer.weight.copy_(self.weight[i])
            if self.bias is not None:
                layer.bias.copy_(self.bias[i])


class Norms(nn.Module):
    """The same batch norm of several models: channels do not know of each other anyway."""

    def __init__(self, norms: list):
        super().__init__()
        self.norms = [norms]
        self.norm = nn.BatchNorm2d(sum(x.num_features for x in norms))

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)

    @torch.no_grad()
    def give_back(self) -> None:
        norms = self.norms[0]
        for name in ("weight", "bias", "running_mean", "running_var"):
            for one, part in zip(norms, getattr(self.norm, name).chunk(len(norms)), strict=True):
                getattr(one, name).copy_(part)
        for one in norms:
            one.num_batches_tracked.copy_(self.norm.num_batches_tracked)


class Blocks(nn.Module):
    """The same block of several models.    (B, S · C, 1, 8) -> (B, S · C, 1, 8)"""

    def __init__(self, blocks: list):
        super().__init__()
        self.blocks, self.look = [blocks], Layers([x.look for x in blocks])
        self.inner = Layers([x.out.inner for x in blocks])
        self.places = nn.Parameter(torch.stack([x.places.detach() for x in blocks]))
        self.gamma = nn.Parameter(torch.stack([x.out.gamma.detach() for x in blocks]))

    def forward(self, x: Tensor) -> Tensor:
        S, seen = len(self.gamma), self.look(x)
        if isinstance(self.blocks[0][0], PlacedAttention):
            rows = seen.flatten(2).unflatten(1, (S, -1)).mT  # (B, S, N, widths)
            query, keys, values = rows.split(self.blocks[0][0].widths, -1)
            scores = (query + self.places[:, 0]) @ (keys + self.places[:, 1]).mT  # (B, S, N, N)
            read = (scores.softmax(-1) @ values).mT.flatten(1, 2).unflatten(2, x.shape[2:])  # (B, S · d_value, 1, 8)
        else:
            read = F.leaky_relu(seen + self.places.flatten(0, 1), 0.1)
        added = self.inner(read).unflatten(1, (S, -1)) * self.gamma[:, None, None, None]  # (B, S, C, 1, 8)
        return x + added.flatten(1, 2)

    @torch.no_grad()
    def give_back(self) -> None:
        for i, block in enumerate(self.blocks[0]):
            block.places.copy_(self.places[i])
            block.out.gamma.copy_(self.gamma[i])


def together(blocks: list) -> nn.Module:
    return nn.Identity() if isinstance(blocks[0], Nothing) else Blocks(blocks)


class Generators(nn.Module):
    """noise (B, S · d_noise, 1, 8) -> images (B, S · 3, 32, 32)"""

    def __init__(self, models: list):
        super().__init__()
        self.first, self.mix, self.last = (
            Layers([getattr(x, name) for x in models]) for name in ("first", "mix", "last")
        )
        self.norms = nn.ModuleList(Norms([x.norms[i] for x in models]) for i in range(2))
        self.block = together([x.block for x in models])

    def forward(self, noise: Tensor) -> Tensor:
        x = self.block(F.leaky_relu(self.norms[0](self.first(noise)), 0.1))
        return self.last(F.leaky_relu(self.norms[1](self.mix(x)), 0.1)).tanh()


class Discriminators(nn.Module):
    """images (B, S · 3, 32, 32), the first half real and the other made, or all made -> scores (B, S)"""

    def __init__(self, models: list):
        super().__init__()
        self.S = len(models)
        self.first, self.mix, self.last = (
            Layers([getattr(x, name) for x in models]) for name in ("first", "mix", "last")
        )
        self.block = together([x.block for x in models])

    def varied(self, images: Tensor) -> Tensor:
        """`variety` of each seed's own images.    (B, S · 3, 32, 32) -> (B, S · 4, 32, 32)"""
        differ = (images.var(0, correction=0) + 1e-6).sqrt().unflatten(0, (self.S, 3)).mean(1)  # (S, 32, 32)
        each = images.unflatten(1, (self.S, 3))
        return torch.cat([each, differ[:, None].expand(len(images), -1, -1, -1, -1)], 2).flatten(1, 2)

    def forward(self, images: Tensor, parts: int) -> Tensor:
        x = torch.cat([self.varied(part) for part in images.chunk(parts)])
        x = self.block(F.leaky_relu(self.first(x), 0.1))
        return self.last(F.leaky_relu(self.mix(x), 0.1)).mean((2, 3))


class SideBySide(nn.Module):
    def __init__(self, models: list[MirrorGAN]):
        super().__init__()
        self.models = [models]
        self.generator = Generators([x.generator for x in models])
        self.discriminator = Discriminators([x.discriminator for x in models])

    def loss(self, real: Tensor, noise: Tensor) -> Tensor:
        """The sum of the seeds' own losses, `mirror.loss`.    real (B, S · 3, 32, 32)"""
        judge, fake = self.discriminator, self.generator(noise)
        both = torch.cat([real, fake.detach()])
        on_real, on_fake = judge(both, parts=2).chunk(2)
        judged = (1 - on_real).relu().mean(0).sum() + (1 + on_fake).relu().mean(0).sum()
        judge.requires_grad_(False).eval()
        made = -judge(fake, parts=1).mean(0).sum()
        judge.requires_grad_(True).train()
        return judged + made

    def give_back(self) -> list[MirrorGAN]:
        """Each model with its own weights, ready to be used."""
        for part in self.modules():
            if part is not self and hasattr(part, "give_back"):
                part.give_back()
        return [model.eval() for model in self.models[0]]


def train(name: str, seeds: list[int], steps: int) -> tuple[list[MirrorGAN], History]:
    chosen, models = recipe(name), []
    config = chosen.config()
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(chosen.build(config).train())
    wide, streams = SideBySide(models), [task.stream(config["batch"], seed) for seed in seeds]
    parts = mirror.groups(wide.generator, wide.discriminator, config["lr"])
    optimizer = torch.optim.Adam(parts, betas=(0.0, 0.9), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: mirror.rate(step, steps))
    rng, history, started = torch.Generator().manual_seed(seeds[0]), History(), time.monotonic()
    for step in range(1, steps + 1):
        real = torch.cat([next(stream) for stream in streams], 1)
        noise = torch.randn(len(real), len(seeds) * config["d_noise"], *task.GRID, generator=rng)
        value = wide.loss(real, noise)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        history.loss.append(value.item() / len(seeds))
        if step % max(1, steps // mirror.REPORTS) == 0:
            for seed, model in zip(seeds, wide.give_back(), strict=True):
                found = mirror.measure(model, 300)
                numbers = ", ".join(f"{k} {v:.2f}" for k, v in found.items())
                print(
                    f"{step} ({time.monotonic() - started:.0f} s) seed {seed}: {numbers}", file=sys.stderr, flush=True
                )
    history.seconds = time.monotonic() - started
    return wide.give_back(), history


def main(args: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train several seeds of a GAN of chapter 16 at once.")
    parser.add_argument("name")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--steps", type=int, default=mirror.STEPS)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(args)
    models, history = train(given.name, given.seeds, given.steps)
    seeds = " ".join(map(str, given.seeds))
    command = f"python -m attncourse.zoo.mirror_seeds {given.name} --seeds {seeds} --steps {given.steps}"
    for seed, model in zip(given.seeds, models, strict=True):
        write(given.name, model, history, given.out, seed, given.steps, seed != given.seeds[0], command)


if __name__ == "__main__":
    main()
