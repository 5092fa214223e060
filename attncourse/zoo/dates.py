"""RNNsearch on dates in seventeen languages (chapter 04)."""

import torch
from torch import nn

from ..core.symbols import BEGIN, END, shift_right
from ..mechanisms.seq2seq import RNNsearch, nll
from ..running.decoding import greedy
from ..running.training import batches, fit
from ..tasks import dates
from ..tasks.text import Vocabulary
from . import Recipe


def config() -> dict:
    return {"alphabet": dates.source_vocabulary().characters, "d_embed": 32, "d_hidden": 96}


def build(config: dict) -> RNNsearch:
    vocabulary = Vocabulary(config["alphabet"])
    return RNNsearch(len(vocabulary), len(dates.TARGET), config["d_embed"], config["d_hidden"])


def loss(model: nn.Module, batch) -> torch.Tensor:
    """Teacher forcing; every target is ten characters and an END long."""
    source, lengths, target = batch
    source = source[:, : lengths.max()]  # no step is spent on columns that are padding throughout
    logits, _ = model(source, lengths, shift_right(target))
    return nll(logits, target, torch.full_like(lengths, target.shape[1]))


def train(model, config, seed, steps, checkpoint=None, device=None):
    data = dates.tensors(dates.sample(60_000, seed), Vocabulary(config["alphabet"]))

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 200, 1 - step / steps)

    data = batches(data, 64, seed)
    return fit(model, data, loss, steps, lr=2e-3, schedule=schedule, seed=seed, checkpoint=checkpoint, device=device)


def translate(model: nn.Module, texts: list[str], alphabet: str):
    """Greedy, free-running. -> ISO texts, weights (B, T, S)"""
    device = next(model.parameters()).device
    source, lengths = (x.to(device) for x in Vocabulary(alphabet).encode(texts))
    out = greedy(model.step, model.begin(source, lengths), BEGIN, END, max_steps=11)
    return dates.TARGET.decode(out.symbols.tolist()), out.weights


@torch.no_grad()
def evaluate(model, config, seed, n: int = 5_000) -> dict[str, float]:
    """exact_match: the whole date right, free-running. alignment_accuracy: of the digits of those dates,
    how many have their largest weight on a character of the field they belong to."""
    examples = dates.sample(n, seed, held_out=True)
    right, aligned = [], []
    for chunk in (examples[i : i + 500] for i in range(0, n, 500)):
        answers, weights = translate(model, [e.text for e in chunk], config["alphabet"])
        exact = torch.tensor([a == e.iso for a, e in zip(answers, chunk, strict=True)])
        gold, digits = dates.alignment(chunk, weights.shape[-1])
        looked = weights[:, :10].argmax(-1, keepdim=True).cpu()  # (B, 10, 1)
        hit = gold.gather(-1, looked)[..., 0]  # (B, 10)
        right.append(exact)
        aligned.append(hit[exact][:, digits])
    return {
        "exact_match": torch.cat(right).float().mean().item(),
        "alignment_accuracy": torch.cat(aligned).float().mean().item(),
    }


RECIPES = [
    Recipe(
        "bahdanau-dates",
        "RNNsearch: dates in seventeen languages to ISO 8601",
        config,
        build,
        train,
        steps=6_000,
        evaluate=evaluate,
    )
]
