"""Who reads a document best (chapter 09): a hierarchy that attends, one that averages, or a bag of words?"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..mechanisms.selfattention import HAN, Mean, Pool, Reading
from ..running.training import fit
from ..tasks import documents as task
from . import Recipe

MENTIONS = (1, 2)  # of each city in a document of the training: 4 to 11 sentences
BEYOND = (6, 8)  # 19 to 41 sentences
DECIDING = {"council": task.COUNCIL, "anybody": task.PARTIES}


class Bag(nn.Module):
    """The order of words and sentences is thrown away: a mean of embeddings, and one hidden layer.

    document (B, N, W) int, lengths (B, N) -> Reading with the weights that a mean has
    """

    def __init__(self, vocab: int, classes: int, d_embed: int, d_hidden: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, d_embed)
        self.out = nn.Sequential(nn.Linear(d_embed, d_hidden), nn.ReLU(), nn.Linear(d_hidden, classes))

    def forward(self, document: Tensor, lengths: Tensor) -> Reading:
        real = masks.padding(lengths.flatten(), document.shape[2]).view(document.shape)  # (B, N, W)
        words = real / real.sum((1, 2), keepdim=True)  # (B, N, W)
        return Reading(self.out((self.embed(document) * words[..., None]).sum((1, 2))), words, words.sum(2))


BUILD = {"attend": partial(HAN, pool=Pool), "mean": partial(HAN, pool=Mean), "bag": Bag}


def config(kind: str, deciding: str, documents: int, d_embed: int, d_hidden: int) -> dict:
    return {
        "kind": kind, "deciding": deciding, "documents": documents, "d_embed": d_embed, "d_hidden": d_hidden,
        "lr": 4e-3, "batch": 64, "words": " ".join(task.vocabulary().characters),
    }  # fmt: skip


def sample(config: dict, n: int, seed: int, held_out: bool = True, mentions: tuple[int, int] = MENTIONS):
    return task.sample(n, seed, held_out, mentions, DECIDING[config["deciding"]])


def words(config: dict) -> task.Words:
    return task.Words(config["words"].split())


def build(config: dict) -> nn.Module:
    return BUILD[config["kind"]](len(words(config)), len(task.CITIES), config["d_embed"], config["d_hidden"])


def buckets(tensors: tuple[Tensor, ...], size: int, seed: int, chunk: int = 10) -> Iterator[tuple[Tensor, ...]]:
    """Shuffled batches of documents of like size, without end, cut to their longest."""
    rng, count = torch.Generator().manual_seed(seed), (tensors[1] > 0).sum(1)
    while True:
        order = torch.randperm(len(count), generator=rng)
        parts = [part[count[part].argsort(stable=True)] for part in order.split(size * chunk)]
        parts = [rows for part in parts for rows in part.split(size)]
        for i in torch.randperm(len(parts), generator=rng).tolist():
            document, lengths, label, key = (x[parts[i]] for x in tensors)
            N, W = int(count[parts[i]].max()), int(lengths.max())
            yield document[:, :N, :W], lengths[:, :N], label, key


def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
    """The label is all that is taught: neither sentence nor word is pointed out."""
    document, lengths, label, _ = batch
    return F.cross_entropy(model(document, lengths).logits, label)


def train(model, config, seed, steps, checkpoint=None, device=None):
    documents = sample(config, config["documents"], seed, held_out=False)
    data = buckets(task.tensors(documents, words(config)), config["batch"], seed)

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 40, 1 - step / steps)

    return fit(
        model, data, loss, steps, lr=config["lr"], schedule=schedule, seed=seed, checkpoint=checkpoint, device=device
    )


@torch.no_grad()
def read(model: nn.Module, documents: Sequence[task.Document], config: dict) -> Reading:
    device = next(model.parameters()).device
    ids, lengths, *_ = task.tensors(documents, words(config))
    return Reading(*(part.cpu() for part in model(ids.to(device), lengths.to(device))))


def judge(reading: Reading, documents: Sequence[task.Document]) -> dict[str, Tensor]:
    """What was right, document by document (n,).

    answer: the city; sentence: the largest sentence weight lies on the key sentence; word: the largest weight
    inside it lies on a decisive word; share: the weight inside it that lies on decisive words
    """
    rows, key = torch.arange(len(documents)), torch.tensor([d.key for d in documents])
    decisive = torch.zeros(reading.words.shape[::2], dtype=torch.bool)  # (n, W)
    decisive.scatter_(1, torch.tensor([d.words for d in documents]), True)
    inside = reading.words[rows, key]  # (n, W)
    inside = inside / inside.sum(1, keepdim=True)
    return {
        "answer": reading.logits.argmax(1) == torch.tensor([d.label for d in documents]),
        "sentence": reading.sentences.argmax(1) == key,
        "word": decisive[rows, inside.argmax(1)],
        "share": (inside * decisive).sum(1),
    }


NAMES = {"answer": "accuracy", "sentence": "key_sentence", "word": "key_word", "share": "word_share"}


def evaluate(model, config, seed, n: int = 1_000) -> dict[str, float]:
    """On held-out documents of the training sizes, and on longer ones (`_beyond`). Weights that are equal by
    construction have no largest one, so without attention only the accuracy is measured."""
    asked = NAMES if config["kind"] == "attend" else {"answer": "accuracy"}
    metrics = {}
    for ending, mentions in {"": MENTIONS, "_beyond": BEYOND}.items():
        documents = sample(config, n, seed, mentions=mentions)
        found = judge(read(model, documents, config), documents)
        metrics |= {name + ending: found[part].float().mean().item() for part, name in asked.items()}
    return metrics


KINDS = {  # name: about, then config's arguments; without attention the layers are wider, for equal parameters
    "han-documents": ("hierarchical attention: which city did the council choose?", "attend", "council", 400, 24, 24),
    "mean-documents": ("the same hierarchy with means instead of attention", "mean", "council", 400, 24, 27),
    "bag-documents": ("a bag of words on the same documents", "bag", "council", 400, 90, 185),
    "han-rulings": ("HAN where another sentence says whose word counts", "attend", "anybody", 6_000, 24, 24),
}
STEPS = {"council": 300, "anybody": 500}
RECIPES = [
    Recipe(name, about, partial(config, *rest), build, train, steps=STEPS[rest[1]], evaluate=evaluate)
    for name, (about, *rest) in KINDS.items()
]
