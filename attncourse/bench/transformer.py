"""`attncourse bench transformer`: beside torch's own model; what one more symbol costs, with a cache and without."""

import warnings
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..mechanisms.transformer import Embed, Transformer


class Torchs(nn.Module):
    """nn.Transformer between the same embeddings and output as ours, with the same masks."""

    def __init__(self, table: nn.Embedding, layers: int, heads: int, d_ff: int):
        super().__init__()
        self.embed = Embed(table)
        self.model = nn.Transformer(table.embedding_dim, heads, layers, layers, d_ff, batch_first=True)

    def forward(self, source: Tensor, lengths: Tensor, previous: Tensor) -> Tensor:
        padded = ~masks.padding(lengths, source.shape[1])[:, 0]  # its masks say where one may *not* look
        future = ~masks.causal(previous.shape[1], previous.device)
        out = self.model(self.embed(source), self.embed(previous), tgt_mask=future, src_key_padding_mask=padded,
                         memory_key_padding_mask=padded)  # fmt: skip
        return F.linear(out, self.embed.table.weight)


def bench(d: int = 256, rows: int = 32, size: int = 64, written: tuple[int, ...] = (32, 64, 128, 256), vocab=1_000):
    torch.manual_seed(0)
    table, sizes = nn.Embedding(vocab, d), (3, 8, 4 * d)
    models = {"nn.Transformer": Torchs(table, *sizes), "ours": Transformer(table, table, *sizes)}
    source, target = torch.randint(4, vocab, (2, rows, size))
    lengths = torch.full((rows,), size)
    warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")  # which nn.Transformer uses by itself

    def forward(model: nn.Module) -> Tensor:
        with torch.no_grad():
            return model.eval()(source, lengths, target)

    def train(model: nn.Module) -> None:
        F.cross_entropy(model.train()(source, lengths, target).flatten(0, 1), target.flatten()).backward()
        model.zero_grad()

    ours, one = models["ours"], torch.randint(4, vocab, (1, max(written) + 1))  # one sentence is written

    @torch.no_grad()
    def remember(n: int):
        carry = ours.eval().begin(source[:1], lengths[:1])
        for t in range(n):
            _, carry, _ = ours.step(one[:, t], carry)
        return carry

    @torch.no_grad()
    def cached(n: int, carry) -> Tensor:
        return ours.eval().step(one[:, n], carry)[0]

    @torch.no_grad()
    def afresh(n: int, read: tuple[Tensor, Tensor]) -> Tensor:
        return ours.eval().decoder(one[:, : n + 1], *read)[:, -1]

    read = ours.eval().encoder(source[:1], lengths[:1])
    shape = f"B {rows}, S = T {size}, d {d}, 3 + 3 layers"
    return {
        f"forward, {shape}": {name: partial(forward, model) for name, model in models.items()},
        f"training step, {shape}": {name: partial(train, model) for name, model in models.items()},
        "one more symbol, cached, one sentence": {f"after {n}": partial(cached, n, remember(n)) for n in written},
        "one more symbol, all computed again, one sentence": {f"after {n}": partial(afresh, n, read) for n in written},
    }
