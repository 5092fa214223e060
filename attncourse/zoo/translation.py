"""Luong's family on the English → French grammar (chapter 06): equal data, steps and tuning for all."""

from collections.abc import Iterator, Sequence
from functools import partial

import sacrebleu
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.scores import Additive, General, Location, dot
from ..core.symbols import BEGIN, END, PAD, shift_right
from ..mechanisms import luong
from ..running.decoding import greedy
from ..running.training import fit
from ..tasks import translation as task
from . import Recipe

RADIUS = 2  # the paper's 10 would cover a sentence of this grammar from end to end
PLACES = 40  # how many positions the location score knows
SCORES = {
    "dot": lambda H: dot,
    "general": lambda H: General(H, H),
    "concat": lambda H: Additive(H, H, H // 2),
    "location": lambda H: Location(H, PLACES),
}
SCOPES = {
    "global": lambda H: luong.Global(),
    "local-m": lambda H: luong.LocalM(RADIUS),
    "local-p": lambda H: luong.LocalP(H, RADIUS),
}
FEEDING = {"feed": luong.InputFeeding, "nofeed": luong.NoFeeding}
TRAIN = {"n": 5_000, "lengths": (3, 10)}  # English words
BEYOND = (11, 15)  # up to one and a half times as long as any sentence of the training


def config(scope: str, score: str, feeding: str, d_embed: int) -> dict:
    english, french = task.vocabularies()
    return {
        "scope": scope, "score": score, "feeding": feeding, "d_embed": d_embed, "d_hidden": 128, "dropout": 0.1,
        "lr": 6e-3, "batch": 64,
        "english": " ".join(english.characters), "french": " ".join(french.characters),
    }  # fmt: skip


def words(config: dict) -> tuple[task.Words, task.Words]:
    return task.Words(config["english"].split()), task.Words(config["french"].split())


def build(config: dict) -> luong.Luong:
    english, french = words(config)
    parts = SCORES[config["score"]](config["d_hidden"]), SCOPES[config["scope"]](config["d_hidden"])
    sizes = config["d_embed"], config["d_hidden"], config["dropout"]
    return luong.Luong(len(english), len(french), *parts, FEEDING[config["feeding"]](), *sizes)


def buckets(tensors: tuple[Tensor, ...], size: int, seed: int, chunk: int = 10) -> Iterator[tuple[Tensor, ...]]:
    """Shuffled batches of sentences of like length, without end: little time is spent on padding."""
    rng, n = torch.Generator().manual_seed(seed), len(tensors[0])
    while True:
        order = torch.randperm(n, generator=rng)
        sorted_parts = [part[tensors[3][part].argsort(stable=True)] for part in order.split(size * chunk)]
        parts = [rows for part in sorted_parts for rows in part.split(size)]
        for i in torch.randperm(len(parts), generator=rng).tolist():
            yield tuple(x[parts[i]] for x in tensors)


def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """Teacher forcing on the columns that hold a word; as seq2seq.nll, with the classes last in carry: faster"""
    source, lengths, target, target_lengths = batch
    source, target = source[:, : lengths.max()], target[:, : target_lengths.max()]
    logits, _ = model(source, lengths, shift_right(target))
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)


def train(model, config, seed, steps, checkpoint=None, device=None):
    data = buckets(task.tensors(task.sample(**TRAIN, seed=seed), *words(config)), config["batch"], seed)

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 80, 1 - step / steps)

    return fit(
        model, data, loss, steps, lr=config["lr"], schedule=schedule, seed=seed, checkpoint=checkpoint, device=device
    )


def translate(model: nn.Module, sentences, config: dict):
    """Greedy, free-running; sentences are lists of English words. -> French texts, weights (B, T, S)"""
    english, french = words(config)
    device = next(model.parameters()).device
    source, lengths = (x.to(device) for x in english.encode(sentences))
    out = greedy(model.step, model.begin(source, lengths), BEGIN, END, max_steps=2 * source.shape[1])
    return french.decode(out.symbols.tolist()), out.weights


@torch.no_grad()
def forced(model: nn.Module, examples: Sequence[task.Example], config: dict) -> tuple[Tensor, Tensor]:
    """Forced decoding of the references. -> each sentence's log-likelihood (N,), weights (N, T, S)"""
    device = next(model.parameters()).device
    source, lengths, target, target_lengths = (x.to(device) for x in task.tensors(examples, *words(config)))
    logits, weights = model(source, lengths, shift_right(target))
    each = logits.log_softmax(-1).gather(-1, target[..., None])[..., 0]  # (N, T)
    real = torch.arange(target.shape[1], device=device) < target_lengths[:, None]
    return (each * real).sum(-1), weights


def bleu(answers: list[str], examples: Sequence[task.Example]) -> float:
    """Corpus BLEU of words that are separated already"""
    return sacrebleu.corpus_bleu(answers, [[" ".join(e.french) for e in examples]], tokenize="none", force=True).score


def measure(model: nn.Module, examples: Sequence[task.Example], config: dict) -> dict[str, float]:
    """perplexity a French word (END counts) and aer by forced decoding; bleu and exact_match free-running"""
    likelihood, found, answers = 0.0, [], []
    for part in (examples[i : i + 200] for i in range(0, len(examples), 200)):
        each, weights = forced(model, part, config)
        likelihood += each.sum().item()
        found += [task.links(w, e) for w, e in zip(weights.cpu(), part, strict=True)]
        answers += translate(model, [e.english for e in part], config)[0]
    symbols = sum(len(e.french) + 1 for e in examples)
    right = sum(a == " ".join(e.french) for a, e in zip(answers, examples, strict=True))
    return {
        "perplexity": torch.tensor(-likelihood / symbols).exp().item(),
        "bleu": bleu(answers, examples),
        "aer": task.alignment_error_rate(found, examples),
        "exact_match": right / len(examples),
    }


def evaluate(model, config, seed, n: int = 600) -> dict[str, float]:
    """On held-out sentences of the training lengths, and on longer ones (`_beyond`)."""
    within = measure(model, task.sample(n, seed, held_out=True, lengths=TRAIN["lengths"]), config)
    beyond = measure(model, task.sample(n // 2, seed, held_out=True, lengths=BEYOND), config)
    return within | {f"{name}_beyond": value for name, value in beyond.items()}


KINDS = {  # name: scope, score, feeding, d_embed; without feeding the embedding is wider, for equal parameters
    "luong-global-dot": ("global", "dot", "feed", 64),
    "luong-global-general": ("global", "general", "feed", 64),
    "luong-global-concat": ("global", "concat", "feed", 64),
    "luong-global-location": ("global", "location", "feed", 64),
    "luong-local-m-general": ("local-m", "general", "feed", 64),
    "luong-local-p-general": ("local-p", "general", "feed", 64),
    "luong-global-location-nofeed": ("global", "location", "nofeed", 92),
}
RECIPES = [
    Recipe(
        name,
        f"Luong's decoder, {kind[0]} {kind[1]}{', no input feeding' * (kind[2] == 'nofeed')}: English to French",
        partial(config, *kind),
        build,
        train,
        steps=700,
        evaluate=evaluate,
    )
    for name, kind in KINDS.items()
]
