"""The four stages by which a head of the Neural Turing Machine finds its slots, on a memory one can drag."""

import torch
import traitlets
from torch import Tensor

from ...mechanisms import ntm
from .. import bundle
from ..base import Explorable, vectors

EXTENT = 2.0  # the plane shows -2 .. 2 in both directions
SLOTS = 8
STAGES = ("content", "interpolate", "shift", "sharpen")
START = {  # neighbours in the memory are not neighbours in the plane: a shift has nothing to do with content
    "memory": [[1.2, 0.5], [-0.9, 1.2], [0.7, 1.3], [-1.4, -0.4], [1.3, -0.9], [-0.3, -1.4], [-1.4, 0.5], [0.5, -1.6]],
    "key": [0.5, 0.8],
    "previous": 5,
    "logits": [-2.0, 0.0, 2.0],
}


def moves(scalar: Tensor, reach: int) -> Tensor:
    """A shift by one number, split between its two neighbouring integers: 6.7 puts 0.3 on 6 and 0.7 on 7.

        s(m) = max(0, 1 - |scalar - m|)                      Graves et al. 2014, sec. 3.3.2, in words

    scalar (B, heads), from -reach to reach -> moves (B, heads, 2·reach + 1), as `ntm.rotate` takes them
    """
    if (farthest := scalar.abs().max()) > reach:
        raise ValueError(f"a shift by {farthest:g} goes beyond reach = {reach}; it needs at least {farthest.ceil():g}")
    offsets = torch.arange(-reach, reach + 1, dtype=scalar.dtype, device=scalar.device)
    return (1 - (scalar[..., None] - offsets).abs()).clamp_min(0)  # (B, heads, 2·reach + 1)


class AddressingBench(Explorable):
    """One head over eight slots of two numbers: content → interpolate → shift → sharpen, as `ntm` has them.

    Traits, both ways: memory (8, 2), key (2), previous: the weighting w_{t-1} (8), or the one slot that it is on;
    strength β, gate g, power γ; encoding of the shift: "softmax" of three `logits` for -1, 0, +1, or "scalar".
    """

    _esm = bundle.esm("addressing")
    _css = bundle.css("addressing")

    challenge = traitlets.Unicode(
        "Make the head end up on slot 6 with a weight above 0.9. How many ways are there?"
    ).tag(sync=True)
    extent = traitlets.Float(EXTENT, read_only=True).tag(sync=True)
    memory = traitlets.Any().tag(sync=True)
    key = traitlets.Any().tag(sync=True)
    previous = traitlets.Any().tag(sync=True)
    strength = traitlets.Float(8.0, min=0.0, max=50.0).tag(sync=True)
    gate = traitlets.Float(0.8, min=0.0, max=1.0).tag(sync=True)
    encoding = traitlets.Enum(["softmax", "scalar"], "softmax").tag(sync=True)
    logits = traitlets.Any().tag(sync=True)
    scalar = traitlets.Float(6.7, min=1.0 - SLOTS, max=SLOTS - 1.0).tag(sync=True)
    power = traitlets.Float(2.0, min=1.0, max=20.0).tag(sync=True)

    def __init__(self, **traits):
        super().__init__(**START | traits)

    @traitlets.validate("memory")
    def _check_memory(self, proposal):
        memory = vectors("memory", proposal["value"], 2, -EXTENT, EXTENT)
        if len(memory) != SLOTS:
            raise traitlets.TraitError(f"the memory has {SLOTS} slots; this one has {len(memory)}")
        return memory

    @traitlets.validate("key")
    def _check_key(self, proposal):
        return vectors("key", [proposal["value"]], 2, -EXTENT, EXTENT)[0]

    @traitlets.validate("logits")
    def _check_logits(self, proposal):
        return vectors("logits", [proposal["value"]], 3, -100.0, 100.0)[0]

    @traitlets.validate("previous")
    def _check_previous(self, proposal):
        value = proposal["value"]
        if isinstance(value, int):
            if not 0 <= value < SLOTS:
                raise traitlets.TraitError(f"the slots are 0 to {SLOTS - 1}; previous is {value}")
            return [float(i == value) for i in range(SLOTS)]
        weights = vectors("previous", [value], SLOTS, 0.0, 1.0)[0]
        if abs(sum(weights) - 1) > 1e-3:
            raise traitlets.TraitError(f"a weighting sums to 1; previous sums to {sum(weights):.4g}")
        return weights

    def moves(self) -> Tensor:
        """How much goes how many slots on.    -> (3,) for -1, 0, +1, or (15,) for -7 … 7"""
        if self.encoding == "softmax":
            return torch.tensor(self.logits, dtype=torch.float64).softmax(-1)
        return moves(torch.tensor([[self.scalar]], dtype=torch.float64), SLOTS - 1)[0, 0]

    def stages(self) -> dict[str, Tensor]:
        """What the picture shows, by `attncourse.mechanisms.ntm`.    -> {stage: weights (8,)}"""
        memory, key, previous = (
            torch.tensor([x], dtype=torch.float64) for x in (self.memory, [self.key], [self.previous])
        )
        strength, gate, power = memory.new_tensor([self.strength, self.gate, self.power])[:, None, None]
        found = ntm.content(key, strength, memory)  # (1, 1, 8), and so on
        mixed = ntm.interpolate(found, previous, gate)
        shifted = ntm.rotate(mixed, self.moves()[None, None])
        sharp = ntm.sharpen(shifted, power)
        return {name: w[0, 0] for name, w in zip(STAGES, (found, mixed, shifted, sharp), strict=True)}
