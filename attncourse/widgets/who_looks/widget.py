"""Who looks at whom: the self-attention of a trained encoder, head by head, word by word."""

from functools import cache

import torch
import traitlets
from torch import Tensor

from ... import zoo
from ...core.symbols import BEGIN
from ...tasks import translation as task
from ...zoo.translation import words
from .. import bundle
from ..base import Explorable

NAME = "transformer-translation"
UNIT = 1_000  # weights are kept in thousandths


@cache
def examples() -> tuple[task.Example, ...]:
    """An adjective after its noun, adjectives before two, a relative clause, a pronoun, and Bahdanau's sentence."""
    drawn = task.sample(250, seed=19, held_out=True, lengths=(6, 10))
    swaps = next(e for e in drawn if sum(abs(s - t) >= 2 for s, t in e.sure) >= 2 and "not" not in e.english)
    relates = next(e for e in drawn if {"who", "that"} & {*e.english})
    denies = next(e for e in drawn if "not" in e.english and len(e.english) <= 8)
    stands = next(e for e in drawn if {"when", "because"} & {*e.english} and {"she", "he", "they"} & {*e.english[2:]})
    return denies, swaps, relates, stands, task.economic_area()


@torch.no_grad()
def maps(example: task.Example) -> Tensor:
    """The weights of every head while the encoder reads the English sentence.    -> (L, H, T, T)"""
    model, card = zoo.load(NAME)
    english, _ = words(card["config"])
    source, lengths = english.encode([example.english])
    return model.weights(source, lengths, torch.full_like(lengths[:, None], BEGIN)).encoder[0]


@cache
def sentences() -> list[dict]:
    return [
        {"words": [*e.english, "·"], "maps": (UNIT * maps(e)).round().int().tolist()}  # the END is a position, too
        for e in examples()
    ]


class WhoLooks(Explorable):
    """Choose a sentence and a head, then hover or focus a word: its row of the weights, or its column.

    Traits, both ways: sentence (0 … 4), layer, head, word (its position) and side, "row" (whom the word looks at)
    or "column" (who looks at it). The weights are those of the encoder of the zoo's `transformer-translation`.
    """

    _esm = bundle.esm("who_looks")
    _css = bundle.css("who_looks")

    challenge = traitlets.Unicode("Find a head with a job that you can name: what do its words look at?").tag(sync=True)
    sentence = traitlets.Int(0, min=0).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    word = traitlets.Int(0, min=0).tag(sync=True)
    side = traitlets.Enum(["row", "column"], "row").tag(sync=True)
    unit = traitlets.Int(UNIT, read_only=True).tag(sync=True)
    sentences = traitlets.List(read_only=True).tag(sync=True)

    def __init__(self, **traits):
        super().__init__()
        self.set_trait("sentences", sentences())
        start = {"sentence": 0, "layer": 1, "head": 1, "word": 5, "side": "row"}  # an adjective that finds its noun
        for name, value in (start | traits).items():
            setattr(self, name, value)

    @property
    def chosen(self) -> dict:
        return self.sentences[self.sentence]

    @traitlets.validate("sentence", "layer", "head", "word")
    def _check(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if self.sentences:  # else they are being made
            here = self.chosen["maps"]
            ends = {"sentence": self.sentences, "layer": here, "head": here[0], "word": self.chosen["words"]}
            last = len(ends[name]) - 1
            if not 0 <= value <= last:
                raise traitlets.TraitError(f"{name} lies between 0 and {last} here; this one is {value}")
        return value

    def weights(self) -> Tensor:
        """What the picture shows: the word's row, or its column.    -> (T,)"""
        head = torch.tensor(self.chosen["maps"][self.layer][self.head], dtype=torch.float64) / self.unit
        return head[self.word] if self.side == "row" else head[:, self.word]
