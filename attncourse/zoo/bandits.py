"""A small SNAIL that learns to play bandits, by policy gradient (chapter 14)."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from .. import snail
from ..tasks import bandits as task
from ..training import fit
from . import Recipe


def build(config: dict) -> nn.Module:
    """K logits, and a guess of what is still to come."""
    sizes = {name: config[name] for name in ("filters", "d_key")}
    return snail.snail(config["arms"] + 1, config["arms"] + 1, config["pulls"], **sizes)


def player(model: nn.Module, best: bool = False) -> task.Policy:
    """The network as a policy: it draws from its probabilities, or takes the largest."""

    @torch.no_grad()
    def policy(actions: Tensor, rewards: Tensor, arms: int, draw: torch.Generator) -> Tensor:
        x = task.observe(actions, rewards, arms).to(next(model.parameters()).device)
        logits = model(x)[0][:, -1, :arms].cpu()  # (B, K)
        return logits.argmax(1) if best else torch.multinomial(logits.softmax(1), 1, generator=draw)[:, 0]

    return policy


def plays(model: nn.Module, config: dict, seed: int) -> Iterator[tuple[Tensor, ...]]:
    """The network plays as it is now: what policy gradients learn from.    -> x, actions, regret to come"""
    draw = torch.Generator().manual_seed(seed)
    while True:
        played = task.play(player(model), config["batch"], draw, config["arms"], config["pulls"])
        so_far = task.regret(played)  # (B, N)
        each = torch.diff(so_far, prepend=so_far[:, :1] * 0)
        to_come = so_far[:, -1:] - so_far + each  # (B, N): this pull's and all later ones'
        x = task.observe(played.actions[:, :-1], played.rewards[:, :-1], config["arms"])
        yield x, played.actions, to_come


def loss(model: nn.Module, batch: tuple[Tensor, ...], entropy: float = 0.01) -> Tensor:
    """REINFORCE with a learned baseline (chapter 7). Causal blocks: one pass gives all N steps' probabilities.

    What is paid is -regret in expectation, known since we made the bandits: its gradient has the reward's mean and
    less noise.
    """
    x, actions, to_come = batch
    *logits, guess = model(x)[0].unbind(-1)
    log_p = torch.stack(logits, -1).log_softmax(-1)  # (B, N, K)
    advantage = -to_come - guess  # (B, N)
    chosen = log_p.gather(-1, actions[..., None])[..., 0]
    spread = -(log_p.exp() * log_p).sum(-1)
    return (0.5 * advantage.square() - chosen * advantage.detach() - entropy * spread).mean()


def train(model, config, seed, steps, checkpoint=None, device=None):
    return fit(
        model, plays(model, config, seed), loss, steps, lr=config["lr"], schedule=lambda step: 1 - step / steps,
        clip=1.0, seed=seed, checkpoint=checkpoint, device=device,
    )  # fmt: skip


def evaluate(model, config, seed, n: int = 4_000) -> dict[str, float]:
    """Regret after all pulls, when it takes the likeliest arm and when it draws; and of others on the same bandits."""
    players = {"best": player(model, best=True), "drawn": player(model), "thompson": task.thompson}
    players |= {"greedy": task.greedy, "uniform": task.uniform}
    found = {f"regret_{k}": task.play(p, n, 10**9 + seed, config["arms"], config["pulls"]) for k, p in players.items()}
    return {k: task.regret(played)[:, -1].mean().item() for k, played in found.items()}


CONFIG = {"arms": task.ARMS, "pulls": task.PULLS, "filters": 8, "d_key": 8, "batch": 256, "lr": 5e-3}
RECIPES = [
    Recipe(
        "snail-bandits", "SNAIL: Bernoulli bandits, 5 arms and 10 pulls, by policy gradient",
        partial(dict, CONFIG), build, train, 300, evaluate,
    )
]  # fmt: skip
