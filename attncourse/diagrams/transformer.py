"""The Transformer, from one layer of heads to the whole of it."""

import torch
from torch import nn

from ..core import masks
from ..mechanisms.transformer import DecoderLayer, EncoderLayer, MultiHead, Transformer
from .kit import Diagram
from .shapes import all_in_letters

LETTERS = {2: "B", 3: "T", 5: "S", 24: "D", 4: "H", 6: "Dh", 13: "V"}


@torch.no_grad()
def head_shapes() -> dict[str, str]:
    mha, x = MultiHead(24, 4), torch.randn(2, 3, 24)
    keys, values = mha.memorise(x)
    query, weights = mha.split(mha.query(x)), mha.weights(x, keys)
    named = {"x": x, "query": query, "keys": keys, "values": values, "weights": weights, "context": weights @ values}
    return all_in_letters(named | {"joined": mha.join(weights @ values), "out": mha(x, keys, values)}, LETTERS)


def multi_head() -> Diagram:
    """Two heads, opened: project, cut into heads, attend in each, lay side by side, mix."""
    torch.manual_seed(3)
    with torch.no_grad():
        mha, x = MultiHead(4, 2), 3 * torch.randn(1, 3, 4)
        looks = mha.weights(x, mha.memorise(x)[0])[0]
    shapes = head_shapes()
    d = Diagram(
        "multi_head", 420, 772, "Multi-head attention, opened",
        "Below, three positions with four features each. Three learned matrices make queries, keys and values of "
        "them, which are cut into two heads of two features. Each head compares its queries with its keys, divides by "
        "the root of their size, takes a softmax, and reads its values by the weights. What the heads have read is "
        "laid side by side and mixed by one more matrix.",
        shapes,
    )  # fmt: skip
    cell = (17, 15)

    def rows(x: float, y: float, kind: str, name: str, step: int, cut: float = 0) -> None:
        """Three positions of four features, x the middle, y the top; cut into two heads."""
        for half in (0, 1):
            d.grid(x - 34 + half * 34 + cut * (half - 0.5), y, 3, 2, cell, kind, name=name, step=step)

    d.text(170, 600, "x", "strong", "end", name="x")
    rows(210, 572, "plain", "x", 1)
    d.text(252, 600, shapes["x"], "shape")
    places = {"query": (70, "W_q"), "keys": (210, "W_k"), "values": (350, "W_v")}
    for name, (x, matrix) in places.items():
        d.arrow((210, 571), (x, 540), bend=True, step=1)
        d.layer(x, 520, 74, 36, f"${matrix}$", name=matrix, step=1)
        d.arrow((x, 502), (x, 470), kind=name, step=1)
        rows(x, 424, name, name, 2, cut=8)
        d.text(x + 10, 491, name, "strong", name=name, step=1)
    d.number(1, 140, 520)
    d.number(2, 140, 447)
    levels = {"query": 415, "keys": 408, "values": 401}  # where the lines run to their head
    for h, left in enumerate((2, 214)):
        d.frame(left, 176, 204, 218, name="heads", step=(3, 4))
        d.text(*((10, 193) if h == 0 else (410, 193)), f"head {h + 1}", "note", ("start", "end")[h], step=(3, 4))
        at = left + 44
        goal = {"query": (at - 9, 366), "keys": (at + 9, 366), "values": (left + 134, 272)}
        for name, (x, _) in places.items():
            (start, level), (end, top) = (x - 21 + 42 * h, levels[name]), goal[name]
            way = (start, 423), (start, level), (end, level), (end, top)
            d.arrow(*way, kind=name, step=3 if name != "values" else 4)
        d.arrow((at, 343), (at, 300), step=3)
        d.operation(at, 356, "·", radius=13, step=3)
        d.text(at + 8, 327, "÷ √$d_k$", "note", step=3)
        d.grid(at - 33, 238, 3, 3, (22, 20), "weights", weights=looks[h].tolist(), name="weights", step=3)
        d.text(at - 33, 230, "softmax", "note", step=3)
        d.arrow((at + 33, 258), (left + 120, 258), step=4)
        d.operation(left + 134, 258, "×", radius=13, step=4)
        d.arrow((left + 147, 258), (left + 161, 258), kind="context", step=4)
        d.grid(left + 163, 235, 3, 2, cell, "context", name="context", step=4)
        d.arrow((left + 180, 234), (193 + 34 * h, 160), kind="context", bend=True, step=5)
        d.number(3, at - 30, 356)
        d.number(4, left + 134, 230)
    rows(210, 113, "context", "context", 5)
    d.number(5, 158, 135)
    d.arrow((210, 112), (210, 101), kind="context", step=6)
    d.layer(210, 82, 84, 36, "$W_o$", name="W_o", step=6)
    d.number(6, 152, 82)
    d.arrow((210, 64), (210, 49), step=6)
    rows(210, 2, "plain", "out", 6)
    d.text(252, 30, shapes["out"], "shape")
    d.text(166, 30, "out", "strong", "end", name="out")
    d.scale(292, 106, 100, 3, step=3)
    d.text(342, 98, "weight", "note", "middle", step=3)
    d.legend(
        642, "query, keys and values, by learned matrices", f"cut into heads: {shapes['query']}",
        f"each head: scores, softmax: {shapes['weights']}", "… and reads its own values",
        f"side by side again: {shapes['joined']}", "one more matrix mixes the heads",
    )  # fmt: skip
    return d


@torch.no_grad()
def layer_shapes() -> dict[str, str]:
    x, read, mask = torch.randn(2, 3, 24), torch.randn(2, 5, 24), masks.padding(torch.tensor([5, 4]), 5)[:, None]
    layer = DecoderLayer(24, 4, 48, 0.0)
    keys, values = layer.cross.memorise(read)
    out = layer(x, (keys, values), mask, masks.causal(3))
    encoded = EncoderLayer(24, 4, 48, 0.0)(x)
    return all_in_letters({"x": x, "out": out, "encoded": encoded, "source": read, "keys": keys}, LETTERS)


def _rail(d: Diagram, ends: tuple[float, float], y: float, kind: str, step: int, both: bool = False) -> None:
    """Where lanes leave their keys, or values, for the others; it carries them the way its tips point."""
    d.arrow((ends[0] + 20, y), (ends[1], y), kind=f"{kind} rail", step=step)
    if both:
        d.arrow((ends[1] - 20, y), (ends[0], y), kind=f"{kind} rail", step=step)


def _attend(d: Diagram, lanes: list[float], y: float, name: str, step: int, own: bool = True) -> None:
    """Each lane asks (query), reads from the two rails at y and y - 24, adds what it read, and is normalised."""
    for x in lanes:
        d.arrow((x + 46, y), (x + 46, y - 58), kind="keys", step=step)
        d.arrow((x + 70, y - 24), (x + 70, y - 58), kind="values", step=step)
        d.fork(x + 46, y, "keys", step=step)
        d.fork(x + 70, y - 24, "values", step=step)
        if own:  # what is read is the lanes' own
            d.fork(x, y, radius=5, step=step)
            d.fork(x, y - 24, radius=5, step=step)
        d.arrow((x, y - 78), (x + 27, y - 78), kind="query", step=step)
        d.layer(x + 58, y - 78, 66, 38, "attend", name=name, step=step)
        d.arrow((x + 58, y - 97), (x + 58, y - 116), (x + 11, y - 116), kind="context", step=step)
        _add_norm(d, x, y - 116, step)


def _think(d: Diagram, lanes: list[float], y: float, step: int) -> None:
    """The same small network in each lane."""
    for x in lanes:
        d.arrow((x, y), (x + 58, y), (x + 58, y - 16), step=step)
        d.fork(x, y, step=step)
        d.layer(x + 58, y - 36, 66, 38, "FFN", name="feed_forward", step=step)
        d.arrow((x + 58, y - 55), (x + 58, y - 74), (x + 11, y - 74), step=step)
        _add_norm(d, x, y - 74, step)


def _add_norm(d: Diagram, x: float, y: float, step: int) -> None:
    d.operation(x, y, "+", radius=11, step=step)
    d.layer(x, y - 32, 62, 28, "norm", step=step)


def encoder_layer() -> Diagram:
    """Lanes on a motorway: attention exchanges between them, the network works in each alone."""
    d = Diagram(
        "encoder_layer", 420, 496, "An encoder layer: look around, then think",
        "Each position is a lane that runs from the bottom to the top. First, attention: every lane leaves its key and "
        "its value on two rails, from which all lanes read, each with its own query; what a lane read is added to it, "
        "and the lane is normalised. Second, the feed-forward network: every lane alone, with the same weights; its "
        "result is added, and the lane is normalised again.",
        layer_shapes(),
    )  # fmt: skip
    lanes = [40.0, 170.0, 300.0]
    _rail(d, (4, 408), 362, "keys", 1, both=True)
    _rail(d, (4, 408), 338, "values", 1, both=True)
    for x, word in zip(lanes, ("cat", "sees", "dog"), strict=True):
        d.arrow((x, 386), (x, 50), kind="time", step=(1, 2))
        d.box(x, 402, 66, 32, word, "input", name="x", step=1)
        d.box(x, 33, 66, 32, f"{word}′", "output", name="x", step=2)
    d.text(418, 381, "keys", "note", "end", step=1)
    d.text(418, 329, "values", "note", "end", step=1)
    _attend(d, lanes, 362, "attention", 1)
    _think(d, lanes, 186, 2)
    d.text(342, 407, d.shape_of("x"), "shape")
    d.text(342, 38, d.shape_of("encoded"), "shape")
    d.number(1, 406, 284)
    d.number(2, 406, 150)
    d.legend(440, "look around: lanes exchange keys and values", "think: each lane alone, with the same weights")
    d.text(34, 488, "after each: add to the lane, normalise", "note")
    return d


def decoder_layer() -> Diagram:
    """The same with a look at the source between, and no look into the future."""
    d = Diagram(
        "decoder_layer", 420, 694, "A decoder layer: look back, look at the source, think",
        "Two lanes of the target. First, masked self-attention: keys and values travel to the right only, so a lane "
        "reads from itself and the lanes to its left, never from its right. Second, cross-attention: the queries come "
        "from the target, keys and values from the encoder's output. Third, the feed-forward network in each lane "
        "alone. After each the result is added to the lane, and the lane is normalised.",
        layer_shapes(),
    )  # fmt: skip
    lanes = [40.0, 170.0]
    for y, kind in ((536, "keys"), (512, "values")):
        d.arrow((40, y), (296, y), kind=f"{kind} rail", step=1)
    for y, kind in ((362, "keys"), (338, "values")):
        d.arrow((324, y), (60, y), kind=f"{kind} rail", step=2)
    for x, word in zip(lanes, ("begin", "le"), strict=True):
        d.arrow((x, 560), (x, 50), kind="time", step=(1, 2, 3))
        d.box(x, 576, 66, 32, word, "input", name="x", step=1)
        d.box(x, 33, 66, 32, f"{word}′", "output", name="x", step=3)
    d.text(296, 555, "keys", "note", "end", step=1)
    d.text(296, 503, "values", "note", "end", step=1)
    _attend(d, lanes, 536, "itself", 1)
    _attend(d, lanes, 362, "cross", 2, own=False)
    _think(d, lanes, 186, 3)
    # the source
    d.text(270, 378, "keys", "note", step=2)
    d.text(270, 330, "values", "note", step=2)
    d.grid(326, 322, 5, 4, (22, 11.2), "plain", name="read", step=2)
    d.text(370, 296, "encoder’s", "note", "middle", step=2)
    d.text(370, 313, "output", "note", "middle", step=2)
    d.text(370, 393, d.shape_of("source"), "shape", "middle", step=2)
    # the mask
    d.text(362, 420, "who may look", "note", "middle", step=1)
    d.text(362, 437, "at whom", "note", "middle", step=1)
    allowed = masks.causal(4).float().tolist()
    d.grid(326, 446, 4, 4, (18, 18), "weights", weights=allowed, name="causal", step=1)
    d.text(362, 538, "causal mask", "note", "middle", step=1)
    for n, y in ((1, 458), (2, 284), (3, 150)):
        d.number(n, 284, y)
    d.text(212, 581, d.shape_of("x"), "shape")
    d.text(212, 38, d.shape_of("out"), "shape")
    d.legend(616, "look back: rails run to the right only", "look at the source: its keys, its values",
             "think: each lane alone")  # fmt: skip
    d.text(34, 688, "after each: add to the lane, normalise", "note")
    return d


@torch.no_grad()
def stack_shapes() -> dict[str, str]:
    model = Transformer(nn.Embedding(19, 24), nn.Embedding(13, 24), layers=2, heads=4, d_ff=48)
    source, lengths, previous = torch.randint(4, 19, (2, 5)), torch.tensor([5, 4]), torch.randint(4, 13, (2, 3))
    read, _ = model.encoder(source, lengths)
    logits = model(source, lengths, previous)
    named = {"source": source, "previous": previous, "x": model.encoder.embed(source), "read": read, "logits": logits}
    return all_in_letters(named | {"y": model.decoder.embed(previous)}, LETTERS)


def _block(d: Diagram, x: float, y: float, words: str, sub: str, step: int, name: str, wide: float) -> None:
    """A sub-layer of a tower, y its lower end: the residual goes around it, into "add, norm"."""
    d.arrow((x, y), (x + wide / 2 + 12, y), (x + wide / 2 + 12, y - 81), (x + 50, y - 81), step=step)
    d.fork(x, y, step=step)
    d.layer(x, y - 38, wide, 44, words, sub=sub, name=name, step=step)
    d.arrow((x, y - 60), (x, y - 67), step=step)
    d.layer(x, y - 81, 104, 27, "add, norm", step=step)


def _ask(d: Diagram, x: float, y: float, step: int) -> None:
    """Query, keys and values of one sequence enter an attention from below."""
    d.arrow((x, y), (x - 44, y), tip=False, step=step)
    for kind, at in (("keys", x - 44), ("values", x - 22), ("query", x)):
        d.arrow((at, y), (at, y - 15), kind=kind, step=step)


def whole_transformer() -> Diagram:
    """The two towers."""
    d = Diagram(
        "whole_transformer", 420, 660, "The whole Transformer: two towers",
        "Left, the encoder: the source's symbols become embeddings, positions are added, and N layers of "
        "self-attention and feed-forward network follow; the padding mask hides what is no word. Right, the "
        "decoder: the symbols written so far become embeddings, positions are added, and N layers of causally "
        "masked self-attention, attention to the encoder's output and feed-forward network follow. The table of "
        "embeddings, used once more, gives one logit per symbol; after a softmax one symbol is chosen and appended "
        "to what is written.",
        stack_shapes(),
    )  # fmt: skip
    left, right, floor = 94.0, 302.0, 496.0
    d.frame(2, floor - 206, 188, 214, "", step=2)
    d.text(4, floor - 213, "$N$ ×", "strong", step=2)
    d.frame(214, floor - 314, 186, 322, "", step=(4, 5, 6))
    d.text(216, floor - 321, "$N$ ×", "strong", step=(4, 5, 6))
    d.arrow((left, 531), (left, 272), kind="time", tip=False, step=2)
    d.arrow((right, 531), (right, 159), kind="time", step=(4, 5, 6))
    _ask(d, left, floor, 2)
    _ask(d, right, floor, 4)
    # what the encoder found is looked at by every layer of the decoder
    d.arrow((left, 276), (197, 276), (197, 395), (right - 44, 395), (right - 44, 375), kind="keys", step=5)
    d.arrow((left, 270), (205, 270), (205, 388), (right - 22, 388), (right - 22, 375), kind="values", step=5)
    d.arrow((right, floor - 106), (right, 375), kind="query", step=5)
    d.text(4, 240, "encoder’s output", "note", step=2)
    d.text(4, 257, d.shape_of("read"), "shape", step=2)
    d.text(104, 262, "keys, values", "note", step=5)
    _block(d, left, floor, "self-attention", "padding mask", 2, "attention", 148)
    _block(d, left, floor - 106, "feed-forward", "", 2, "feed_forward", 148)
    _block(d, right, floor, "self-attention", "causal mask", 4, "itself", 148)
    _block(d, right, floor - 106, "cross-attention", "padding mask", 5, "cross", 148)
    _block(d, right, floor - 212, "feed-forward", "", 6, "feed_forward", 148)
    # below: symbols, embeddings, positions
    for x, words, name, shape, step in (
        (left, "source", "source", "x", 1), (right, "written so far", "previous", "y", 3),
    ):  # fmt: skip
        d.arrow((x, 620), (x, 602), step=step)
        d.box(x, 636, 118, 32, words, "input", name=name, step=step)
        d.arrow((x, 567), (x, 554), step=step)
        d.layer(x, 584, 156, 34, "embedding × √$D$", name="embed", step=step)
        d.operation(x, 542, "+", radius=11, step=step)
        d.text(x + 14, 524, d.shape_of(shape), "shape", step=step)
    d.arrow((160, 548), (left + 12, 544), step=1)
    d.arrow((236, 548), (right - 12, 544), step=3)
    d.box(198, 548, 76, 28, "positions", "plain", name="positions", step=(1, 3))
    # above: the next symbol, which is then read again
    d.layer(right, 138, 130, 42, "linear", sub="the table again", name="embed", step=7)
    d.arrow((right, 117), (right, 98), step=7)
    d.text(right + 10, 113, d.shape_of("logits"), "shape", step=7)
    d.box(right, 82, 96, 30, "softmax", "plain", step=7)
    d.arrow((right, 67), (right, 48), step=7)
    d.box(right, 30, 112, 34, "next symbol", "choice", step=7)
    d.arrow((right + 56, 30), (412, 30), (412, 636), (right + 61, 636), step=(3, 7))
    for n, x, y in ((1, 184, 584), (2, 180, 458), (3, 392, 584), (4, 388, 458), (5, 388, 352), (6, 388, 246)):
        d.number(n, x, y)
    d.number(7, 222, 138)
    d.legend(16, "embed, add positions", "encoder: look, think", "embed what is written", "decoder: look back",
             "look at the source", "think", "score every symbol")  # fmt: skip
    return d
