"""One word's way through the first encoder layer of `transformer-translation`, one of its heads opened."""

import math
from typing import Any

import torch

from .. import zoo
from ..diagrams.kit import number, share
from ..diagrams.opened import opened_layer
from ..mechanisms.transformer import positions
from ..zoo.translation import words as vocabularies
from . import Frame, Step, Story, run, vector

SENTENCE = "the black cat sees the dog"
HEAD = 0
CODE = """
x = sqrt(D) * table[words] + positions
q, K, V = heads(W_q(x[i])), heads(W_k(x)), heads(W_v(x))
e = K[h] @ q[h] / sqrt(d_k)
a = softmax(e)
c = a @ V[h]
y = W_o(concat(softmax(K[g] @ q[g] / sqrt(d_k)) @ V[g] for g in range(H)))
x_new = norm_1(x[i] + y)
z = W_2(relu(W_1(x_new)))
x_out = norm_2(x_new + z)
"""
STEPS = (
    Step("embed", "Each word becomes a vector: its row of the embedding table times $\\sqrt{D}$, plus a vector that "
         "says where it stands. From here on, order is in the numbers.", (0,), (0,)),
    Step("project", "Three learned matrices. The word that asks gets a query; every word, also the one that asks, gets "
         "a key to be found by and a value to give.", (1,), (1,)),
    Step("score", "The query is multiplied with every key. Dividing by $\\sqrt{d_k}$ keeps the scores from growing "
         "with the size of the head.", (2,), (2,)),
    Step("normalise", "A softmax turns the scores into weights that sum to one.", (3,), (3,)),
    Step("read", "The head reads: the sum of all values, each times its weight.", (4,), (4,)),
    Step("join", "The other heads have done the same with matrices of their own. What they read is laid side by side, "
         "and $W_o$ mixes it.", (5,), (5,)),
    Step("add, normalise", "What was read is added to the word’s own vector, which nobody replaces. Then the sum is "
         "brought back to mean 0 and standard deviation 1, with a learned scale and offset per feature.", (6,), (6,)),
    Step("think", "The feed-forward network works on this one vector alone: wider, keep what is positive, back.", (7,),
         (7,)),
    Step("add, normalise", "Its result is added, too, and normalised. This vector is what the next layer sees of the "
         "word.", (8,), (8,)),
)  # fmt: skip
EQUATIONS = (
    r"x_j = \sqrt{D}\, E_{w_j} + PE(j)",
    r"q = W_q x_i, \quad k_j = W_k x_j, \quad v_j = W_v x_j",
    r"e_j = q^\top k_j / \sqrt{d_k}",
    r"a = \mathrm{softmax}(e)",
    r"c = \sum_j a_j v_j",
    r"y = W_o [c^{(1)}; \dots; c^{(H)}]",
    r"x' = \mathrm{norm}(x_i + y)",
    r"z = W_2 \max(0, W_1 x')",
    r"x'' = \mathrm{norm}(x' + z)",
)


@torch.no_grad()
def story() -> Story:
    model, card = zoo.load("transformer-translation")
    english, _ = vocabularies(card["config"])
    source, _ = english.encode([SENTENCE.split()])
    words = [*SENTENCE.split(), "end"]
    names = _parts(model, source[0])
    frames = [_frame(i, words, run(CODE, names | {"i": i})) for i in range(len(words))]
    drawing = opened_layer(words, names["H"], HEAD + 1)
    return Story("One word’s way through an encoder layer, in nine moves", drawing, STEPS, EQUATIONS, CODE,
                 tuple(frames), "who asks")  # fmt: skip


def _parts(model, symbols: torch.Tensor) -> dict[str, Any]:
    """What the lines of code call by name."""
    layer, table = model.encoder.layers[0], model.encoder.embed.table
    attention, wide, narrow = layer.attention, layer.feed_forward[0], layer.feed_forward[2]
    D, H = table.embedding_dim, attention.heads
    return {
        "D": D, "H": H, "d_k": D // H, "h": HEAD, "words": symbols, "table": table.weight,
        "positions": positions(len(symbols), D, table.weight),
        "W_q": attention.query, "W_k": attention.key, "W_v": attention.value, "W_o": attention.out,
        "W_1": wide, "W_2": narrow, "norm_1": layer.residuals[0].norm, "norm_2": layer.residuals[1].norm,
        "heads": lambda x: x.unflatten(-1, (H, -1)).movedim(-2, 0), "softmax": lambda e: e.softmax(-1),
        "concat": lambda parts: torch.cat(list(parts)), "relu": torch.relu, "sqrt": math.sqrt,
    }  # fmt: skip


def _frame(i: int, words: list[str], it: dict[str, Any]) -> Frame:
    """it: the values of all names after the code has run for word i"""
    e, a, own, h = it["e"].tolist(), it["a"].tolist(), i + 1, it["h"]
    first = sorted(range(len(a)), key=lambda j: -a[j])[:3]
    summed, thought = it["x"][i] + it["y"], it["x_new"] + it["z"]
    active = int((it["W_1"](it["x_new"]) > 0).sum())
    numbers = [
        [(f"√$D$ · $E$({words[i]})", vector(it["x"][i] - it["positions"][i])),
         (f"$PE({i})$", vector(it["positions"][i])), (f"$x_{own}$", vector(it["x"][i]))],
        [("$q$", vector(it["q"][h])), (f"$k_{own}$", vector(it["K"][h, i])), (f"$v_{own}$", vector(it["V"][h, i]))],
        [("largest $e_j$", f"{words[first[0]]} {number(max(e), 2)}"), ("smallest", f"{number(min(e), 2)}")],
        [("largest $a_j$", ", ".join(f"{words[j]} {a[j]:.2f}" for j in first)), ("their sum", f"{sum(a):.2f}"),
         ("chance", f"1/{len(a)} = {1 / len(a):.2f}")],
        [("$c$", vector(it["c"]))],
        [("$y$", vector(it["y"]))],
        [("$x_i + y$", vector(summed)), ("$x'$", vector(it["x_new"]))],
        [("$z$", vector(it["z"])), ("positive", f"{active} of {it['W_1'].out_features} features")],
        [("$x' + z$", vector(thought)), ("$x''$", vector(it["x_out"]))],
    ]  # fmt: skip
    return Frame(
        label=words[i] if words.count(words[i]) == 1 else f"{words[i]} (word {own})",
        texts={f"weight-{j}-0-0": share(w) for j, w in enumerate(a)}
        | {f"score-{j}-0-0": number(score, 1) for j, score in enumerate(e)}
        | {"asker": words[i], "after": f"{words[i]}″"},
        cells={f"weight-{j}-0-0": w for j, w in enumerate(a)},
        flows={f"flow-{j}": round(0.5 + 9 * w, 2) for j, w in enumerate(a)}
        | {f"ask-{j}": 2.4 * (j == i) for j in range(len(a))}
        | {f"rail-{j}": 2.4 * (j <= i) for j in range(len(a))},
        numbers=numbers,
    )
