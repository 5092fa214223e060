"""Generate and click: the SAGAN of the zoo draws in the page, and every position tells where it looked."""

import base64

import torch
import traitlets
from torch import Tensor

from .. import bundle
from ..base import ZooWidget

LATENT, SIDE, GRID = 32, 16, 8  # numbers of z; positions that ask, and that are asked, along each side
REACH = 3.0


def latent(seed: int) -> list[float]:
    """z of an image, in steps of 0.01."""
    rng = torch.Generator().manual_seed(seed)
    return [round(x, 2) for x in torch.randn(LATENT, generator=rng).clamp(-REACH, REACH).tolist()]


class GenerateClick(ZooWidget):
    """sagan-symmetry, drawing in the browser.

    Traits, both ways: latent, 32 numbers from -3 to 3; place, [row, column] of the position that is asked, 0 to 15;
    network, whose block is asked: "generator" or "discriminator". `run()` computes by PyTorch what the page shows.
    The first screen shows `example`, computed here, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("generate_click")
    _css = bundle.css("generate_click")

    challenge = traitlets.Unicode(
        "Hunt for positions that look most at their mirror partner. Do you find more than chance gives, one in 64?"
    ).tag(sync=True)
    zoo = traitlets.Unicode("sagan-symmetry", read_only=True).tag(sync=True)
    latent = traitlets.List().tag(sync=True)
    place = traitlets.List([4, 3]).tag(sync=True)
    network = traitlets.Enum(["generator", "discriminator"], "generator").tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(sync=True)  # of the images that the page draws
    example = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, latent=None, **traits):
        super().__init__(latent=_first if latent is None else latent, **traits)
        picture, weights = self.run()
        pixels = ((picture + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
        self.set_trait("example", {
            "latent": self.latent, "place": self.place, "network": self.network,
            "pixels": base64.b64encode(pixels.numpy().tobytes()).decode(),
            "weights": [round(w, 5) for w in weights.tolist()],
        })  # fmt: skip

    @traitlets.validate("latent")
    def _check_latent(self, proposal):
        value = proposal["value"]
        numbers = all(isinstance(x, int | float) for x in value)
        if len(value) != LATENT or not numbers or any(abs(x) > REACH for x in value):
            raise traitlets.TraitError(f"latent needs {LATENT} numbers from -3 to 3; this is {value!r:.80}")
        return [float(x) for x in value]

    @traitlets.validate("place")
    def _check_place(self, proposal):
        value = proposal["value"]
        if len(value) != 2 or not all(isinstance(x, int) and 0 <= x < SIDE for x in value):
            raise traitlets.TraitError(f"place is [row, column], each from 0 to {SIDE - 1}; this is {value!r:.80}")
        return list(value)

    @torch.no_grad()
    def run(self) -> tuple[Tensor, Tensor]:
        """-> the image (3, 32, 32) from -1 to 1, and where the place looks (64,), a region of 4×4 pixels each"""
        from ... import zoo

        model, _ = zoo.load(self.zoo)
        z = torch.tensor([self.latent])
        picture = model(z)
        asked = getattr(model, self.network)
        features = asked.before(z if self.network == "generator" else picture)
        row, column = self.place
        return picture[0], asked.block.weights(features)[0, row * SIDE + column]


_first = latent(3)
