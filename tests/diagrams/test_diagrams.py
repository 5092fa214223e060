"""Drawings: well-formed, scoped, readable on a phone, and true to the tensors and the names of the course."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from places import ROOT

from attncourse import course, diagrams, zoo
from attncourse.core import scores
from attncourse.diagrams import kit, seq2seq, shapes, transformer
from attncourse.tasks import dates
from attncourse.zoo.translation import words

DRAWINGS = {name: getattr(diagrams, name)() for name in diagrams.EXPORTS}
SVG = "{http://www.w3.org/2000/svg}"
X = '<tspan class="symbol">x</tspan>'
PHONE = 380 - 2 * 24  # pixels that a page of 380 leaves for a drawing


def tree(drawing):
    return ElementTree.fromstring(drawing.to_svg())


each_drawing = pytest.mark.parametrize("name", DRAWINGS)


@each_drawing
def test_it_has_a_title_a_description_and_ids_of_its_own(name):
    root = tree(DRAWINGS[name])
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{name}-title {name}-about"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) and all(id.startswith(f"{name}-") for id in ids)
    title, about = root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text
    assert len(title) > 10 and len(about.split()) > 25, "the description tells the same story in words"
    assert set(re.findall(r"url\(#([\w-]+)\)", DRAWINGS[name].to_svg())) <= set(ids)


@each_drawing
def test_nothing_is_drawn_outside(name):
    drawing = DRAWINGS[name]
    for element in tree(drawing).iter():
        if element.tag == f"{SVG}rect":
            x, y, wide, high = (float(element.get(a)) for a in ("x", "y", "width", "height"))
            assert -0.1 <= x and x + wide <= drawing.width + 0.1, (x, wide)
            assert -0.1 <= y and y + high <= drawing.height + 0.1, (y, high)
        if element.tag == f"{SVG}text":
            assert 0 <= float(element.get("x")) <= drawing.width and 0 <= float(element.get("y")) <= drawing.height


@each_drawing
def test_no_text_is_smaller_than_ten_pixels_on_a_phone(name):
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", kit.STYLE)]
    assert min(sizes) == kit.SMALL and kit.SMALL * PHONE / DRAWINGS[name].width >= 10


@each_drawing
def test_a_name_on_a_drawing_is_a_name_of_its_chapter(name):
    """Of the symbol table or of the code: pointing at it in one place lights it in the others."""
    pages = [ROOT / f"book/chapters/{page.id}.md" for page in course.read().executed if name in page.diagrams]
    pages += [p for p in (ROOT / "book").glob("*.md") if f"```{{drawing}} {name}\n" in p.read_text(encoding="utf-8")]
    assert pages, f"no page shows {name}"
    for page in pages:
        text = page.read_text(encoding="utf-8")
        code = "\n".join(re.findall(r"```\{code-cell\}.*?\n```", text, re.DOTALL))
        table = " ".join(re.findall(r"`[^`]+`", "\n".join(line for line in text.splitlines() if line.startswith("|"))))
        known = set(re.findall(r"[A-Za-z_]\w*", code + " " + table))
        assert DRAWINGS[name].names <= known, DRAWINGS[name].names - known


def test_shapes_are_those_of_the_tensors():
    letters = {2: "B", 5: "S", 14: "2H"}
    assert shapes.in_letters(torch.zeros(2, 5, 14), letters) == "(B, S, 2H)"
    assert shapes.in_letters(torch.zeros(2, 1), letters) == "(B, 1)"
    assert shapes.in_letters(torch.zeros(5), letters) == "(S,)"
    with pytest.raises(ValueError, match=r"shape \(2, 9\); which axis is 9\? There are: B = 2, S = 5, 2H = 14"):
        shapes.in_letters(torch.zeros(2, 9), letters)


def test_a_shape_that_nobody_computed_is_refused():
    drawing = kit.Diagram("x", 10, 10, "t", "d", {"h": "(B, H)"})
    with pytest.raises(KeyError, match="given no shape of 'c'; it has: h"):
        drawing.arrow((0, 0), (5, 5), carries="c")


def test_no_shape_is_typed():
    """A shape in brackets stands in the source of no drawing; it comes from a tensor."""
    for path in (ROOT / "attncourse/diagrams").glob("*.py"):
        strings = re.findall(r'"[^"\n]*"', re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL))
        typed = [s for s in strings if re.search(r"\([A-Z]\w?(, \w+)+\)", s)]
        assert path.name == "kit.py" or not typed, (path, typed)


@pytest.mark.parametrize(
    ("words", "svg"),
    [
        ("plain text", "plain text"),
        ("a < b", "a &lt; b"),
        ("x_2", f'{X}<tspan class="index" dy="4.5">2</tspan><tspan dy="-4.5">\u200b</tspan>'),
        ("the $x$ axis", f"the {X} axis"),
        ("$2$", "2"),
    ],
)
def test_labels(words, svg):
    assert kit.math(words) == svg


def test_numbers_have_a_true_minus():
    assert kit.number(-2) == "−2" and kit.number(0.5, 2) == "0.50"


def test_steps_are_marked():
    drawing = kit.Diagram("x", 100, 100, "t", "d")
    drawing.box(50, 50, 10, 10, "a", step=(1, 3), name="a")
    assert 'data-step="1 3"' in drawing.to_svg() and drawing.names == {"a"}


def in_numbers(shape, sizes):
    """ "(B, S, 2H)" -> (1, 7, 192), with the sizes of a real model"""
    axes = [axis.strip() for axis in shape.strip("(,)").split(",")]
    return tuple(int(axis[:-1] or 1) * sizes[axis[-1]] if axis == "2H" else sizes[axis] for axis in axes)


@torch.no_grad()
def test_the_shapes_on_rnnsearch_are_those_of_the_trained_model():
    model, card = zoo.load("bahdanau-dates")
    source, lengths = dates.Vocabulary(card["config"]["alphabet"]).encode(["5 mar 2024"])
    carry = model.begin(source, lengths)
    logits, after, weights = model.step(torch.zeros(1, dtype=torch.long), carry)
    sizes = {"B": 1, "S": source.shape[1], "H": 96, "E": 32, "V": logits.shape[1]}
    real = {"state": after.state, "weights": weights, "annotations": carry.values, "logits": logits}
    written = seq2seq.looking_shapes()
    assert {name: in_numbers(written[name], sizes) for name in real} == {k: tuple(v.shape) for k, v in real.items()}


@torch.no_grad()
def test_the_shapes_on_the_transformer_are_those_of_the_trained_model():
    model, card = zoo.load("transformer-translation")
    english, french = words(card["config"])
    source, lengths = english.encode(["the cat sees the dog".split()])
    previous, _ = french.encode(["le chat".split()])
    sizes = {"B": 1, "S": source.shape[1], "T": previous.shape[1], "D": 128, "H": 4, "Dh": 32, "V": len(french)}
    read, _ = model.encoder(source, lengths)
    keys, values = model.decoder.layers[0].itself.memorise(model.decoder.embed(previous))
    weights = model.decoder.layers[0].itself.weights(model.decoder.embed(previous), keys)
    real = {"read": read, "logits": model(source, lengths, previous), "x": model.encoder.embed(source)}
    written = transformer.stack_shapes()
    assert {k: in_numbers(written[k], sizes) for k in real} == {k: tuple(v.shape) for k, v in real.items()}
    real = {"keys": keys, "values": values, "weights": weights, "context": weights @ values}
    written = transformer.head_shapes()
    assert {k: in_numbers(written[k], sizes) for k in real} == {k: tuple(v.shape) for k, v in real.items()}


def test_the_numbers_on_the_first_drawing_can_be_checked_by_hand():
    """Scores 2, 1, 3, −2; e², e, e³, e⁻² over their sum."""
    shown = re.findall(r">(−?[\d.]+)</text>", DRAWINGS["score_normalise_read"].to_svg())
    whole = sum(math.exp(e) for e in (2, 1, 3, -2))
    a = [math.exp(e) / whole for e in (2, 1, 3, -2)]
    context = 3 * a[0] + 2 * a[2] + 5 * a[3], 3 * a[1] + 2 * a[2] + 5 * a[3]
    for number in (*a, *context):
        assert f"{number:.2f}" in shown


@pytest.mark.parametrize(
    ("w", "text"), [(0.004, "·"), (0.25, ".25"), (0.994, ".99"), (0.995, "1"), (1.0, "1"), (0, "·")]
)
def test_a_weight_in_little_room(w, text):
    assert kit.share(w) == text


def test_the_example_in_contributing_is_a_drawing():
    """The one that whoever draws first will copy."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## How to draw\n")[2].partition("\n## ")[0]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    space = {"Diagram": kit.Diagram, "torch": torch, "dot": scores.dot, "all_in_letters": shapes.all_in_letters}
    exec(compile(code, "CONTRIBUTING.md", "exec"), space)
    drawing = space["one_look"]()
    assert "(B, Tq, Tk)" in drawing.to_svg() and drawing.names == {"query", "keys", "scores"}
