"""Step through a caption: what each word lights up, read softly and read hard."""

import base64
from functools import cache

import torch
import traitlets
from torch import Tensor

from ... import zoo
from ...core.symbols import shift_right
from ...tasks import scenes as task
from ...zoo.captions import caption
from .. import bundle
from ..base import Explorable
from ..six_scores.widget import uniforms

MODELS = {"soft": "captions-soft", "hard": "captions-hard"}
STEP = 0.05  # logarithms of the weights are kept in steps of this size, down to -12.75
DRAWN = ((2, False), (3, False), (4, False), (3, True))  # shapes in each scene; with a combination never seen?


@cache
def arrangements() -> tuple[task.Scenes, ...]:
    """One held-out scene of each kind, with a small and a large shape in it."""
    found = []
    for count, unseen in DRAWN:
        drawn = task.choose(40, count, torch.Generator().manual_seed(8), held_out=True, unseen=unseen)
        row = int((drawn.small.any(1) & ~drawn.small.all(1)).int().argmax())
        found.append(task.Scenes(*(x[row : row + 1] for x in drawn)))
    return tuple(found)


def pack(weights: Tensor) -> str:
    """log weights (T, 144), below each word's largest, as base64, a byte each"""
    below = weights.amax(-1, keepdim=True).log() - weights.clamp_min(1e-30).log()
    return base64.b64encode((below / STEP).round().clamp(0, 255).byte().numpy().tobytes()).decode()


def unpack(text: str) -> Tensor:
    """-> logits (T, 144), as the page has them"""
    numbers = torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
    return -STEP * numbers.view(-1, task.GRID**2).double()


@torch.no_grad()
def look(name: str, batch: task.Batch) -> tuple[Tensor, str]:
    """The weights of a model while its caption is dictated (T, 144), and what it writes by itself."""
    model, card = zoo.load(name)
    _, found = model(batch.images, shift_right(batch.captions))
    return found.weights[0], caption(model, batch.images, task.Words(card["config"]["words"].split()))[0][0]


@cache
def examples() -> list[dict]:
    made = []
    for drawn in arrangements():
        words, _, named = task.describe(drawn)
        kinds = zip(drawn.colour[0].tolist(), drawn.shape[0].tolist(), drawn.box[0].tolist(), strict=True)
        example = {
            "words": [*task.Words().decode(words.tolist())[0].split(), "(end)"],  # the END is a step, too
            "named": named[0].tolist(),
            "shapes": [
                {"colour": list(task.COLOURS)[c], "shape": task.SHAPES[s], "box": [round(x, 2) for x in box]}
                for c, s, box in kinds
            ],
            "says": {},
        }
        batch = task.batch(drawn._replace(box=(drawn.box * 100).round() / 100))  # the scene that the page draws
        for read, name in MODELS.items():
            weights, example["says"][read] = look(name, batch)
            example[read] = pack(weights)
        made.append(example)
    return made


class WordByWord(Explorable):
    """Choose a scene and a word of its caption; both models' attention lies over the image, soft beside hard.

    Traits, both ways: scene (0 … 3), word (its position; the last is the end), temperature of the soft softmax, and
    draw: 0, the hard model reads its likeliest place, as in evaluation; n > 0, the n-th draw from its weights.
    The weights are those of the zoo's `captions-soft` and `captions-hard` while the true caption is dictated.
    """

    _esm = bundle.esm("word_by_word")
    _css = bundle.css("word_by_word")

    challenge = traitlets.Unicode("Find a word for which the soft and the hard model look at different places.").tag(
        sync=True
    )
    scene = traitlets.Int(0, min=0, max=len(DRAWN) - 1).tag(sync=True)
    word = traitlets.Int(2, min=0).tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.1, max=5.0).tag(sync=True)
    draw = traitlets.Int(0, min=0).tag(sync=True)
    scenes = traitlets.List().tag(sync=True)
    colours = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits):
        super().__init__()
        self.scenes = examples()
        self.colours = {name: list(rgb) for name, rgb in task.COLOURS.items()}
        for name in ("challenge", "scene", "word", "temperature", "draw"):
            if name in traits:
                setattr(self, name, traits.pop(name))
        if traits:
            raise traitlets.TraitError(f"WordByWord has no trait {', '.join(traits)}")

    @traitlets.validate("word")
    def _check_word(self, proposal):
        last = len(self.scenes[self.scene]["words"]) - 1 if self.scenes else 0
        if self.scenes and proposal["value"] > last:
            raise traitlets.TraitError(f"word lies between 0 and {last} here; this one is {proposal['value']}")
        return proposal["value"]

    def region(self) -> Tensor:
        """The patches that the word names, by the task's own rule.    -> bool (144,)"""
        k = self.scenes[self.scene]["named"][self.word]
        drawn = arrangements()[self.scene]
        places = task.regions(drawn._replace(box=(drawn.box * 100).round() / 100))[0]  # (K, 144)
        return places[k] if k >= 0 else torch.zeros_like(places[0])

    def weights(self) -> tuple[Tensor, Tensor]:
        """What the picture shows: weights (144,) of the soft model, one-hot (144,) of the hard one."""
        example = self.scenes[self.scene]
        soft = (unpack(example["soft"])[self.word] / self.temperature).softmax(-1)
        alpha = unpack(example["hard"])[self.word].softmax(-1)
        chosen = alpha.argmax()
        if self.draw:
            u = uniforms(1000 * self.draw + self.word, 1)[0]
            chosen = (alpha.cumsum(-1) > u).int().argmax()
        return soft, torch.nn.functional.one_hot(chosen, task.GRID**2).double()
