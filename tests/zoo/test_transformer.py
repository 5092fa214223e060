"""Parsing as translation, and what the Transformer's zoo models promise."""

import pytest
import torch
from torch.testing import assert_close

from attncourse import zoo
from attncourse.core.symbols import PAD, shift_right
from attncourse.tasks import parsing, translation
from attncourse.zoo import transformer as recipe
from attncourse.zoo.translation import measure

TREE = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PP (IN in) (NP (DT the) (NN house)))))"
LINE = "(S (NP DT NN )NP (VP VBZ (PP IN (NP DT NN )NP )PP )VP )S".split()


# ---- trees as a language ----


def test_a_tree_as_a_line_by_hand():
    assert parsing.linearise(TREE) == LINE
    assert parsing.spans(LINE) == [("NP", 0, 2), ("NP", 4, 6), ("PP", 3, 6), ("VP", 2, 6), ("S", 0, 6)]


def rebuilt(symbols, words):
    """The bracketing back from the line and the words: an inverse written apart from the task."""
    words, text = iter(words), ""
    for symbol in symbols:
        if symbol.startswith("("):
            text += f" {symbol}"
        else:
            text += ")" if symbol.startswith(")") else f" ({symbol} {next(words)})"
    return text.strip()


def test_every_tree_comes_back():
    examples = translation.sample(300, seed=9, lengths=(3, 15))
    vocabulary = parsing.vocabulary()
    for e in examples:
        line = parsing.linearise(e.tree)
        assert rebuilt(line, e.english) == e.tree
        assert all(symbol in vocabulary.ids for symbol in line)
        assert parsing.spans(line)[-1] == ("S", 0, len(e.english))
    source, lengths, target, target_lengths = parsing.tensors(examples, translation.vocabularies()[0], vocabulary)
    assert vocabulary.decode(target.tolist()) == [" ".join(parsing.linearise(e.tree)) for e in examples]
    assert lengths.max() == 16 and target_lengths.max() == target.shape[1] and len(source) == 300


@pytest.mark.parametrize(
    "line",
    ["", "DT", "(S", "(S )S", "(S NP", "(S DT )NP", ")S", "(S DT )S )S", "(S DT )S NN", "(S DT )S (S NN )S",
     "(S (NP )NP NN )S", "(S (NP DT )S )NP", "DT (S NN )S"],
)  # fmt: skip
def test_what_is_no_tree(line):
    assert parsing.spans(line.split()) is None
    assert parsing.count(line.split(), LINE) == (0, 0, 5)


def test_f1_by_hand():
    flat = "(S (NP DT NN )NP (VP VBZ IN (NP DT NN )NP )VP )S".split()  # without the PP
    assert parsing.count(flat, LINE) == (4, 4, 5)
    wrong = "(S (NP DT NN VBZ )NP (VP IN (NP DT NN )NP )VP )S".split()  # two brackets in the wrong place
    assert parsing.count(wrong, LINE) == (2, 4, 5)
    assert parsing.count([*LINE[:1], "DT", *LINE[1:]], LINE) == (0, 0, 5)  # a word too many: no bracket is right
    tags = [symbol.replace("VBZ", "VBP") for symbol in LINE]
    assert parsing.count(tags, LINE) == (5, 5, 5)  # tags are no brackets
    assert parsing.f1([(4, 4, 5), (2, 4, 5)]) == pytest.approx(2 * (6 / 8) * (6 / 10) / (6 / 8 + 6 / 10))
    twice = "(NP (NP NN )NP )NP".split()  # the same span twice counts twice
    assert parsing.count(twice, twice) == (2, 2, 2) and parsing.count("(NP NN )NP".split(), twice) == (1, 1, 2)


# ---- training's loss, and the measures of chapter 06 ----


@pytest.fixture(scope="module")
def translator():
    return zoo.load("transformer-translation")


def batch(n=5, seed=3):
    english, french = translation.vocabularies()
    return translation.tensors(translation.sample(n, seed), english, french)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_label_smoothing_by_hand(translator, smoothing):
    """The cross-entropy with 1 - ε on the true word and ε spread over all of them, padding left out."""
    model, tensors = translator[0], batch()
    source, lengths, target, _ = tensors
    assert (target == PAD).any()
    log_p = model(source, lengths, shift_right(target)).log_softmax(-1)
    goal = torch.full_like(log_p, smoothing / log_p.shape[-1])
    goal.scatter_add_(-1, target[..., None], torch.full_like(goal[..., :1], 1 - smoothing))
    expected = -(goal * log_p).sum(-1)[target != PAD].mean()
    assert_close(recipe.loss(model, tensors, smoothing), expected)


def test_looking_adds_the_last_layers_look(translator):
    model, _ = translator
    source, lengths, target, _ = batch()
    logits, weights = recipe.Looking(model)(source, lengths, shift_right(target))
    assert_close(logits, model(source, lengths, shift_right(target)))
    assert_close(weights, model.weights(source, lengths, shift_right(target)).cross[:, -1].mean(1))
    carry = model.begin(source, lengths)
    for t, y in enumerate(shift_right(target).unbind(1)):
        _, carry, looked = model.step(y, carry)
        assert_close(looked, weights[:, t], atol=1e-5, rtol=0)


def test_equal_data_for_all():
    """The same sentences, batches and schedule as chapter 06; only the model and its loss differ."""
    ours, theirs = (zoo.recipe(name).config() for name in ("transformer-translation", "luong-as-long"))
    assert all(ours[name] == theirs[name] for name in ("english", "french", "batch", "dropout"))
    small, cold, sharp = (zoo.recipe(f"transformer-small{name}").config() for name in ("", "-cold", "-sharp"))
    assert cold == small | {"warm_up": 1} and sharp == small | {"smoothing": 0.0}


# ---- what is promised ----


def test_the_translator_holds_its_promise(translator):
    """Fresh sentences, a seed that no card has used: BLEU 90 at least within the training length, every seed."""
    model, card = translator
    found = measure(recipe.Looking(model), translation.sample(200, 777, held_out=True), card["config"])
    assert found["bleu"] >= 90 and found["aer"] <= 0.1 and found["exact_match"] >= 0.85
    assert len(zoo.seeds("transformer-translation", "bleu")) == 3
    assert min(zoo.seeds("transformer-translation", "bleu")) >= 90


def test_the_parser_parses():
    model, card = zoo.load("transformer-parsing")
    found = recipe.brackets(model, card["config"], seed=777, n=150, lengths=(3, 10))
    assert found["f1"] >= 0.85
    assert card["metrics"]["f1"] >= 0.9 and card["metrics"]["well_formed"] >= 0.9
    [line] = recipe.parse(model, [["the", "cat", "sleeps", "here"]], card["config"])
    assert parsing.spans(line)[-1] == ("S", 0, 4)


@pytest.mark.slow
def test_a_few_steps_learn_something():
    """The recipe's own training, cut short, on the real data: the loss falls well below its start."""
    chosen = zoo.recipe("transformer-small")
    config = chosen.config()
    torch.manual_seed(0)
    history = chosen.train(chosen.build(config), config, seed=0, steps=40)
    assert history.loss[0] > 5.5 and history.smoothed(5)[-1] < history.loss[0] - 0.5
    assert history.lr[0] < history.lr[20]  # it warms up
