"""One step of RNNsearch, with the numbers of `bahdanau-dates` while it writes one date."""

from typing import Any

import torch
from torch import Tensor

from .. import zoo
from ..core.symbols import BEGIN
from ..diagrams.kit import number, share
from ..diagrams.seq2seq import rnnsearch
from ..tasks import dates
from . import Frame, Step, Story, run, vector

TEXT = "5 mar 2024"
CODE = """
e = [v @ tanh(W_q @ s + W_k @ h_j) for h_j in h]
a = softmax(e)
c = sum(a_j * h_j for a_j, h_j in zip(a, h))
s = gru(concat(y, c), s)
logits = out(maxout(readout(concat(s, y, c))))
"""
STEPS = (
    Step("score", "The decoder’s state asks every annotation: how well do you fit what I am about to write? The "
         "answer is one number per letter.", (0,), (0,)),
    Step("normalise", "A softmax turns the scores into weights. They are positive and sum to one, so what one letter "
         "gains the others lose.", (1,), (1,)),
    Step("read", "The context is the sum of the annotations, each times its weight. The more weight a letter has, the "
         "more of its annotation is in the context.", (2,), (2,)),
    Step("update", "The GRU takes the last symbol and the context, and turns the previous state into the next one. "
         "That state will ask the next question.", (3,), (3,)),
    Step("write", "From the state, the last symbol and the context comes one logit per symbol, and the symbol with "
         "the largest is written.", (4,), (4,)),
)  # fmt: skip
EQUATIONS = (
    r"e_{ij} = v^\top \tanh(W_q s_{i-1} + W_k h_j)",
    r"a_{ij} = \exp e_{ij} / \sum_k \exp e_{ik}",
    r"c_i = \sum_j a_{ij} h_j",
    r"s_i = \mathrm{GRU}(s_{i-1}, [y_{i-1}; c_i])",
    r"p(y_i) = \mathrm{softmax}(W_o\, \mathrm{maxout}(U [s_i; y_{i-1}; c_i]))",
)


@torch.no_grad()
def story() -> Story:
    model, card = zoo.load("bahdanau-dates")
    source, lengths = dates.Vocabulary(card["config"]["alphabet"]).encode([TEXT])
    letters = [*TEXT.replace(" ", "␣"), "end"]
    shown = {BEGIN: "begin", **{4 + i: c for i, c in enumerate(dates.TARGET.characters)}}
    names, previous, frames = _parts(model) | {"h": model.encoder(source, lengths)[0]}, BEGIN, []
    names["s"] = model.begin(source, lengths).state[0]
    for i in range(len("2024-03-05")):
        names["y"], before = model.decoder.embed.weight[previous], names["s"]
        names = run(CODE, names)
        best = int(names["logits"].argmax())
        frames.append(_frame(i, letters, before, names, shown[previous], shown[best]))
        previous = best
    drawing = rnnsearch([*letters[:-1], "■"], [1 / len(letters)] * len(letters))
    return Story("One step of RNNsearch, in five moves", drawing, STEPS, EQUATIONS, CODE, tuple(frames), "it writes")


def _parts(model) -> dict[str, Any]:
    """What the lines of code call by name."""
    decoder = model.decoder
    return {
        "W_q": decoder.score.W_q.weight, "W_k": decoder.score.W_k.weight, "v": decoder.score.v,
        "gru": lambda x, s: decoder.cell(x[None], s[None])[0], "readout": decoder.readout, "out": decoder.out,
        "maxout": lambda x: x.unflatten(-1, (-1, 2)).amax(-1), "tanh": torch.tanh,
        "softmax": lambda e: torch.stack(e).softmax(-1), "concat": lambda *parts: torch.cat(parts),
    }  # fmt: skip


def _frame(i: int, letters: list[str], before: Tensor, names: dict[str, Any], last: str, written: str) -> Frame:
    e, a = torch.stack(names["e"]).tolist(), names["a"].tolist()

    def largest(numbers: list[float], digits: int = 2) -> str:
        order = sorted(range(len(numbers)), key=lambda j: -numbers[j])[:3]
        return ", ".join(f"“{letters[j]}” {number(numbers[j], digits)}" for j in order)

    numbers = [
        [("$s_{i-1}$", vector(before)), ("largest $e_{ij}$", largest(e))],
        [
            ("largest $a_{ij}$", largest(a)),
            ("their sum", f"{sum(a):.2f}"),
            ("chance", f"1/{len(a)} = {1 / len(a):.2f}"),
        ],
        [("$c_i$", vector(names["c"]))],
        [("$s_i$", vector(names["s"]))],
        [(f"$p$(“{written}”)", f"{names['logits'].softmax(-1).max():.3f}")],
    ]
    return Frame(
        label=f"symbol {i + 1}: {written}",
        texts={f"weight-{j}-0-0": share(w) for j, w in enumerate(a)} | {"last": last, "written": written},
        cells={f"weight-{j}-0-0": w for j, w in enumerate(a)},
        flows={f"flow-{j}": round(0.5 + 9 * w, 2) for j, w in enumerate(a)},
        numbers=numbers,
    )
