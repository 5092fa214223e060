"""Number words to digits (chapters 03 and 04): one vector for the whole text, the same with the text reversed, and
RNNsearch, each with the same data, steps, learning rate and number of parameters (within 5%)."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from ..core.symbols import BEGIN, END, shift_right
from ..mechanisms.seq2seq import EncoderDecoder, RNNsearch, Translator, nll
from ..running.decoding import greedy
from ..running.training import fit
from ..tasks import numbers
from ..tasks.text import Vocabulary
from . import Recipe

EXAMPLES, BATCH, STEPS, RATE = 40_000, 64, 2_500, 4e-3


def config(**sizes: int) -> dict:
    return {"alphabet": numbers.source_vocabulary().characters, "d_embed": 32, **sizes}


def build(make, config: dict) -> Translator:
    sizes = {key: config[key] for key in ("d_embed", "d_hidden", "d_context") if key in config}
    return make(len(Vocabulary(config["alphabet"])), len(numbers.TARGET), **sizes)


def as_is(text: str) -> str:
    return text


def backwards(text: str) -> str:
    """Source reversal: the first word read last, next to where writing begins.    Sutskever et al. 2014, sec. 3.3"""
    return text[::-1]


def bucketed(tensors: tuple[Tensor, ...], size: int, seed: int, pool: int = 40) -> Iterator[tuple[Tensor, ...]]:
    """Endless shuffled batches of texts of about the same length, so that little is computed on padding.

    tensors: source (N, S), its lengths (N,), target (N, T), its lengths (N,); each batch is cut to its longest
    """
    source, lengths, target, target_lengths = tensors
    rng = torch.Generator().manual_seed(seed)
    while True:
        for part in torch.randperm(len(source), generator=rng).split(size * pool):
            rows = part[lengths[part].argsort(stable=True)].split(size)
            for i in torch.randperm(len(rows), generator=rng).tolist():
                r = rows[i]
                yield source[r, : lengths[r].max()], lengths[r], target[r, : target_lengths[r].max()], target_lengths[r]


def loss(model: nn.Module, batch) -> Tensor:
    """Teacher forcing: the log-likelihood of each digit after the true ones."""
    source, lengths, target, target_lengths = batch
    logits, _ = model(source, lengths, shift_right(target))
    return nll(logits, target, target_lengths)


def schedule(steps: int):
    """A short warm-up, then a straight line to nothing."""
    return lambda step: min((step + 1) / 200, 1 - step / steps)


def train(order, model, config, seed, steps, checkpoint=None, device=None):
    examples = [e._replace(text=order(e.text)) for e in numbers.sample(EXAMPLES, seed)]
    data = bucketed(numbers.tensors(examples, Vocabulary(config["alphabet"])), BATCH, seed)

    how = {"schedule": schedule(steps), "seed": seed, "checkpoint": checkpoint, "device": device}
    return fit(model, data, loss, steps, lr=RATE, **how)


def translate(model: nn.Module, texts: list[str], alphabet: str, order=as_is, search=greedy):
    """Free-running. -> digits (a list of texts), and the search's Output: symbols, weights, log-probabilities"""
    device = next(model.parameters()).device
    source, lengths = (x.to(device) for x in Vocabulary(alphabet).encode([order(text) for text in texts]))
    with torch.no_grad():
        out = search(model.step, model.begin(source, lengths), BEGIN, END, max_steps=numbers.MOST_DIGITS + 1)
    return numbers.TARGET.decode(out.symbols.tolist()), out


def right(model: nn.Module, examples: list[numbers.Example], alphabet: str, order=as_is, size: int = 500) -> Tensor:
    """Which of the numbers are written without a mistake?    -> bool (N,)"""
    parts = [examples[i : i + size] for i in range(0, len(examples), size)]
    answers = [a for part in parts for a in translate(model, [e.text for e in part], alphabet, order)[0]]
    return torch.tensor([a == e.digits for a, e in zip(answers, examples, strict=True)])


def crossings(model: nn.Module, language: str, alphabet: str, n: int = 1_500, seed: int = 41) -> tuple[int, int, int]:
    """In endings like "sixty-five": does the tens digit look to the right of where the units digit looks?

    -> how often by the largest weight, how often by the centre of the weights on the ending's letters, out of how many
    numbers (unseen, written without a mistake, the last digit not 0 and the one before it at least 2)
    """
    examples = [e for e in numbers.sample(n, seed, True, (language,)) if e.digits[-1] > "0" and e.digits[-2:-1] > "1"]
    answers, out = translate(model, [e.text for e in examples], alphabet)
    peaks = centres = correct = 0
    for e, answer, weights in zip(examples, answers, out.weights.cpu(), strict=True):
        if answer == e.digits:
            size = len(numbers.say(int(e.digits[-2:]), language))  # the text ends in these letters
            ending = weights[len(answer) - 2 : len(answer), len(e.text) - size : len(e.text)]  # (2, size)
            tens, units = (ending @ torch.arange(float(size)) / ending.sum(-1)).tolist()
            peaks += int(ending[0].argmax() > ending[1].argmax())
            centres += tens > units
            correct += 1
    return peaks, centres, correct


def evaluate(order, model, config, seed, n: int = 4_000) -> dict[str, float]:
    """On numbers that training never saw, free-running: the whole number right; the same for the tenth of them with
    the shortest and the longest texts; and for texts longer than any in training, up to half as long again."""
    examples = sorted(numbers.sample(n, seed, test=True), key=lambda e: len(e.text))
    exact = right(model, examples, config["alphabet"], order).float()
    longer = numbers.sample(n // 4, seed, test=True, lengths=(numbers.LONGEST + 1, numbers.BEYOND))
    return {
        "exact_match": exact.mean().item(),
        "exact_match_shortest": exact[: n // 10].mean().item(),
        "exact_match_longest": exact[-n // 10 :].mean().item(),
        "exact_match_beyond": right(model, longer, config["alphabet"], order).float().mean().item(),
    }


def _recipe(name: str, about: str, make, order, **sizes: int) -> Recipe:
    return Recipe(
        name,
        f"{about}: number words in six languages to digits",
        partial(config, **sizes),
        partial(build, make),
        partial(train, order),
        steps=STEPS,
        evaluate=partial(evaluate, order),
    )


SQUEEZES = (16, 64, 256)  # context sizes of the explorable's three networks


def build_squeezes(config: dict) -> nn.ModuleDict:
    return nn.ModuleDict({str(c): build(EncoderDecoder, {**config, "d_context": c}) for c in SQUEEZES})


def train_squeezes(models, config, seed, steps, checkpoint=None, device=None):
    """All three see the same batches, and their gradients are clipped by one norm; they share nothing else."""
    data = bucketed(numbers.tensors(numbers.sample(EXAMPLES, seed), Vocabulary(config["alphabet"])), BATCH, seed)

    def together(models, batch):
        return sum(loss(model, batch) for model in models.values())

    how = {"schedule": schedule(steps), "seed": seed, "checkpoint": checkpoint, "device": device}
    return fit(models, data, together, steps, lr=RATE, **how)


def evaluate_squeezes(models, config, seed, n: int = 2_000) -> dict[str, float]:
    examples = numbers.sample(n, seed, test=True)
    scores = {size: right(model, examples, config["alphabet"]) for size, model in models.items()}
    return {f"exact_match_{size}": exact.float().mean().item() for size, exact in scores.items()}


# The plain model's 116 numbers of context are what RNNsearch's attention and second GRU cost.
PLAIN = {"d_hidden": 64, "d_context": 116}
RECIPES = [
    _recipe("seq2seq-numbers", "encoder-decoder, one vector", EncoderDecoder, as_is, **PLAIN),
    _recipe("seq2seq-numbers-reversed", "the same, source reversed", EncoderDecoder, backwards, **PLAIN),
    _recipe("bahdanau-numbers", "RNNsearch", RNNsearch, as_is, d_hidden=64),
    Recipe(
        "squeeze-numbers",
        "three encoder-decoders with a vector of 16, 64 and 256 numbers",
        partial(config, d_hidden=64),
        build_squeezes,
        train_squeezes,
        steps=1_000,
        evaluate=evaluate_squeezes,
    ),
]
