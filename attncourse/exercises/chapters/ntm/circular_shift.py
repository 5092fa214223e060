"""Move a weighting round a ring of slots: a circular convolution with a small kernel."""

import torch
import torch.nn.functional as F

from ...engine.core import Case, Exercise, Misconception, Output


def circular_shift(weights, moves):
    reach = moves.shape[-1] // 2
    offsets = range(-reach, reach + 1)
    moved = torch.stack([weights.roll(o, -1) for o in offsets], -1)  # (B, heads, N, S): each move in full
    return (moved @ moves[..., None])[..., 0]  # (B, heads, N): each in its share


def _by_loops(weights, moves):
    B, heads, N = weights.shape
    rows = []
    for b in range(B):
        for h in range(heads):
            for i in range(N):
                terms = [m * weights[b, h, (i - o) % N] for o, m in enumerate(moves[b, h], -(moves.shape[-1] // 2))]
                rows.append(sum(terms))
    return torch.stack(rows).view(B, heads, N)


def _by_einsum(weights, moves):
    """A matrix that is 1 where a move leads from slot j to slot i."""
    N, S = weights.shape[-1], moves.shape[-1]
    i, j, o = torch.arange(N)[:, None, None], torch.arange(N)[:, None], torch.arange(S) - S // 2
    leads = ((i - j - o) % N == 0).to(weights.dtype)  # (N, N, S)
    return torch.einsum("bhj,bhs,ijs->bhi", weights, moves, leads)


def _by_windows(weights, moves):
    r = moves.shape[-1] // 2
    ring = F.pad(weights, (r, r), mode="circular") if r else weights
    return (ring.unfold(-1, moves.shape[-1], 1) * moves.flip(-1).unsqueeze(2)).sum(-1)


def _case(kind, seed, B=2, heads=3, N=6, S=3, at=None, sharp=1.0, dtype=torch.float32, gradients=()):
    rng = torch.Generator().manual_seed(seed)
    weights = torch.randn(B, heads, N, generator=rng, dtype=dtype).softmax(-1)
    if at is not None:
        weights = torch.zeros_like(weights)
        weights[..., at] = 1
    moves = (sharp * torch.randn(B, heads, S, generator=rng, dtype=dtype)).softmax(-1)
    return Case(kind, {"weights": weights, "moves": moves}, gradients)


def _cases(seed):
    return [
        _case("three moves over six slots", seed),
        _case("all weight on the last slot", seed + 1, at=-1),
        _case("all weight on the first slot", seed + 2, at=0),
        _case("five moves over eight slots", seed + 3, N=8, S=5),
        _case("a kernel of one move", seed + 4, S=1),
        _case("as many moves as slots", seed + 5, N=5, S=5),
        _case("a memory of two slots", seed + 6, N=2),
        _case("a memory of one slot", seed + 7, N=1, S=1),
        _case("a batch of one", seed + 8, B=1),
        _case("a single head", seed + 9, heads=1),
        # Here torch can notice no mistake in a shape, and so the mistake can be told from its values.
        _case("sizes that are all equal", seed + 10, B=3, heads=3, N=3),
        _case("moves that are nearly certain", seed + 11, N=7, S=5, sharp=30.0),
        _case("float64 inputs", seed + 12, dtype=torch.float64),
        _case("inputs whose gradient is asked", seed + 13, N=7, S=5, gradients=("weights", "moves")),
    ]


def _centred(S):
    return range(-(S // 2), S // 2 + 1)


def _backwards(S):
    return [-o for o in _centred(S)]


def _wrap(weights, o):
    return weights.roll(o, -1)


def _drop(weights, o):
    """What goes beyond an end is lost."""
    return F.pad(weights, (o, -o)) if abs(o) < weights.shape[-1] else torch.zeros_like(weights)


def _stay(weights, o):
    """Slot i reads the neighbour at i - o, or the last one there is."""
    return weights[..., (torch.arange(weights.shape[-1]) - o).clamp(0, weights.shape[-1] - 1)]


def _pile_up(weights, o):
    """What would go beyond an end stays at the end."""
    target = (torch.arange(weights.shape[-1]) + o).clamp(0, weights.shape[-1] - 1)
    return torch.zeros_like(weights).index_add(-1, target, weights)


def _shares(x):
    return x / x.sum(-1, keepdim=True)


def _version(move=_wrap, offsets=_centred, moves=lambda moves: moves, after=lambda shifted: shifted):
    """The solution with one part exchanged."""

    def version(**inputs):
        weights, kernel = inputs["weights"], moves(inputs["moves"])
        parts = [move(weights, o) * kernel[..., k, None] for k, o in enumerate(offsets(kernel.shape[-1]))]
        return after(sum(parts))

    return version


def _both(**parts):
    """In the right direction, and in the wrong one."""
    return _version(offsets=_centred, **parts), _version(offsets=_backwards, **parts)


def _three(on):
    def version(weights, moves):
        before, stay, after = moves[..., 0, None], moves[..., 1, None], moves[..., 2, None]
        return before * _wrap(weights, -on) + stay * weights + after * _wrap(weights, on)

    return version


def _three_by_zip(weights, moves):
    return sum(m[..., None] * _wrap(weights, o) for o, m in zip((-1, 0, 1), moves.unbind(-1), strict=False))


def _padded_by_one(turn):
    def version(weights, moves):
        ring = torch.cat([weights[..., -1:], weights, weights[..., :1]], -1)
        return (ring.unfold(-1, moves.shape[-1], 1) * turn(moves)[..., None, :]).sum(-1)

    return version


def _hard(moves):
    return F.one_hot(moves.argmax(-1), moves.shape[-1]).to(moves.dtype)


def _mean_move(weights, moves):
    """Each head goes to the mean of its moves, split between the two slots beside it."""
    mean = (moves * torch.tensor(_centred(moves.shape[-1]), dtype=moves.dtype)).sum(-1, keepdim=True)
    source, N = torch.arange(weights.shape[-1]) - mean.floor().long(), weights.shape[-1]
    share = mean - mean.floor()
    return (1 - share) * weights.gather(-1, source % N) + share * weights.gather(-1, (source - 1) % N)


EXERCISE = Exercise(
    id="ntm.circular-shift",
    title="Step to a neighbour, round the end",
    points=2,
    task=r"""
A head's weighting lies on a ring of N slots: after the last comes the first. A distribution over *moves* says which
share of the weight goes how many slots on; a move of +1 carries it from slot $j$ to slot $j + 1$. Write the shift

$$\tilde w(i) = \sum_{j=0}^{N-1} w(j)\, s\big((i - j) \bmod N\big)$$

for any odd number S of moves.

| argument | |
|---|---|
| `weights` | (B, heads, N) |
| `moves` | (B, heads, S): a share for each move $-\lfloor S/2 \rfloor, \dots, 0, \dots, \lfloor S/2 \rfloor$ |
| returns `shifted` | (B, heads, N) |
""",
    stub="""
def circular_shift(weights, moves):
    ...  # your code: shifted (B, heads, N)
""",
    hints=(
        "Put all weight on one slot and all of `moves` on +1. Where must the weight be afterwards? And if the slot "
        "was the last one? Try your code on just this before you check.",
        "Read the sum the other way round: for each move $o$, the *whole* weighting goes $o$ slots on, and what comes "
        "out is the average of these copies in the shares that `moves` gives. `weights.roll(o, -1)` takes a "
        "weighting $o$ slots on, round the end.",
        "The entry `k` of `moves` stands for the move `k - S // 2`. Sum "
        "`moves[..., k, None] * weights.roll(k - S // 2, -1)` over `k`: a loop over the few moves, none over batch, "
        "heads or slots.",
    ),
    solution=circular_shift,
    spellings=(_by_loops, _by_einsum, _by_windows),
    axes={"weights": "B heads N", "moves": "B heads S"},
    returns=(Output("shifted", "B heads N", distribution=True),),
    cases=_cases,
    wrong=(
        Misconception(
            "the weight goes the wrong way",
            "A move of +1 takes your weight to slot $j - 1$. In $\\sum_j w(j)\\, s(i - j)$ slot $i$ *receives* from "
            "$j = i - 1$ what goes one on. Reading $w(i + 1)$ instead is a correlation: `F.conv1d` and a window laid "
            "over neighbours compute that, and need the kernel flipped. A symmetric kernel would hide it.",
            (_version(offsets=_backwards),),
        ),
        Misconception(
            "the weight falls off the end",
            "What steps beyond the last or the first slot is lost, as with zeros for padding: your rows no longer sum "
            "to one, and a head that walks long enough has no weight left. (Rescaling afterwards only hides it.) The "
            "slots form a ring, so it has to come in at the other end; `F.pad` has a mode for it, `roll` does it by "
            "itself.",
            (*_both(move=_drop), *_both(move=_drop, after=_shares)),
        ),
        Misconception(
            "the head stops at the end",
            "At an end your head repeats the last slot, or stays there, as on a tape that is nailed down. Here the "
            "slots form a ring: from the last one, +1 leads to slot 0. Take the index modulo N.",
            (*_both(move=_stay), *_both(move=_pile_up)),
        ),
        Misconception(
            "it wraps round one end only",
            "One end is right: a negative index counts from the back in Python, so it wraps by itself. Beyond the last "
            "slot nothing does that for you. `(i - o) % N` treats both ends alike.",
            tuple(
                version
                for lost in (_drop, _stay, _pile_up)
                for sign in (1, -1)
                for version in _both(move=lambda w, o, lost=lost, sign=sign: (lost if sign * o < 0 else _wrap)(w, o))
            ),
        ),
        Misconception(
            "the kernel is not centred",
            "You read entry 0 of `moves` as *stay*, or put the first move elsewhere: every weighting arrives some "
            "slots too far. The moves begin at $-\\lfloor S/2 \\rfloor$; *stay* is the entry in the middle, at "
            "`S // 2`.",
            (
                _version(offsets=lambda S: range(S)),
                _version(offsets=lambda S: range(1, S + 1)),
                _version(offsets=lambda S: range(0, -S, -1)),
                _version(offsets=lambda S: range(1 - S, 1)),
                _version(offsets=lambda S: range(S - 1, -1, -1)),
                _version(offsets=lambda S: [o + 1 for o in _centred(S)]),
                _version(offsets=lambda S: [o - 1 for o in _centred(S)]),
                _version(_drop, lambda S: range(S)),
                _version(lambda w, o: _wrap(w, o) if o < w.shape[-1] else 0 * w, lambda S: range(S)),
            ),
        ),
        Misconception(
            "only three moves are thought of",
            "The −1, 0, +1 of the paper's example stands in your code: other numbers of moves fail, or are cut to "
            "three. Take the reach from the input, `moves.shape[-1] // 2`. (Then look which way each move goes.)",
            (
                _three(1),
                _three(-1),
                _three_by_zip,
                _padded_by_one(lambda moves: moves.flip(-1)),
                _padded_by_one(lambda moves: moves),
            ),
        ),
        Misconception(
            "only the likeliest move is made",
            "You pick the largest of `moves` and go there with everything. `argmax` has no gradient: no head could "
            "learn to move. Every move is made, in its share; that the result is blurred is the price, and the next "
            "stage, sharpening, pays it.",
            _both(moves=_hard),
        ),
        Misconception(
            "the moves are averaged into one",
            "You go to the *mean* of the moves. Half −1 and half +1 would then stay where it is; the formula sends "
            "half of the weight to each side. Mix the shifted weightings, not the distances.",
            (_mean_move,),
        ),
        Misconception(
            "one kernel for all heads",
            "All your heads, or all examples of the batch, move alike. `moves` has a row for each: one head may step "
            "on while another stays. (`F.conv1d` has one kernel for the whole batch; that is how this happens.)",
            (
                *_both(moves=lambda moves: moves[:, :1]),
                *_both(moves=lambda moves: moves[:1]),
                *_both(moves=lambda moves: moves[:1, :1]),
                *_both(moves=lambda moves: moves.mean(1, keepdim=True)),
                *_both(moves=lambda moves: moves.mean((0, 1), keepdim=True)),
            ),
        ),
        Misconception(
            "the weight leaves its head",
            "What moves on arrives in another head, or in another example of the batch. `roll` without `dims` rolls "
            "the tensor as one long row, so that the end of one head runs into the next; with another axis whole heads "
            "change places. The slots lie along the last axis.",
            (
                *_both(move=lambda weights, o: weights.roll(o)),
                _version(lambda weights, o: weights.roll(o), lambda S: range(S)),
                *_both(move=lambda weights, o: weights.flatten(1).roll(o, -1).view_as(weights)),
                *_both(move=lambda weights, o: weights.roll(o, 1)),
                *_both(move=lambda weights, o: weights.roll(o, 0)),
            ),
        ),
        Misconception(
            "a softmax too many",
            "`weights` and `moves` are distributions already, and so is what comes out. A second softmax of numbers "
            "between 0 and 1 is nearly flat: a head could neither step cleanly nor keep its place.",
            (
                *_both(moves=lambda moves: moves.softmax(-1)),
                *_both(after=lambda shifted: shifted.softmax(-1)),
            ),
        ),
    ),
)
