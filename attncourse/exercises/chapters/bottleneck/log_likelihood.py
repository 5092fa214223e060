"""The objective: the log-likelihood of the right output, without its padding."""

import torch
import torch.nn.functional as F

from ....core.symbols import BEGIN, END
from ...engine.core import Case, Exercise, Fixture, Misconception, Output
from ...fixtures.bottleneck import TARGET
from .texts import sources


def sequence_loss(model, source, lengths, target, target_lengths):
    begin = torch.full_like(target[:, :1], 1)  # BEGIN
    previous = torch.cat([begin, target[:, :-1]], 1)  # (B, T): at step i the model sees symbol i-1
    logits, _ = model(source, lengths, previous)  # (B, T, V)
    each = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]  # (B, T)
    real = torch.arange(target.shape[1]) < target_lengths[:, None]  # (B, T)
    log_prob = torch.where(real, each, 0.0).sum(1)  # (B,)
    return -log_prob.sum() / target_lengths.sum(), log_prob


def _cross_entropy(model, source, lengths, target, target_lengths):
    previous = F.pad(target, (1, 0), value=1)[:, :-1]
    logits = model(source, lengths, previous)[0]
    mean = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)  # PAD is 0, and only padding is
    each = F.cross_entropy(logits.transpose(1, 2), target, ignore_index=0, reduction="none")
    return mean, -each.sum(1)


def _loop(model, source, lengths, target, target_lengths):
    totals = []
    for b, n in enumerate(target_lengths.tolist()):
        carry = model.begin(source[b : b + 1, : lengths[b]], lengths[b : b + 1])
        total, y = 0.0, torch.tensor([1])
        for i in range(n):
            logits, carry, _ = model.step(y, carry)
            total = total + logits[0].softmax(-1)[target[b, i]].log()
            y = target[b, i : i + 1]
        totals.append(total)
    log_prob = torch.stack(totals)
    return -log_prob.sum() / target_lengths.sum().to(log_prob.dtype), log_prob


def _shifted(target):
    return torch.cat([torch.full_like(target[:, :1], BEGIN), target[:, :-1]], 1)


def _answer(feed=_shifted, pick=lambda logits, target: (logits, target), real=None, join=None, axis=-1):
    """An answer with one part exchanged: a wrong version differs from the solution in that part only."""

    def answer(model, source, lengths, target, target_lengths):
        logits, wanted = pick(model(source, lengths, feed(target))[0], target)
        each = logits.log_softmax(axis).gather(-1, wanted[..., None])[..., 0]
        counted = torch.arange(wanted.shape[1]) < target_lengths[:, None]
        counted = real(counted, target_lengths) if real else counted
        each = torch.where(counted, each, 0.0)
        log_prob = each.sum(1)
        loss = join(each, log_prob, target_lengths) if join else -log_prob.sum() / counted.sum()
        return loss, log_prob

    return answer


def _without_begin(join):
    """The slices of data that begins with BEGIN, on data that does not."""

    def answer(model, source, lengths, target, target_lengths):
        logits, _ = model(source, lengths, target[:, :-1])
        each = F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=0, reduction="none")  # (B, T - 1)
        return join(each, target_lengths), -each.sum(1)

    return answer


def _unshifted_zero(target):
    """PAD instead of BEGIN."""
    return torch.cat([torch.zeros_like(target[:, :1]), target[:, :-1]], 1)


def _shifted_left(target):
    return torch.cat([target[:, 1:], torch.zeros_like(target[:, :1])], 1)


def _probability(model, source, lengths, target, target_lengths):
    logits, _ = model(source, lengths, _shifted(target))
    each = logits.softmax(-1).gather(-1, target[..., None])[..., 0]
    real = torch.arange(target.shape[1]) < target_lengths[:, None]
    total = torch.where(real, each, 0.0).sum(1)
    return -total.sum() / target_lengths.sum(), total


def _twice(model, source, lengths, target, target_lengths):
    logits, _ = model(source, lengths, _shifted(target))
    each = logits.softmax(-1).log_softmax(-1).gather(-1, target[..., None])[..., 0]
    real = torch.arange(target.shape[1]) < target_lengths[:, None]
    log_prob = torch.where(real, each, 0.0).sum(1)
    return -log_prob.sum() / target_lengths.sum(), log_prob


def _case(kind, seed, lengths=(6, 3, 5), target_lengths=(5, 2, 4), dtype="float32", size=6, d_hidden=7):
    rng = torch.Generator().manual_seed(seed)
    source = sources(rng, lengths, size)
    target = torch.randint(4, TARGET, (len(lengths), max(target_lengths)), generator=rng)
    ends = torch.tensor(target_lengths)
    target = target.scatter(1, ends[:, None] - 1, END)
    target = target.masked_fill(torch.arange(target.shape[1]) >= ends[:, None], 0)
    model = Fixture("attncourse.exercises.fixtures.bottleneck.Speller", (d_hidden,), seed, dtype)
    sizes = {"lengths": torch.tensor(lengths), "target": target, "target_lengths": ends}
    return Case(kind, {"model": model, "source": source, **sizes})


def _cases(seed):
    return [
        _case("targets of different lengths", seed),
        _case("targets of equal length", seed + 1, (4, 6), (4, 4)),
        _case("one sentence", seed + 2, (6,), (5,)),
        _case("a target of nothing but END", seed + 3, (6, 2), (1, 3)),
        _case("much padding", seed + 4, (6, 1, 2), (9, 1, 2)),
        _case("a float64 model", seed + 5, dtype="float64"),
    ]


EXERCISE = Exercise(
    id="bottleneck.log-likelihood",
    title="The log-likelihood, without padding",
    points=3,
    task=r"""
Teacher forcing: the model is given the true output so far and asked for the next symbol. Return what training
minimises, and the log-likelihood of each sentence:

$$\log p(y \mid x) = \sum_{i=1}^{T} \log p(y_i \mid y_1 \dots y_{i-1}, x), \qquad
\mathrm{loss} = -\frac{\sum_b \log p(y^{(b)} \mid x^{(b)})}{\sum_b T_b} .$$

| argument | what it is |
|---|---|
| `model(source, lengths, previous)` | gives `logits` (B, T, V), `weights` |
| `previous` | (B, T) int: what the model sees before each step; yours to make |
| `source`, `lengths` | (B, S) int, (B,) int |
| `target` | (B, T) int: the symbols to be written, each sentence closed by END = 2 and then padded with PAD = 0 |
| `target_lengths` | (B,) int: $T_b$, END counted |
| returns `loss` | a single number: the mean over all *real* symbols |
| returns `log_prob` | (B,): $\log p(y \mid x)$ of each sentence |

Before the first symbol the model sees BEGIN = 1.
""",
    stub="""
def sequence_loss(model, source, lengths, target, target_lengths):
    ...  # your code: loss (), log_prob (B,)
""",
    hints=(
        "At step $i$ the model may see $y_{i-1}$ and is asked for $y_i$. Write both rows under each other for "
        "“7 4 END”: what does it see before each?",
        "`previous` is BEGIN followed by the target without its last column. `logits.log_softmax(-1)` are "
        "log-probabilities over the vocabulary; `gather` picks the target's.",
        "`torch.arange(T) < target_lengths[:, None]` is True on the real symbols. Set the rest to 0, sum over time, "
        "and divide by the number of real symbols, not by B · T.",
    ),
    solution=sequence_loss,
    spellings=(_cross_entropy, _loop),
    axes={"source": "B S", "lengths": "B", "target": "B T", "target_lengths": "B"},
    returns=(Output("loss", ""), Output("log_prob", "B")),
    cases=_cases,
    wrong=(
        Misconception(
            "averaging over padding",
            "Your log-likelihoods are right, the loss is too small: you divide by all B · T places, padding included. "
            "The more padding a batch has, the smaller its loss looks, and the weaker its gradient is. Divide by the "
            "number of real symbols.",
            (_answer(join=lambda each, log_prob, n: -each.mean()),),
        ),
        Misconception(
            "padding is part of the sentence",
            "Your log-likelihoods include the padding: the model is graded, and would be trained, on writing PAD. "
            "It is quickly good at that, and the loss falls for no good reason. Count the real symbols only.",
            (_answer(real=lambda counted, n: torch.ones_like(counted)),),
        ),
        Misconception(
            "the target is not shifted",
            "At step $i$ your model is shown $y_i$, the very symbol it is asked for. Training goes splendidly, it "
            "learns to copy, and free-running it can write nothing. Before step $i$ it may see $y_{i-1}$: BEGIN first.",
            (
                _answer(feed=lambda target: target),
                _answer(feed=lambda target: target, join=lambda each, log_prob, n: -each.mean()),
                _answer(feed=lambda target: target, real=lambda counted, n: torch.ones_like(counted)),
            ),
        ),
        Misconception(
            "the target is shifted the wrong way",
            "At step $i$ your model is shown $y_{i+1}$, a symbol from the future, and never the one it has just "
            "written. Shift to the *right*: BEGIN in front, the last column dropped.",
            (_answer(feed=_shifted_left),),
        ),
        Misconception(
            "shifted twice",
            "The input is shifted, and then the logits are compared with the *next* target as well "
            "(`logits[:, :-1]` beside `target[:, 1:]`). That slice belongs to data whose target itself begins with "
            "BEGIN. Here `logits[:, i]` already is the prediction of `target[:, i]`; the first symbol is never graded.",
            (
                _answer(
                    pick=lambda logits, target: (logits[:, :-1], target[:, 1:]),
                    real=lambda counted, n: torch.arange(counted.shape[1]) < n[:, None] - 1,
                    join=lambda each, log_prob, n: -log_prob.sum() / (n - 1).sum().clamp(min=1),
                ),
            ),
        ),
        Misconception(
            "the first symbol is never asked for",
            "You feed `target[:, :-1]` and compare with `target[:, 1:]`: the usual slices, for data whose target "
            "itself begins with BEGIN. Here it does not: your model sees the first symbol before it is asked for one, "
            "and never learns how a sentence begins. Put BEGIN in front.",
            (
                _without_begin(lambda each, n: each.sum() / (n - 1).sum().clamp(min=1)),
                _without_begin(lambda each, n: each.mean()),
                _without_begin(lambda each, n: each.sum() / n.sum()),
            ),
        ),
        Misconception(
            "the sentence does not begin with BEGIN",
            "Before the first symbol your model sees PAD (or END), not BEGIN. When it runs free it will be given "
            "BEGIN, a symbol that it would never have met.",
            (
                _answer(feed=_unshifted_zero),
                _answer(feed=lambda target: torch.where(_shifted(target) == BEGIN, END, _shifted(target))),
            ),
        ),
        Misconception(
            "END is not counted",
            "You leave out the last real symbol, END. A model that is never asked for END never learns to stop: it is "
            "a symbol like the others, and `target_lengths` counts it.",
            (
                _answer(
                    real=lambda counted, n: torch.arange(counted.shape[1]) < n[:, None] - 1,
                    join=lambda each, log_prob, n: -log_prob.sum() / (n - 1).sum().clamp(min=1),
                ),
                _answer(
                    real=lambda counted, n: torch.arange(counted.shape[1]) < n[:, None] - 1,
                    join=lambda each, log_prob, n: -log_prob.sum() / n.sum(),
                ),
            ),
        ),
        Misconception(
            "a mean of means",
            "The log-likelihoods are right. Your loss is the mean over sentences of their means over symbols: a symbol "
            "of a short sentence counts for more than one of a long sentence. It is a choice one can make, but not the "
            "one asked for: all real symbols count alike.",
            (_answer(join=lambda each, log_prob, n: -(log_prob / n).mean()),),
        ),
        Misconception(
            "the loss is a mean over sentences",
            "The log-likelihoods are right. Your loss divides their sum by the number of sentences, not of symbols: it "
            "grows with the length of the targets, and so does the size of a training step.",
            (
                _answer(join=lambda each, log_prob, n: -log_prob.mean()),
                _answer(join=lambda each, log_prob, n: -log_prob.sum()),
            ),
        ),
        Misconception(
            "the sign is wrong",
            "The log-likelihoods are right, the loss has their sign: it is negative, and minimising it would make the "
            "right sentences *less* likely.",
            (_answer(join=lambda each, log_prob, n: log_prob.sum() / n.sum()),),
        ),
        Misconception(
            "the softmax runs over time",
            "Your probabilities sum to one over the steps (or the batch), not over the symbols of the vocabulary: the "
            "steps compete with each other. The vocabulary is the last axis of `logits`.",
            (_answer(axis=1), _answer(axis=0)),
        ),
        Misconception(
            "probabilities are added, not logarithms",
            "You sum $p(y_i)$ where $\\log p(y_i)$ is asked for. The probability of a sentence is a *product*; its "
            "logarithm is the sum of logarithms.",
            (_probability,),
        ),
        Misconception(
            "a softmax before the softmax",
            "You hand probabilities to something that applies a softmax itself (`cross_entropy`, `log_softmax`). It "
            "normalises twice: the loss cannot come near zero, however good the model is. Hand it the logits.",
            (_twice,),
        ),
    ),
)
