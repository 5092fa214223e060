"""Captions of scenes, with a soft and with a hard read (chapter 08)."""

from functools import partial

import sacrebleu
import torch
from torch import Tensor, nn

from ..core.symbols import BEGIN, END, PAD, shift_right
from ..mechanisms import captioning
from ..running.decoding import beam, greedy
from ..running.training import fit
from ..tasks import scenes
from . import Recipe

READS = {"soft": captioning.Soft, "hard": captioning.Hard}


def config(read: str, doubly: float) -> dict:
    return {
        "read": read, "doubly": doubly, "lr": 4e-3, "batch": 32, "entropy": 0.005, "discount": 0.9,
        "d_model": 64, "d_embed": 48, "d_hidden": 96, "d_score": 32, "channels": [24, 48],
        "words": " ".join(scenes.WORDS),
    }  # fmt: skip


def build(config: dict) -> captioning.Captioner:
    words, sizes = scenes.Words(config["words"].split()), ("d_model", "d_embed", "d_hidden", "d_score")
    encoder = captioning.ImageEncoder(config["d_model"], tuple(config["channels"]))
    read = READS[config["read"]]()
    return captioning.Captioner(encoder, captioning.CaptionDecoder(len(words), read, *(config[size] for size in sizes)))


def soft_loss(model: nn.Module, batch: tuple[Tensor, ...], config: dict) -> Tensor:
    """-log p(caption) + λ Σ_i (1 - Σ_t α_ti)², the mean over the batch"""
    images, captions, lengths, _ = batch[:4]
    logits, look = model(images, shift_right(captions))
    told = captioning.log_likelihoods(logits, captions, lengths).sum(-1)  # (B,)
    return (config["doubly"] * captioning.doubly_stochastic(look.weights, lengths) - told).mean()


def hard_loss(model: nn.Module, batch: tuple[Tensor, ...], config: dict) -> Tensor:
    """-log p(caption | places) + the score-function term - λ_e H(α), the mean over the batch

    `progress`, the last of the batch, goes from 0 to 1: all images are read by expectation in the first half of the
    training, none in the last quarter; the entropy's weight falls to nothing at the end.
    """
    images, captions, lengths, _, progress = batch
    model.decoder.read.mix = min(1.0, max(0.0, 3 - 4 * progress))
    logits, look = model(images, shift_right(captions))
    told = captioning.log_likelihoods(logits, captions, lengths)  # (B, T)
    spread = captioning.entropy(look.weights).masked_fill(captions == PAD, 0.0).sum(-1)  # (B,)
    chance = captioning.reinforce(told, look, config["discount"])
    return (chance - told.sum(-1) - config["entropy"] * (1 - progress) * spread).mean()


LOSSES = {"soft": soft_loss, "hard": hard_loss}


def train(model, config, seed, steps, checkpoint=None, device=None):
    loss = partial(LOSSES[config["read"]], config=config)
    data = ((*batch, i / steps) for i, batch in enumerate(scenes.stream(config["batch"], seed)))

    def schedule(step):  # a short warm-up, then a straight line to nothing
        return min((step + 1) / 100, 1 - step / steps)

    return fit(
        model, data, loss, steps, lr=config["lr"], schedule=schedule, seed=seed, checkpoint=checkpoint, device=device
    )


LONGEST = 5 * max(scenes.COUNTS)  # words and END; the first shape has no relation


@torch.no_grad()
def caption(
    model: nn.Module, images: Tensor, words: scenes.Words, width: int = 1, max_steps: int = LONGEST
) -> tuple[list[str], Tensor]:
    """Free-running: greedy, or by a beam of `width`. -> texts, weights (B, T, 144)"""
    carry = model.begin(images.to(next(model.parameters()).device))
    find = greedy if width == 1 else partial(beam, width=width)
    out = find(model.step, carry, BEGIN, END, max_steps=max_steps)
    return words.decode(out.symbols.tolist()), out.weights


@torch.no_grad()
def pointing(model: nn.Module, batch: scenes.Batch) -> tuple[Tensor, Tensor]:
    """The share of a content word's attention inside its region, and of the region in the image (chance): scene means

    The captions are dictated, so that every content word is there to be judged. -> (N,), (N,)
    """
    device = next(model.parameters()).device
    _, look = model(batch.images.to(device), shift_right(batch.captions.to(device)))
    inside = batch.regions.to(device)  # (N, T, L)
    content = inside.any(-1)  # (N, T)
    share = (captioning.reading(look) * inside).sum(-1)  # (N, T)
    return share.sum(-1) / content.sum(-1), inside.float().mean(-1).sum(-1) / content.sum(-1)


def measure(model: nn.Module, batch: scenes.Batch, words: scenes.Words, width: int = 1) -> dict[str, float]:
    """exact_match and bleu4 free-running, pointing (with its chance) under dictation"""
    answers, shares, chances = [], [], []
    for rows in torch.arange(len(batch.images)).split(250):
        part = scenes.Batch(*(x[rows] for x in batch))
        answers += caption(model, part.images, words, width)[0]
        share, chance = pointing(model, part)
        shares.append(share)
        chances.append(chance)
    truth = words.decode(batch.captions.tolist())
    right = sum(a == b for a, b in zip(answers, truth, strict=True))
    return {
        "exact_match": right / len(truth),
        "bleu4": sacrebleu.corpus_bleu(answers, [truth], tokenize="none", force=True).score,
        "pointing": torch.cat(shares).mean().item(),
        "pointing_chance": torch.cat(chances).mean().item(),
    }


def evaluate(model, config, seed, n: int = 1200) -> dict[str, float]:
    """On held-out scenes, and on scenes with a combination of colour and shape never seen (`_unseen`)."""
    words = scenes.Words(config["words"].split())
    found = measure(model, scenes.sample(n, seed, held_out=True), words)
    other = measure(model, scenes.sample(n, seed, unseen=True), words)
    return found | {f"{name}_unseen": value for name, value in other.items()}


KINDS = {  # name: read, λ, steps, what it is
    "captions-soft": ("soft", 0.01, 1_400, "soft attention, doubly stochastic"),
    "captions-soft-nods": ("soft", 0.0, 1_400, "soft attention without the doubly stochastic term"),
    "captions-hard": ("hard", 0.0, 2_400, "hard attention, REINFORCE"),
}
RECIPES = [
    Recipe(name, f"Show, attend and tell, {about}", partial(config, read, doubly), build, train, steps, evaluate)
    for name, (read, doubly, steps, about) in KINDS.items()
]
