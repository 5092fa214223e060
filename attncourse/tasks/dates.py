"""Dates as people write them in seventeen languages -> ISO 8601, with the true alignment known.

The formats are the Unicode CLDR's, through Babel; only those that cannot be misread are kept
(a month's name, or the year first). Every date between 1900 and 2099 belongs to one split for good.
"""

import datetime
import random
import unicodedata
from functools import cache
from typing import NamedTuple

import torch
from babel.dates import DateTimeFormat, get_date_format, tokenize_pattern
from torch import Tensor

from .text import Vocabulary

LOCALES = "da de el en en_GB es fi fr hu it ja lt nl pl pt ru sv tr".split()
FIELDS = {"y": range(0, 4), "M": range(5, 7), "d": range(8, 10)}  # where each field stands in 2024-03-05
FIRST, DAYS = datetime.date(1900, 1, 1), 73_049  # up to 2099-12-31
HELD_OUT = DAYS // 10
TARGET = Vocabulary("0123456789-")


class Example(NamedTuple):
    text: str  # "5 mars 2024"
    iso: str  # "2024-03-05"
    spans: dict[str, tuple[int, int]]  # {"d": (0, 1), "M": (2, 6), "y": (7, 11)}, where text says it
    locale: str


def normalise(text: str) -> str:
    """Lower case, one kind of space: what the model is given. The page's JavaScript does the same."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


@cache
def patterns(locale: str) -> list[list[tuple]]:
    """The locale's unambiguous date formats, tokenised; also without commas, as people type."""
    cldr = [get_date_format(size, locale).pattern for size in ("full", "long", "medium")]
    kept = [p for p in cldr if "MMM" in p or p.startswith("y")]
    return [tokenize_pattern(p) for p in dict.fromkeys(kept + [p.replace(",", "") for p in kept] + ["y-MM-dd"])]


def write(day: datetime.date, locale: str, pattern: list[tuple]) -> Example:
    """Write a date token by token, remembering which characters came from which field."""
    text, spans, names = "", {}, DateTimeFormat(day, locale)
    for kind, value in pattern:
        piece = value if kind == "chars" else names[value[0] * value[1]]
        piece = unicodedata.normalize("NFKC", piece).lower()
        if kind == "field" and value[0] in FIELDS:
            spans[value[0]] = (len(text), len(text) + len(piece))
        text += piece
    return Example(text, day.isoformat(), spans, locale)


@cache
def _days() -> list[int]:
    return random.Random(0).sample(range(DAYS), DAYS)


def sample(n: int, seed: int, held_out: bool = False, locales: tuple[str, ...] = tuple(LOCALES)) -> list[Example]:
    """n random dates, each in a random locale and format; the same for the same seed."""
    rng = random.Random(seed)
    days = _days()[:HELD_OUT] if held_out else _days()[HELD_OUT:]
    examples = []
    for _ in range(n):
        locale = rng.choice(locales)
        day = FIRST + datetime.timedelta(rng.choice(days))
        examples.append(write(day, locale, rng.choice(patterns(locale))))
    return examples


@cache
def source_vocabulary() -> Vocabulary:
    """Every character that any month, weekday or format of the seventeen languages can show."""
    year = [FIRST + datetime.timedelta(i) for i in range(366)]
    seen = {c for loc in LOCALES for p in patterns(loc) for day in year for c in write(day, loc, p).text}
    return Vocabulary("".join(sorted(seen | set("0123456789"))))


def tensors(examples: list[Example], source: Vocabulary) -> tuple[Tensor, Tensor, Tensor]:
    """-> source (N, S), lengths (N,), target (N, 11) int"""
    ids, lengths = source.encode([e.text for e in examples])
    return ids, lengths, TARGET.encode([e.iso for e in examples])[0]


def alignment(examples: list[Example], size: int) -> tuple[Tensor, Tensor]:
    """Which source characters each output digit should look at.

    -> gold bool (N, 10, size), digits bool (10,): the hyphens have no place to look
    """
    gold = torch.zeros(len(examples), 10, size, dtype=torch.bool)
    for n, example in enumerate(examples):
        for field, rows in FIELDS.items():
            start, stop = example.spans[field]
            gold[n, rows.start : rows.stop, start:stop] = True
    digits = torch.tensor([c != "-" for c in "2024-03-05"])
    return gold, digits
