"""A small world of our own: people go to places, take objects, drop them and give them to one another.

Questions after the model of bAbI (Weston et al. 2015): the answer is always a place, and one, two or three sentences
of the story, known here as its `facts`, settle it together.

    where is anna                             1   her last move
    where is the ball                         2   who had it last, and where that person was
    where was the ball before the kitchen     3   who carried it, the move to the kitchen, the move before that

A story belongs to the training or to the held-out part for good: by a checksum of its words.
"""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from ..core.symbols import PAD
from .translation import Words

PEOPLE = ("anna", "bruno", "clara", "david")
PLACES = ("bathroom", "cellar", "garden", "hall", "kitchen", "office")
OBJECTS = ("ball", "book", "lamp")
GO, TAKE = ("went to", "moved to", "walked to"), ("took", "grabbed")
DROP, GIVE = ("dropped", "left"), ("gave", "handed")
KINDS = (1, 2, 3)  # supporting facts
SENTENCES = (6, 20)  # of a story
LONGEST = 7  # words, in a sentence or a question


class Story(NamedTuple):
    sentences: tuple[tuple[str, ...], ...]
    question: tuple[str, ...]
    answer: str
    facts: tuple[int, ...]  # the sentences that settle it, in the order in which one needs them


@dataclass
class World:
    """What is true after the sentences so far. A fact is the number of the sentence that says it."""

    sentences: list[tuple[str, ...]] = field(default_factory=list)
    moves: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # person: (fact, place), in order
    held: dict[str, tuple[int, str]] = field(default_factory=dict)  # object: (fact, who has it)
    lying: dict[str, tuple[int, str]] = field(default_factory=dict)  # object: (fact, who dropped it)
    seen: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)  # object: (place, facts), in order

    def say(self, text: str) -> int:
        self.sentences.append(tuple(text.split()))
        return len(self.sentences) - 1

    def place(self, who: str) -> str | None:
        return self.moves[who][-1][1] if who in self.moves else None

    def where(self, thing: str) -> tuple[str, tuple[int, ...]] | None:
        """The object's place, and the two facts that say so; None while nobody has touched it."""
        if thing not in self.held and thing not in self.lying:
            return None
        fact, who = self.held.get(thing) or self.lying[thing]
        until = len(self.sentences) if thing in self.held else fact
        move, place = [m for m in self.moves[who] if m[0] < until][-1]
        return place, (fact, move)


def possible(world: World, who: str) -> dict[str, list[tuple[str, ...]]]:
    """What this person can do with the objects, where they stand: verb: (object, perhaps to whom)."""
    here = world.place(who)
    if here is None:
        return {}
    mine = [thing for thing in OBJECTS if world.held.get(thing, (0, ""))[1] == who]
    others = [other for other in PEOPLE if other != who and world.place(other) == here]
    free = [thing for thing in OBJECTS if thing not in world.held]
    takes = [(thing,) for thing in free if thing not in world.lying or world.where(thing)[0] == here]
    found = {"take": takes, "drop": [(t,) for t in mine], "give": [(t, other) for t in mine for other in others]}
    return {verb: choices for verb, choices in found.items() if choices}


def act(world: World, rng: random.Random) -> None:
    """One more sentence: somebody does something with an object, or goes somewhere else."""
    who = rng.choice(PEOPLE)
    choices = possible(world, who)
    if choices and rng.random() < 0.5:
        verb = rng.choice(sorted(choices))  # the verb first: two who meet with an object give it as often as drop it
        handle(world, rng, who, verb, *rng.choice(choices[verb]))
        return
    place = rng.choice([p for p in PLACES if p != world.place(who)])
    world.moves.setdefault(who, []).append((world.say(f"{who} {rng.choice(GO)} the {place}"), place))
    for thing, (_, holder) in world.held.items():
        if holder == who:
            world.seen[thing].append(world.where(thing))


def handle(world: World, rng: random.Random, who: str, verb: str, thing: str, other: str = "") -> None:
    if verb == "drop":
        world.lying[thing] = world.say(f"{who} {rng.choice(DROP)} the {thing}"), who
        del world.held[thing]
        return
    if verb == "take":
        world.held[thing] = world.say(f"{who} {rng.choice(TAKE)} the {thing}"), who
        world.lying.pop(thing, None)
    else:
        world.held[thing] = world.say(f"{who} {rng.choice(GIVE)} the {thing} to {other}"), other
    world.seen.setdefault(thing, [world.where(thing)])


Asked = tuple[str, str, tuple[int, ...]]  # question, answer, facts


def questions(world: World, kind: int) -> list[Asked]:
    """Every question with so many supporting facts that has one answer."""
    if kind == 1:
        return [(f"where is {who}", moves[-1][1], moves[-1][:1]) for who, moves in world.moves.items()]
    if kind == 2:
        return [(f"where is the {thing}", *world.where(thing)) for thing in world.seen]
    return [asked for thing in world.seen for asked in before(world, thing)]


def before(world: World, thing: str) -> list[Asked]:
    """Where was it before each place that it was brought to? Its carrier's move before that one says so."""
    places, found = [place for place, _ in world.seen[thing]], []
    for place, (had, move) in world.seen[thing][1:]:
        if places.count(place) == 1:  # else "before the kitchen" would be twice true
            who = world.sentences[move][0]
            earlier, answer = [m for m in world.moves[who] if m[0] < move][-1]
            found.append((f"where was the {thing} before the {place}", answer, (had, move, earlier)))
    return found


def tell(rng: random.Random, kind: int, sentences: tuple[int, int] = SENTENCES) -> Story:
    """A story and a question that needs `kind` of its sentences; tried anew until there is one to ask."""
    while True:
        world = World()
        for _ in range(rng.randint(*sentences)):
            act(world, rng)
        if asked := questions(world, kind):
            question, answer, facts = rng.choice(asked)
            return Story(tuple(world.sentences), tuple(question.split()), answer, facts)


def is_held_out(sentences: Sequence[Sequence[str]]) -> bool:
    return zlib.crc32(" ".join(word for words in sentences for word in words).encode()) % 4 == 0


@lru_cache(maxsize=16)
def sample(
    n: int, seed: int, kind: int, held_out: bool = False, sentences: tuple[int, int] = SENTENCES
) -> tuple[Story, ...]:
    """n different stories whose question needs `kind` facts, the same for a seed."""
    rng, found = random.Random(f"{seed} {kind}"), {}
    while len(found) < n:
        story = tell(rng, kind, sentences)
        if is_held_out(story.sentences) == held_out:
            found.setdefault((story.sentences, story.question), story)
    return tuple(found.values())


def last_place(story: Story) -> str:
    """The guess that looks clever: the place that the story mentions last."""
    return [word for words in story.sentences for word in words if word in PLACES][-1]


def vocabulary() -> Words:
    verbs = " ".join(GO + TAKE + DROP + GIVE).split()
    return Words(sorted({*PEOPLE, *PLACES, *OBJECTS, *verbs, "the", "where", "is", "was", "before"}))


def tensors(stories: Sequence[Story], words: Words) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """-> sentences (n, N, LONGEST) in the order of telling, their count (n,), question (n, LONGEST), answer (n,)"""
    count = torch.tensor([len(s.sentences) for s in stories])
    told = [[row for s in stories for row in s.sentences], [s.question for s in stories]]
    flat, question = (torch.tensor([[words.ids[w] for w in t] + [PAD] * (LONGEST - len(t)) for t in p]) for p in told)
    sentences = torch.nn.utils.rnn.pad_sequence(flat.split(count.tolist()), batch_first=True, padding_value=PAD)
    return sentences, count, question, torch.tensor([words.ids[s.answer] for s in stories])


def end_to_end(sentences: Tensor) -> Tensor:
    """The words of a story as one text, without the gaps between sentences.    (n, N, W) -> (n, T)"""
    flat = sentences.flatten(1)
    order = (flat == PAD).long().argsort(dim=1, stable=True)  # words first, each where it was among the words
    return flat.gather(1, order)[:, : int((flat != PAD).sum(1).max())]
