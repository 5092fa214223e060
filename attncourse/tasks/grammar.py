"""A grammar that writes English and French together, so that tree and alignment are known.

The upper half builds phrases from given parts, the lower half draws the parts at random. A French word remembers
the English words it stands for: `sure` when there is one, `also` when another link would be right as well.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from . import french as f
from .french import agree, conjugate, entries


class Leaf:
    """One English word in the tree; compared by identity, a sentence may hold `the` three times."""

    def __init__(self, tag: str, word: str):
        self.tag, self.word = tag, word


class Word(NamedTuple):
    text: str
    before_vowel: str  # le -> l', beau -> bel
    sure: tuple[Leaf, ...]
    also: tuple[Leaf, ...] = ()


class Phrase(NamedTuple):
    tree: list  # ["NP", Leaf, ["PP", …]]
    french: list[Word]
    gender: str = "m"
    number: str = "sg"
    kind: str = "animate"


def word(text: str, *sure: Leaf, also: tuple[Leaf, ...] = (), before_vowel: str = "") -> Word:
    return Word(text, before_vowel or f.ELIDED.get(text, text), sure, also)


# ---- phrases from their parts ----


def determiner(name: str, gender: str, number: str, before: bool, negated: bool) -> tuple[list[Leaf], list[Word]]:
    """`before`: an adjective precedes the noun (de petits chats); `negated`: the object of ne … pas (pas de chat)"""
    many, she = number == "pl", gender == "f"
    numbers = dict(entries(f.NUMBERS))
    if name == "some" and negated:
        name = "any"
    leaf = Leaf("CD" if name in numbers else "PRP$" if name in f.POSSESSIVES else "DT", name)
    if name in ("a", "some", "any"):
        alone = {"a": "une" if she else "un", "some": "de" if before else "des", "any": "de"}[name]
        return [leaf], [word("de" if negated else alone, leaf)]
    if name == "all":
        the = Leaf("DT", "the")
        return [leaf, the], [word("toutes" if she else "tous", leaf), word("les", the)]
    if name == "many":
        return [leaf], [word("beaucoup", leaf), word("de", leaf)]
    if name in f.POSSESSIVES:
        return [leaf], [word(f.POSSESSIVES[name][2 if many else int(she)], leaf)]
    plain = {"the": "les" if many else "la" if she else "le", "this": "cette" if she else "ce", "these": "ces"}
    plain |= {"every": "chaque", "several": "plusieurs"} | numbers
    return [leaf], [word(plain[name], leaf)]


def noun_phrase(
    det: str, adjectives: Sequence[tuple[str, str, str]], noun: tuple, number: str = "sg",
    kind: str = "thing", after: Sequence[Phrase] = (), negated: bool = False,
) -> Phrase:  # fmt: skip
    """adjectives (class, english, french) in the English order; noun (english, french, gender)

    French puts the adjectives of size before the noun and mirrors the others behind it:
    the big red French car -> la grande voiture française rouge
    """
    english, name, gender = noun
    head = Leaf("NN" if number == "sg" else "NNS", english if number == "sg" else f.english_plural(english))
    pairs = [(group, Leaf("JJ", e), adjective) for group, e, adjective in adjectives]
    first = [p for p in pairs if p[0] == "size"]
    dets, words = determiner(det, gender, number, bool(first), negated)
    for _, leaf, adjective in first:
        special = f.BEFORE_VOWEL.get(adjective, "") if (gender, number) == ("m", "sg") else ""
        words.append(word(agree(adjective, gender, number), leaf, before_vowel=special))
    words.append(word(name if number == "sg" else f.plural(name), head))
    words += [word(agree(a, gender, number), leaf) for group, leaf, a in reversed(pairs) if group != "size"]
    tree = ["NP", *dets, *(leaf for _, leaf, _ in pairs), head]
    for phrase in after:
        tree, words = ["NP", tree, phrase.tree], words + phrase.french
    return Phrase(tree, words, gender, number, kind)


def pronoun(name: str) -> Phrase:
    leaf = Leaf("PRP", name)
    text, gender, number = {"he": ("il", "m", "sg"), "she": ("elle", "f", "sg"), "they": ("ils", "m", "pl")}[name]
    return Phrase(["NP", leaf], [word(text, leaf)], gender, number)


def both(left: Phrase, right: Phrase) -> Phrase:
    """left and right: plural, and masculine unless both are feminine"""
    leaf, gender = Leaf("CC", "and"), "f" if left.gender == right.gender == "f" else "m"
    return Phrase(["NP", left.tree, leaf, right.tree], [*left.french, word("et", leaf), *right.french], gender, "pl")


def prepositional(english: str, name: str, noun: Phrase) -> Phrase:
    """english may be several words (in front of), name too (près de); the main one carries the sure link"""
    leaves = [Leaf("IN", w) for w in english.split()]
    main = leaves[len(leaves) // 2]
    others = tuple(leaf for leaf in leaves if leaf is not main)
    return Phrase(["PP", *leaves, noun.tree], [*(word(w, main, also=others) for w in name.split()), *noun.french])


def finite(verb: tuple, number: str, mood: str) -> tuple[list[Leaf], list[Word]]:
    """A verb in the present, plain, or with `not`, `never` or another adverb.    ne/n' … pas goes around it"""
    english, name = conjugate(verb, number)
    tag = "VBZ" if number == "sg" else "VBP"
    if mood == "not":
        do, no, base = Leaf(tag, "does" if number == "sg" else "do"), Leaf("RB", "not"), Leaf("VB", verb[0])
        return [do, no, base], [word("ne", no), word(name, base, also=(do,)), word("pas", no)]
    leaf = Leaf(tag, english)
    if not mood:
        return [leaf], [word(name, leaf)]
    adverb = Leaf("RB", mood)
    return [adverb, leaf], around(adverb, word(name, leaf))


def around(adverb: Leaf, verb: Word) -> list[Word]:
    """not -> ne … pas, never -> ne … jamais, often -> … souvent"""
    if adverb.word in ("not", "never"):
        return [word("ne", adverb), verb, word("pas" if adverb.word == "not" else "jamais", adverb)]
    return [verb, word(dict(entries(f.ADVERBS))[adverb.word], adverb)]


def to_be(subject: Phrase, mood: str, rest: tuple[str, str], passive: bool = False) -> Phrase:
    """is tired -> est fatigué; was not signed -> n'a pas été signé; rest (english, french masculine singular)"""
    one = subject.number == "sg"
    be = Leaf("VBD", "was" if one else "were") if passive else Leaf("VBZ" if one else "VBP", "is" if one else "are")
    verb = word({(True, True): "a", (True, False): "ont", (False, True): "est"}.get((passive, one), "sont"), be)
    adverb = [Leaf("RB", mood)] if mood else []
    leaf = Leaf("VBN" if passive else "JJ", rest[0])
    words = around(adverb[0], verb) if adverb else [verb]
    words += [word("été", be)] if passive else []
    words.append(word(agree(rest[1], subject.gender, subject.number), leaf))
    return Phrase(["VP", be, *adverb, ["VP" if passive else "ADJP", leaf]], words, kind="passive" if passive else "")


def verb_phrase(verb: tuple, number: str, mood: str = "", *after: Phrase) -> Phrase:
    leaves, words = finite(verb, number, mood)
    return Phrase(["VP", *leaves, *(p.tree for p in after)], [*words, *(w for p in after for w in p.french)])


def clause(subject: Phrase, verb: Phrase, *after: Phrase) -> Phrase:
    parts = [subject, verb, *after]
    return Phrase(["S", *(p.tree for p in parts)], [w for p in parts for w in p.french])


def introduced(english: str, name: str, inner: Phrase, tag: str = "IN") -> Phrase:
    """that S -> que S, because S -> parce que S, who VP -> qui VP"""
    leaf = Leaf(tag, english)
    return Phrase(["SBAR", leaf, inner.tree], [*(word(w, leaf) for w in name.split()), *inner.french])


def date(month: tuple[str, str], year: str) -> Phrase:
    leaves = Leaf("IN", "in"), Leaf("NNP", month[0]), Leaf("CD", year)
    texts = zip(("en", month[1], year), leaves, strict=True)
    return Phrase(["PP", leaves[0], ["NP", *leaves[1:]]], [word(text, leaf) for text, leaf in texts])


# ---- parts at random ----


def some_noun(rng: Random, kinds: str, depth: int, negated: bool = False, after_de: bool = False) -> Phrase:
    """A noun phrase of one of the kinds; the deeper, the more may hang on it."""
    kind = rng.choice(kinds.split())
    noun = rng.choice(entries(f.NOUNS[kind]))
    number = rng.choices(("sg", "pl"), (0.65, 0.35))[0]
    groups = ["size", kind, "nation"] + ["domain"] * (kind == "abstract")
    count = rng.choices((0, 1, 2, 3), (0.5, 0.33, 0.15, 0.02))[0]
    chosen = sorted(rng.sample(groups, min(count, len(groups))), key=list(f.ADJECTIVES).index)
    adjectives = [(group, *rng.choice(entries(f.ADJECTIVES[group]))) for group in chosen]
    mine, numbers = rng.choice(list(f.POSSESSIVES)), [e for e, _ in entries(f.NUMBERS)]
    if number == "sg":
        dets, shares = ("the", "a", mine, "this", "every"), (0.45, 0.25, 0.15, 0.1, 0.05)
    else:  # de + des would be de: a case left out
        dets = ("the", "the" if after_de else "some", mine, "these", rng.choice(numbers), "many", "several", "all")
        shares = (0.35, 0.2, 0.15, 0.1, 0.08, 0.04, 0.04, 0.04)
    det = rng.choices(dets, shares)[0]
    after = [hanging(rng, kind, number, depth - 1)] if depth > 0 and rng.random() < 0.4 else []
    return noun_phrase(det, adjectives, noun, number, kind, after, negated and det in ("a", "some"))


def hanging(rng: Random, kind: str, number: str, depth: int) -> Phrase:
    """What may follow a noun: of …, on …, in …, or a relative clause"""
    choice = rng.random()
    if choice < 0.3:
        return prepositional("of", "de", some_noun(rng, "animate abstract", depth, after_de=True))
    if choice < 0.55 and kind == "abstract":
        return prepositional("on", "sur", some_noun(rng, "abstract", depth))
    if choice < 0.55:
        return some_place(rng, depth)
    who = "who" if kind == "animate" else "that"
    if choice < 0.8 and kind in ("animate", "abstract"):
        return introduced(who, "qui", some_verb(rng, Phrase([], [], "m", number, kind), depth, bare=True), "WP")
    subject = some_subject(rng, "animate", 0)
    leaves, words = finite(rng.choice(entries(f.VERBS["any"])), subject.number, some_mood(rng))
    inner = Phrase(["S", subject.tree, ["VP", *leaves]], [*subject.french, *words])
    return introduced("that", "que", inner, "WP")


def some_place(rng: Random, depth: int) -> Phrase:
    name = rng.choices(("in", "behind", "under", "on", "near", "front"), (0.4, 0.12, 0.12, 0.12, 0.12, 0.12))[0]
    kinds = {"in": "place", "under": "thing", "on": "thing"}.get(name, "place thing")
    if name == "front":
        return prepositional("in front of", "devant", some_noun(rng, kinds, depth))
    name_fr = dict(entries(f.PLACED))[name] + (" de" if name == "near" else "")
    return prepositional(name, name_fr, some_noun(rng, kinds, depth, after_de=name == "near"))


def some_mood(rng: Random) -> str:
    often = rng.choice(entries(f.ADVERBS))[0]
    return rng.choices(("", "not", "never", often), (0.7, 0.16, 0.04, 0.1))[0]


def some_subject(rng: Random, kinds: str, depth: int) -> Phrase:
    choice = rng.random()
    if choice < 0.12 and "animate" in kinds:
        return pronoun(rng.choice(("he", "she", "they")))
    if choice < 0.2 and depth > 0 and "animate" in kinds:
        return both(some_noun(rng, "animate", 0), some_noun(rng, "animate", 0))
    return some_noun(rng, kinds, depth)


def some_verb(rng: Random, subject: Phrase, depth: int, bare: bool = False) -> Phrase:
    """What is said of the subject; `bare`: nothing that needs to know its gender (in a relative clause)"""
    number, mood = subject.number, some_mood(rng)
    if subject.kind != "animate" and not bare and rng.random() < 0.6:
        if subject.kind == "abstract" and rng.random() < 0.6:
            return to_be(subject, mood, rng.choice(entries(f.PARTICIPLES)), passive=True)
        return to_be(subject, mood, rng.choice(entries(f.ADJECTIVES[subject.kind])))
    if subject.kind != "animate":
        verb = rng.choice(entries(f.VERBS["caused"]))
        return verb_phrase(verb, number, mood, some_noun(rng, "animate abstract", depth, mood in ("not", "never")))
    kinds = ("any", "animate", "thing", "place", "abstract", "none", "to", "from", "be", "clause")
    shares = [0.24, 0.08, 0.12, 0.05, 0.12, 0.12, 0.07, 0.03, 0 if bare else 0.1, 0.07 if depth > 0 else 0]
    kind = rng.choices(kinds, shares)[0]
    if kind == "be":
        return to_be(subject, mood, rng.choice(entries(f.ADJECTIVES["animate"])))
    verb = rng.choice(entries(f.VERBS[kind]))
    if kind == "none":
        return verb_phrase(verb, number, mood, *([some_place(rng, 0)] if rng.random() < 0.6 else []))
    if kind in ("to", "from"):
        goal = some_noun(rng, "animate" if verb[0] == "belong" else "place", 0, after_de=kind == "from")
        return verb_phrase(verb, number, mood, prepositional(kind, {"to": "à", "from": "de"}[kind], goal))
    if kind == "clause":  # no negation: ne pense pas que would ask for the subjunctive
        return verb_phrase(verb, number, "", introduced("that", "que", some_clause(rng, depth - 1)))
    objects = "animate thing place abstract" if kind == "any" else kind
    return verb_phrase(verb, number, mood, some_noun(rng, objects, depth, mood in ("not", "never")))


def some_clause(rng: Random, depth: int) -> Phrase:
    subject = some_subject(rng, rng.choices(("animate", "abstract", "thing place"), (0.7, 0.2, 0.1))[0], depth)
    verb = some_verb(rng, subject, depth)
    after = []
    if verb.kind == "passive":
        if rng.random() < 0.5:
            after = [date(rng.choice(entries(f.MONTHS)), rng.choice(f.YEARS))]
    elif rng.random() < 0.15:
        english, name = rng.choice(entries(f.WHEN))
        leaf = Leaf("RB", english)
        after = [Phrase(["ADVP", leaf], [word(name, leaf)])]
    return clause(subject, verb, *after)


def some_sentence(rng: Random) -> Phrase:
    depth = rng.choice((0, 0, 1, 1, 2))
    first = some_clause(rng, depth)
    if rng.random() < 0.15:
        english, name = rng.choice((("and", "et"), ("but", "mais"), ("because", "parce que"), ("when", "quand")))
        joined = introduced(english, name, some_clause(rng, max(0, depth - 1)), "CC")
        first = Phrase(["S", first.tree, joined.tree], first.french + joined.french)
    return first
