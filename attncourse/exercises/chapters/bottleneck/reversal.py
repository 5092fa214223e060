"""The source backwards, and how far each of its symbols is from the one it becomes."""

import torch

from ...engine.core import Case, Exercise, Misconception, Output


def reverse_source(source, lengths):
    t = torch.arange(source.shape[1])  # (S,)
    real = t < lengths[:, None]  # (B, S)
    index = torch.where(real, lengths[:, None] - 1 - t, t)  # (B, S): padding stays where it is
    lags = torch.where(real, 2 * t + 1, 0)  # symbol i is read at L-1-i and written at L+i
    return source.gather(1, index), lags


def _rows(source, lengths):
    flipped, lags = source.clone(), torch.zeros_like(source)
    for b, n in enumerate(lengths.tolist()):
        flipped[b, :n] = source[b, :n].flip(0)
        lags[b, :n] = torch.tensor([(n + i) - (n - 1 - i) for i in range(n)])
    return flipped, lags


def _rolled(source, lengths):
    """Flip everything, then push the padding to the end again."""
    S = source.shape[1]
    rows = [torch.roll(row, int(n) - S) for row, n in zip(source.flip(1), lengths, strict=True)]
    odd = torch.arange(1, 2 * S, 2).expand(len(source), S)
    return torch.stack(rows), odd * (torch.arange(S)[None] < lengths[:, None])


def _lags(lag, padding=0):
    """Lags by another formula of i, L and S; the reversal itself is right."""

    def answer(source, lengths):
        i, L = torch.arange(source.shape[1]), lengths[:, None]
        value = (lag(i, L, source.shape[1]) + 0 * source).long()
        return reverse_source(source, lengths)[0], torch.where(i < L, value, padding)

    return answer


def _everywhere(source):
    """The right lags, on padding too."""
    return (2 * torch.arange(source.shape[1]) + 1).expand_as(source).clone()


def _flips(flip):
    """Another reversal; the lags are right."""
    return lambda source, lengths: (flip(source, lengths), reverse_source(source, lengths)[1])


def _keep_end(source, lengths):
    """The last real symbol is taken for an END and left in its place."""
    short = reverse_source(source, (lengths - 1).clamp(min=0))[0]
    return short


def _halfway(source, lengths):
    """Swaps in place: the second half undoes the first."""
    out = source.clone()
    for b, n in enumerate(lengths.tolist()):
        for i in range(n // 2):
            out[b, i] = out[b, n - 1 - i]
    return out


def _case(kind, seed, lengths=(6, 3, 5), size=6):
    rng = torch.Generator().manual_seed(seed)
    # every symbol once in its row: a wrong place shows
    source = torch.stack([torch.randperm(20, generator=rng)[:size] + 4 for _ in lengths])
    lengths = torch.tensor(lengths)
    source = source.masked_fill(torch.arange(size) >= lengths[:, None], 0)
    return Case(kind, {"source": source, "lengths": lengths})


def _cases(seed):
    return [
        _case("texts of different lengths", seed),
        _case("texts of equal length", seed + 1, (5, 5, 5), 5),
        _case("one text", seed + 2, (7,), 7),
        _case("texts of one symbol", seed + 3, (1, 1), 1),
        _case("more padding than text", seed + 4, (2, 1, 4), 9),
        _case("as many texts as symbols", seed + 5, (4, 2, 3, 1), 4),
    ]


EXERCISE = Exercise(
    id="bottleneck.reversal",
    title="The source backwards",
    points=2,
    task=r"""
Reverse every text of a batch within its own length, and say what that does to distances. Reading and writing each
take one step per symbol: a text of $L$ symbols is read at the steps $0 \dots L-1$, and symbol $i$ of the output is
written at step $L + i$. Suppose that output symbol $i$ says what source symbol $i$ said. The **lag** of $i$ is the
number of steps from reading the one to writing the other.

| argument | shape |
|---|---|
| `source` | (B, S) int, padded with 0 at the end |
| `lengths` | (B,) int: $L$ of each text |
| returns `flipped` | (B, S): each text backwards, padding still last |
| returns `lags` | (B, S) int: the lag of symbol $i$ of the *original* text, read reversed; 0 on padding |

Padding is not read: a batch only stores it. Then compare with the lags without reversal: which of the two has the
smaller mean?
""",
    stub="""
def reverse_source(source, lengths):
    ...  # your code: flipped (B, S), lags (B, S)
""",
    hints=(
        "Write the steps of “a b c” → “A B C” in a row: first unreversed, a b c A B C, then reversed, c b a A B C. "
        "Count from each small letter to its capital.",
        "Reversed, symbol $i$ is read at step $L - 1 - i$ and written at step $L + i$. `source.gather(1, index)` takes "
        "entry `index[b, t]` for place `t`; for a real place that is $L - 1 - t$.",
        "On padding the index is the place itself: `torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)`.",
    ),
    solution=reverse_source,
    spellings=(_rows, _rolled),
    axes={"source": "B S", "lengths": "B"},
    returns=(Output("flipped", "B S"), Output("lags", "B S")),
    cases=_cases,
    wrong=(
        Misconception(
            "padding comes first",
            "`flip(1)` turns the whole row round, padding included: a short text now begins with its padding, and a "
            "recurrent reader would spend its first steps on it. Reverse *within the length*; padding stays last.",
            (
                _flips(lambda source, lengths: source.flip(1)),
                lambda source, lengths: (source.flip(1), _everywhere(source)),
            ),
        ),
        Misconception(
            "the batch is reversed",
            "You turned round the order of the *texts*, not of the symbols within them: axis 0 is the batch.",
            (_flips(lambda source, lengths: source.flip(0)),),
        ),
        Misconception(
            "the source is not reversed",
            "`flipped` is the source as it came.",
            (_flips(lambda source, lengths: source.clone()),),
        ),
        Misconception(
            "the last symbol is left in its place",
            "All symbols but the last are reversed. Off by one: the first place is taken by symbol $L - 1$, not "
            "$L - 2$. (Where a text is closed by an END, that one does stay last; these texts have none.)",
            (_flips(_keep_end),),
        ),
        Misconception(
            "the swap overwrites what it needs",
            "The first half of each text has become the second half, and the second half is unchanged: its partner "
            "was overwritten before it could be copied. Build the new row from the old one instead of changing it.",
            (_flips(_halfway),),
        ),
        Misconception(
            "lags of the text that is not reversed",
            "Your lags are all $L$. That is right when the text is read forwards: symbol $i$ at step $i$, written at "
            "$L + i$. Reversed, symbol $i$ is read at step $L - 1 - i$: the first comes last and is written next.",
            (
                _lags(lambda i, L, S: L),
                lambda source, lengths: (reverse_source(source, lengths)[0], lengths[:, None].expand_as(source)),
            ),
        ),
        Misconception(
            "lags in the order of reading",
            "Your lags are the right numbers from the wrong end: you list them by the place in the *reversed* text. "
            "Entry 0 is the first symbol of the original text, the one that is read last and written first.",
            (_lags(lambda i, L, S: 2 * (L - 1 - i) + 1),),
        ),
        Misconception(
            "the lag counts the symbols between",
            "Your lags are one too small: they count the steps that lie *between* reading and writing. From step "
            "$L - 1$ to the very next step, $L$, is one step, not none.",
            (_lags(lambda i, L, S: 2 * i), _lags(lambda i, L, S: L - 1)),
        ),
        Misconception(
            "lags on padding",
            "The lags of the real symbols are right, but there are lags on padding, too. Nothing stands there, so "
            "nothing is read or written: 0.",
            (lambda source, lengths: (reverse_source(source, lengths)[0], _everywhere(source)),),
        ),
        Misconception(
            "padding is counted as read",
            "Your lags grow with the padding of the batch: as if the reader went on through it before writing begins. "
            "Then the same text would be harder beside a long neighbour. A reader stops at the text's own length.",
            (_lags(lambda i, L, S: S - L + 2 * i + 1),),
        ),
        Misconception(
            "the distance within the source only",
            "You count from where a symbol stood to where it stands now, or to the end of the source. The lag ends "
            "where its *output* is written, at step $L + i$.",
            (_lags(lambda i, L, S: i + 1), _lags(lambda i, L, S: (L - 1 - 2 * i).abs())),
        ),
    ),
)
