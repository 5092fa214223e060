"""How good is it when it must live with its own mistakes?"""

import torch

from ....core.symbols import BEGIN, END
from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...engine.run import build
from ...fixtures.bottleneck import TARGET
from .texts import own_outputs, sources


def free_running(model, source, lengths, target, target_lengths):
    carry = model.begin(source, lengths)
    previous = torch.full_like(lengths, 1)  # BEGIN
    ended, right = torch.zeros_like(lengths, dtype=torch.bool), []
    for wanted in target.unbind(1):
        logits, carry, _ = model.step(previous, carry)
        previous = logits.argmax(-1)  # (B,): its own symbol, right or wrong, is what it sees next
        right.append((previous == wanted) & ~ended)
        ended = ended | (previous == 2)  # END: nothing is written after it
    real = torch.arange(target.shape[1]) < target_lengths[:, None]  # (B, T)
    return (torch.stack(right, 1) & real).sum(1) / target_lengths


def _write_first(model, source, lengths, target, target_lengths):
    """All that is written first, closed up behind END, then compared."""
    carry, previous, written = model.begin(source, lengths), torch.ones_like(lengths), []
    for _ in range(target.shape[1]):
        logits, carry, _ = model.step(previous, carry)
        previous = logits.max(-1).indices
        written.append(previous)
    written = torch.stack(written, 1)
    after_end = (written == 2).cumsum(1) - (written == 2).long() > 0
    hits = (written.masked_fill(after_end, -1) == target) & (target != 0)
    return hits.float().sum(1) / target_lengths


def _one_by_one(model, source, lengths, target, target_lengths):
    shares = []
    for b in range(len(source)):
        carry, y, hits = model.begin(source[b : b + 1], lengths[b : b + 1]), torch.tensor([1]), 0
        for i in range(int(target_lengths[b])):
            logits, carry, _ = model.step(y, carry)
            y = logits.argmax(-1)
            hits += int(y[0] == target[b, i])
            if y[0] == 2:
                break
        shares.append(hits / int(target_lengths[b]))
    return torch.tensor(shares)


def _written(model, source, lengths, target, feed=None, first=BEGIN, keep=False, stop=True):
    """What is written when `feed(own, wanted)` is what the model sees next; -1 after its END."""
    carry = start = model.begin(source, lengths)
    previous, ended, rows = torch.full_like(lengths, first), torch.zeros_like(lengths, dtype=torch.bool), []
    for wanted in target.unbind(1):
        logits, carry, _ = model.step(previous, start if keep else carry)
        own = logits.argmax(-1)
        rows.append(own.masked_fill(ended, -1) if stop else own)
        ended = ended | (own == END)
        previous = feed(own, wanted) if feed else own
    return torch.stack(rows, 1)


def _hits(how, count=lambda hits, real, n: (hits & real).sum(1) / n):
    def answer(model, source, lengths, target, target_lengths):
        hits = how(model, source, lengths, target) == target
        return count(hits, torch.arange(target.shape[1]) < target_lengths[:, None], target_lengths)

    return answer


def _no_argmax(model, source, lengths, target):
    """Least probable instead of most: argmin."""
    carry, previous, rows = model.begin(source, lengths), torch.full_like(lengths, BEGIN), []
    for _ in target.unbind(1):
        logits, carry, _ = model.step(previous, carry)
        previous = logits.argmin(-1)
        rows.append(previous)
    return torch.stack(rows, 1)


def _targets(model, source, lengths, rng, steps):
    """Each row is what the model writes by itself, with something done to it: a little of all that can happen."""
    rows = []
    for b, own in enumerate(own_outputs(model, source, lengths, steps)):
        other = int(torch.randint(4, TARGET, (1,), generator=rng))
        own = own[: steps - 1]
        at = min(1, len(own) - 1) if own else 0
        kinds = (
            own,  # right, to the end if it ends
            [*own[:at], other if own[at : at + 1] != [other] else 4 + (other - 3) % 4, *own[at + 1 :]],  # one wrong
            own[: max(1, len(own) - 2)],  # it goes on where the target has ended
            [*own[:3], other, other],  # the target goes on
        )
        rows.append(torch.tensor([*kinds[b % 4], END]))
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])


def _case(kind, seed, lengths=(6, 4, 5, 3, 2, 6, 1, 5), dtype="float32", d_hidden=9, steps=7):
    rng = torch.Generator().manual_seed(seed)
    model = Fixture("attncourse.exercises.fixtures.bottleneck.Speller", (d_hidden,), seed, dtype)
    source, sizes = sources(rng, lengths, max(lengths)), torch.tensor(lengths)
    target, target_lengths = _targets(build(model), source, sizes, rng, steps)
    inputs = {"model": model, "source": source, "lengths": sizes}
    return Case(kind, {**inputs, "target": target, "target_lengths": target_lengths})


def _cases(seed):
    return [
        _case("a batch of sentences", seed),
        _case("another batch", seed + 1, (3, 3, 3, 3, 3, 3, 3, 3), d_hidden=6),
        _case("one sentence", seed + 2, (5,)),
        _case("long targets", seed + 3, (6, 6, 2, 4, 6, 1), steps=12),
        _case("a float64 model", seed + 4, dtype="float64"),
    ]


EXERCISE = Exercise(
    id="bottleneck.free-running",
    title="Let it run on its own output",
    points=3,
    task=r"""
What share of each sentence is right when the model runs *free*: it starts from BEGIN = 1, always takes its most
probable symbol, and is fed the symbol that **it** wrote, right or wrong?

| argument | what it is |
|---|---|
| `model.begin(source, lengths)` | gives `carry` |
| `model.step(previous, carry)` | gives `logits` (B, V), the next `carry`, `weights`; `previous` is (B,) int |
| `source`, `lengths` | (B, S) int, (B,) int |
| `target` | (B, T) int, each sentence closed by END = 2, then padded with 0 |
| `target_lengths` | (B,) int, END counted |
| returns `share` | (B,): how much of the real target, END included, stands at its place in what was written |

After its END the model has written nothing more: target symbols that come later are missed. A share of 1 is an exact
match.
""",
    stub="""
def free_running(model, source, lengths, target, target_lengths):
    ...  # your code: share (B,)
""",
    hints=(
        "A loop over the steps of the target. What changes from step to step: the carry, and the symbol that the "
        "model is shown.",
        "`previous = logits.argmax(-1)` is what it wrote, and what it sees next. Keep a bool `ended` (B,) that becomes "
        "True when it has written END.",
        "Right at a step is `(previous == wanted) & ~ended`, with `ended` as it was *before* this step: END itself "
        "counts. Leave out padding with `torch.arange(T) < target_lengths[:, None]`.",
    ),
    solution=free_running,
    spellings=(_write_first, _one_by_one),
    axes={"source": "B S", "lengths": "B", "target": "B T", "target_lengths": "B"},
    returns=(Output("share", "B"),),
    cases=_cases,
    wrong=(
        Misconception(
            "accuracy under teacher forcing",
            "Your model is shown the *true* last symbol at every step. After a mistake it is put back on the right "
            "track, so one error never becomes two: the share is too good, and no one will be there to correct it when "
            "it is used. Feed it what it wrote.",
            (
                _hits(lambda *a: _written(*a, feed=lambda own, wanted: wanted)),
                _hits(lambda *a: _written(*a, feed=lambda own, wanted: wanted, stop=False)),
                _hits(
                    lambda *a: _written(*a, feed=lambda own, wanted: wanted, stop=False),
                    lambda hits, real, n: hits.float().mean(1),
                ),
            ),
        ),
        Misconception(
            "the model goes on after its END",
            "After END your model is run on, and when a later symbol happens to be the right one it is counted. END "
            "means that the sentence is over: what the target still has is missed.",
            (_hits(lambda *a: _written(*a, stop=False)),),
        ),
        Misconception(
            "END is not counted",
            "You leave out the last real symbol, END: a model that writes on and on would have a share of 1. Stopping "
            "at the right place is part of the answer.",
            (
                _hits(
                    _written,
                    lambda hits, real, n: (
                        (hits & real)[:, :-1].sum(1) / (n - 1).clamp(min=1)
                        if real[:, -1].all()
                        else torch.stack(
                            [h[: m - 1].sum() / max(m - 1, 1) for h, m in zip(hits, n.tolist(), strict=True)]
                        )
                    ),
                ),
            ),
        ),
        Misconception(
            "padding is counted",
            "You divide by all T places of the padded target: short sentences can never reach 1. Or padding counts as "
            "right, and short ones start with a present. Only the first `target_lengths` places are real.",
            (
                _hits(_written, lambda hits, real, n: (hits & real).sum(1) / real.shape[1]),
                _hits(_written, lambda hits, real, n: (hits | ~real).sum(1) / real.shape[1]),
                _hits(lambda *a: _written(*a, stop=False), lambda hits, real, n: hits.float().mean(1)),
            ),
        ),
        Misconception(
            "all or nothing",
            "You return whether the *whole* sentence is right: 0 or 1. That is the exact match, which this chapter "
            "reports. Asked for is the share of its symbols; where it is 1, the sentence matches exactly.",
            (_hits(_written, lambda hits, real, n: (hits | ~real).all(1).float()),),
        ),
        Misconception(
            "nothing counts after the first mistake",
            "You stop counting at the first wrong symbol. The model goes on after a mistake, and what it gets right "
            "later is right: compare place by place.",
            (_hits(_written, lambda hits, real, n: ((hits & real).long().cumprod(1)).sum(1) / n),),
        ),
        Misconception(
            "the carry is not handed on",
            "Each of your steps starts from the first carry: the decoder forgets what it has written, and only the "
            "last symbol tells it where it is. `model.step` returns the *next* carry.",
            (_hits(lambda *a: _written(*a, keep=True)), _hits(lambda *a: _written(*a, keep=True, stop=False))),
        ),
        Misconception(
            "it does not start from BEGIN",
            "Your model is shown something else than BEGIN = 1 before its first symbol (PAD, or END). In training it "
            "always saw BEGIN there.",
            (_hits(lambda *a: _written(*a, first=0)), _hits(lambda *a: _written(*a, first=END))),
        ),
        Misconception(
            "the least probable symbol",
            "You take the symbol with the *smallest* logit. The most probable one has the largest: `argmax`.",
            (_hits(_no_argmax),),
        ),
    ),
)
