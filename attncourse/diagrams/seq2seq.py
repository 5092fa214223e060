"""Encoder and decoder: one vector between them (chapter 3), or a look before every symbol (chapter 4)."""

from collections.abc import Sequence

import torch

from ..core.recurrent import both_ways
from ..mechanisms.seq2seq import EncoderDecoder, RNNsearch
from .kit import Diagram, number
from .shapes import all_in_letters

LETTERS = {2: "B", 5: "S", 3: "T", 11: "E", 7: "H", 14: "2H", 13: "V", 17: "C"}
WORDS = ("o", "n", "e", "end")


@torch.no_grad()
def fixed_shapes() -> dict[str, str]:
    model = EncoderDecoder(19, 13, d_embed=11, d_hidden=7, d_context=17)
    source, lengths = torch.randint(4, 19, (2, 5)), torch.tensor([5, 4])
    context = model.encoder(source, lengths)[:, 0]
    carry = model.begin(source, lengths)
    logits, after, _ = model.step(torch.zeros(2, dtype=torch.long), carry)
    states, _ = model.encoder.forwards(model.encoder.embed(source))
    named = {"x": model.encoder.embed(source)[:, 0], "h": states[:, 0], "context": context, "state": after.state}
    return all_in_letters(named | {"logits": logits}, LETTERS)


def encoder_decoder() -> Diagram:
    """The unrolled encoder–decoder, and the neck of one vector in its middle."""
    d = Diagram(
        "encoder_decoder", 420, 500, "The encoder–decoder: everything must pass through one vector",
        "Below, the encoder reads four letters from left to right; each state is computed from the letter and the "
        "state before it. The last state is the context, one vector of fixed size. Above, the decoder writes from "
        "that vector: each of its states is computed from the state before, the last symbol and the context, and "
        "from each state one symbol is written.",
        fixed_shapes(),
    )  # fmt: skip
    columns = [58, 150, 242, 334]
    hourglass = (
        "M8 428 V376 C8 340 130 352 130 318 V272 C130 240 8 262 8 214 V120 H412 V214 C412 262 304 240 304 272 V318 "
        "C304 352 412 340 412 376 V428 Z"
    )
    d.add(f'<path class="ground" d="{hourglass}"/>')
    # the encoder, below
    for j, (x, word) in enumerate(zip(columns, WORDS, strict=True), 1):
        d.box(x, 476, 48, 34, word, "input", step=1)
        d.arrow((x, 459), (x, 425), step=1, **({"carries": "x", "at": (x + 8, 450)} if j == 1 else {}))
        d.box(x, 402, 62, 42, f"$h_{j}$", "state", sub="GRU", name="h", step=1)
        if j < 4:
            d.arrow((x + 31, 402), (x + 60, 402), kind="time", step=1)
    d.text(20, 370, "the encoder reads", "note")
    # the neck
    d.arrow((334, 381), (334, 346), (217, 346), (217, 320), kind="time", step=2)
    d.box(217, 295, 150, 46, "$c = h_S$", "context", sub="always this size", name="context", step=2)
    d.text(310, 300, d.shape_of("context"), "shape")
    # the decoder, above
    tops = [122, 228, 334]
    d.arrow((217, 272), (217, 244), tip=False, kind="context", step=(2, 3))
    d.arrow((44, 244), (tops[-1] + 15, 244), tip=False, kind="context", step=(2, 3))
    d.arrow((44, 244), (44, 183), kind="context", step=2)
    for i, x in enumerate(tops, 1):
        d.arrow((x + 15, 244), (x + 15, 183), kind="context", step=3)
        d.arrow((x - 17, 203), (x - 17, 183), step=3)
        d.box(x - 17, 217, 46, 26, ("begin", "$y_1$", "$y_2$")[i - 1], "input", name="previous", step=3)
        d.box(x, 162, 66, 42, f"$s_{i}$", "state", sub="GRU", name="state", step=3)
        d.arrow((x, 141), (x, 110), step=4)
        d.layer(x, 90, 76, 38, "softmax", step=4)
        d.arrow((x, 71), (x, 52), step=4)
        d.box(x, 34, 46, 32, ("1", "stop", "")[i - 1] if i < 3 else "…", "output", step=4)
    d.box(44, 162, 44, 42, "$s_0$", "state", name="state", step=2)
    d.arrow((66, 162), (88, 162), kind="time", step=3)
    d.arrow((155, 162), (194, 162), kind="time", step=3)
    d.text(175, 137, d.shape_of("state"), "shape", "middle")
    d.arrow((261, 162), (300, 162), kind="time", step=3)
    d.arrow((367, 162), (400, 162), kind="time", step=3)
    d.text(342, 128, d.shape_of("logits"), "shape")
    d.text(10, 20, "the decoder", "note")
    d.text(10, 37, "writes", "note")
    return d


def bidirectional_encoder() -> Diagram:
    """Annotations that know what precedes and what follows."""
    model = RNNsearch(19, 13, d_embed=11, d_hidden=7)
    with torch.no_grad():
        x = model.encoder.embed(torch.randint(4, 19, (2, 5)))
        lengths = torch.tensor([5, 4])
        h = both_ways(model.encoder.forwards, model.encoder.backwards, x, lengths)
    shapes = all_in_letters({"x": x, "half": h.chunk(2, -1)[0], "annotations": h}, LETTERS)
    d = Diagram(
        "bidirectional_encoder", 420, 318, "A bidirectional encoder: each letter with what is before and behind it",
        "One GRU reads the letters from left to right, another from right to left. The annotation of a letter is the "
        "state of the first and the state of the second at that letter, side by side.",
        shapes,
    )  # fmt: skip
    columns = [58, 134, 210, 286, 362]
    for j, (x, word) in enumerate(zip(columns, "5mars", strict=True), 1):
        d.box(x, 292, 42, 34, word, "input", step=1)
        d.arrow((x - 10, 275), (x - 10, 247), step=1)
        d.arrow((x + 12, 275), (x + 12, 181), step=2)
        d.box(x - 10, 226, 40, 38, f"$\u2192h_{j}$", "state", name="h", step=1)
        d.box(x + 12, 160, 40, 38, f"$\u2190h_{j}$", "state", name="h", step=2)
        d.arrow((x - 10, 207), (x - 10, 93), kind="quiet", step=3)
        d.arrow((x + 12, 141), (x + 12, 93), kind="quiet", step=3)
        d.box(x + 1, 68, 66, 46, "", "keys", name="annotations", step=3)
        d.text(x + 1, 66, f"$h_{j}$", "", "middle")
        d.text(x + 1, 84, "[→ ; ←]", "note", "middle")
        if j < 5:
            d.arrow((x + 10, 226), (x + 45, 226), kind="time", step=1)
            d.arrow((columns[j] - 8, 160), (x + 33, 160), kind="time", step=2)
    d.text(10, 18, "annotations: what the decoder will look at", "note")
    d.text(410, 18, d.shape_of("annotations"), "shape", "end")
    d.text(10, 36, "two states side by side, each", "note")
    d.text(202, 36, d.shape_of("half"), "shape")
    d.number(1, 16, 226)
    d.number(2, 404, 160)
    d.number(3, 16, 68)
    return d


@torch.no_grad()
def looking_shapes() -> dict[str, str]:
    model = RNNsearch(19, 13, d_embed=11, d_hidden=7)
    carry = model.begin(torch.randint(4, 19, (2, 5)), torch.tensor([5, 4]))
    previous = torch.zeros(2, dtype=torch.long)
    logits, after, weights = model.step(previous, carry)
    context, _ = model.decoder.read(carry)
    named = {"state": after.state, "context": context, "weights": weights, "annotations": carry.values}
    named |= {"y": model.decoder.embed(previous), "logits": logits}
    return all_in_letters(named, LETTERS)


def rnnsearch(
    letters: Sequence[str] = tuple("5 mars"), weights: Sequence[float] | None = None, last: str = "$y_{i-1}$",
    written: str = "$y_i$",
) -> Diagram:  # fmt: skip
    """One step of the decoder, as `AttentiveDecoder.step` does it. Numbers of a real model: `walks.rnnsearch`."""
    d = Diagram(
        "rnnsearch", 420, 520, "One step of RNNsearch: look, then write",
        "1: the previous decoder state, the query, is scored against the annotation of every source letter. 2: a "
        "softmax turns the scores into weights. 3: the context is the sum of the annotations, each times its weight. "
        "4: the context, the last symbol and the previous state enter the GRU, which gives the next state. 5: from "
        "the state, the last symbol and the context the next symbol is written.",
        looking_shapes(),
    )  # fmt: skip
    n = len(letters)
    gap = min(60.0, 272 / max(n - 1, 1))
    columns = [52 + gap * j for j in range(n)]
    middle, half = columns[0] + gap * (n - 1) / 2, min(26.0, gap / 2 - 2)
    shares = list(weights) if weights is not None else [1 / n] * n
    numbers = [number(w, 2) for w in shares] if weights is not None else [f"$a_{{i{j}}}$" for j in range(1, n + 1)]
    right = columns[-1] + half + 6
    # the query asks every annotation
    d.arrow((40, 92), (14, 92), (14, 386), (columns[-1] - 0.8 * half, 386), kind="query", tip=False, step=1)
    for j, (x, letter) in enumerate(zip(columns, letters, strict=True)):
        d.box(x, 502, min(40, gap - 6), 34, letter, "input", slot=f"letter-{j}")
        d.arrow((x, 485), (x, 466), kind="quiet")
        d.arrow((x - 0.8 * half, 386), (x - 0.8 * half, 368), kind="query", step=1)
        d.arrow((x - 0.25 * half, 417), (x - 0.25 * half, 368), kind="keys", step=1)
        d.arrow((x + 0.7 * half, 417), (x + 0.7 * half, 308), kind="values", tip=False, step=3)
        named = gap > 40 or j == 0  # many letters leave no room for words
        d.box(x, 441, 2 * half, 48, f"$h_{{{j + 1}}}$" * named, "keys", name="annotations", step=(1, 3))
        d.box(x - half / 2 + 1, 353, 1.2 * half + 4, 28, f"$e_{{{j + 1}}}$" * named, "plain", name="scores", step=1)
        d.arrow((x - half / 2, 339), (x - half / 2, 309), step=2)
        d.grid(
            x - half, 281, 1, 1, (2 * half, 27), "weights", labels=[[numbers[j]]], weights=[[shares[j]]],
            name="weights", step=2, slot=f"weight-{j}",
        )  # fmt: skip
        d.arrow(
            (x, 280), (middle, 238), kind="context", bend=True, tip=False, width=1 + 8 * shares[j], step=3,
            slot=f"flow-{j}",
        )  # fmt: skip
    d.text(right, 300, "weights", "note")
    d.text(right, 358, "scores", "note")
    d.text(right, 438, "annota-", "note")
    d.text(right, 454, "tions", "note")
    d.text(right, 507, "letters", "note")
    # the context
    d.box(middle, 216, 148, 44, "$c_i = Σ_j a_{ij} h_j$", "context", sub="context", name="context", step=(3, 4, 5))
    d.text(middle - 34, 184, d.shape_of("context"), "shape", "middle")
    # the decoder
    d.arrow((middle, 194), (middle, 116), kind="context", step=4)
    d.arrow((middle + 74, 216), (286, 216), (286, 172), (299, 172), kind="context", step=5)
    d.box(78, 92, 76, 46, "$s_{i-1}$", "query", sub="query", name="state", step=(1, 4))
    d.arrow((116, 92), (149, 92), kind="time", step=4)
    d.box(188, 92, 76, 46, "GRU", "plain", sub="decoder", step=4)
    d.arrow((226, 92), (301, 92), kind="time", carries="state", at=(240, 83), step=4)
    d.box(340, 92, 76, 46, "$s_i$", "state", sub="next state", name="state", step=(4, 5))
    d.box(188, 22, 76, 34, last, "input", name="previous", step=(4, 5), slot="last")
    d.text(144, 27, "the last symbol", "note", "end")
    d.arrow((188, 39), (188, 68), step=4)
    d.arrow((226, 22), (402, 22), (402, 162), (382, 162), step=5)
    d.arrow((340, 115), (340, 142), step=5)
    d.layer(340, 164, 84, 42, "maxout", sub="softmax", name="logits", step=5)
    d.arrow((340, 185), (340, 205), step=5)
    d.box(340, 222, 76, 34, written, "output", step=5, slot="written")
    d.number(1, 14, 250)
    d.number(2, right + 14, 328)
    d.number(3, middle - 90, 216)
    d.number(4, 162, 57)
    d.number(5, 312, 129)
    return d
