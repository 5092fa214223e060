"""Draw a digit: a plain convolutional network and its input gradient, live in the page."""

import base64
import math

import torch
import traitlets
from torch import Tensor

from .. import bundle
from ..base import ZooWidget
from ..six_scores.widget import uniforms

SIZE = 40
SIGMA, COPIES = 0.2, 16  # of SmoothGrad: the noise, and how many noisy copies
# Test digits of MNIST that the network reads right, one per class: (index, row, column) of their frame on the ground.
PLACES = [
    (3, 6, 6),
    (2, 4, 9),
    (1, 8, 3),
    (18, 2, 6),
    (4, 9, 9),
    (23, 6, 10),
    (11, 3, 2),
    (0, 10, 6),
    (61, 7, 8),
    (7, 5, 4),
]


def pack(numbers: Tensor) -> str:
    """Whole numbers -128..255 as base64, a byte each: a third of what a list takes in a notebook."""
    return base64.b64encode(numbers.to(torch.int16).numpy().astype("u1").tobytes()).decode()


def unpack(text: str) -> Tensor:
    """-> image (1, 1, SIZE, SIZE), 0..1"""
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8).view(1, 1, SIZE, SIZE) / 255


def noise(seed: int) -> Tensor:
    """What copy number `seed` is disturbed by, as lib/chance.mjs draws it.    -> (1, 1, SIZE, SIZE)"""
    u = uniforms(seed, 2 * SIZE * SIZE)
    pairs = zip(u[::2], u[1::2], strict=True)
    numbers = [math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b) for a, b in pairs]
    return SIGMA * torch.tensor(numbers).view(1, 1, SIZE, SIZE)


class DrawDigit(ZooWidget):
    """digits-cnn reads what is drawn: class probabilities, and ∂score/∂pixel of one class as a map.

    `image` is the drawing, SIZE×SIZE bytes in base64; it may be given as a tensor of 0..1. `target` is the class
    whose score is asked about, -1 the likeliest; `copies` is how many noisy copies of the drawing the map is a mean
    over (SmoothGrad), 0 for the gradient at the drawing itself. `run()` computes by PyTorch what the page shows.
    The first screen holds `example`, computed here, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("draw_digit")
    _css = bundle.css("draw_digit")

    challenge = traitlets.Unicode(
        "Load the 3, then turn it into an 8 with as few strokes as you can. Does the map tell you where to draw?"
    ).tag(sync=True)
    zoo = traitlets.Unicode("digits-cnn", read_only=True).tag(sync=True)
    size = traitlets.Int(SIZE, read_only=True).tag(sync=True)
    image = traitlets.Any().tag(sync=True)
    target = traitlets.Int(-1, min=-1, max=9).tag(sync=True)
    copies = traitlets.Int(0, min=0, max=COPIES).tag(sync=True)
    most_copies = traitlets.Int(COPIES, read_only=True).tag(sync=True)
    sigma = traitlets.Float(SIGMA, read_only=True).tag(sync=True)
    example = traitlets.Dict().tag(sync=True)  # image, target, copies, probabilities, map (bytes -127..127), its scale
    examples = traitlets.List().tag(sync=True)  # [class, row, column, 28×28 bytes in base64]

    def __init__(self, **traits):
        from ...tasks import digits

        images, labels = digits.mnist("test")
        stamps = [[int(labels[i]), row, column, pack(images[i])] for i, row, column in PLACES]
        if "image" not in traits:
            index, row, column = PLACES[3]
            traits["image"] = torch.zeros(SIZE, SIZE)
            traits["image"][row : row + 28, column : column + 28] = images[index] / 255
        super().__init__(**traits)
        probabilities, gradient = self.run()
        scale = gradient.abs().max().item()
        numbers = (gradient / (scale or 1) * 127).round()
        self.examples = stamps
        self.example = {
            "image": self.image,
            "target": self.target,
            "copies": self.copies,
            "probabilities": [round(p, 4) for p in probabilities.tolist()],
            "map": pack(numbers),
            "scale": scale,
        }

    @traitlets.validate("image")
    def _check_image(self, proposal):
        value = proposal["value"]
        if isinstance(value, Tensor) and value.numel() == SIZE * SIZE and value.min() >= 0 and value.max() <= 1:
            return pack((value.detach().cpu() * 255).round())
        try:
            right = len(base64.b64decode(value, validate=True)) == SIZE * SIZE
        except (ValueError, TypeError):
            right = False
        if not right:
            what = f"a tensor {tuple(value.shape)}" if isinstance(value, Tensor) else f"{value!r:.60}"
            raise traitlets.TraitError(f"image is {what}; it needs {SIZE}×{SIZE} numbers from 0 to 1, as a tensor")
        return value

    def run(self) -> tuple[Tensor, Tensor]:
        """-> probabilities (10,), the map: gradient of the target's score (SIZE, SIZE)"""
        from ... import zoo
        from ...mechanisms import implicit

        model, _ = zoo.load(self.zoo)
        x = unpack(self.image)
        with torch.no_grad():
            scores = model(x)  # (1, 10)
        target = scores.argmax(1) if self.target < 0 else torch.tensor([self.target])
        around = torch.cat([x + noise(k + 1) for k in range(self.copies)]) if self.copies else x  # (copies, 1, …)
        gradients = implicit.gradient(model, around, target.expand(len(around)))
        return scores.softmax(1)[0], gradients.mean(0)[0]
