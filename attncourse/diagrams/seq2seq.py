"""Encoder and decoder: one vector between them (chapter 3), or a look before every symbol (chapter 4)."""

from collections.abc import Sequence

import torch

from ..core.recurrent import both_ways
from ..mechanisms.seq2seq import EncoderDecoder, RNNsearch
from .kit import Diagram, share
from .look import columns_of_keys, flows
from .shapes import all_in_letters

LETTERS = {2: "B", 5: "S", 3: "T", 11: "E", 7: "H", 14: "2H", 13: "V", 17: "C"}
READ, WRITTEN = ("t", "e", "n", "end"), ("1", "0", "stop")


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
        "encoder_decoder", 420, 538, "The encoder–decoder: everything must pass through one vector",
        "Below, the encoder reads four letters from left to right; each state is computed from the letter and the "
        "state before it. The last state is the context, one vector of fixed size. Above, the decoder writes from "
        "that vector: its first state is computed from the context, each further state from the state before, the "
        "last symbol and the context. From the state, the last symbol and the context one symbol is chosen, which is "
        "then read as the last symbol by the next step.",
        fixed_shapes(),
    )  # fmt: skip
    hourglass = (
        "M2 470 V424 C2 386 128 396 128 362 V326 C128 296 2 312 2 262 V136 H418 V262 C418 312 292 296 292 326 V362 "
        "C292 396 418 386 418 424 V470 Z"
    )
    d.add(f'<path class="ground" d="{hourglass}"/>')
    # the encoder, below
    columns = [54, 158, 262, 366]
    for j, (x, word) in enumerate(zip(columns, READ, strict=True), 1):
        d.arrow((x, 501), (x, 468), step=1)
        d.box(x, 518, 48, 34, word, "input", step=1)
        d.box(x, 444, 64, 46, f"$h_{j}$", "state", sub="GRU", name="states", step=1)
        if j < 4:
            d.arrow((x + 32, 444), (x + 71, 444), kind="time", step=1)
    d.text(64, 489, d.shape_of("x"), "shape", step=1)
    d.text(106, 410, "the encoder reads", "note bare", "middle", step=1)
    # the neck
    d.arrow((366, 421), (366, 396), (210, 396), (210, 370), kind="time", step=2)
    d.box(210, 344, 150, 50, "$c = h_S$", "context", sub="always this size", name="context", step=2)
    d.text(304, 341, "the neck:", "note", step=2)
    d.text(304, 359, d.shape_of("context"), "shape", step=2)
    # the decoder, above: the context goes to the first state, to every state, and to every choice
    tops = [126.0, 240.0, 354.0]
    d.arrow((210, 319), (210, 296), tip=False, kind="context", step=(2, 3))
    d.fork(210, 296, "context", step=(2, 3))
    d.arrow((36, 296), (tops[-1] + 46, 296), tip=False, kind="context", step=(2, 3))
    d.arrow((36, 296), (36, 275), kind="context", step=2)
    d.arrow((36, 240), (36, 212), step=2)
    d.layer(36, 257, 50, 32, "$W_s$", step=2)
    for i, (x, word) in enumerate(zip(tops, ("begin", *WRITTEN[:2]), strict=True)):
        d.arrow((x + 16, 296), (x + 16, 212), kind="context", step=3)
        d.arrow((x + 46, 296), (x + 46, 110), (x + 39, 110), kind="context", step=4)
        if i < 2:
            d.fork(x + 46, 296, "context", step=(3, 4))
        d.fork(x + 16, 296, "context", step=3)
        d.arrow((x - 16, 234), (x - 16, 212), step=3)
        if i:  # what was written is read again: by the next choice and by the next state
            d.arrow((tops[i - 1] + 26, 36), (x - 54, 36), (x - 54, 248), (x - 41, 248), step=(3, 4))
        else:
            d.arrow((x - 41, 248), (x - 54, 248), (x - 54, 110), tip=False, step=4)
        d.arrow((x - 54, 110), (x - 41, 110), step=4)
        d.fork(x - 54, 110, step=4)
        d.box(x - 16, 248, 50, 28, word, "input", name="previous", step=(3, 4))
        d.arrow((x, 166), (x, 133), step=4)
        d.box(x, 188, 60, 44, f"$s_{i + 1}$", "state", sub="GRU", name="state", step=(3, 4))
        d.layer(x, 112, 80, 42, "maxout", sub="softmax", name="logits", step=4)
        d.arrow((x, 91), (x, 54), step=4)
        d.box(x, 36, 52, 34, WRITTEN[i], "choice", step=4)
        d.arrow((tops[i - 1] + 30 if i else 58, 188), (x - 31, 188), kind="time", step=3)
    d.box(36, 188, 44, 44, "$s_0$", "state", name="state", step=2)
    d.text(tops[0] + 8, 76, d.shape_of("logits"), "shape", step=4)
    d.text(4, 18, "the decoder", "note", step=(3, 4))
    d.text(4, 35, "writes", "note", step=(3, 4))
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
        "bidirectional_encoder", 420, 404, "A bidirectional encoder: each letter with what is before and behind it",
        "One GRU reads the letters from left to right, another from right to left. The annotation of a letter is the "
        "state of the first and the state of the second at that letter, side by side.",
        shapes,
    )  # fmt: skip
    columns = [50.0, 130.0, 210.0, 290.0, 370.0]
    for j, (x, word) in enumerate(zip(columns, "march", strict=True), 1):
        d.arrow((x - 17, 289), (x - 17, 254), step=1)
        d.arrow((x + 17, 289), (x + 17, 186), step=2)
        d.box(x, 306, 54, 34, word, "input", step=(1, 2))
        d.arrow((x - 17, 214), (x - 17, 111), step=3)
        d.arrow((x + 17, 146), (x + 17, 111), step=3)
        if j < 5:
            d.arrow((x + 2, 234), (columns[j] - 36, 234), kind="time", step=1)
            d.arrow((columns[j] - 2, 166), (x + 36, 166), kind="time", step=2)
        d.box(x - 17, 234, 37, 40, f"$\u2192h_{j}$", "state", name="h", step=1)
        d.box(x + 17, 166, 37, 40, f"$\u2190h_{j}$", "state", name="h", step=2)
        d.grid(x - 37, 70, 1, 2, (37, 40), "keys", labels=[[f"$\u2192h_{j}$", f"$\u2190h_{j}$"]],
               name="annotations", step=3)  # fmt: skip
        d.text(x, 62, f"$h_{j}$", "strong", "middle", name="annotations", step=3)
    d.text(4, 18, "annotations, what the decoder will look at:", "note", step=3)
    d.text(4, 37, d.shape_of("annotations"), "shape", step=3)
    for n, y, words in ((1, 346, "a GRU reads from left to right"), (2, 370, "another reads from right to left"),
                        (3, 394, "both states side by side, each")):  # fmt: skip
        d.number(n, 15, y - 5)
        d.text(34, y, words, "note", step=n)
    d.text(240, 394, d.shape_of("half"), "shape", step=3)
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
    letters: Sequence[str] = tuple("march"), weights: Sequence[float] | None = None, last: str = "$y_{i-1}$",
    written: str = "$y_i$",
) -> Diagram:  # fmt: skip
    """One step of the decoder, as `AttentiveDecoder.step` does it. With a real model's numbers: `walkthroughs`."""
    d = Diagram(
        "rnnsearch", 420, 618, "One step of RNNsearch: look, then write",
        "1: the previous decoder state, the query, is scored against the annotation of every source letter. 2: a "
        "softmax turns the scores into weights. 3: the context is the sum of the annotations, each times its weight. "
        "4: the context, the last symbol and the previous state enter the GRU, which gives the next state. 5: from "
        "the state, the last symbol and the context the next symbol is written.",
        looking_shapes(),
    )  # fmt: skip
    n = len(letters)
    gap = min(60.0, 290 / max(n - 1, 1))
    columns = [(50 if gap == 60 else 42) + gap * j for j in range(n)]
    middle, half = columns[0] + gap * (n - 1) / 2, gap / 2 - min(4, gap / 14)
    shares = list(weights) if weights is not None else [1 / n] * n
    right = columns[-1] + half + 6
    d.arrow((39, 104), (14, 104), (14, 406), (columns[-1] - 0.8 * half, 406), kind="query", tip=False, step=1)
    numbers = [share(w) for w in shares] if weights is not None else [f"$a_{{i{j + 1}}}$" for j in range(n)]
    roomy = half > 20  # many letters leave no room for names
    labels = [[f"${sign}_{{{j + 1}}}$" if roomy else "" for j in range(n)] for sign in "he"]
    columns_of_keys(d, columns, half, 298, shares, (labels[0], labels[1], numbers), (1, 2, 3))
    flows(d, columns, half, 298, (middle, 254), shares, 3)
    for y, words in ((316, "weights"), (376, "scores"), (452, "keys,"), (469, "values"), (516, "two GRUs"),
                     (554, "letters")):  # fmt: skip
        d.text(right, y, words, "note")
    d.scale(160, 584, 120, n, step=2)
    d.text(142, 594, "weight", "note", "end", step=2)
    d.arrow((columns[0] - half, 507), (right - 6, 507), kind="quiet reads")
    d.arrow((right - 6, 516), (columns[0] - half, 516), kind="quiet reads")
    for j, (x, letter) in enumerate(zip(columns, letters, strict=True)):
        d.arrow((x, 532), (x, 488), kind="quiet")
        d.box(x, 549, min(40, 2 * half), 32, letter, "input", slot=f"letter-{j}")
    # the context
    d.arrow((middle, 210), (middle, 129), kind="context", step=4)
    d.arrow((middle + 74, 232), (293, 232), (293, 180), (309, 180), kind="context", step=5)
    d.box(middle, 232, 148, 44, "$c_i = Σ_j a_{ij} h_j$", "context", sub="context", name="context", step=(3, 4, 5))
    d.text(middle + 8, 200, d.shape_of("context"), "shape", step=4)
    # the decoder
    d.arrow((113, 104), (145, 104), kind="time", step=4)
    d.box(76, 104, 74, 46, "$s_{i-1}$", "query", sub="query", name="query", step=(1, 4))
    d.arrow((188, 45), (188, 80), step=4)
    d.arrow((226, 28), (408, 28), (408, 180), (387, 180), step=5)
    d.box(188, 28, 76, 34, last, "input", name="previous", step=(4, 5), slot="last")
    d.text(144, 33, "the last symbol", "note", "end")
    d.layer(188, 104, 84, 46, "GRU", sub="decoder", name="state", step=4)
    d.arrow((227, 104), (308, 104), kind="time", step=4)
    d.text(268, 90, d.shape_of("state"), "shape", "middle", step=4)
    d.arrow((348, 127), (348, 158), step=5)
    d.box(348, 104, 78, 46, "$s_i$", "state", sub="next state", name="state", step=(4, 5))
    d.layer(348, 180, 82, 42, "maxout", sub="softmax", name="logits", step=5)
    d.arrow((348, 201), (348, 226), step=5)
    d.box(348, 244, 76, 34, written, "choice", step=5, slot="written")
    d.number(1, 14, 250)
    d.number(2, right + 14, 346)
    d.number(3, middle - 92, 232)
    d.number(4, 166, 62)
    d.number(5, 322, 143)
    return d
