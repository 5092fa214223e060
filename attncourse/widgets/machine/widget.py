"""A trained Neural Turing Machine, live: give it a pattern of bits, step it, see where it writes and reads."""

import torch
import traitlets
from torch import Tensor

from ...tasks.algorithmic import BITS, bits
from .. import bundle
from ..base import ZooWidget

LONGEST = 120


def rows(pattern: Tensor) -> list[str]:
    """Bits (L, 8) -> one string per vector, "01101001"."""
    return ["".join(str(int(bit)) for bit in vector) for vector in pattern.tolist()]


class RunMachine(ZooWidget):
    """ntm-copy, running in the browser over a pattern of the reader's own.

    Traits, both ways: pattern, 1 to 120 vectors of eight bits, each a string such as "01101001" (rows of 0 and 1 are
    taken, too); time: how many of the 2L + 1 steps are shown, -1 for all. `output` is what it answered, as pattern.
    The first screen shows `example`, computed here by PyTorch, so that it stands there before any weights are loaded.
    """

    _esm = bundle.esm("machine")
    _css = bundle.css("machine")

    challenge = traitlets.Unicode(
        "Run it on 120 vectors, six times as many as it ever saw in training, and watch where the two heads go."
    ).tag(sync=True)
    zoo = traitlets.Unicode("ntm-copy", read_only=True).tag(sync=True)
    pattern = traitlets.Any().tag(sync=True)
    time = traitlets.Int(-1, min=-1, max=2 * LONGEST + 1).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 1).tag(sync=True)  # of the patterns that the page draws
    output = traitlets.List(read_only=True).tag(sync=True)
    example = traitlets.Dict(read_only=True).tag(sync=True)
    slots = traitlets.Int(read_only=True).tag(sync=True)
    trained_length = traitlets.Int(20, read_only=True).tag(sync=True)
    longest = traitlets.Int(LONGEST, read_only=True).tag(sync=True)

    def __init__(self, pattern=None, **traits):
        drawn = bits(10, BITS, rng=torch.Generator().manual_seed(0))
        super().__init__(pattern=rows(drawn) if pattern is None else pattern, **traits)
        logits, weights, memories = self.run()
        self.set_trait("slots", weights.shape[-1])
        self.set_trait("output", rows(logits[len(self.pattern) + 1 :] > 0))
        self.set_trait("example", self._short(logits, weights, memories[-1]))

    @traitlets.validate("pattern")
    def _check_pattern(self, proposal):
        value = proposal["value"]
        if not hasattr(value, "__iter__") or isinstance(value, str):
            raise traitlets.TraitError(f"pattern is {value!r}; it needs a list of vectors of {BITS} bits")
        plain = [row if isinstance(row, str) else "".join(f"{float(bit):g}" for bit in row) for row in value]
        for i, row in enumerate(plain):
            if len(row) != BITS or {*row} - {*"01"}:
                raise traitlets.TraitError(f"pattern[{i}] is {row!r}; it needs {BITS} bits, each 0 or 1")
        if not 1 <= len(plain) <= LONGEST:
            raise traitlets.TraitError(f"a pattern has 1 to {LONGEST} vectors; this one has {len(plain)}")
        return plain

    @torch.no_grad()
    def run(self) -> tuple[Tensor, Tensor, Tensor]:
        """By PyTorch what the page shows, step by step, T = 2L + 1.

        -> logits (T, 8), weights (T, 2, N) of the reading and the writing head, memory (T, N, W) after each step
        """
        from ... import zoo

        model, _ = zoo.load(self.zoo)
        length = len(self.pattern)
        inputs = torch.zeros(1, 2 * length + 1, BITS + 1)  # as tasks.algorithmic.copy
        inputs[0, :length, :BITS] = torch.tensor([[float(bit) for bit in row] for row in self.pattern])
        inputs[0, length, BITS] = 1
        state, steps = model.begin(inputs), []
        for x in inputs.unbind(1):
            logits, state = model.step(x, state)
            steps.append((logits[0], state.weights[0], state.memory[0]))
        return tuple(torch.stack(part) for part in zip(*steps, strict=True))

    def _short(self, logits: Tensor, weights: Tensor, memory: Tensor) -> dict:
        """The run without what cannot be seen: [slot, weight] for each step and head, [slot, its numbers]."""
        pairs = [[[[i, round(w, 3)] for i, w in enumerate(head) if w > 0.005] for head in t] for t in weights.tolist()]
        used = (memory.abs().amax(-1) > 0.05 * memory.abs().max()).nonzero()[:, 0].tolist()
        numbers = [[i, [round(x, 2) for x in memory[i].tolist()]] for i in used]
        short = [[float(f"{x:.3g}") for x in t] for t in logits.tolist()]  # the sign stays, however small
        width = memory.shape[-1]
        return {"pattern": self.pattern, "logits": short, "weights": pairs, "memory": numbers, "width": width}
