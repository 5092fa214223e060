"""The Transformer, from one layer of heads to the whole of it."""

import torch
from torch import nn

from ..core import masks
from ..mechanisms.transformer import DecoderLayer, EncoderLayer, MultiHead, Transformer
from .kit import Diagram, Point
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
    d = Diagram(
        "multi_head", 420, 604, "Multi-head attention, opened",
        "Below, three positions with four features each. Three learned matrices make queries, keys and values of "
        "them, which are cut into two heads of two features. Each head compares its queries with its keys, takes a "
        "softmax, and reads its values by the weights. What the heads have read is laid side by side and mixed by "
        "one more matrix.",
        head_shapes(),
    )  # fmt: skip
    cell = (17, 15)

    def rows(x: float, y: float, kind: str, name: str, step: int, cut: bool = True) -> None:
        """Three positions of four features, x the middle, y the top; cut into two heads."""
        for half in (0, 1):
            left = x - 37 + half * 40 if cut else x - 34 + half * 34
            d.grid(left, y, 3, 2, cell, kind, name=name, step=step)

    d.text(210, 600, "$x$", "strong", "middle", name="x")
    rows(210, 540, "plain", "x", 1, cut=False)
    d.text(252, 570, d.shape_of("x"), "shape")
    places = {"query": (70, "W_q"), "keys": (210, "W_k"), "values": (350, "W_v")}
    for name, (x, matrix) in places.items():
        kind = name
        d.arrow((210, 538), (x, 504), bend=True, step=1)
        d.layer(x, 484, 74, 36, matrix, name=matrix, step=1)
        d.arrow((x, 465), (x, 439), kind=kind, step=1)
        rows(x, 392, kind, name, 2)
        d.text(x + 9, 455, name, "strong", name=name)
    d.text(4, 385, d.shape_of("query"), "shape")
    d.number(1, 140, 484)
    d.number(2, 140, 414)
    for h, left in enumerate((8, 214)):
        d.frame(left, 192, 198, 168, f"head {h + 1}", name="heads", step=3)
        weights: list[list[float]] = looks[h].tolist()
        at = left + 26
        for name, (x, _) in places.items():
            start: Point = (x - 20 + 40 * h, 390)
            end = {"query": (at + 12, 320), "keys": (at + 52, 320), "values": (left + 122, 292)}[name]
            d.arrow(start, end, kind=name, bend=True, step=3)
        d.grid(at, 254, 3, 3, (22, 20), "weights", weights=weights, name="weights", step=3)
        d.text(at + 33, 247, "softmax", "note", "middle")
        d.arrow((at + 66, 284), (left + 110, 284), tip=False, step=4)
        d.operation(left + 122, 280, "@", radius=11, step=4)
        d.arrow((left + 133, 280), (left + 150, 280), kind="context", step=4)
        d.grid(left + 153, 258, 3, 2, cell, "context", name="context", step=4)
        d.arrow((left + 170, 257), (170 + 34 * h + 23, 166), kind="context", bend=True, step=5)
    d.text(16, 350, d.shape_of("weights"), "shape")
    d.number(3, 18, 246)
    d.number(4, 130, 254)
    d.number(3, 224, 246)
    d.number(4, 336, 254)
    rows(210, 118, "context", "context", 5, cut=False)
    d.text(252, 146, "side by side", "note")
    d.number(5, 160, 140)
    d.arrow((210, 116), (210, 101), kind="context", step=6)
    d.layer(210, 82, 84, 36, "W_o", name="W_o", step=6)
    d.text(262, 87, "mixes the heads", "note")
    d.number(6, 152, 82)
    d.arrow((210, 63), (210, 50), step=6)
    rows(210, 4, "plain", "out", 6, cut=False)
    d.text(252, 32, d.shape_of("out"), "shape")
    d.text(162, 32, "out", "strong", "end", name="out")
    return d


@torch.no_grad()
def layer_shapes() -> dict[str, str]:
    x, read, mask = torch.randn(2, 3, 24), torch.randn(2, 5, 24), masks.padding(torch.tensor([5, 4]), 5)[:, None]
    layer = DecoderLayer(24, 4, 48, 0.0)
    keys, values = layer.cross.memorise(read)
    out = layer(x, (keys, values), mask, masks.causal(3))
    encoded = EncoderLayer(24, 4, 48, 0.0)(x)
    return all_in_letters({"x": x, "out": out, "encoded": encoded, "source": read, "keys": keys}, LETTERS)


def _sub_layer(d: Diagram, lanes: list[float], y: float, words: str, kind: str, step: int, name: str) -> None:
    """From each lane to a box beside it, and back into the lane by a sum; then the norm. y: the middle of the boxes."""
    for x in lanes:
        d.arrow((x, y + 42), (x + 52, y + 42), (x + 52, y + 23), step=step)
        d.arrow((x + 52, y - 22), (x + 52, y - 44), (x + 12, y - 44), step=step)
        d.box(x + 52, y, 58, 44, words, kind, name=name, step=step)
        d.operation(x, y - 44, "+", radius=11, step=step)
        d.box(x, y - 76, 52, 26, "norm", "plain", name="norm", step=step)


def encoder_layer() -> Diagram:
    """Lanes on a motorway: attention exchanges between them, the network works in each alone."""
    d = Diagram(
        "encoder_layer", 420, 486, "An encoder layer: look around, then think",
        "Each position is a lane that runs from the bottom to the top. First, attention: every lane reads from all "
        "lanes, and what it read is added to the lane; then the lane is normalised. Second, the feed-forward "
        "network: every lane alone, with the same weights; its result is added, and the lane is normalised again.",
        layer_shapes(),
    )  # fmt: skip
    lanes = [40.0, 176.0, 312.0]
    for x, word in zip(lanes, ("cat", "sees", "dog"), strict=True):
        d.arrow((x, 446), (x, 50), kind="time", step=(1, 2))
        d.box(x, 464, 62, 32, word, "input", name="x")
        d.box(x, 32, 62, 32, "", "output", name="x")
        d.text(x, 37, f"{word}′", "", "middle")
    d.frame(64, 312, 350, 72, "", step=1)
    d.frame(64, 132, 350, 72, "", step=2)
    _sub_layer(d, lanes, 348, "attend", "plain", 1, "attention")
    _sub_layer(d, lanes, 168, "FFN", "plain", 2, "feed_forward")
    for left, right in ((lanes[0], lanes[1]), (lanes[1], lanes[2])):  # everybody reads from everybody
        d.arrow((left + 81, 340), (right + 22, 340), kind="keys", step=1)
        d.arrow((right + 23, 356), (left + 82, 356), kind="keys", step=1)
    d.text(66, 410, "lanes exchange: multi-head attention", "note")
    d.text(66, 228, "each lane alone, with the same weights", "note")
    d.number(1, 404, 406)
    d.number(2, 404, 224)
    d.text(348, 468, d.shape_of("x"), "shape")
    d.text(348, 36, d.shape_of("encoded"), "shape")
    return d


def decoder_layer() -> Diagram:
    """The same with a look at the source between, and no look into the future."""
    d = Diagram(
        "decoder_layer", 420, 650, "A decoder layer: look back, look at the source, think",
        "Two lanes of the target. First, masked self-attention: a lane reads from itself and the lanes to its left, "
        "never from its right. Second, cross-attention: the queries come from the target, keys and values from the "
        "encoder's output. Third, the feed-forward network in each lane alone. After each the result is added to the "
        "lane, and the lane is normalised.",
        layer_shapes(),
    )  # fmt: skip
    lanes = [38.0, 168.0]
    for x, word in zip(lanes, ("begin", "le"), strict=True):
        d.arrow((x, 612), (x, 50), kind="time", step=(1, 2, 3))
        d.box(x, 630, 62, 32, word, "input", name="x")
        d.box(x, 32, 62, 32, f"{word}′", "output", name="x")
    for middle, step in ((514, 1), (336, 2), (166, 3)):
        d.frame(62, middle - 36, 218, 72, "", step=step)
    _sub_layer(d, lanes, 514, "attend", "plain", 1, "itself")
    _sub_layer(d, lanes, 336, "attend", "plain", 2, "cross")
    _sub_layer(d, lanes, 166, "FFN", "plain", 3, "feed_forward")
    d.arrow((lanes[0] + 81, 514), (lanes[1] + 22, 514), kind="keys", step=1)
    d.text(64, 577, "look back, never ahead", "note")
    d.text(64, 399, "look at the source", "note")
    d.text(64, 229, "think, each lane alone", "note")
    # the source
    d.grid(320, 296, 5, 4, (22, 16), "keys", name="source", step=2)
    d.text(364, 284, "encoder's output", "note", "middle")
    d.text(364, 394, d.shape_of("source"), "shape", "middle")
    d.arrow((320, 328), (250, 328), kind="keys", step=2)
    d.arrow((320, 346), (250, 346), kind="values", step=2)
    d.text(314, 318, "keys", "note", "end")
    d.text(314, 366, "values", "note", "end")
    for n, y in ((1, 573), (2, 395), (3, 225)):
        d.number(n, 268, y)
    d.text(208, 634, d.shape_of("x"), "shape")
    d.text(208, 36, d.shape_of("out"), "shape")
    # the mask
    d.text(352, 470, "who may look", "note", "middle")
    d.text(352, 486, "at whom", "note", "middle")
    d.grid(316, 496, 4, 4, (18, 18), "weights", weights=[[float(j <= i) for j in range(4)] for i in range(4)],
           name="mask", step=1)  # fmt: skip
    d.text(352, 586, "the causal mask", "note", "middle")
    return d


@torch.no_grad()
def stack_shapes() -> dict[str, str]:
    model = Transformer(nn.Embedding(19, 24), nn.Embedding(13, 24), layers=2, heads=4, d_ff=48)
    source, lengths, previous = torch.randint(4, 19, (2, 5)), torch.tensor([5, 4]), torch.randint(4, 13, (2, 3))
    read, _ = model.encoder(source, lengths)
    logits = model(source, lengths, previous)
    named = {"source": source, "previous": previous, "x": model.encoder.embed(source), "read": read, "logits": logits}
    return all_in_letters(named | {"y": model.decoder.embed(previous)}, LETTERS)


def whole_transformer() -> Diagram:
    """The two towers."""
    d = Diagram(
        "whole_transformer", 420, 600, "The whole Transformer",
        "Left, the encoder: the source's symbols become embeddings, positions are added, and N layers of self- "
        "attention and feed-forward network follow. Right, the decoder: the symbols written so far become "
        "embeddings, positions are added, and N layers of masked self-attention, attention to the encoder's output "
        "and feed-forward network follow; a linear layer, the table of embeddings again, and a softmax give the next "
        "symbol.",
        stack_shapes(),
    )  # fmt: skip
    left, right = 92.0, 304.0
    d.frame(10, 244, 176, 196, "$N$ ×", step=2)
    d.frame(208, 152, 208, 288, "$N$ ×", step=(4, 5, 6))
    d.arrow((left, 470), (left, 246), (left, 234), kind="time", tip=False, step=2)
    d.arrow((right, 470), (right, 150), kind="time", step=(4, 5, 6))
    for x, wide, parts in (
        (left, 132, [("self-attention", 392, 2, "attention"), ("feed-forward", 310, 2, "feed_forward")]),
        (right, 172, [("masked self-attention", 392, 4, "itself"), ("look at the source", 306, 5, "cross"),
                      ("feed-forward", 222, 6, "feed_forward")]),
    ):  # fmt: skip
        for words, y, step, name in parts:
            d.arrow((x, y + 32), (x + wide / 2 + 8, y + 32), (x + wide / 2 + 8, y - 32), (x + 11, y - 32), kind="quiet",
                    step=step)  # fmt: skip
            d.layer(x, y, wide, 36, words, name=name, step=step)
            d.operation(x, y - 32, "+", radius=10, step=step)
            d.text(x - 17, y - 27, "add, norm", "note", "end")
    # what the encoder found is looked at by every layer of the decoder
    d.arrow((left, 234), (left, 220), (198, 220), (198, 312), (right - 87, 312), kind="keys", step=5)
    d.text(100, 212, d.shape_of("read"), "shape")
    d.text(100, 195, "keys and values", "note")
    # below: symbols, embeddings, positions
    for x, words, name, shape, step in (
        (left, "source", "source", "x", 1),
        (right, "written so far", "previous", "y", 3),
    ):
        d.box(x, 576, 118, 32, words, "input", name=name, step=step)
        d.arrow((x, 560), (x, 545), step=step)
        d.layer(x, 526, 146, 34, "embedding × √$D$", name="embed", step=step)
        d.arrow((x, 509), (x, 494), step=step)
        d.operation(x, 482, "+", radius=11, step=step)
        d.text(x + 18, 466, d.shape_of(shape), "shape")
    d.box(198, 482, 74, 30, "positions", "plain", name="positions", step=(1, 3))
    d.arrow((161, 482), (left + 12, 482), step=1)
    d.arrow((235, 482), (right - 12, 482), step=3)
    # above: the next symbol
    d.layer(right, 130, 118, 36, "linear", sub="the table again", step=7)
    d.arrow((right, 112), (right, 92), step=7)
    d.text(right + 10, 106, d.shape_of("logits"), "shape")
    d.box(right, 74, 96, 34, "softmax", "plain", step=7)
    d.arrow((right, 57), (right, 40), step=7)
    d.box(right, 22, 118, 34, "next symbol", "output", step=7)
    for n, x, y in (
        (1, 12, 548),
        (2, 166, 351),
        (3, 388, 548),
        (4, 398, 392),
        (5, 398, 306),
        (6, 398, 222),
        (7, 232, 130),
    ):
        d.number(n, x, y)
    d.text(12, 30, "encoder, left", "strong")
    d.text(12, 48, "decoder, right", "strong")
    return d
