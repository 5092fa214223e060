"""A hard head on a tape: it sees one cell, steps to a neighbour, and learns to move by REINFORCE.

The idea of Zaremba & Sutskever 2015 (RL-NTM), on one task: walk along a word, then say it backwards.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import hard

MOVES = (-1, 0, 1)


class Run(NamedTuple):
    said: Tensor  # (B, T) int: the symbol under the head
    log_prob: Tensor  # (B, T): of the moves that were made
    entropy: Tensor  # (B, T): how undecided the head was
    baseline: Tensor  # (B, T): the reward it expected to come
    places: Tensor  # (B, T) int: the cell under the head


def reverse(n: int, length: int, rng: torch.Generator, symbols: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """Words on tapes with a blank cell (0) on either side; after `length` steps the word is asked for, backwards.

    -> tapes (n, length + 2), 0 or 1 … symbols; asked (2·length + 1,) bool; targets (n, length), 1 … symbols
    """
    tapes = F.pad(torch.randint(1, symbols + 1, (n, length), generator=rng), (1, 1))
    asked = torch.arange(2 * length + 1) >= length  # the first of these steps is for turning round
    return tapes, asked, tapes[:, 1:-1].flip(1)


def best(scores: Tensor) -> hard.Choice:
    """The most probable move, for a trained head."""
    log_prob, index = scores.log_softmax(-1).max(-1)
    return hard.Choice(index, log_prob)


class Head(nn.Module):
    """Sees the symbol under it and whether it is asked; says what it sees, and moves left, right or not at all.

        m_{t+1} ~ Categorical(softmax(W [tape(p_t); asked_t])),   p_{t+1} = p_t + m_{t+1}

    It remembers nothing: all that it knows of the past is where it stands.

    tapes (B, N) int, 0 = blank; asked (T,) bool -> Run of T steps; the head starts on the first symbol
    """

    def __init__(self, symbols: int = 8):
        super().__init__()
        self.symbols = symbols
        self.move, self.expect = nn.Linear(symbols + 2, len(MOVES)), nn.Linear(symbols + 2, 1)

    def forward(self, tapes: Tensor, asked: Tensor, policy: Callable[[Tensor], hard.Choice] = hard.draw) -> Run:
        place, seen = torch.ones_like(tapes[:, 0]), []  # cell 0 is blank
        for now in asked.to(self.move.weight).unbind():  # where it stands depends on where it went
            said = tapes.gather(1, place[:, None])[:, 0]  # (B,)
            x = torch.cat([F.one_hot(said, self.symbols + 1).to(now), now.expand(len(tapes), 1)], -1)
            scores = self.move(x)  # (B, 3)
            move, log_prob = policy(scores)  # (B,) each
            entropy = torch.special.entr(scores.softmax(-1)).sum(-1)
            seen.append((said, log_prob, entropy, self.expect(x)[:, 0], place))
            place = (place + move - 1).clamp(0, tapes.shape[1] - 1)
        return Run(*(torch.stack(part, 1) for part in zip(*seen, strict=True)))


def loss(run: Run, targets: Tensor, curiosity: float = 0.02) -> Tensor:
    """REINFORCE for the moves, regression for the baseline.

        -mean Σ_t log π(m_t) (R_t - b_t) + (R_t - b_t)² - curiosity · H(π_t),   R_t = Σ_{u > t} r_u / L

    r_u = 1 while every symbol so far was right. After the first mistake nothing counts: else a head that stays where
    it is would earn its share, since the first symbol of the word is the last of the answer. Paying for entropy keeps
    the head from settling on the first habit that earns anything.
    """
    T, L = run.said.shape[1], targets.shape[1]
    right = (run.said[:, T - L :] == targets).to(run.log_prob).cumprod(1)  # (B, L)
    reward = F.pad(right / L, (T - L, 0))  # (B, T)
    later = reward.flip(1).cumsum(1).flip(1) - reward  # what a move can still change
    advantage = later - run.baseline
    policy = run.log_prob * advantage.detach() + curiosity * run.entropy
    return (advantage.square() - policy).sum(1).mean()
