"""The whole Transformer at work: `transformer-translation` writes one sentence, symbol by symbol."""

from typing import Any

import torch
from torch import Tensor

from .. import zoo
from ..core import masks
from ..core.symbols import BEGIN, END
from ..diagrams.kit import number, share
from ..diagrams.opened import opened_stack
from ..mechanisms.transformer import DecoderLayer, watch
from ..zoo.translation import words as vocabularies
from . import Frame, Step, Story, run, vector

SENTENCE = "the black cat sees the dog"
LONGEST = 12
CODE = """
x = embed(source)
x = encoder[0](x)
x = encoder[1](x)
y = embed_target(written)
y = look_back(decoder[0], y)
y = think(decoder[0], look_at(decoder[0], y, x))
y = look_back(decoder[1], y)
y = think(decoder[1], look_at(decoder[1], y, x))
logits = table @ y[-1]
"""
STEPS = (
    Step("embed the source", "Every word of the source becomes a vector: embedding times $\\sqrt{D}$, plus position. "
         "All words at once; this happens once per sentence.", (0,), (0,)),
    Step("encoder layer 1", "Every word looks at every word, then thinks. The map shows the mean of the four heads: a "
         "row is a word that looks.", (1,), (1,)),
    Step("encoder layer 2", "The same with other weights. Words now look at vectors that already know of their "
         "neighbours.", (1,), (2,)),
    Step("embed what is written", "The decoder starts from what it has written so far, which at first is only the "
         "*begin* symbol.", (2,), (3,)),
    Step("decoder 1: look back", "The newest symbol looks at what is written, itself included. The causal mask forbids "
         "the future, which in this moment does not exist.", (3,), (4,)),
    Step("decoder 1: look at the source", "Query from the newest symbol, keys and values from the encoder. Then the "
         "feed-forward network.", (4,), (5,)),
    Step("decoder 2: look back", "Again, one layer higher.", (3,), (6,)),
    Step("decoder 2: look at the source", "Here most of the weight usually lies on the word that is being translated.",
         (4,), (7,)),
    Step("score and choose", "The newest symbol’s vector is multiplied with every row of the embedding table: one "
         "logit per French word. The likeliest is written, and the next moment begins.", (5,), (8,)),
)  # fmt: skip
EQUATIONS = (
    r"x = \sqrt{D}\, E_{source} + PE",
    r"x \leftarrow \mathrm{norm}(x + \mathrm{MH}(x, x)),\ \mathrm{norm}(x + \mathrm{FFN}(x))",
    r"y = \sqrt{D}\, E'_{written} + PE",
    r"y \leftarrow \mathrm{norm}(y + \mathrm{MH}(y, y_{\le t}))",
    r"y \leftarrow \mathrm{norm}(y + \mathrm{MH}(y, x)),\ \mathrm{norm}(y + \mathrm{FFN}(y))",
    r"p = \mathrm{softmax}(E' y_t)",
)


@torch.no_grad()
def story() -> Story:
    model, card = zoo.load("transformer-translation")
    english, french = vocabularies(card["config"])
    source, _ = english.encode([SENTENCE.split()])
    shown = {BEGIN: "begin", END: "stop", **{4 + i: word for i, word in enumerate(french.characters)}}
    words, written, runs = [*SENTENCE.split(), "end"], [BEGIN], []
    attentions = [layer.attention for layer in model.encoder.layers]
    attentions += [part for layer in model.decoder.layers for part in (layer.itself, layer.cross)]
    while written[-1] != END and len(written) < LONGEST:
        with watch(*attentions) as maps:
            it = run(CODE, _parts(model, source[0]) | {"written": torch.tensor(written)})
        runs.append((it, [m[0] for m in maps], [shown[s] for s in written]))
        written.append(int(it["logits"].argmax()))
    frames = [_frame(t, words, len(runs), shown, *kept) for t, kept in enumerate(runs)]
    drawing = opened_stack(words, len(runs), len(model.encoder.layers))
    return Story("The whole Transformer while it translates a sentence", drawing, STEPS, EQUATIONS, CODE, tuple(frames),
                 "it writes")  # fmt: skip


def _parts(model, source: Tensor) -> dict[str, Any]:
    """What the lines of code call by name; batches of one are hidden here."""

    def look_back(layer: DecoderLayer, y: Tensor) -> Tensor:
        causal = masks.causal(len(y))
        return layer.residuals[0](y[None], lambda y: layer.itself(y, *layer.itself.memorise(y), causal))[0]

    def look_at(layer: DecoderLayer, y: Tensor, x: Tensor) -> Tensor:
        return layer.residuals[1](y[None], lambda y: layer.cross(y, *layer.cross.memorise(x[None])))[0]

    return {
        "source": source, "embed": lambda s: model.encoder.embed(s[None])[0],
        "embed_target": lambda s: model.decoder.embed(s[None])[0], "table": model.decoder.embed.table.weight,
        "encoder": [lambda x, layer=layer: layer(x[None])[0] for layer in model.encoder.layers],
        "decoder": list(model.decoder.layers), "look_back": look_back, "look_at": look_at,
        "think": lambda layer, y: layer.residuals[2](y, layer.feed_forward),
    }  # fmt: skip


def _frame(t: int, words: list[str], room: int, shown: dict[int, str], it: dict, maps: list[Tensor],
           written: list[str]) -> Frame:  # fmt: skip
    """maps: of each attention in the order of the code, (H, Tq, Tk)"""
    encoder, looks = maps[:2], {f"{what}-{i}": maps[2 + 2 * i + k][:, -1] for i in (0, 1)
                                for k, what in enumerate(("itself", "cross"))}  # (H, Tk)  # fmt: skip
    cells = {f"encoder-{n}-{i}-{j}": float(m.mean(0)[i, j]) for n, m in enumerate(encoder)
             for i in range(len(words)) for j in range(len(words))}  # fmt: skip
    texts = {f"written-{j}": written[j] if j < len(written) else "" for j in range(room)}
    for name, look in looks.items():
        mean = look.mean(0).tolist()
        for j in range(room if name.startswith("itself") else len(words)):
            w = mean[j] if j < len(mean) else 0.0
            cells[f"{name}-{j}-0-0"] = w
            texts[f"{name}-{j}-0-0"] = share(w) if j < len(mean) else ""
    p = it["logits"].softmax(-1)
    best = p.argsort(descending=True)[:3].tolist()
    for k, s in enumerate(best):
        cells[f"likely-{k}-0-0"], texts[f"likely-{k}-0-0"] = float(p[s]), f"{shown[s]} {share(float(p[s]))}"
    texts["next"] = shown[best[0]]

    def most(weights: Tensor, names: list[str]) -> str:
        return f"{names[int(weights.argmax())]} {float(weights.max()):.2f}"

    def heads(name: str, names: list[str]) -> list[tuple[str, str]]:
        return [(f"head {h + 1}", most(row, names)) for h, row in enumerate(looks[name])]

    first = it["embed"](it["source"])[0]
    rows = [
        [(word, f"looks at {most(row, words)}") for word, row in zip(words, m.mean(0), strict=True)] for m in encoder
    ]
    numbers = [
        [("$x$", f"{len(words)} vectors of {it['x'].shape[-1]} numbers"), ("$x_1$ (the)", vector(first))],
        *rows,
        [("symbols", " ".join(written)), ("newest", written[-1])],
        heads("itself-0", written), heads("cross-0", words), heads("itself-1", written),
        heads("cross-1", words),
        [(shown[s], f"logit {number(float(it['logits'][s]), 2)}, $p$ = {float(p[s]):.3f}") for s in best],
    ]  # fmt: skip
    return Frame(f"symbol {t + 1}: {shown[best[0]]}", texts, cells, {}, numbers)
