"""A number in words, squeezed through a vector of 16, 64 or 256 numbers: what comes back out?"""

import traitlets

from .. import bundle
from ..base import ZooWidget

SIZES = ("16", "64", "256")
EXAMPLES = [  # language tag, its name, number
    ("en", "English", 11),
    ("de", "German", 65),
    ("fr", "French", 97),
    ("es", "Spanish", 500_021),
    ("da", "Danish", 4_075),
    ("nl", "Dutch", 38_402),
    ("fr", "French", 4_000_093),
    ("en", "English", 902_000_036),
    ("de", "German", 47_583),
]


class Squeeze(ZooWidget):
    """squeeze-numbers: three encoder-decoders that differ in the size of their fixed vector, run in the browser.

    Traits, both ways: `text` is what is read, `size` '16' | '64' | '256'; `output` is what was written last. The first
    screen shows `example`, computed here by PyTorch, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("squeeze")
    _css = bundle.css("squeeze")

    challenge = traitlets.Unicode("Find the shortest number that does not survive 16 numbers but survives 256.").tag(
        sync=True
    )
    zoo = traitlets.Unicode("squeeze-numbers", read_only=True).tag(sync=True)
    text = traitlets.Unicode("fünfundsechzig").tag(sync=True)
    size = traitlets.Enum(SIZES, "16").tag(sync=True)
    output = traitlets.Unicode().tag(sync=True)
    example = traitlets.Dict(read_only=True).tag(sync=True)  # text, and for each size output and vector
    examples = traitlets.List(read_only=True).tag(sync=True)  # [language tag, its name, digits, text]
    accuracy = traitlets.Dict(read_only=True).tag(sync=True)  # size -> exact match on unseen numbers, from the card
    alphabet = traitlets.Unicode(read_only=True).tag(sync=True)
    target = traitlets.Unicode(read_only=True).tag(sync=True)
    trained_length = traitlets.Int(read_only=True).tag(sync=True)
    limit = traitlets.Int(120, read_only=True).tag(sync=True)  # further characters are not read

    def __init__(self, **traits):
        from ... import zoo
        from ...tasks import numbers

        super().__init__(**traits)
        models, card = zoo.load(self.zoo)
        known = [[tag, name, str(n), numbers.say(n, tag)] for tag, name, n in EXAMPLES]
        facts = {"examples": known, "alphabet": card["config"]["alphabet"], "target": numbers.TARGET.characters}
        facts |= {"accuracy": {size: card["metrics"][f"exact_match_{size}"] for size in SIZES}}
        facts |= {"trained_length": numbers.LONGEST, "example": self._first(models, card["config"]["alphabet"])}
        for name, value in facts.items():
            self.set_trait(name, value)

    def _first(self, models, alphabet: str) -> dict:
        """What every size makes of the first text."""
        from ...tasks.text import Vocabulary
        from ...zoo.numbers import translate

        text = " ".join(self.text.lower().split())[: self.limit]
        found = {"text": text}
        for size in SIZES:
            [output], _ = translate(models[size], [text], alphabet)
            vector = models[size].begin(*Vocabulary(alphabet).encode([text])).context[0]
            found[size] = {"output": output, "vector": [round(x, 3) for x in vector.tolist()]}
        self.output = found[self.size]["output"]
        return found
