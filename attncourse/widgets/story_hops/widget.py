"""A story, hop by hop: which sentence does a memory network look at first, and where does that lead it?"""

import random
from functools import cache

import traitlets
from torch import Tensor

from ...tasks import stories as task
from .. import bundle
from ..base import ZooWidget

NAME = "memn2n-stories"
WORLDS = 6


@cache
def worlds() -> list[dict]:
    """Stories that training never saw, each with two questions of every kind; not chosen by what the model answers."""
    rng, found = random.Random(11), []
    while len(found) < WORLDS:
        world = task.World()
        for _ in range(rng.randint(9, 12)):
            task.act(world, rng)
        asked = [task.questions(world, kind) for kind in task.KINDS]
        if min(map(len, asked)) >= 2 and task.is_held_out(world.sentences):
            two = [dict(zip(("text", "answer", "facts"), q, strict=True)) for qs in asked for q in rng.sample(qs, 2)]
            found.append({"sentences": [" ".join(s) for s in world.sentences], "questions": two})
    return found


class StoryHops(ZooWidget):
    """Pick a story and a question; leave sentences out or shuffle them: the network reads again, in the browser.

    Traits, both ways: `story` and `question` count from 0; `order` lists the sentences that are told, in their order,
    and is empty while the story is told as it happened. The first screen shows `example`, computed here by PyTorch,
    so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("story_hops")
    _css = bundle.css("story_hops")

    challenge = traitlets.Unicode("Leave out one sentence at a time: which ones does the answer really need?").tag(
        sync=True
    )
    zoo = traitlets.Unicode(NAME, read_only=True).tag(sync=True)
    story = traitlets.Int(0, min=0).tag(sync=True)
    question = traitlets.Int(0, min=0).tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    stories = traitlets.List(read_only=True).tag(sync=True)
    vocabulary = traitlets.Unicode(read_only=True).tag(sync=True)
    places = traitlets.List([*task.PLACES], read_only=True).tag(sync=True)
    example = traitlets.Dict(read_only=True).tag(sync=True)  # story, question, order, weights, answers

    def __init__(self, story: int = 0, question: int = 2, **traits):
        from ... import zoo

        super().__init__()
        self.set_trait("stories", worlds())
        self.set_trait("vocabulary", zoo.card(NAME)["config"]["words"])
        for name, value in {"story": story, "question": question, **traits}.items():
            setattr(self, name, value)
        weights, answers = self.read()
        found = {"weights": weights.tolist(), "answers": answers.tolist()}
        found = {name: [[round(x, 4) for x in row] for row in rows] for name, rows in found.items()}
        place = {"story": self.story, "question": self.question, "order": [*self.order]}
        self.set_trait("example", place | {"weights": found["weights"], "answers": found["answers"][0]})

    @traitlets.validate("story", "question", "order")
    def _check(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if self.stories:  # else they are being made
            here = self.stories[self.story]
            end = len({"story": self.stories, "question": here["questions"], "order": here["sentences"]}[name])
            values = value if name == "order" else [value]
            if not all(0 <= v < end for v in values) or len({*values}) < len(values):
                raise traitlets.TraitError(f"{name}: numbers from 0 to {end - 1}, each once; this is {value}")
        return value

    @traitlets.observe("story")
    def _as_it_happened(self, _):
        self.order = []  # another story has other sentences

    def read(self) -> tuple[Tensor, Tensor]:
        """What PyTorch makes of it.    -> weights (hops, sentences told), answers (1, places): probabilities"""
        from ... import zoo
        from ...zoo.stories import read

        model, card = zoo.load(self.zoo)
        here = self.stories[self.story]
        told = [here["sentences"][i].split() for i in self.order or range(len(here["sentences"]))]
        asked = here["questions"][self.question]
        reading = read(model, [task.Story(told, asked["text"].split(), asked["answer"], ())], card["config"])
        ids = card["config"]["words"].split()
        chosen = [4 + ids.index(place) for place in self.places]
        return reading.weights[0], reading.logits.softmax(-1)[:, chosen]
