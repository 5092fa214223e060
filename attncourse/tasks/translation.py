"""English → French sentences of a grammar of our own, with tree and gold alignment.

Agreement in gender and number, adjectives that change sides, ne … pas, elision, contraction, relative clauses.
There is no full stop: the END that closes every sentence plays its part.
A sentence belongs to the training or to the held-out part for good: by a checksum of its English words.
"""

import random
import zlib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from . import french, grammar
from .text import Vocabulary

Link = tuple[int, int]  # (English position, French position), from 0


class Example(NamedTuple):
    english: tuple[str, ...]
    french: tuple[str, ...]  # l', n', d', qu' are words of their own
    sure: frozenset[Link]  # at most one for each French word
    possible: frozenset[Link]  # those, and what would not be wrong either: du -> of, the
    tree: str  # of the English: "(S (NP (DT the) (NN cat)) (VP …))"


class Words(Vocabulary):
    """A vocabulary of words; a text is a list of them, `decode` joins them by spaces."""

    def decode(self, ids: Iterable[Iterable[int]]) -> list[str]:
        return [" ".join(self._until_end(row)) for row in ids]


def write(phrase: grammar.Phrase) -> Example:
    """Spell a derivation out: elide, contract, choose a or an, number the words."""
    leaves = list(_leaves(phrase.tree))
    for leaf, following in pairwise(leaves):
        if leaf.word == "a":
            leaf.word = french.article(following.word)
    place = {leaf: i for i, leaf in enumerate(leaves)}
    texts, sure, possible = [], set(), set()
    words = phrase.french
    for i, word in enumerate(words):
        after = words[i + 1].text if i + 1 < len(words) else "b"  # no vowel
        text = word.before_vowel if french.vowel(after) else word.text
        links = {(place[leaf], len(texts)) for leaf in word.sure}
        maybe = {(place[leaf], len(texts)) for leaf in word.also}
        if texts and (texts[-1], text) in french.CONTRACTED:  # de le -> du: one word for two
            texts[-1] = french.CONTRACTED[texts[-1], text]
            merged = {link for link in sure if link[1] == len(texts) - 1}
            sure -= merged
            possible |= {(s, t - 1) for s, t in links | maybe} | merged
            continue
        texts.append(text)
        sure |= links
        possible |= links | maybe
    return Example(tuple(leaf.word for leaf in leaves), tuple(texts), frozenset(sure), frozenset(possible),
                   _bracket(phrase.tree))  # fmt: skip


def _leaves(tree: list) -> Iterable[grammar.Leaf]:
    for part in tree[1:]:
        if isinstance(part, grammar.Leaf):
            yield part
        else:
            yield from _leaves(part)


def _bracket(tree: list | grammar.Leaf) -> str:
    if isinstance(tree, grammar.Leaf):
        return f"({tree.tag} {tree.word})"
    return f"({tree[0]} {' '.join(_bracket(part) for part in tree[1:])})"


def is_held_out(english: Sequence[str]) -> bool:
    return zlib.crc32(" ".join(english).encode()) % 4 == 0


@lru_cache(maxsize=16)  # seven models are trained and measured on the same sentences
def sample(n: int, seed: int, held_out: bool = False, lengths: tuple[int, int] = (3, 10)) -> tuple[Example, ...]:
    """n different sentences of lengths[0] to lengths[1] English words, the same for a seed."""
    rng, found = random.Random(seed), {}
    while len(found) < n:
        example = write(grammar.some_sentence(rng))
        if lengths[0] <= len(example.english) <= lengths[1] and is_held_out(example.english) == held_out:
            found.setdefault(example.english, example)
    return tuple(found.values())


def economic_area() -> Example:
    """The sentence of Bahdanau et al.'s figure 3a, as this grammar derives it."""
    adjectives = ("nation", "european", "européen"), ("domain", "economic", "économique")
    area = grammar.noun_phrase("the", adjectives, ("area", "zone", "f"))
    agreement = grammar.noun_phrase("the", (), ("agreement", "accord", "m"),
                                    after=[grammar.prepositional("on", "sur", area)])  # fmt: skip
    signed = grammar.to_be(agreement, "", ("signed", "signé"), passive=True)
    return write(grammar.clause(agreement, signed, grammar.date(("august", "août"), "1992")))


@cache
def vocabularies() -> tuple[Words, Words]:
    """Every word that the grammar can write: English, French."""
    entries, english, fr = french.entries, set(), set()
    for text in french.NOUNS.values():
        for one, name, _ in entries(text):
            english |= {one, french.english_plural(one)}
            fr |= {name, french.plural(name)}
    pairs = [e for text in french.ADJECTIVES.values() for e in entries(text)] + entries(french.PARTICIPLES)
    for one, name in pairs:
        english.add(one)
        fr |= {french.agree(name, g, n) for g in "mf" for n in ("sg", "pl")}
    for verb in (v for text in french.VERBS.values() for v in entries(text)):
        english |= {verb[0], french.third(verb[0])}
        fr |= {french.conjugate(verb, n)[1] for n in ("sg", "pl")}
    small = (french.NUMBERS, french.ADVERBS, french.WHEN, french.MONTHS, french.PLACED)
    for one, name in (e for text in small for e in entries(text)):
        english.add(one)
        fr.add(name)
    english |= {*french.POSSESSIVES, *french.YEARS}
    english |= set(
        "a an the some any all many this these every several he she they is are was were do does not".split()
    )
    english |= set("never to from of front who that and but because when".split())
    fr |= {form for forms in french.POSSESSIVES.values() for form in forms} | {*french.YEARS}
    fr |= {*french.BEFORE_VOWEL.values(), *french.ELIDED, *french.ELIDED.values(), *french.CONTRACTED.values()}
    fr |= set("un une les des de tous toutes beaucoup cette ces chaque plusieurs il elle ils est sont a ont".split())
    fr |= set("été pas jamais à devant en qui et mais parce quand".split())
    return Words(sorted(english)), Words(sorted(fr))


def tensors(examples: Sequence[Example], english: Words, fr: Words) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """-> source (N, S), lengths (N,), target (N, T), lengths (N,); both lengths count the END"""
    return (*english.encode([e.english for e in examples]), *fr.encode([e.french for e in examples]))


def links(weights: Tensor, example: Example) -> set[Link]:
    """An alignment from attention: each French word belongs to the English word with its largest weight.

    weights (T, S) of the forced decoding of example.french -> {(source, target)}
    """
    rows = weights[: len(example.french), : len(example.english)]  # without END on either side
    return {(s, t) for t, s in enumerate(rows.argmax(-1).tolist())}


def alignment_error_rate(found: Sequence[set[Link]], examples: Sequence[Example]) -> float:
    """AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)          Och & Ney 2003

    over all sentences together; S the sure and P the possible links, S within P
    """
    hits = total = 0
    for a, example in zip(found, examples, strict=True):
        hits += len(a & example.sure) + len(a & example.possible)
        total += len(a) + len(example.sure)
    return 1 - hits / total


def gold(example: Example) -> Tensor:
    """The possible links as a matrix.    -> bool (T, S), without END"""
    matrix = torch.zeros(len(example.french), len(example.english), dtype=torch.bool)
    for s, t in example.possible:
        matrix[t, s] = True
    return matrix
