"""Tasks whose one relevant input is known: recall a letter at a distance, latch one, move words to another place."""

import torch
import torch.nn.functional as F
from torch import Tensor

RECALL = "abcd"
LETTERS, NOISE = "abcdefgh", "∘·-~"
LATCH = LETTERS + NOISE
VERBS, NOUNS = "VWXYZ", "abcdefg"
REORDER = VERBS + NOUNS + ","
FARTHEST = 40  # distances that recall() asks for
PAD = -100  # in targets: what F.cross_entropy leaves out


def one_hot(symbols: Tensor, alphabet: str) -> Tensor:
    """Symbols (..., T) int, negative = padding -> vectors (..., T, V); padding is all zeros"""
    return F.one_hot(symbols.clamp(min=0), len(alphabet)).float() * (symbols >= 0)[..., None]


def show(symbols: Tensor, alphabet: str) -> str:
    return "".join(alphabet[i] for i in symbols.tolist() if i >= 0)


def recall(n: int, size: int, seed: int, farthest: int = FARTHEST) -> tuple[Tensor, Tensor]:
    """A stream of random letters; at every step, name the letter 1, 2, ... `farthest` steps ago.

        x_t -> (x_{t-1}, x_{t-2}, ..., x_{t-farthest})

    -> symbols (n, size), target (n, size, farthest) int; target[t, d - 1] = symbols[t - d], PAD before the start
    """
    symbols = torch.randint(len(RECALL), (n, size), generator=torch.Generator().manual_seed(seed))
    before = F.pad(symbols, (farthest, 0), value=PAD)  # (n, farthest + size)
    return symbols, before.unfold(1, farthest, 1)[:, :size].flip(-1)


def latch(n: int, size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A stream of noise with a letter now and then; at every step, name the last letter that was seen.

        a-~·b~-∘~·   ->   aaaabbbbbb

    The mean gap between letters differs from row to row, from 2 to 32 steps, evenly on a logarithmic scale.
    -> symbols, target, source (n, size) int; target[t] = symbols[source[t]], and t - source[t] is the distance
    """
    rng = torch.Generator().manual_seed(seed)
    gap = 2 ** (1 + 4 * torch.rand(n, 1, generator=rng))
    is_letter = torch.rand(n, size, generator=rng) < 1 / gap
    is_letter[:, 0] = True
    return _stream(is_letter, rng)


def latch_at(n: int, distance: int, seed: int, before: int = 8) -> tuple[Tensor, Tensor, Tensor]:
    """The same, with the last letter exactly `distance` steps before the end, after `before` steps of anything."""
    rng = torch.Generator().manual_seed(seed)
    is_letter = torch.rand(n, before + 1 + distance, generator=rng) < 0.25
    is_letter[:, [0, before]] = True
    is_letter[:, before + 1 :] = False
    return _stream(is_letter, rng)


def _stream(is_letter: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Fill letters and noise in.    is_letter bool (n, size), True in the first column"""
    t = torch.arange(is_letter.shape[1]).expand(is_letter.shape)
    letters = torch.randint(len(LETTERS), is_letter.shape, generator=rng)
    noise = torch.randint(len(LETTERS), len(LATCH), is_letter.shape, generator=rng)
    symbols = torch.where(is_letter, letters, noise)
    source = torch.where(is_letter, t, 0).cummax(1).values
    return symbols, symbols.gather(1, source), source


def reorder(n: int, size: int, seed: int, longest: int = 8) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Clauses that begin with their verb -> the same clauses with the verb last, as German subordinate clauses have it.

        Vabc,Wde,   ->   abcV,deW,

    A clause has 2 to `longest` words and a comma, so where a verb goes is decided by a comma further on.
    -> symbols, target, source (n, size) int, lengths (n,); target[t] = symbols[source[t]], PAD beyond the length
    """
    if not 3 <= longest + 1 <= size:
        raise ValueError(f"a clause of up to {longest} words and a comma does not fit into {size} positions")
    rng = torch.Generator().manual_seed(seed)
    clauses = torch.randint(3, longest + 2, (n, size // 3 + 1), generator=rng)  # words and comma
    clauses[:, 0] = clauses[:, 0].clamp(max=size)
    ends = clauses.cumsum(1)  # (n, C)
    t = torch.arange(size).expand(n, size).contiguous()
    which = torch.searchsorted(ends, t, right=True)  # (n, size), the clause that t stands in
    end = ends.gather(1, which)
    start = end - clauses.gather(1, which)
    lengths = torch.where(ends <= size, ends, 0).amax(1)  # whole clauses only
    verbs = torch.randint(len(VERBS), (n, size), generator=rng)
    symbols = torch.randint(len(VERBS), len(VERBS + NOUNS), (n, size), generator=rng)
    symbols = torch.where(t == start, verbs, symbols)
    symbols = torch.where(t == end - 1, REORDER.index(","), symbols)
    source = torch.where(t == end - 2, start, torch.where(t == end - 1, t, t + 1)).clamp(max=size - 1)
    beyond = t >= lengths[:, None]
    target = symbols.gather(1, source).masked_fill(beyond, PAD)
    return symbols.masked_fill(beyond, -1), target, source.masked_fill(beyond, PAD), lengths
