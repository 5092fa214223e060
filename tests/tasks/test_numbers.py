"""Number words: what is said is what num2words says, the splits never meet, and the shipped models keep their word."""

import random
from typing import NamedTuple

import pytest
import torch
from num2words import num2words

from attncourse import zoo
from attncourse.core.symbols import END, PAD, UNKNOWN
from attncourse.tasks import numbers
from attncourse.tasks.text import Vocabulary
from attncourse.zoo import numbers as recipes

NAMES = ["seq2seq-numbers", "seq2seq-numbers-reversed", "bahdanau-numbers"]


class Looks(NamedTuple):
    target: torch.Tensor
    at: torch.Tensor
    sizes: torch.Tensor
    lengths: torch.Tensor


some = numbers.sample(3_000, seed=5)


def test_words_are_num2words():
    for e in some[:500]:
        text = num2words(int(e.digits), lang=e.language).lower()
        assert e.text == text or (e.language == "da" and "en millioner" in text)
    assert numbers.say(65, "de") == "fünfundsechzig" and numbers.say(97, "fr") == "quatre-vingt-dix-sept"
    assert numbers.say(1_000_000, "da") == "en million" and numbers.say(75, "da") == "femoghalvfjerds"


def test_no_text_has_two_readings():
    """Across all languages the same words never mean two numbers."""
    meaning = {}
    every = [(e.text, e.digits) for e in some] + [
        (numbers.say(n, x), str(n)) for n in range(1500) for x in ("de", "nl")
    ]
    for text, digits in every:
        assert meaning.setdefault(text, digits) == digits, text


def test_languages_and_lengths():
    assert len(numbers.LANGUAGES) >= 6 and {e.language for e in some} == set(numbers.LANGUAGES)
    assert max(len(e.text) for e in some) == numbers.LONGEST
    assert {len(e.digits) for e in some} == set(range(1, 10))
    longer = numbers.sample(300, seed=5, test=True, lengths=(numbers.LONGEST + 1, numbers.BEYOND))
    assert all(numbers.LONGEST < len(e.text) <= numbers.BEYOND for e in longer)
    assert numbers.BEYOND == 1.5 * numbers.LONGEST


def test_longer_texts_hold_no_new_words():
    """What is beyond the training length is beyond it in length alone (per language; a joined word is its pieces)."""
    spaced = ("en", "fr", "es")

    def words(examples):
        return {(e.language, w) for e in examples for w in e.text.replace("-", " ").replace(",", "").split()}

    longer = numbers.sample(300, seed=6, test=True, languages=spaced, lengths=(numbers.LONGEST + 1, numbers.BEYOND))
    assert words(longer) <= words(numbers.sample(10_000, seed=0, languages=spaced))


def test_same_seed_same_numbers_and_splits_never_meet():
    assert numbers.sample(50, seed=7) == numbers.sample(50, seed=7) != numbers.sample(50, seed=8)
    assert not any(numbers.held_out(int(e.digits)) for e in some)
    assert all(numbers.held_out(int(e.digits)) for e in numbers.sample(300, seed=5, test=True))
    assert not any(map(numbers.held_out, range(10)))
    for last in range(10):  # held out numbers end in every digit about equally often
        share = sum(numbers.held_out(n) for n in range(1000 + last, 100_000, 10)) / 9_900
        assert 0.07 < share < 0.13


def test_draw_covers_every_size():
    rng = random.Random(0)
    drawn = [numbers.draw(rng) for _ in range(4_000)]
    assert {len(str(n)) for n in drawn} == set(range(1, 10)) and set(range(10)) <= set(drawn)


def test_tensors_round_trip_and_no_unknown_symbol():
    vocabulary = numbers.source_vocabulary()
    beyond = numbers.sample(200, seed=1, test=True, lengths=(37, 200))
    source, lengths, target, target_lengths = numbers.tensors(some + beyond, vocabulary)
    assert (source != UNKNOWN).all()
    assert vocabulary.decode(source[:9]) == [e.text for e in some[:9]]
    assert numbers.TARGET.decode(target[:9]) == [e.digits for e in some[:9]]
    assert (target.gather(1, target_lengths[:, None] - 1) == END).all()
    assert (source.gather(1, lengths[:, None] - 1) == END).all()


def test_buckets_hold_every_example_once_an_epoch_and_little_padding():
    data = numbers.tensors(some, numbers.source_vocabulary())
    stream, epoch = recipes.bucketed(data, 64, seed=3), []
    while sum(len(batch[0]) for batch in epoch) < len(some):
        epoch.append(next(stream))
    rows = [text for source, *_ in epoch for text in numbers.source_vocabulary().decode(source)]
    assert sorted(rows) == sorted(e.text for e in some)
    padding = sum((source == PAD).sum().item() for source, *_ in epoch)
    assert padding < 0.1 * data[1].sum()
    again = next(recipes.bucketed(data, 64, seed=3))
    assert all(torch.equal(x, y) for x, y in zip(again, epoch[0], strict=True))
    for source, lengths, target, target_lengths in epoch:
        assert source.shape[1] == lengths.max() and target.shape[1] == target_lengths.max()


def test_reversal_is_of_the_text():
    assert recipes.backwards("abc") == "cba" and recipes.as_is("abc") == "abc"


@pytest.mark.parametrize("name", NAMES)
def test_equal_terms(name):
    card = zoo.card(name)
    others = [zoo.card(other) for other in NAMES]
    assert all(abs(card["parameters"] / other["parameters"] - 1) < 0.05 for other in others)
    assert all(card["steps"] == other["steps"] for other in others)
    assert len(zoo.seeds(name, "exact_match")) == 3
    assert Vocabulary(card["config"]["alphabet"]).ids == numbers.source_vocabulary().ids


def test_the_promise_on_fresh_numbers():
    """A seed that no card has used: RNNsearch at least 95%, and it holds where the plain model falls."""
    drop = {}
    for name in ("seq2seq-numbers", "bahdanau-numbers"):
        model, card = zoo.load(name)
        metrics = recipes.evaluate(recipes.as_is, model, card["config"], seed=4321, n=1_000)
        drop[name] = metrics["exact_match_shortest"] - metrics["exact_match_longest"]
        assert abs(metrics["exact_match"] - card["metrics"]["exact_match"]) < 0.05
    assert metrics["exact_match"] >= 0.95
    assert drop["seq2seq-numbers"] >= 2 * max(drop["bahdanau-numbers"], 0.0)


def test_endings_stand_where_crossings_looks():
    for language in numbers.LANGUAGES:
        for e in numbers.sample(300, seed=41, test=True, languages=(language,)):
            if e.digits[-1] > "0" and e.digits[-2:-1] > "1":
                assert e.text.endswith(numbers.say(int(e.digits[-2:]), language)), e


@pytest.mark.parametrize("flip", [False, True])
def test_crossings_counts_what_it_should(flip):
    """A stand-in that knows the answers and where it looks: at the last two letters, in order or crossed."""
    known = {e.text: e.digits for e in numbers.sample(200, 41, True, ("de",))}

    class Knowing(torch.nn.Linear):
        def begin(self, source, lengths):
            digits = [known[text] for text in numbers.source_vocabulary().decode(source)]
            target, sizes = numbers.TARGET.encode(digits)
            return Looks(target, torch.zeros_like(sizes), sizes, lengths)

        def step(self, previous, carry):
            here = carry.target.gather(1, carry.at[:, None].clamp(max=carry.target.shape[1] - 1))[:, 0]
            left = carry.sizes - 2 - carry.at  # digits after this one: 1 for the tens, 0 for the units
            place = carry.lengths - (3 - left if flip else 2 + left)  # lengths count the END
            weights = torch.nn.functional.one_hot(place.clamp(0, 60), 61).float()
            logits = torch.nn.functional.one_hot(here, len(numbers.TARGET)).float()
            return logits, carry._replace(at=carry.at + 1), weights + 1e-6

    peaks, centres, n = recipes.crossings(Knowing(1, 1), "de", numbers.source_vocabulary().characters, n=200)
    assert n > 10 and peaks == centres == (n if flip else 0)


def test_the_squeezed_networks_differ_in_their_vector():
    models, card = zoo.load("squeeze-numbers")
    assert [m.encoder.forwards.hidden_size for m in models.values()] == [int(size) for size in models]
    assert {m.decoder.cell.hidden_size for m in models.values()} == {card["config"]["d_hidden"]}
