"""Brackets that must match at a known distance; with nothing but noise between them, copying at a distance."""

import torch
from torch import Tensor

from .recall import PAD

OPEN, CLOSED = "([{<", ")]}>"
CLOSE, NOISE = "|", "-~"  # CLOSE ends the innermost open bracket and does not say which kind that is
BRACKETS = OPEN + CLOSE + NOISE
DEEPEST = 3  # brackets open at once
BEFORE = 6  # symbols before the bracket that is asked for, so that it is not always the first


def matching(n: int, distance: int, seed: int, noise: Tensor | float = 0.3) -> tuple[Tensor, Tensor, Tensor]:
    """The last symbol closes a bracket that was opened `distance` steps before; what stands between is balanced.

        -([~|-<-||   ->   at each | the kind of bracket that it closes:   ] > )

    noise: the share of noise between brackets, a number or one for each row (n,); 1.0 leaves one pair, far apart
    -> symbols (n, T), target (n, T) kind of bracket or PAD, source (n, T) where it was opened or -1;
       T = BEFORE + distance + 1, and no pair of the whole row is further apart than `distance` (or than BEFORE)
    """
    if distance < 1:
        raise ValueError(f"a bracket is closed at least one step after it was opened; the distance is {distance}")
    rng = torch.Generator().manual_seed(seed)
    noise = torch.as_tensor(noise, dtype=torch.float32).expand(n)
    kind = torch.randint(len(OPEN), (n, 1), generator=rng)
    before, inside = _balanced(noise, BEFORE, DEEPEST, rng), _balanced(noise, distance - 1, DEEPEST - 1, rng)
    symbols = torch.cat([before, kind, inside, torch.full_like(kind, BRACKETS.index(CLOSE))], 1)  # (n, T)
    source = partners(symbols)
    return symbols, symbols.gather(1, source.clamp(min=0)).masked_fill(source < 0, PAD), source


def _balanced(noise: Tensor, size: int, deepest: int, rng: torch.Generator) -> Tensor:
    """Random symbols in which every bracket is closed by the end.    noise (n,) -> (n, size)"""
    n, depth, columns = len(noise), torch.zeros(len(noise), dtype=torch.long), []
    for left in range(size, 0, -1):  # symbols that are still to be written
        chance = torch.rand(2, n, generator=rng)
        may_open = (depth < deepest) & (depth + 1 < left)
        opens = may_open & (chance[0] >= noise) & ((chance[1] < 0.5) | (depth == 0))
        closes = (depth > 0) & ~opens & ((chance[0] >= noise) | (depth == left))
        column = torch.randint(BRACKETS.index(NOISE[0]), len(BRACKETS), (n,), generator=rng)
        column = torch.where(opens, torch.randint(len(OPEN), (n,), generator=rng), column)
        columns.append(column.masked_fill(closes, BRACKETS.index(CLOSE)))
        depth = depth + opens.long() - closes.long()
    return torch.stack(columns, 1) if columns else noise.new_zeros(n, 0, dtype=torch.long)


def partners(symbols: Tensor) -> Tensor:
    """Where the bracket that each CLOSE ends was opened, -1 elsewhere.    symbols (n, T) -> (n, T)"""
    T = symbols.shape[1]
    opens, closes = symbols < len(OPEN), symbols == BRACKETS.index(CLOSE)
    depth = (opens.long() - closes.long()).cumsum(1)  # (n, T), after the symbol
    t = torch.arange(T)
    # The partner is the last bracket opened before t that led to the depth which t leaves.
    fits = opens[:, None] & (depth[:, None] == depth[:, :, None] + 1) & (t < t[:, None])  # (n, T, T)
    return torch.where(fits, t, -1).amax(-1).masked_fill(~closes, -1)
