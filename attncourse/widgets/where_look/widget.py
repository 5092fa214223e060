"""Where would you look? The reader takes the glimpses, the recurrent attention model guesses, live in the page."""

import base64

import torch
import traitlets
from torch import Tensor

from .. import bundle
from ..base import ZooWidget

SIZE, LOOKS = 8, 6  # a glimpse is 8×8 pixels of 28×28, and there are six
# Test digits of MNIST, one per class and a few that are hard to read.
INDICES = (18, 61, 2, 8, 4, 11, 0, 3, 7, 23, 247, 1)


def pack(pixels: Tensor) -> str:
    """A byte each, in base64: a third of what a list takes in a notebook."""
    return base64.b64encode(pixels.to(torch.uint8).numpy().tobytes()).decode()


class WhereLook(ZooWidget):
    """ram-mnist guesses from the places that the reader looks at; after six looks it shows its own.

    `digit` is the number of the hidden digit, `places` are the looks so far, (x, y) from -1 to 1. The first look is
    at the middle, as the model's. `run()` computes by PyTorch what the page shows.
    """

    _esm = bundle.esm("where_look")
    _css = bundle.css("where_look")

    challenge = traitlets.Unicode(
        "Choose your looks so that the model guesses right as early as possible, then see where it looks by itself."
    ).tag(sync=True)
    zoo = traitlets.Unicode("ram-mnist", read_only=True).tag(sync=True)
    size = traitlets.Int(SIZE, read_only=True).tag(sync=True)
    looks = traitlets.Int(LOOKS, read_only=True).tag(sync=True)
    digits = traitlets.List(read_only=True).tag(sync=True)  # [label, 28×28 bytes in base64]
    digit = traitlets.Int(0, min=0, max=len(INDICES) - 1).tag(sync=True)
    places = traitlets.List([[0.0, 0.0]]).tag(sync=True)
    example = traitlets.Dict().tag(sync=True)  # digit, places, guesses: shown before any weights are loaded

    def __init__(self, **traits):
        from ...tasks import digits

        images, labels = digits.mnist("test")
        super().__init__(**traits)
        self.set_trait("digits", [[int(labels[i]), pack(images[i])] for i in INDICES])
        guesses, _, _ = self.run()
        rounded = [[round(p, 4) for p in row] for row in guesses.tolist()]
        self.example = {"digit": self.digit, "places": self.places, "guesses": rounded}

    @traitlets.validate("places")
    def _check_places(self, proposal):
        places = [[float(x) for x in place] for place in proposal["value"]]
        if not 1 <= len(places) <= LOOKS or any(len(p) != 2 or max(map(abs, p)) > 1 for p in places):
            wanted = f"places need 1 to {LOOKS} pairs (x, y) from -1 to 1"
            raise traitlets.TraitError(f"{wanted}; these are {proposal['value']!r:.80}")
        return places

    @torch.no_grad()
    def run(self) -> tuple[Tensor, Tensor, Tensor]:
        """-> guesses after each of the reader's looks (n, 10), the model's own places (6, 2), its guesses (6, 10)"""
        from ... import zoo
        from ...mechanisms.glimpse import PlaceChoice, greedy

        model, _ = zoo.load(self.zoo)
        image = torch.frombuffer(bytearray(base64.b64decode(self.digits[self.digit][1])), dtype=torch.uint8)
        image = image.view(1, 1, 28, 28) / 255
        there = iter(torch.tensor(self.places)[:, None])  # n of (1, 2)
        given = model(image, len(self.places), lambda mean: PlaceChoice(next(there), mean.new_zeros(1)))
        own = model(image, LOOKS, greedy)
        return given.logits[0].softmax(-1), own.places[0], own.logits[0].softmax(-1)
