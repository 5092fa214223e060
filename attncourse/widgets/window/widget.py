"""Move a window over a sentence: what local-p attention weighs, and what it can no longer see."""

from functools import cache

import torch
import traitlets
from torch import Tensor

from ... import zoo
from ...core.symbols import shift_right
from ...mechanisms.luong import attend_window
from ...tasks import translation as task
from ...zoo.translation import words
from .. import bundle
from ..base import Explorable

NAME = "luong-local-p-general"
WIDEST = 6


@cache
def examples() -> tuple[task.Example, ...]:
    """A relative clause, adjectives that change sides, a negation, and Bahdanau's, longer than any in the training."""
    drawn = task.sample(400, seed=21, held_out=True, lengths=(6, 10))
    relates = next(e for e in drawn if {"who", "that"} & {*e.english})
    swaps = next(e for e in drawn if sum(abs(s - t) >= 2 for s, t in e.sure) >= 2 and "not" not in e.english)
    denies = next(e for e in drawn if "not" in e.english and len(e.english) <= 8)
    return relates, swaps, denies, task.economic_area()


@torch.no_grad()
def results(example: task.Example) -> tuple[Tensor, Tensor]:
    """The model's own numbers while it is made to write the reference.    -> scores (T, S), centres p_t (T,)"""
    model, card = zoo.load(NAME)
    source, lengths, target, _ = task.tensors([example], *words(card["config"]))
    decoder, carry = model.decoder, model.begin(source, lengths)
    scores, centres = [], []
    for y in shift_right(target)[:, :-1].unbind(1):  # without END
        _, carry, _ = model.step(y, carry)
        query = carry.state[:, None]  # (1, 1, H), the state that this step has looked with
        scores.append(decoder.score.match(query, carry.keys)[0, 0])  # (S,)
        centres.append(decoder.scope.centre(query, carry.mask)[0, 0])
    return torch.stack(scores), torch.stack(centres)


@cache
def sentences() -> list[dict]:
    made = []
    for example in examples():
        scores, centres = results(example)
        made.append({
            "english": [*example.english, "·"],  # the END is a position, too
            "french": list(example.french),
            "scores": [[round(x, 3) for x in row] for row in scores.tolist()],
            "centres": [round(x, 2) for x in centres.tolist()],
            "gold": [sorted(s for s, t in example.possible if t == at) for at in range(len(example.french))],
        })  # fmt: skip
    return made


class LocalWindow(Explorable):
    """Choose a sentence and a French word of it, move the centre p_t and the radius D.

        weights = softmax over |s - p_t| <= D of the scores, times exp(-(s - p_t)² / 2σ²), σ = D / 2

    Traits, both ways: sentence (0 … 3), word (the French word's position), centre (a number; by default the
    model's own p_t) and radius 1 … 6. Scores and centres are those of the zoo's `luong-local-p-general`.
    """

    _esm = bundle.esm("window")
    _css = bundle.css("window")

    challenge = traitlets.Unicode("Move the window until the model can no longer see the word that it needs.").tag(
        sync=True
    )
    sentence = traitlets.Int(0, min=0).tag(sync=True)
    word = traitlets.Int(1, min=0).tag(sync=True)
    centre = traitlets.Float(0.0).tag(sync=True)
    radius = traitlets.Int(2, min=1, max=WIDEST).tag(sync=True)
    own_radius = traitlets.Int(read_only=True).tag(sync=True)
    widest = traitlets.Int(WIDEST, read_only=True).tag(sync=True)
    sentences = traitlets.List(read_only=True).tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**{name: traits.pop(name) for name in ("challenge",) if name in traits})
        self.set_trait("sentences", sentences())
        self.set_trait("own_radius", zoo.load(NAME)[0].decoder.scope.radius)
        self.sentence = traits.get("sentence", 3)
        self.word = traits.get("word", 4)  # zone: it has to look two words ahead
        self.centre = traits.get("centre", self.chosen["centres"][self.word])
        self.radius = traits.get("radius", self.own_radius)

    @property
    def chosen(self) -> dict:
        return self.sentences[self.sentence]

    @traitlets.validate("sentence", "word", "centre")
    def _check(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if self.sentences:  # else they are being made
            ends = {"sentence": len(self.sentences) - 1}
            ends |= {"word": len(self.chosen["french"]) - 1, "centre": len(self.chosen["english"])}
            if not 0 <= value <= ends[name]:
                raise traitlets.TraitError(f"{name} lies between 0 and {ends[name]} here; this one is {value}")
        return value

    def weights(self) -> tuple[Tensor, Tensor]:
        """What the picture shows, by the package's own window.    -> before (S,), after (S,) the Gaussian"""
        scores = torch.tensor(self.chosen["scores"][self.word], dtype=torch.float64)[None, :, None]  # (1, S, 1)
        mask = torch.ones(1, 1, scores.shape[1], dtype=torch.bool)
        centre, query = torch.tensor([[self.centre]], dtype=torch.float64), scores.new_zeros(1, 1, 1)

        def look(near):
            return attend_window(query, scores, scores, lambda q, k: k.mT, mask, centre, self.radius, near)[1][0, 0]

        return look(torch.ones_like), look(lambda d: torch.exp(-2 * (d / self.radius).square()))
