"""Documents of a grammar of our own: one sentence decides which city it will be, and its decisive words are known.

Somewhere the document says whose word counts, and one sentence says what that party chose. Other sentences say what
somebody else chose, what it nearly chose, or what else it did, in the same words. All cities of a document are
mentioned equally often, so its bag of words says nothing about which one was chosen.
A document belongs to the training or to the held-out part for good: by a checksum of its words.
"""

import random
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..core.symbols import PAD
from .translation import Words

CITIES = ("cairo", "delhi", "lima", "oslo", "quito", "rome")
CHOSE = ("chose", "picked", "selected", "took")
DID = ("visited", "praised", "discussed", "left", "admired", "mentioned")
NOT_QUITE = ("never", "nearly", "almost")
PARTIES = ("the council", "the press", "the mayor", "the jury", "the public", "the king")
RULINGS = ("{} has the last word", "it is up to {}", "everybody listens to {}", "{} decides this time")
OPENINGS = ("", "", "last year", "in the spring", "after a long debate", "to general surprise", "that evening")
ENDINGS = ("", "", "for the fair", "for the games", "with some regret", "without a word", "by a clear majority")
FILLERS = ("the hall was cold", "nobody took any notes", "the council met again", "dinner was served late",
           "the press waited outside", "the king asked for water", "the mayor selected the wine")  # fmt: skip
COMPARED = 3  # cities of one document
COUNCIL = PARTIES[:1]  # the parties that decide, if it is always the same one


class Document(NamedTuple):
    sentences: tuple[tuple[str, ...], ...]
    label: int  # the city that was chosen, an index of CITIES
    key: int  # the sentence that says so
    words: tuple[int, ...]  # its decisive words: who, chose, which city
    ruling: int  # the sentence that says whose word counts


def sentence(rng: random.Random, who: str, did: str, city: str) -> tuple[str, ...]:
    parts = rng.choice(OPENINGS), who, did, city, rng.choice(ENDINGS)
    return tuple(" ".join(parts).split())


def distractor(rng: random.Random, party: str, city: str) -> tuple[str, ...]:
    """A sentence about a city that decides nothing while `party` has the last word."""
    chose, other = rng.choice(CHOSE), rng.choice([p for p in PARTIES if p != party])
    kinds = (other, chose), (party, f"{rng.choice(NOT_QUITE)} {chose}"), (party, rng.choice(DID))
    return sentence(rng, *rng.choice(kinds), city)


def write(rng: random.Random, mentions: int, fillers: int, deciding: Sequence[str] = COUNCIL) -> Document:
    """COMPARED cities, each mentioned `mentions` times, a ruling, and so many sentences about nothing at all.

    deciding: who may have the last word. With one party a sentence decides by itself; with several, the ruling
    settles which one does, and the same sentence decides in one document and is idle talk in the next.
    """
    party, chose = rng.choice(deciding), rng.choice(CHOSE)
    cities = rng.sample(CITIES, COMPARED) * mentions
    rng.shuffle(cities)
    key = sentence(rng, party, chose, cities[0])
    ruling = tuple(rng.choice(RULINGS).format(party).split())
    other = rng.choice([p for p in PARTIES if p != party])
    rest = [sentence(rng, other, rng.choice(CHOSE), cities[1])]  # somebody else always chose, too
    rest += [distractor(rng, party, city) for city in cities[2:]]
    rest += [tuple(rng.choice(FILLERS).split()) for _ in range(fillers)]
    order = rng.sample(range(len(rest) + 2), len(rest) + 2)
    sentences = tuple((key, ruling, *rest)[i] for i in order)
    words = tuple(key.index(word) for word in (party.split()[1], chose, cities[0]))
    return Document(sentences, CITIES.index(cities[0]), order.index(0), words, order.index(1))


def is_held_out(sentences: Sequence[Sequence[str]]) -> bool:
    return zlib.crc32(" ".join(word for words in sentences for word in words).encode()) % 4 == 0


@lru_cache(maxsize=16)
def sample(
    n: int, seed: int, held_out: bool = False, mentions: tuple[int, int] = (1, 2), deciding: tuple[str, ...] = COUNCIL
) -> tuple[Document, ...]:
    """n different documents, the same for a seed; up to two fillers for each round of mentions."""
    rng, found = random.Random(seed), {}
    while len(found) < n:
        rounds = rng.randint(*mentions)
        document = write(rng, rounds, rng.randint(0, 2 * rounds), deciding)
        if is_held_out(document.sentences) == held_out:
            found.setdefault(document.sentences, document)
    return tuple(found.values())


def vocabulary() -> Words:
    parts = (CITIES, CHOSE, DID, NOT_QUITE, PARTIES, RULINGS, OPENINGS, ENDINGS, FILLERS)
    return Words(sorted({word for part in parts for text in part for word in text.split()} - {"{}"}))


def tensors(documents: Sequence[Document], words: Words) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """-> ids (n, N, W) padded with PAD, lengths (n, N), labels (n,), key sentences (n,)"""
    lengths = [torch.tensor([len(s) for s in d.sentences]) for d in documents]
    lengths = torch.nn.utils.rnn.pad_sequence(lengths, batch_first=True)  # (n, N), 0 where there is no sentence
    ids = torch.full((*lengths.shape, int(lengths.max())), PAD)
    for i, document in enumerate(documents):
        for j, text in enumerate(document.sentences):
            ids[i, j, : len(text)] = torch.tensor([words.ids[word] for word in text])
    return ids, lengths, torch.tensor([d.label for d in documents]), torch.tensor([d.key for d in documents])
