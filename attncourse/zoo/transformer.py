"""The Transformer on the grammar of chapter 6: translating, parsing, and two of its choices switched off."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.symbols import BEGIN, END, PAD, shift_right
from ..mechanisms.transformer import Transformer, watch
from ..running.decoding import greedy
from ..running.training import fit
from ..tasks import parsing
from ..tasks import translation as task
from . import Recipe, translation


def config(target: task.Words | None = None, **changes) -> dict:
    english, french = task.vocabularies()
    return {
        "d_model": 128, "layers": 2, "heads": 4, "d_ff": 256, "dropout": 0.1,
        "smoothing": 0.1, "warm_up": 150, "lr": 3e-3, "batch": 64,
        "english": " ".join(english.characters), "french": " ".join((target or french).characters),
    } | changes  # fmt: skip


def build(config: dict) -> Transformer:
    tables = (nn.Embedding(len(words), config["d_model"]) for words in translation.words(config))
    return Transformer(*tables, *(config[name] for name in ("layers", "heads", "d_ff", "dropout")))


class Looking(nn.Module):
    """A Transformer that also says where it looked, as a recurrent decoder does: chapter 06's measures serve both.

    The weights are the last decoder layer's, its heads averaged, as in `step`: that look is the last one before
    the word is chosen. Earlier layers look for other things as well, at the word that was written last, for one.
    """

    def __init__(self, model: Transformer):
        super().__init__()
        self.model, self.begin, self.step = model, model.begin, model.step

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> tuple[Tensor, Tensor]:
        with watch(self.model.decoder.layers[-1].cross) as maps:
            logits = self.model(source, lengths, previous)
        return logits, maps[0].mean(1)  # (B, T, V), (B, T, S)


def loss(model: nn.Module, batch: tuple[Tensor, ...], smoothing: float = 0.1) -> Tensor:
    """Teacher forcing; the target is 1 - smoothing on the true word, and the rest spread over all words."""
    source, lengths, target, target_lengths = batch
    source, target = source[:, : lengths.max()], target[:, : target_lengths.max()]
    logits = model(source, lengths, shift_right(target))  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=smoothing)


def train(model, config, seed, steps, checkpoint=None, device=None, tensors=task.tensors):
    """The paper's Adam and smoothing; chapter 06's data and schedule: up, then a straight line to nothing."""
    examples = task.sample(**translation.TRAIN, seed=seed)
    data = translation.buckets(tensors(examples, *translation.words(config)), config["batch"], seed)

    def schedule(step):
        return min((step + 1) / config["warm_up"], 1 - step / steps)

    return fit(
        model, data, partial(loss, smoothing=config["smoothing"]), steps, schedule=schedule, seed=seed,
        optimizer=torch.optim.Adam(model.parameters(), config["lr"], betas=(0.9, 0.98), eps=1e-9),
        checkpoint=checkpoint, device=device,
    )  # fmt: skip


def evaluate(model, config, seed, n: int = 600) -> dict[str, float]:
    return translation.evaluate(Looking(model), config, seed, n)


@torch.no_grad()
def parse(model: nn.Module, sentences, config: dict) -> list[list[str]]:
    """Greedy, free-running; sentences are lists of English words. -> each one's linearised tree"""
    english, symbols = translation.words(config)
    device = next(model.parameters()).device
    source, lengths = (x.to(device) for x in english.encode(sentences))
    out = greedy(model.step, model.begin(source, lengths), BEGIN, END, max_steps=6 * source.shape[1])
    return [text.split() for text in symbols.decode(out.symbols.tolist())]


def brackets(model: nn.Module, config: dict, seed: int, n: int, lengths: tuple[int, int]) -> dict[str, float]:
    examples = task.sample(n, seed, held_out=True, lengths=lengths)
    parts = [[e.english for e in examples[i : i + 200]] for i in range(0, n, 200)]
    found = [answer for part in parts for answer in parse(model, part, config)]
    gold = [parsing.linearise(e.tree) for e in examples]
    counts = [parsing.count(a, b) for a, b in zip(found, gold, strict=True)]
    return {
        "f1": parsing.f1(counts),
        "exact_match": sum(a == b for a, b in zip(found, gold, strict=True)) / n,
        "well_formed": sum(parsing.spans(a) is not None for a in found) / n,
    }


def evaluate_parser(model, config, seed, n: int = 600) -> dict[str, float]:
    within = brackets(model, config, seed, n, translation.TRAIN["lengths"])
    beyond = brackets(model, config, seed, n // 2, translation.BEYOND)
    return within | {f"{name}_beyond": value for name, value in beyond.items()}


SMALL = {"d_model": 64, "layers": 3, "d_ff": 128, "lr": 5e-3}
BEST = "luong-global-location-nofeed"  # of chapter 06, by BLEU
RECIPES = [
    Recipe("transformer-translation", "a Transformer of 2 + 2 layers, 4 heads: English to French",
           config, build, train, steps=1_000, evaluate=evaluate),
    Recipe("transformer-parsing", "the same Transformer, writing the sentence's tree instead of its translation",
           lambda: config(parsing.vocabulary()), build, partial(train, tensors=parsing.tensors), steps=1_500,
           evaluate=evaluate_parser),
    *(
        Recipe(f"transformer-small{name}", f"a narrower Transformer of 3 + 3 layers{about}: English to French",
               partial(config, **SMALL, **changes), build, train, steps=600, evaluate=evaluate)
        for name, about, changes in (
            ("", "", {}),
            ("-cold", ", without warm-up", {"warm_up": 1}),
            ("-sharp", ", without label smoothing", {"smoothing": 0.0}),
        )
    ),
    Recipe("luong-as-long", f"{BEST}, trained for as long as transformer-translation",
           partial(translation.config, *translation.KINDS[BEST]), translation.build, translation.train,
           steps=2_450, evaluate=translation.evaluate),  # its step takes 0.41 of ours
]  # fmt: skip
