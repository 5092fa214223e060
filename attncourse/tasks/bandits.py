"""Bernoulli bandits: K arms pay 1 with a hidden probability each, drawn evenly from [0, 1]; N pulls in all.

Each bandit is a small task of its own, to be learned within its N pulls. What can be reached is known here: regret
against the best arm, Thompson sampling, and the exact optimum by dynamic programming.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

ARMS, PULLS = 5, 10


class Played(NamedTuple):
    chances: Tensor  # (B, K): what each arm pays with; hidden from the player
    actions: Tensor  # (B, N) int
    rewards: Tensor  # (B, N) 0 or 1


# A policy is asked before each pull:   actions (B, t), rewards (B, t), arms, draw -> the next actions (B,)
Policy = Callable[[Tensor, Tensor, int, torch.Generator], Tensor]


def play(policy: Policy, n: int, seed: int | torch.Generator, arms: int = ARMS, pulls: int = PULLS) -> Played:
    """n bandits, all played at once by one policy."""
    rng = seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
    chances = torch.rand(n, arms, generator=rng)
    luck = torch.rand(n, pulls, arms, generator=rng)  # drawn beforehand: the same luck for every policy
    actions, rewards = torch.zeros(n, 0, dtype=torch.long), torch.zeros(n, 0)
    for t in range(pulls):
        action = policy(actions, rewards, arms, rng)[:, None]  # (n, 1)
        reward = (luck[:, t].gather(1, action) < chances.gather(1, action)).float()
        actions, rewards = torch.cat([actions, action], 1), torch.cat([rewards, reward], 1)
    return Played(chances, actions, rewards)


def regret(played: Played) -> Tensor:
    """What the best arm would have paid more, expected, so far.    -> (B, N), growing along N"""
    best = played.chances.amax(1, keepdim=True)  # (B, 1)
    return (best - played.chances.gather(1, played.actions)).cumsum(1)


def counts(actions: Tensor, rewards: Tensor, arms: int) -> tuple[Tensor, Tensor]:
    """How often each arm has paid, and how often not.    (B, t) both -> wins, losses (B, K)"""
    pulled = F.one_hot(actions, arms).to(rewards)  # (B, t, K)
    return (pulled * rewards[..., None]).sum(1), (pulled * (1 - rewards[..., None])).sum(1)


def observe(actions: Tensor, rewards: Tensor, arms: int) -> Tensor:
    """What a network sees before each pull: the last action and what it paid, nothing at first.

    actions, rewards (B, t) -> (B, t + 1, K + 1)
    """
    seen = torch.cat([F.one_hot(actions, arms).to(rewards), rewards[..., None]], -1)  # (B, t, K + 1)
    return F.pad(seen, (0, 0, 1, 0))


# ---- players ----


def _largest(score: Tensor, rng: torch.Generator) -> Tensor:
    """The best arm, ties by chance.    (B, K) -> (B,)"""
    tied = score >= score.amax(1, keepdim=True) - 1e-6
    return (tied * (1 + torch.rand(score.shape, generator=rng))).argmax(1)


def uniform(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
    """Any arm."""
    return torch.randint(arms, (len(actions),), generator=rng)


def greedy(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
    """The arm with the largest posterior mean, (wins + 1) / (pulls + 2): never explores for its own sake."""
    wins, losses = counts(actions, rewards, arms)
    return _largest((wins + 1) / (wins + losses + 2), rng)


def thompson(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
    """Draw a world from the posterior Beta(wins + 1, losses + 1), pull the arm that is best in it. Thompson 1933"""
    wins, losses = counts(actions, rewards, arms)
    return _beta(wins + 1, losses + 1, rng).argmax(1)


def _beta(a: Tensor, b: Tensor, rng: torch.Generator) -> Tensor:
    """Beta(a, b) for whole a, b: the a-th smallest of a + b - 1 even draws, so that the generator is ours."""
    most = int((a + b).max()) - 1
    u = torch.rand(*a.shape, most, generator=rng)
    real = torch.arange(most) < (a + b - 1)[..., None]
    return u.masked_fill(~real, 2.0).sort(-1).values.gather(-1, (a - 1).long()[..., None])[..., 0]


Arm = tuple[int, int]  # wins, losses


@cache
def value(state: tuple[Arm, ...], pulls: int) -> float:
    """Expected reward of the best play from here on; arms are alike, so a state is sorted.    Bellman 1956"""
    return max((_worth(state, i, pulls) for i in range(len(state))), default=0.0) if pulls else 0.0


def _worth(state: tuple[Arm, ...], i: int, pulls: int) -> float:
    """Pull arm i now, then play best."""
    (wins, losses), rest = state[i], state[:i] + state[i + 1 :]
    p = (wins + 1) / (wins + losses + 2)
    after = [tuple(sorted((*rest, arm))) for arm in ((wins + 1, losses), (wins, losses + 1))]
    return p * (1 + value(after[0], pulls - 1)) + (1 - p) * value(after[1], pulls - 1)


def best_reward(arms: int = ARMS, pulls: int = PULLS) -> float:
    """What nobody can exceed on average without knowing the chances."""
    return value(((0, 0),) * arms, pulls)


def least_regret(arms: int = ARMS, pulls: int = PULLS) -> float:
    """The regret of that play: the best of K even chances is K / (K + 1) on average."""
    return pulls * arms / (arms + 1) - best_reward(arms, pulls)


def optimal(pulls: int = PULLS) -> Policy:
    """The play that reaches `best_reward`, for this horizon."""

    def policy(actions: Tensor, rewards: Tensor, arms: int, rng: torch.Generator) -> Tensor:
        wins, losses = (x.int().tolist() for x in counts(actions, rewards, arms))
        left = pulls - actions.shape[1]
        states = [tuple(zip(w, lo, strict=True)) for w, lo in zip(wins, losses, strict=True)]
        worth = {s: [_worth(s, i, left) for i in range(arms)] for s in set(states)}
        return _largest(torch.tensor([worth[s] for s in states]), rng)

    return policy
