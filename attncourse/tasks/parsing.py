"""Parsing as translation: the tree of an English sentence, written as a line of symbols (Vinyals et al. 2015).

    (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))   ->   (S (NP DT NN )NP (VP VBZ )VP )S

The words are left out: a tag stands for each, in their order. A closing bracket says what it closes.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from torch import Tensor

from . import translation
from .translation import Example, Words

Span = tuple[str, int, int]  # label, first word, one past the last word


def linearise(tree: str) -> list[str]:
    symbols, open_ = [], []
    for label, tag, closing in re.findall(r"\((\S+) (?=\()|\((\S+) [^()]+\)|(\))", tree):
        if label:
            symbols.append(f"({label}")
            open_.append(label)
        elif closing:
            symbols.append(f"){open_.pop()}")
        else:
            symbols.append(tag)
    return symbols


def spans(symbols: Sequence[str]) -> list[Span] | None:
    """The phrases of a linearised tree with the words that they cover; None if the brackets do not match."""
    found, open_, place = [], [], 0
    for symbol in symbols:
        if not open_ and (found or symbol[0] != "("):
            return None  # a second tree, or something outside of it
        if symbol[0] == "(":
            open_.append((symbol[1:], place))
        elif symbol[0] == ")":
            if open_[-1][0] != symbol[1:] or open_[-1][1] == place:
                return None  # closes something else, or an empty phrase
            label, first = open_.pop()
            found.append((label, first, place))
        else:
            place += 1
    return found if found and not open_ else None


def count(found: Sequence[str], gold: Sequence[str]) -> tuple[int, int, int]:
    """-> right, found, gold labelled brackets of a sentence; a phrase counts if label, begin and end are right.

    As usual, tags are no brackets. A line that is no tree, or covers another number of words, has no brackets.
    """
    wanted, got = spans(gold), spans(found)
    if got is None or got[-1][2] != wanted[-1][2]:
        got = []
    left = list(wanted)
    right = sum(1 for span in got if span in left and not left.remove(span))  # the same span may occur twice
    return right, len(got), len(wanted)


def f1(counts: Iterable[tuple[int, int, int]]) -> float:
    """2 · precision · recall / (precision + recall), over all brackets together"""
    right, found, gold = map(sum, zip(*counts, strict=True))
    return 2 * right / (found + gold)


@cache
def vocabulary() -> Words:
    """Every bracket and tag that occurs in a few thousand sentences, short and long."""
    examples = translation.sample(3_000, seed=0, lengths=(3, 15))
    return Words(sorted({symbol for e in examples for symbol in linearise(e.tree)}))


def tensors(examples: Sequence[Example], english: Words, symbols: Words) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """-> source (N, S), lengths (N,), target (N, T), lengths (N,), as translation.tensors"""
    return (*english.encode([e.english for e in examples]), *symbols.encode([linearise(e.tree) for e in examples]))
