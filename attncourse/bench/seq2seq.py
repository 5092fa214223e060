"""`attncourse bench seq2seq`: RNNsearch beside Luong's decoder, and one look as the source grows."""

from functools import partial

import torch
from torch import Tensor, nn

from ..core.scores import General, dot
from ..core.symbols import BEGIN
from ..mechanisms.luong import Global, InputFeeding, LocalP, Luong, NoFeeding
from ..mechanisms.seq2seq import RNNsearch, nll
from ..running.decoding import greedy


def bench(
    vocab: int = 8_000, d_hidden: int = 256, rows: int = 64, size: int = 30, sizes: tuple[int, ...] = (30, 120, 480)
):
    torch.manual_seed(0)
    general = General(d_hidden, d_hidden)
    models = {"RNNsearch": RNNsearch(vocab, vocab, d_hidden, d_hidden)}
    for name, feeding in (("Luong, global general", InputFeeding()), ("the same without input feeding", NoFeeding())):
        models[name] = Luong(vocab, vocab, general, Global(), feeding, d_hidden, d_hidden)
    source, target = torch.randint(4, vocab, (2, rows, size))
    lengths = torch.full((rows,), size)

    def train(model: nn.Module) -> None:
        nll(model(source, lengths, target)[0], target, lengths).backward()
        model.zero_grad()

    @torch.no_grad()
    def decode(model: nn.Module):
        return greedy(model.step, model.begin(source, lengths), BEGIN, -1, max_steps=size)  # no symbol -1: all steps

    query = torch.randn(rows, 1, d_hidden)

    @torch.no_grad()
    def look(scope: nn.Module, keys: Tensor):
        mask, t = keys.new_ones(rows, 1, keys.shape[1], dtype=torch.bool), torch.full((rows, 1), 2)
        return scope(query, keys, keys, dot, mask, t)

    scopes = {"global": Global(), "local-p, D 10": LocalP(d_hidden, 10)}
    keys = {s: torch.randn(rows, s, d_hidden) for s in sizes}
    shape = f"V {vocab}, H {d_hidden}, B {rows}, S = T {size}"
    return {
        f"training step, {shape}": {name: partial(train, model) for name, model in models.items()},
        f"greedy decoding, {shape}": {name: partial(decode, model.eval()) for name, model in models.items()},
    } | {
        f"one look, {name}, H {d_hidden}, B {rows}": {f"S {s}": partial(look, scope, keys[s]) for s in sizes}
        for name, scope in scopes.items()
    }
