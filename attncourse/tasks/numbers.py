"""Numbers as people say them in six languages -> digits, character by character.

The words are those of num2words. German, Dutch and Danish say the units before the tens ("fünfundsechzig" = 65),
French counts 97 as four twenties, ten and seven. What makes a text long is how many digits are not zero, so a
number of nine digits can be short ("two million and one"): training sees every word there is, in texts up to
`LONGEST` characters, and longer texts differ from them by their length alone.
"""

import random
from functools import cache
from typing import NamedTuple

from num2words import num2words
from torch import Tensor

from .text import Vocabulary

LANGUAGES = "da de en es fr nl".split()
SWAPPED = "da de nl".split()  # units before tens
LONGEST, BEYOND = 36, 54  # characters: up to LONGEST in training, up to half as much again in the test beyond it
MOST_DIGITS = 9
TARGET = Vocabulary("0123456789")


class Example(NamedTuple):
    text: str  # "fünfundsechzig"
    digits: str  # "65"
    language: str


def say(number: int, language: str) -> str:
    """The number in words, lower case.

    Differs from num2words: "en million", where its Danish says "en millioner".
    """
    return num2words(number, lang=language).lower().replace("en millioner", "en million")


def held_out(number: int) -> bool:
    """Every tenth number from ten on belongs to the test for good, in all languages; scattered, not every 10, 20, …"""
    return number >= 10 and (number * 2_654_435_761 % 2**32) < 2**32 // 10


def draw(rng: random.Random) -> int:
    """Up to nine digits, many more often than few; how many of them are not zero is drawn evenly."""
    size = max(rng.randint(1, MOST_DIGITS), rng.randint(1, MOST_DIGITS))
    filled = rng.sample(range(1, size), rng.randint(0, size - 1))
    digits = [rng.randint(1, 9) if i == 0 or i in filled else 0 for i in range(size)]
    return int("".join(map(str, digits))) if size > 1 else rng.randint(0, 9)


def sample(
    n: int,
    seed: int,
    test: bool = False,
    languages: tuple[str, ...] = tuple(LANGUAGES),
    lengths: tuple[int, int] = (1, LONGEST),
) -> list[Example]:
    """n random numbers in random languages whose texts have `lengths` characters; the same for the same seed."""
    rng, examples = random.Random(seed), []
    while len(examples) < n:
        language, number = rng.choice(languages), draw(rng)
        if held_out(number) == test:
            text = say(number, language)
            if lengths[0] <= len(text) <= lengths[1]:
                examples.append(Example(text, str(number), language))
    return examples


@cache
def source_vocabulary() -> Vocabulary:
    """Every character that a number below a billion needs, in any of the languages."""
    numbers = [m * 10**p for m in range(1, 100) for p in (0, 3, 6)] + [h * 100 for h in range(1, 10)] + [0, 1001, 10**6]
    return Vocabulary("".join(sorted({c for lang in LANGUAGES for n in numbers for c in say(n, lang)} | set(" ,"))))


def tensors(examples: list[Example], source: Vocabulary) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """-> source (N, S), source lengths (N,), target (N, T), target lengths (N,), all int"""
    return (*source.encode([e.text for e in examples]), *TARGET.encode([e.digits for e in examples]))
