"""The picture of the whole course: score, normalise, read."""

import torch

from ..core.attention import attend
from ..core.scores import dot
from .kit import Diagram, number
from .shapes import all_in_letters

LETTERS = {2: "B", 3: "Tq", 5: "Tk", 7: "D", 11: "Dv"}
QUERY = torch.tensor([[2.0, 1.0]])
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
VALUES = torch.tensor([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0], [5.0, 5.0]])


def shapes() -> dict[str, str]:
    query, keys, values = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 11)
    context, weights = attend(query, keys, values)
    named = {"query": query, "keys": keys, "values": values, "weights": weights, "context": context}
    return all_in_letters(named | {"scores": dot(query, keys)}, LETTERS)


def score_normalise_read() -> Diagram:
    """One query, four keys and values, with numbers that one can check by hand."""
    scores = dot(QUERY[None], KEYS[None])[0, 0].tolist()
    context, weights = (x[0, 0].tolist() for x in attend(QUERY[None], KEYS[None], VALUES[None], dot))
    d = Diagram(
        "score_normalise_read", 420, 386, "Score, normalise, read: one query looks at four keys",
        "The query, two numbers, is compared with each of four keys, which gives four scores. A softmax turns the "
        "scores into weights that sum to one. Each value is multiplied by the weight of its key, and their sum is "
        "the context.",
        shapes(),
    )  # fmt: skip
    cell, top, row = (36, 30), 150, 42
    keys, score, weight, value = 14, 136, 216, 334  # the left edges of the columns
    for x, words in ((50, "keys"), (158, "scores"), (239, "weights"), (370, "values")):
        d.text(x, top - 26, words, "strong", "middle", name=words)
        d.text(x, top - 9, d.shape_of(words), "shape", "middle")
    # the query asks every key
    d.grid(keys, 40, 1, 2, cell, "query", labels=[[number(x) for x in QUERY[0].tolist()]], name="query", step=1)
    d.text(50, 14, "query", "strong", "middle", name="query")
    d.text(50, 31, d.shape_of("query"), "shape", "middle")
    d.arrow((keys + 72, 55), (112, 55), (112, top + 3 * row + 15), kind="query", tip=False, step=1)
    d.number(1, 112, 96)
    d.text(132, 44, "compare the query", "note")
    d.text(132, 61, "with every key", "note")
    for j in range(4):
        y = top + j * row
        d.grid(keys, y, 1, 2, cell, "keys", labels=[[number(x) for x in KEYS[j].tolist()]], name="keys", step=1)
        d.arrow((keys + 72, y + 15), (score - 1, y + 15), step=1)
        d.grid(score, y, 1, 1, (44, 30), "plain", labels=[[number(scores[j])]], name="scores", step=1)
        d.arrow((score + 44, y + 15), (weight - 1, y + 15), step=2)
        d.grid(
            weight, y, 1, 1, (46, 30), "weights", labels=[[f"{weights[j]:.2f}"]], weights=[[weights[j]]],
            name="weights", step=2,
        )  # fmt: skip
        d.arrow((weight + 46, y + 15), (289, y + 15), step=3)
        d.operation(300, y + 15, "×", radius=10, step=3)
        d.arrow((value, y + 15), (311, y + 15), kind="values", step=3)
        d.grid(value, y, 1, 2, cell, "values", labels=[[number(x) for x in VALUES[j].tolist()]], name="values", step=3)
        so_far = sum(weights[: j + 1])  # the line grows with what it has collected
        d.arrow((300, y + 25), (300, y + row + 4), kind="context", width=1 + 6 * so_far, tip=False, step=3)
    d.number(2, 199, 336)
    d.text(199, 363, "softmax: they", "note", "middle")
    d.text(199, 380, "sum to one", "note", "middle")
    d.arrow((300, 314), (300, 336), (value - 2, 336), kind="context", width=7, tip=False, step=3)
    d.number(3, 278, 336)
    d.grid(value, 321, 1, 2, cell, "context", labels=[[f"{x:.2f}" for x in context]], name="context", step=3)
    d.text(370, 366, "context", "strong", "middle", name="context")
    d.text(370, 383, d.shape_of("context"), "shape", "middle")
    d.text(14, 336, "one row per key:", "note")
    d.text(14, 353, "what it is known by,", "note")
    d.text(14, 370, "and what it holds", "note")
    return d
