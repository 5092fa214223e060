"""How many looks does a question take (chapter 12)? Memory networks of one, two and three hops, and what they beat."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core import masks
from ..core.symbols import PAD
from ..mechanisms.memn2n import MemN2N, Reading, linear, random_noise
from ..running.training import batches, fit
from ..tasks import stories as task
from . import Recipe

STORIES = 10_000  # for each number of facts, as bAbI's larger set has for each task


class Bag(nn.Module):
    """The order of words and sentences is thrown away: a bag for the story, one for the question, a hidden layer.

    It is asked as a memory network is: story (B, N, W) int, question (B, Wq) int -> Reading without a look
    """

    def __init__(self, vocab: int, d_model: int):
        super().__init__()
        self.told, self.asked = (nn.EmbeddingBag(vocab, d_model, mode="sum", padding_idx=PAD) for _ in range(2))
        self.out = nn.Sequential(nn.ReLU(), nn.Linear(d_model, vocab))

    def forward(self, story: Tensor, count: Tensor, question: Tensor, normalise: Callable | None = None) -> Reading:
        logits = self.out(self.told(story.flatten(1)) + self.asked(question))  # (B, vocab)
        return Reading(logits, logits.new_zeros(len(story), 0, story.shape[1]))


def config(kind: str, hops: int, d_model: int) -> dict:
    return {
        "kind": kind, "hops": hops, "d_model": d_model, "stories": STORIES, "lr": 5e-3, "batch": 64,
        "linear": 0.1, "noise": 0.1, "words": " ".join(task.vocabulary().characters),
    }  # fmt: skip


def words(config: dict) -> task.Words:
    return task.Words(config["words"].split())


def build(config: dict) -> nn.Module:
    vocab, d_model = len(words(config)), config["d_model"]
    return Bag(vocab, d_model) if config["kind"] == "bag" else MemN2N(vocab, d_model, config["hops"])


def lessons(config: dict, seed: int, steps: int) -> Iterator[tuple]:
    """Batches of all kinds of question, mixed, each with what is to stand in the softmax's place at that step."""
    stories = [s for kind in task.KINDS for s in task.sample(config["stories"], seed, kind)]
    mixed = batches(task.tensors(stories, words(config)), config["batch"], seed)
    for step, (story, count, question, answer) in enumerate(mixed):
        normalise = linear if step < config["linear"] * steps else masks.softmax
        yield story[:, : int(count.max())], count, question, answer, normalise


def loss(model: nn.Module, batch: tuple, config: dict) -> Tensor:
    """The answer is all that is taught: no fact is pointed out."""
    story, count, question, answer, normalise = batch
    noisy = random_noise(story, count, config["noise"])
    return F.cross_entropy(model(*noisy, question, normalise).logits, answer)


def train(model, config, seed, steps, checkpoint=None, device=None):
    def schedule(step):  # a short warm-up, half the way level, then a straight line to nothing
        return min((step + 1) / 100, 1, 2 * (1 - step / steps))

    return fit(
        model, lessons(config, seed, steps), partial(loss, config=config), steps, lr=config["lr"], schedule=schedule,
        clip=10.0, seed=seed, checkpoint=checkpoint, device=device,
    )  # fmt: skip


@torch.no_grad()
def read(model: nn.Module, stories: Sequence[task.Story], config: dict) -> Reading:
    device = next(model.parameters()).device
    story, count, question, _ = (part.to(device) for part in task.tensors(stories, words(config)))
    return Reading(*(part.cpu() for part in model(story, count, question)))


def wrong(reading: Reading, stories: Sequence[task.Story], config: dict) -> Tensor:
    """Is the most likely word not the answer?    -> bool (n,)"""
    ids = words(config).ids
    return reading.logits.argmax(1) != torch.tensor([ids[s.answer] for s in stories])


def on_facts(reading: Reading, stories: Sequence[task.Story]) -> Tensor:
    """The weight of each hop on each supporting fact, in the order in which one needs them.    -> (n, hops, facts)"""
    facts = torch.tensor([s.facts for s in stories])  # (n, facts)
    return reading.weights.gather(2, facts[:, None].expand(-1, reading.weights.shape[1], -1))


def evaluate(model, config, seed, n: int = 1_000) -> dict[str, float]:
    """On held-out stories, n for each number of facts.

    error_F: wrong answers; support_F: attention on the supporting facts, mean over the hops;
    hopK_factI_of_F: the weight of hop K on fact I
    """
    metrics = {}
    for kind in task.KINDS:
        stories = task.sample(n, seed, kind, held_out=True)
        reading = read(model, stories, config)
        metrics[f"error_{kind}"] = wrong(reading, stories, config).float().mean().item()
        if config["kind"] == "memn2n":
            looks = on_facts(reading, stories).mean(0)  # (hops, facts)
            metrics[f"support_{kind}"] = looks.sum(1).mean().item()
            for hop, row in enumerate(looks.tolist(), 1):
                metrics |= {f"hop{hop}_fact{fact}_of_{kind}": weight for fact, weight in enumerate(row, 1)}
    return metrics


KINDS = {  # name: about, steps, then config's arguments
    "memn2n-stories": ("memory network, three hops: where is it, where was it?", 5_000, "memn2n", 3, 32),
    "memn2n-stories-2hop": ("the same with two hops", 5_000, "memn2n", 2, 32),
    "memn2n-stories-1hop": ("the same with one hop", 5_000, "memn2n", 1, 32),
    "bag-stories": ("a bag of words on the same stories", 2_000, "bag", 0, 128),
}
RECIPES = [
    Recipe(name, about, partial(config, *rest), build, train, steps=steps, evaluate=evaluate)
    for name, (about, steps, *rest) in KINDS.items()
]
