"""Teach it five characters: SNAIL reads five labelled images and a query, live in the page."""

import base64

import torch
import traitlets
from torch import Tensor

from .. import bundle
from ..base import ZooWidget

SIDE, WAYS, LOOKS = 28, 5, 3
EACH = 4  # letters of each script that the model has never seen


def pack(image: Tensor) -> str:
    """An image of 0..1 as base64, a byte a pixel."""
    return base64.b64encode((image * 255).round().to(torch.uint8).numpy().tobytes()).decode()


def unpack(text: str) -> Tensor:
    """-> (SIDE, SIDE), 0..1"""
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8).view(SIDE, SIDE) / 255


def drawings() -> list[list[str]]:
    """The palette: [letter's name, as one drawer has it, as another], EACH letters of every test script."""
    from ...tasks import glyphs

    data, rng, rows = glyphs.glyphs(), torch.Generator().manual_seed(14), []
    for script in range(len(glyphs.TRAIN), len(glyphs.TRAIN + glyphs.TEST)):
        letters = torch.nonzero(data.scripts == script)[:, 0]
        for c in letters[torch.linspace(0, len(letters) - 1, EACH).long()].tolist():
            styles = data.first[c] + torch.tensor([0, int(data.styles[c]) - 1])
            two = glyphs.by_hand(data.images[styles] / 255, rng)
            rows.append([glyphs.name(c).title(), *map(pack, two)])
    return rows


class FiveCharacters(ZooWidget):
    """snail-glyphs learns five characters from one example each, and names a sixth.

    `images` are the five shots and the query: six images of SIDE×SIDE, 0..1, as a tensor (6, SIDE, SIDE) or packed.
    `run()` computes by PyTorch what the page shows: probabilities, and the query's weights in each look.
    The first screen holds `example`, computed here, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("five_characters")
    _css = bundle.css("five_characters")

    challenge = traitlets.Unicode(
        "Invent a sign, draw it once as a character and once as the query, and see whether the network recognises it."
    ).tag(sync=True)
    zoo = traitlets.Unicode("snail-glyphs", read_only=True).tag(sync=True)
    side = traitlets.Int(SIDE, read_only=True).tag(sync=True)
    images = traitlets.Any().tag(sync=True)
    letters = traitlets.List().tag(sync=True)  # [name, image, another image of it]
    example = traitlets.Dict().tag(sync=True)  # images, probabilities (5), weights (3, 6)

    def __init__(self, **traits):
        letters = drawings()
        if "images" not in traits:
            shown = letters[1::EACH]  # one of each script
            traits["images"] = [image for _, image, _ in shown] + [shown[1][2]]
        super().__init__(**traits)
        self.letters = letters
        probabilities, weights = self.run()
        self.example = {
            "images": self.images,
            "probabilities": [round(p, 4) for p in probabilities.tolist()],
            "weights": [[round(w, 4) for w in row] for row in weights.tolist()],
        }

    @traitlets.validate("images")
    def _check_images(self, proposal):
        value = proposal["value"]
        if isinstance(value, Tensor):
            if value.shape != (WAYS + 1, SIDE, SIDE) or value.min() < 0 or value.max() > 1:
                raise traitlets.TraitError(
                    f"images is a tensor {tuple(value.shape)} of {value.min():.3g} to {value.max():.3g}; "
                    f"it needs {WAYS} shots and a query, ({WAYS + 1}, {SIDE}, {SIDE}), from 0 to 1"
                )
            return [pack(image) for image in value.detach().cpu()]
        try:
            right = [len(base64.b64decode(text, validate=True)) for text in value] == [SIDE * SIDE] * (WAYS + 1)
        except (ValueError, TypeError):
            right = False
        if not right:
            raise traitlets.TraitError(f"images is {value!r:.60}; it needs a tensor ({WAYS + 1}, {SIDE}, {SIDE})")
        return list(value)

    def run(self) -> tuple[Tensor, Tensor]:
        """-> probabilities (5,), weights (looks, 6): where the query looked, itself last"""
        from ... import zoo

        model, _ = zoo.load(self.zoo)
        images = torch.stack([unpack(text) for text in self.images])[None]  # (1, 6, 28, 28)
        with torch.no_grad():
            logits, weights = model(images, torch.arange(WAYS)[None])
        return logits[0, 0].softmax(-1), torch.stack([w[0, 0, -1] for w in weights])
