"""A small SNAIL that learns to play bandits from the games of the optimal player (chapter 15)."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..mechanisms import snail
from ..running.training import batches, fit
from ..tasks import bandits as task
from . import Recipe


def build(config: dict) -> nn.Module:
    sizes = {name: config[name] for name in ("filters", "d_key")}
    return snail.snail(config["arms"] + 1, config["arms"], config["pulls"], **sizes)


def player(model: nn.Module) -> task.Policy:
    """The network as a policy: the likeliest arm."""

    @torch.no_grad()
    def policy(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
        x = task.observe(actions, rewards, arms).to(next(model.parameters()).device)
        return model(x)[0][:, -1].argmax(1).cpu()

    return policy


def lessons(config: dict, seed: int) -> tuple[Tensor, Tensor]:
    """Games, and what the optimal player would do in each situation of them.

    One pull in five is any arm, so that there are situations into which the optimal player would not have come.

    -> x (games, N, K + 1), best (games, N) int
    """
    best, teacher = [], task.optimal(config["pulls"])

    def policy(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
        best.append(teacher(actions, rewards, arms, rng))
        stray = torch.rand(len(actions), generator=rng) < 0.2
        return torch.where(stray, task.uniform(actions, rewards, arms, rng), best[-1])

    played = task.play(policy, config["games"], seed, config["arms"], config["pulls"])
    x = task.observe(played.actions[:, :-1], played.rewards[:, :-1], config["arms"])
    return x, torch.stack(best, 1)


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Causal blocks: one pass gives the answers to all N situations of a game."""
    x, best = batch
    return F.cross_entropy(model(x)[0].flatten(0, 1), best.flatten())


def train(model, config, seed, steps, checkpoint=None, device=None):
    data = batches(lessons(config, seed), config["batch"], seed)
    return fit(
        model, data, loss, steps, lr=config["lr"], schedule=lambda step: 1 - step / steps, clip=1.0, seed=seed,
        checkpoint=checkpoint, device=device,
    )  # fmt: skip


def evaluate(model, config, seed, n: int = 4_000) -> dict[str, float]:
    """Regret after all pulls, and that of others on the same bandits."""
    players = {"snail": player(model), "optimal": task.optimal(config["pulls"]), "thompson": task.thompson}
    players |= {"greedy": task.greedy, "uniform": task.uniform}
    found = {f"regret_{k}": task.play(p, n, 10**9 + seed, config["arms"], config["pulls"]) for k, p in players.items()}
    return {k: task.regret(played)[:, -1].mean().item() for k, played in found.items()}


CONFIG = {"arms": task.ARMS, "pulls": task.PULLS, "filters": 16, "d_key": 16, "games": 20_000, "batch": 256, "lr": 3e-3}
RECIPES = [
    Recipe(
        "snail-bandits", "SNAIL: Bernoulli bandits, 5 arms and 10 pulls, taught by the optimal player",
        partial(dict, CONFIG), build, train, 600, evaluate,
    )
]  # fmt: skip
