"""The drawings of the primers: what axes are, how they stretch, and a recurrent network unrolled."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .kit import Diagram, Point, number
from .shapes import all_in_letters

WORDS = (("the", "black", "cat", "sleeps"), ("dogs", "bark", "", ""))
SCORES = torch.tensor([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]])  # (Tq, Tk): a query with a wish, and one without
QUERY, KEYS = torch.tensor([10.0, 20.0, 30.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])  # one number of each


def axes_of_a_batch() -> Diagram:
    x = torch.zeros(2, 4, 3)
    picked = {"x": x, "x[0]": x[0], "x[0, 2]": x[0, 2], "x[:, 1]": x[:, 1]}
    d = Diagram(
        "axes_of_a_batch", 420, 352, "A batch of two sentences: three axes, and what an index takes out",
        "A tensor x with axes B, T and D. It holds two sentences side by side, each a grid with one row per word and "
        "three numbers per row. The second sentence has two words only, so its last two rows are padding. An index "
        "takes an axis away: x[0] is the first sentence, x[0, 2] its third word, x[:, 1] the second word of each.",
        all_in_letters(picked, {2: "B", 4: "T", 3: "D"}),
    )  # fmt: skip
    cell, top, lefts = (30, 30), 82, (112, 324)
    d.text(4, 18, "x", "strong", name="x")
    d.text(18, 18, d.shape_of("x"), "shape")
    d.brace((lefts[1] + 90, 56), (lefts[0], 56), "B = 2 sentences")
    for which, (left, words) in enumerate(zip(lefts, WORDS, strict=True)):
        d.text(left + 45, 72, f"x[{which}]", "shape", "middle")
        real = sum(map(bool, words))
        d.grid(left, top, real, 3, cell, "plain", name="x")
        if real < len(words):
            empty = [["0"] * 3] * (len(words) - real)
            ghosts(d, (left, top + real * 30), cell, "plain", empty)
        for t, word in enumerate(words):
            d.text(left - 10, top + 30 * t + 20, word or "pad", "note", "end")
        d.frame(left + 4, top + 34, 82, 22)  # x[:, 1]
    d.frame(lefts[0] + 4, top + 64, 82, 22)  # x[0, 2]
    d.text(208, top + 50, "x[:, 1]", "shape", name="x")
    d.text(208, top + 80, "x[0, 2]", "shape", name="x")
    d.brace((58, top), (58, top + 120), "T = 4")
    d.brace((lefts[0], top + 126), (lefts[0] + 90, top + 126), "D = 3 numbers per word")
    rows = (("x[0]", "one sentence"), ("x[0, 2]", "one word: “cat”"), ("x[:, 1]", "the second word of each"))
    for i, (index, words) in enumerate(rows):
        y = 278 + 26 * i
        d.text(20, y, index, "shape", name="x")
        d.text(104, y, words)
        d.text(296, y, d.shape_of(index), "shape")
    return d


def broadcasting() -> Diagram:
    """The additive score's sum, for one number of the hidden size."""
    query, keys = torch.zeros(2, 3, 7), torch.zeros(2, 4, 7)
    tall, wide = query[:, :, None], keys[:, None]
    d = Diagram(
        "broadcasting", 420, 344, "Broadcasting: every query meets every key",
        "Three numbers of the queries stand in a column and are copied sideways, once per key. Four numbers of the "
        "keys stand in a row and are copied downwards, once per query. Their sum is a grid with one entry for each "
        "pair. Below, the axes of both tensors stand one under the other: an axis of size 1 stretches to its partner.",
        all_in_letters({"query": tall, "keys": wide, "pairs": tall + wide}, {2: "B", 3: "Tq", 4: "Tk", 7: "A"}),
    )  # fmt: skip
    cell, top, lefts = (27, 27), 62, (6, 154, 308)
    both = QUERY[:, None] + KEYS[None]  # (Tq, Tk)
    names, codes = ("query", "keys", "pairs"), ("[:, :, None]", "[:, None]", "their sum")
    for left, name, code in zip(lefts, names, codes, strict=True):
        d.text(left + 54, 20, name, "strong", "middle", name=name)
        d.text(left + 54, 40, code, "note" if name == "pairs" else "shape", "middle")
    down, across = ([[number(x)] for x in QUERY.tolist()], [[number(x) for x in KEYS.tolist()]])
    ghosts(d, (lefts[0] + 27, top), cell, "query", [row * 3 for row in down])
    d.grid(lefts[0], top, 3, 1, cell, "query", labels=down, name="query")
    ghosts(d, (lefts[1], top + 27), cell, "keys", across * 2)
    d.grid(lefts[1], top, 1, 4, cell, "keys", labels=across, name="keys")
    sums = [[number(x) for x in row] for row in both.tolist()]
    d.grid(lefts[2], top, 3, 4, cell, "plain", labels=sums, name="pairs")
    d.operation(136, top + 40, "+", radius=11)
    d.operation(289, top + 40, "=", radius=11)
    d.arrow((lefts[0] + 27, 156), (lefts[0] + 108, 156), kind="query reads")
    d.text(lefts[0] + 54, 176, "copied sideways", "note", "middle")
    d.arrow((lefts[1] + 114, top + 27), (lefts[1] + 114, top + 81), kind="keys reads")
    d.text(lefts[1] + 54, 176, "copied downwards", "note", "middle")
    d.text(lefts[2] + 54, 176, "one per pair", "note", "middle")
    # the rule: axes under each other, from the right
    d.text(4, 212, "Line the axes up from the right: a 1 stretches", "note")
    for i, (name, code) in enumerate(zip(names, ("query[:, :, None]", "keys[:, None]", "pairs"), strict=True)):
        y = 226 + 38 * i
        d.text(4, y + 19, code, "shape", name=name)
        kind = name if name != "pairs" else "plain"
        for j, axis in enumerate(d.shape_of(name).strip("()").split(", ")):
            draw = ghosts if axis == "1" else solid
            draw(d, (152 + 62 * j, y), (50, 28), kind, [[axis]])
    return d


def softmax_axis() -> Diagram:
    d = Diagram(
        "softmax_axis", 420, 342, "Softmax over the keys, and over the wrong axis",
        "Scores of two queries and three keys. Softmax over the last axis, the keys, gives rows that sum to one: each "
        "query shares out its attention. Softmax over the queries gives columns that sum to one, and rows that do "
        "not: the queries compete for each key. Both results have the same shape.",
        all_in_letters({"scores": torch.zeros(2, 3)}, {2: "Tq", 3: "Tk"}),
    )  # fmt: skip
    cell = (52, 30)
    d.text(4, 18, "scores", "strong", name="scores")
    d.text(66, 18, d.shape_of("scores"), "shape")
    d.text(90, 50, "query 1", "note", "end")
    d.text(90, 80, "query 2", "note", "end")
    d.grid(100, 30, 2, 3, cell, labels=[[number(x) for x in row] for row in SCORES.tolist()], name="scores")
    d.text(178, 110, "three keys", "note", "middle")
    for top, dim, verdict in ((156, -1, "right: each row sums to 1"), (264, -2, "wrong: here the columns do")):
        weights = SCORES.softmax(dim)
        d.text(4, top - 10, f"softmax(dim={dim})", "shape")
        d.text(150, top - 10, verdict, "note strong")
        shown = [[f"{w:.2f}" for w in row] for row in weights.tolist()]
        shades = (weights + 0.02).clamp(max=1).tolist()  # a little darker: 0.67 is hard to read on Colab's dark ground
        d.grid(100, top, 2, 3, cell, "weights", labels=shown, weights=shades, name="weights")
        for i, whole in enumerate(weights.sum(-1).tolist()):
            d.text(90, top + 20 + 30 * i, f"query {i + 1}", "note", "end")
            d.text(268, top + 20 + 30 * i, f"sum {whole:.2f}", "note")
    return d


def splitting_heads() -> Diagram:
    """From (T, D) to one (T, Dh) for each head: the way that keeps words together, and the one that does not."""
    x = torch.arange(12).reshape(3, 4)
    heads, mixed = x.reshape(3, 2, 2).transpose(0, 1), x.reshape(2, 3, 2)
    big = torch.zeros(7, 3, 10)
    parts = big.reshape(7, 3, 2, 5)
    shapes = {"x": big, "parts": parts, "heads": parts.transpose(1, 2), "mixed": big.reshape(7, 2, 3, 5)}
    d = Diagram(
        "splitting_heads", 420, 418, "Reshape cuts, transpose turns: two ways to one shape",
        "Three words, a, b and c, with four numbers each, are split between two heads. Reshaped to three words, two "
        "heads and two numbers, then transposed, each head gets two numbers of every word. Reshaped at once to two "
        "heads, three rows and two numbers, the shape is the same, but the first head holds both halves of a and a "
        "half of b.",
        all_in_letters(shapes, {7: "B", 3: "T", 10: "D", 2: "H", 5: "Dh"}),
    )  # fmt: skip
    cell = (34, 26)
    d.text(4, 18, "x", "strong", name="x")
    d.text(18, 18, d.shape_of("x"), "shape")
    _letters(d, (124, 12), x, cell, "x")
    d.text(268, 30, "one row per word,", "note")
    d.text(268, 47, "one letter per word", "note")
    for top, name, result, lines in (
        (120, "heads", heads, ("reshape, then transpose:", "every head sees every word")),
        (278, "mixed", mixed, ("reshape at once: same shape,", "but words are torn apart")),
    ):
        d.text(4, top, lines[0], "note strong")
        d.text(4, top + 18, lines[1], "note")
        if name == "heads":
            d.text(416, top, d.shape_of("parts"), "shape", "end")
        d.text(416, top + 18, d.shape_of(name), "shape", "end")
        for h in range(2):
            d.text(92 + 180 * h, top + 46, f"head {h + 1}", "note", "middle")
            _letters(d, (58 + 180 * h, top + 54), result[h], cell, name)
    return d


def unrolled_rnn() -> Diagram:
    states, _ = nn.RNN(5, 7, batch_first=True)(torch.zeros(2, 3, 5))
    outputs = nn.Linear(7, 11)(states)
    d = Diagram(
        "unrolled_rnn", 420, 250, "A recurrent network, unrolled over three steps",
        "A state travels from left to right, from h 0 to h 3. At every step the same layer f reads one input from "
        "below and the state from the left, and gives the next state, from which an output is read above. The layer "
        "is drawn three times but has one set of weights.",
        all_in_letters({"x": torch.zeros(2, 5), "h": states[:, 0], "y": outputs[:, 0]},
                       {2: "B", 5: "E", 7: "H", 11: "V"}),
    )  # fmt: skip
    middle = 124
    d.box(24, middle, 40, 36, "$h_0$", "state", name="h")
    for t in (1, 2, 3):
        left = 44 + 125 * (t - 1)
        layer, state = left + 38, left + 104
        d.arrow((left, middle), (layer - 20, middle), kind="time")
        d.arrow((layer + 20, middle), (state - 20, middle), kind="time")
        d.arrow((layer, 196), (layer, middle + 20))
        d.arrow((state, middle - 18), (state, 56))
        d.layer(layer, middle, 44, 40, "$f$", name="f")
        d.box(state, middle, 40, 36, f"$h_{t}$", "state", name="h")
        d.box(layer, 212, 44, 32, f"$x_{t}$", "input", name="x")
        d.box(state, 40, 40, 32, f"$y_{t}$", "output", name="y")
    d.text(74, 176, d.shape_of("x"), "shape", "end")
    d.text(4, 97, d.shape_of("h"), "shape")
    d.text(140, 84, d.shape_of("y"), "shape", "end")
    d.text(82, 246, "one input per step", "note", "middle")
    d.text(282, 246, "the same $f$, the same weights", "note", "middle")
    return d


def solid(d: Diagram, at: Point, cell: Point, kind: str, labels: Sequence[Sequence[str]]) -> None:
    d.grid(*at, len(labels), len(labels[0]), cell, kind, labels=labels)


def ghosts(d: Diagram, at: Point, cell: Point, kind: str, labels: Sequence[Sequence[str]]) -> None:
    """Cells that are not stored: copies, padding. Dashed, and empty of colour."""
    (x, y), (wide, high) = at, cell
    pieces = []
    for i, row in enumerate(labels):
        for j, words in enumerate(row):
            place = f'x="{x + j * wide:g}" y="{y + i * high:g}" width="{wide:g}" height="{high:g}"'
            pieces.append(f'<rect class="cell" style="fill:none;stroke-dasharray:3 3" {place}/>')
            middle = f'x="{x + (j + 0.5) * wide:g}" y="{y + (i + 0.5) * high:g}"'
            pieces.append(f'<text class="note" {middle} dy=".34em">{words}</text>')
    d.add("".join(pieces), f"{kind} grid")


def _letters(d: Diagram, at: Point, entries: Tensor, cell: Point, name: str) -> None:
    """Entry 6 of (3, 4) is the third number of the second word: b₃."""
    labels = [[f"${'abc'[i // 4]}_{i % 4 + 1}$" for i in row] for row in entries.tolist()]
    d.grid(*at, len(labels), len(labels[0]), cell, labels=labels, name=name)
