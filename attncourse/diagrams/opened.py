"""The Transformer with one sentence in it: what `attncourse.walkthroughs` steps through."""

from collections.abc import Sequence

from .kit import Diagram
from .look import columns_of_keys, flows


def opened_layer(words: Sequence[str], heads: int, head: int) -> Diagram:
    """One position's way through an encoder layer, one of the heads opened. `head` counts from 1."""
    d = Diagram(
        "opened_layer", 420, 842, "One word's way through an encoder layer",
        "Below, the words become vectors: the embedding times the root of D, plus the position. The word that asks "
        "makes a query, every word a key and a value. Scores, softmax, and the head has read. What all heads read is "
        "laid side by side, mixed, added to the word's own vector and normalised; then the feed-forward network, "
        "added and normalised again.",
    )  # fmt: skip
    n = len(words)
    gap = 301 / max(n - 1, 1)
    columns, half = [93 + gap * j for j in range(n)], gap / 2 - 2
    middle, top, shares = 254.0, 414, [1 / n] * n
    # words become vectors
    for j, (x, word) in enumerate(zip(columns, words, strict=True)):
        d.box(x, 824, 2 * half, 32, word, "input", step=1)
        d.arrow((x, 807), (x, 778), step=1)
        d.arrow((x + 8, 729), (x + 8, 688), step=2)
        ask, before = x - 10, columns[j - 1] - 10 if j else 8  # the way of the word that asks; others have no width
        d.arrow((ask, 729), (ask, 710), kind="query", tip=False, width=0, slot=f"ask-{j}", step=(2, 7))
        d.arrow((ask + 1, 710), (before, 710), kind="query", tip=False, width=0, slot=f"rail-{j}", step=(2, 7))
        d.box(x, 753, 2 * half, 48, f"$x_{j + 1}$", "state", name="x", step=(1, 2))
    for y, text in ((770, "√$D$ ×"), (787, "embed-"), (804, "ding +"), (821, "position")):
        d.text(66, y, text, "note", "end", step=1)
    # the word that asks: its query, and its own vector, which goes on
    d.arrow((40, 710), (40, 688), kind="query", step=2)
    d.fork(40, 710, "query", step=2)
    d.layer(40, 670, 52, 34, "$W_q$", name="query", step=2)
    d.arrow((40, 652), (40, 602), kind="query", step=2)
    d.box(40, 578, 54, 46, "$q$", "query", sub="query", name="query", step=(2, 3))
    d.text(47, 632, "", "strong", "start", slot="asker", step=2)
    d.arrow((40, 555), (40, top + 108), (columns[-1] - 0.8 * half, top + 108), kind="query", tip=False, step=3)
    d.layer(sum(columns) / n, 670, columns[-1] - columns[0] + 2 * half, 34, "$W_k$, $W_v$", name="keys", step=2)
    for x in columns:
        d.arrow((x, 653), (x, top + 189), step=2)
    names = [f"$k_{j}$, $v_{j}$" for j in range(1, n + 1)]
    columns_of_keys(d, columns, half, top, shares, (names, [""] * n, [""] * n), (3, 4, 5), learned=False)
    d.text(64, top + 78, "scores", "note", "end", step=3)
    d.text(64, top + 19, "weights", "note", "end", step=4)
    # what the head reads, beside what the others read
    flows(d, columns, half, top, (middle, top - 44), shares, 5)
    d.box(middle, top - 64, 128, 40, "", "context", step=5)
    d.text(middle, top - 59, f"head {head} reads $c$", "bare", "middle", name="context", step=5)
    start = middle - 34 * heads
    for h in range(heads):
        x = start + 34 + 68 * h
        d.box(x, 276, 66, 30, f"head {h + 1}", "context", step=6)
    at = start + 34 + 68 * (head - 1)
    d.arrow((middle, top - 84), (middle, 311), (at, 311), (at, 292), kind="context", step=6)
    d.arrow((middle, 261), (middle, 246), kind="context", step=6)
    d.layer(middle, 228, 84, 34, "$W_o$", name="W_o", step=6)
    d.scale(344, 216, 60, n, step=4)
    d.arrow((middle, 211), (middle, 196), step=7)
    # add, norm, think, add, norm
    d.arrow((8, 710), (8, 184), (middle - 12, 184), kind="time", step=7)
    d.text(18, 176, "its own vector", "note", step=7)
    d.operation(middle, 184, "+", radius=11, step=7)
    d.arrow((middle, 173), (middle, 163), step=7)
    d.layer(middle, 148, 70, 30, "norm", name="norm", step=7)
    d.arrow((middle, 133), (middle, 78), kind="time", step=9)
    d.arrow((middle, 122), (352, 122), (352, 113), step=8)
    d.fork(middle, 122, step=(8, 9))
    d.layer(352, 94, 120, 36, "feed-forward", name="feed_forward", step=8)
    d.arrow((352, 76), (352, 66), (middle + 12, 66), step=9)
    d.operation(middle, 66, "+", radius=11, step=9)
    d.arrow((middle, 55), (middle, 46), step=9)
    d.layer(middle, 31, 70, 30, "norm", name="norm", step=9)
    d.arrow((middle - 35, 31), (130, 31), step=9)
    d.box(88, 31, 82, 34, "", "output", slot="after", step=9)
    return d


def opened_stack(words: Sequence[str], room: int, layers: int = 2) -> Diagram:
    """Encoder and decoder with the weights of every layer; `room`: how many symbols the translation has at most."""
    d = Diagram(
        "opened_stack", 420, 786, "The whole stack while it translates",
        "Below, the source's words, and for each encoder layer a map: each row is a word that looks, each column a "
        "word that is looked at. Above, for each decoder layer two rows of weights: how the newest symbol looks back "
        "at what is written, and how it looks at the source. At the top, the likeliest next symbols.",
    )  # fmt: skip
    n = len(words)
    left, line = 50.0, 13.0
    wide = 352 / max(n, room)
    middles = [left + wide * (j + 0.5) for j in range(max(n, room))]
    for x, word in zip(middles, words, strict=False):
        d.box(x, 728, wide - 4, 30, word, "input", step=1)
        d.arrow((x, 713), (x, 702), step=1)
    d.text(left - 5, 733, "source", "note", "end", step=1)
    y = 728.0
    for layer in range(layers):  # who looks at whom, all words at once
        y, step = y - 28 - n * line, 2 + layer
        if layer:
            d.arrow((middles[n - 1], y + 27 + n * line), (middles[n - 1], y + 1 + n * line), step=step)
        even = [[1 / n] * n] * n
        d.grid(left, y, n, n, (wide, line), "weights", weights=even, name="weights", step=step, slot=f"encoder-{layer}")
        for i, word in enumerate(words):
            d.text(left - 5, y + line * i + 10.5, word, "note", "end", step=step)
        d.text(left, y - 6, f"encoder layer {layer + 1}: who looks (rows) at whom", "note", step=step)
    d.scale(170, 754, 120, n, step=(2, 3))
    d.text(150, 764, "weight", "note", "end", step=(2, 3))
    _writing(d, words, middles[:room], wide, y, layers)
    return d


def _writing(d: Diagram, words: Sequence[str], middles: list[float], wide: float, y: float, layers: int) -> None:
    """The newest symbol's lane, at the left: it looks back, looks at the source, thinks, in every layer."""
    n, room, lane, left = len(words), len(middles), 20.0, middles[0] - wide / 2
    right = left + wide * max(n, room)
    end, step = y - 58, 4
    for j, x in enumerate(middles):
        d.box(x, end, wide - 4, 30, "", "input", slot=f"written-{j}", step=step)
    d.text(left, end + 31, "what is written so far", "note", step=step)
    d.arrow((lane, end), (lane, 96), kind="time", step=tuple(range(4, 6 + 2 * layers)))
    d.arrow((left + 1, end), (lane, end), tip=False, step=step)
    d.fork(lane, end, step=step)
    rails = {"keys": right + 8.0, "values": right + 15.0}
    top = end - 54
    for kind, x in rails.items():
        last = top - (layers - 1) * 136 - 66 + (8 if kind == "keys" else 18)
        d.arrow((right, y + (8 if kind == "keys" else 18)), (x, y + (8 if kind == "keys" else 18)), (x, last),
                (right + 1, last), kind=kind, step=tuple(range(6, 6 + 2 * layers, 2)))  # fmt: skip
    for layer in range(layers):
        for what, size in (("itself", room), ("cross", n)):
            step += 1
            seen = "back at what is written" if what == "itself" else "at the source"
            d.text(left, top - 6, f"decoder layer {layer + 1} looks {seen}", "note", step=step)
            for j in range(size):
                d.grid(left + wide * j, top, 1, 1, (wide, 26), "weights", labels=[[""]], weights=[[0]], name=what,
                       step=step, slot=f"{what}-{layer}-{j}")  # fmt: skip
                if what == "cross":
                    d.text(middles[j], top + 39, words[j], "note", "middle", step=step)
                elif layer:
                    d.text(middles[j], top + 39, "", "note", "middle", slot=f"written-{j}", step=step)
            d.arrow((left - 1, top + 13), (lane + 11, top + 13), kind="context", step=step)
            d.operation(lane, top + 13, "+", radius=10, step=step)
            if what == "cross" and layer < layers - 1:
                for kind, x in rails.items():
                    at = top + (8 if kind == "keys" else 18)
                    d.arrow((x, at), (right + 1, at), kind=kind, step=step)
                    d.fork(x, at, kind, step=step)
            top -= 66 if what == "itself" else 70
        d.layer(lane, top + 46, 40, 28, "FFN", name="feed_forward", step=step)
    step += 1
    d.layer(lane + 12, 78, 62, 34, "linear", name="logits", step=step)
    d.arrow((lane + 43, 78), (left + 31, 78), step=step)
    for k in range(3):
        x = left + 34 + k * 108
        d.grid(x, 64, 1, 1, (104, 28), "weights", labels=[[""]], weights=[[0]], name="logits", step=step,
               slot=f"likely-{k}")  # fmt: skip
    d.arrow((left + 86, 63), (left + 86, 42), step=step)
    d.box(left + 86, 24, 104, 34, "", "choice", slot="next", step=step)
    d.text(left + 148, 29, "the likeliest is written", "note", step=step)
