"""Stepped drawings: in the page, every number of every moment is PyTorch's own."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from browser import visit
from drawn import touching, unreadable
from widget_page import PageTests, stand_alone, stored, write

from attncourse import walkthroughs, zoo
from attncourse.core.symbols import BEGIN, END, shift_right
from attncourse.errors import BadInput
from attncourse.tasks import dates
from attncourse.widgets import walkthrough
from attncourse.zoo.translation import translate, words

NAMES = walkthroughs.names()
STORIES = {name: walkthroughs.load(name) for name in NAMES}
each_story = pytest.mark.parametrize("name", NAMES)


# --- what PyTorch says: moment -> step -> row of numbers; and the weights on the drawing ---------------------------


def _top(x, n=3):
    return x.sort(descending=True).values[:n].tolist()


@torch.no_grad()
def rnnsearch():
    model, card = zoo.load("bahdanau-dates")
    text = "5 mar 2024"
    carry = model.begin(*dates.Vocabulary(card["config"]["alphabet"]).encode([text]))
    previous = torch.tensor([BEGIN])
    for _ in range(10):
        seen = []
        handle = model.decoder.cell.register_forward_hook(lambda cell, given, out, seen=seen: seen.append(given[0][0]))
        scores = model.decoder.score(carry.state[:, None], carry.values)[0, 0]
        logits, after, weights = model.step(previous, carry)
        handle.remove()
        size = weights.shape[1]
        context = seen[0][-carry.values.shape[-1] :]
        rows = [
            [carry.state[0, :4], _top(scores)],
            [_top(weights[0]), [1.0], [1 / size]],
            [context[:4]],
            [after.state[0, :4]],
            [[logits.softmax(-1).max()]],
        ]
        yield rows, {f"weight-{j}-0-0": w for j, w in enumerate(weights[0].tolist())}
        carry, previous = after, logits.argmax(-1)


SENTENCE = "the black cat sees the dog"


@torch.no_grad()
def transformer_layer():
    """From hooks on the parts of the real encoder while it reads the sentence."""
    model, card = zoo.load("transformer-translation")
    layer, got = model.encoder.layers[0], {}
    parts = {
        "x": model.encoder.embed, "q": layer.attention.query, "k": layer.attention.key, "v": layer.attention.value,
        "y": layer.attention.out, "x1": layer.residuals[0].norm, "z": layer.feed_forward, "x2": layer.residuals[1].norm,
    }  # fmt: skip

    def keep(name):
        return lambda module, given, out: got.update({name: out[0], f"{name}_given": given[0][0]})

    handles = [part.register_forward_hook(keep(name)) for name, part in parts.items()]
    model.encoder(*words(card["config"])[0].encode([SENTENCE.split()]))
    for handle in handles:
        handle.remove()
    head = got["v"].shape[-1] // 4
    scores = got["q"][:, :head] @ got["k"][:, :head].T / head**0.5
    weights = scores.softmax(-1)
    table = model.encoder.embed.table.weight * got["x"].shape[-1] ** 0.5
    symbols = words(card["config"])[0].encode([SENTENCE.split()])[0][0]
    for i in range(len(scores)):
        word, read = table[symbols[i]], got["y_given"][i, :head]
        rows = [
            [word[:4], (got["x"][i] - word)[:4], got["x"][i, :4]],
            [got["q"][i, :4], got["k"][i, :4], got["v"][i, :4]],
            [[scores[i].max()], [scores[i].min()]],
            [_top(weights[i]), [1.0], [1 / len(scores)]],
            [read[:4]],
            [got["y"][i, :4]],
            [got["x1_given"][i, :4], got["x1"][i, :4]],
            [got["z"][i, :4], []],
            [got["x2_given"][i, :4], got["x2"][i, :4]],
        ]
        yield rows, {f"weight-{j}-0-0": w for j, w in enumerate(weights[i].tolist())}


@torch.no_grad()
def transformer_stack():
    """All moments at once, by teacher forcing with the model's own translation."""
    model, card = zoo.load("transformer-translation")
    english, french = words(card["config"])
    [text], _ = translate(model, [SENTENCE.split()], card["config"])
    target, _ = french.encode([text.split()])
    source, lengths = english.encode([SENTENCE.split()])
    logits = model(source, lengths, shift_right(target))[0]
    maps = model.weights(source, lengths, shift_right(target))
    embedded = model.encoder.embed(source)[0]
    for t in range(target.shape[1]):
        looks = [m[0, layer, :, t] for layer in (0, 1) for m in (maps.decoder, maps.cross)]
        best = logits[t].argsort(descending=True)[:3]
        rows = [[[], embedded[0, :4]]]
        rows += [[[row.max()] for row in maps.encoder[0, layer].mean(0)] for layer in (0, 1)]
        rows += [[[], []], *([[h.max()] for h in look] for look in looks)]
        rows += [[[logits[t, s], logits[t].softmax(-1)[s]] for s in best]]
        cells = {f"encoder-{n}-{i}-{j}": w for n in (0, 1) for i, row in enumerate(maps.encoder[0, n].mean(0).tolist())
                 for j, w in enumerate(row)}  # fmt: skip
        for name, look in zip(("itself-0", "cross-0", "itself-1", "cross-1"), looks, strict=True):
            cells |= {f"{name}-{j}-0-0": w for j, w in enumerate(look.mean(0).tolist())}
        cells |= {f"likely-{k}-0-0": w for k, w in enumerate(logits[t].softmax(-1)[best].tolist())}
        yield rows, cells


ORACLES = {"rnnsearch": rnnsearch, "transformer_layer": transformer_layer, "transformer_stack": transformer_stack}


# --- the stories by themselves --------------------------------------------------------------------------------------


def test_every_story_has_an_oracle():
    assert sorted(ORACLES) == NAMES


@each_story
def test_a_step_lights_its_parts_and_its_lines(name):
    story = STORIES[name]
    drawing = ElementTree.fromstring(story.drawing.to_svg())
    lit = [set(map(int, node.get("data-step").split())) for node in drawing.iter() if node.get("data-step")]
    numbers = set(range(1, len(story.steps) + 1))
    assert set().union(*lit) == numbers, "every step lights a part, and no part waits for a step that never comes"
    code = story.code.strip("\n").split("\n")
    assert {i for step in story.steps for i in step.equations} == set(range(len(story.equations)))
    assert {i for step in story.steps for i in step.code} == set(range(len(code)))
    assert all(step.equations and step.code and len(step.words.split()) > 3 for step in story.steps)
    assert all(len(frame.numbers) == len(story.steps) for frame in story.frames)


@each_story
def test_every_slot_is_a_place_of_the_drawing(name):
    drawing = STORIES[name].drawing.to_svg()
    places = {kind: set(re.findall(rf'data-{kind}="([^"]+)"', drawing)) for kind in ("slot", "cell", "flow")}
    for frame in STORIES[name].frames:
        assert set(frame.texts) <= places["slot"] and set(frame.cells) <= places["cell"]
        assert set(frame.flows) <= places["flow"]


def test_what_the_models_write():
    assert [frame.texts["written"] for frame in STORIES["rnnsearch"].frames] == list("2024-03-05")
    written = [frame.texts["next"] for frame in STORIES["transformer_stack"].frames]
    assert written == "le chat noir voit le chien stop".split()
    model, card = zoo.load("transformer-translation")
    assert translate(model, [SENTENCE.split()], card["config"])[0] == [" ".join(written[:-1])]
    assert END != BEGIN


def test_an_unknown_story_is_refused_by_name():
    with pytest.raises(BadInput, match="no stepped drawing 'nothing'; there are: rnnsearch, transformer_layer"):
        walkthroughs.load("nothing")


def test_the_code_is_run():
    assert walkthroughs.run("b = a + 1", {"a": 1})["b"] == 2
    with pytest.raises(NameError):
        walkthroughs.run("b = a + 1", {})


@each_story
def test_a_notebook_keeps_little(name):
    assert stored(walkthrough(name)) < 150_000


# --- in the page ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stands(tmp_path_factory):
    """URLs of pages that hold one story each."""
    from browser import serve

    folder = tmp_path_factory.mktemp("stands")
    for name in NAMES:
        write(folder, name, walkthrough(name))
    with serve(folder) as url:
        yield {name: f"{url}{name}.html" for name in NAMES}


SEEN = """() => ({
  step: document.querySelector(".attn-walkthrough").dataset.step,
  rows: [...document.querySelectorAll(".attn-step-numbers dd")].map((dd) => dd.textContent),
  lit: document.querySelectorAll(".attn-step-drawing .attn-now").length,
  code: [...document.querySelectorAll(".attn-step-code .attn-now")].map((line) => line.textContent.trim()),
  equations: document.querySelectorAll(".attn-step-equations .attn-now").length,
  cells: Object.fromEntries([...document.querySelectorAll("[data-cell]")].map((c) => [
    c.dataset.cell, Number(c.style.getPropertyValue("--w"))])),
  texts: Object.fromEntries([...document.querySelectorAll("[data-slot]")].map((c) => [c.dataset.slot, c.textContent])),
})"""


def decimals(text):
    return [float(x.replace("−", "-")) for x in re.findall(r"−?\d+\.\d+", text)]


@each_story
def test_every_number_of_every_moment(browser, stands, name):
    story = STORIES[name]
    code = story.code.strip("\n").split("\n")
    moments = list(ORACLES[name]())
    assert len(moments) == len(story.frames)
    with visit(browser, stands[name]) as (page, complaints):
        for i, (expected, weights) in enumerate(moments):
            page.evaluate("(i) => { model.set('frame', i); model.set('step', 1); }", i)
            page.locator("button", has_text="next").focus()
            for n, rows in enumerate(expected):
                seen = page.evaluate(SEEN)
                assert seen["step"] == str(n + 1) and seen["lit"] > 0 and seen["equations"] > 0
                assert seen["code"] == [code[line] for line in story.steps[n].code]
                assert len(seen["rows"]) == len(rows)
                for text, row in zip(seen["rows"], rows, strict=True):
                    assert decimals(text) == pytest.approx([float(x) for x in row], abs=0.0051), (i, n, text)
                page.keyboard.press("ArrowRight")
            assert {slot: seen["cells"][slot] for slot in weights} == pytest.approx(weights, abs=1e-4)
            for slot in weights:
                shown = seen["texts"].get(slot, "")
                number = re.search(r"(\d*\.\d+|\d+)$", shown)
                if number and not slot.startswith("encoder"):
                    assert float(number[0]) == pytest.approx(weights[slot], abs=0.0051)
                elif shown == "·":
                    assert weights[slot] < 0.0051
    assert not complaints


@each_story
@pytest.mark.parametrize("look", ["", "dark"])
def test_every_step_can_be_read_on_a_phone(browser, stands, name, look):
    with visit(browser, stands[name], width=380) as (page, _):
        page.evaluate("(look) => (document.documentElement.className = look)", look)
        page.add_style_tag(content="* { transition: none !important }")
        for frame in (0, len(STORIES[name].frames) - 1):
            for step in range(1, len(STORIES[name].steps) + 1):
                page.evaluate("([f, s]) => { model.set('frame', f); model.set('step', s); }", [frame, step])
                assert unreadable(page, smallest=10) == [], (frame, step)
                assert page.evaluate("document.documentElement.scrollWidth") <= 380
            assert touching(page) == []


def test_keys_buttons_and_play(browser, stands):
    with visit(browser, stands["rnnsearch"]) as (page, complaints):
        at = lambda: int(page.locator(".attn-walkthrough").get_attribute("data-step"))  # noqa: E731
        back, following, play = (page.get_by_role("button", name=n) for n in ("back", "next", "play"))
        assert at() == 1 and back.get_attribute("aria-disabled") == "true"
        following.click()
        page.keyboard.press("ArrowRight")
        assert at() == 3
        page.keyboard.press("ArrowLeft")
        assert at() == 2
        page.keyboard.press("End")
        assert at() == 5 and following.get_attribute("aria-disabled") == "true"
        page.keyboard.press("Home")
        assert at() == 1
        page.get_by_role("slider").press("ArrowRight")  # the slider keeps its own arrows
        assert at() == 1 and page.evaluate("model.get('frame')") == 1
        page.clock.install()
        play.click()
        page.clock.run_for(2 * 2600 + 100)
        assert at() == 3
        page.get_by_role("button", name="pause").click()
        page.clock.run_for(10_000)
        assert at() == 3
        play.click()
        page.clock.run_for(30_000)
        assert at() == 5 and play.text_content() == "play"
        assert page.locator("p[role=status]").text_content().startswith("5 of 5 · write. From the state")
    assert not complaints


def test_nothing_moves_for_those_who_asked(browser, stands):
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(stands["rnnsearch"])
    page.locator(".attn-walkthrough").wait_for()
    assert page.get_by_role("button", name="play").count() == 0
    page.get_by_role("button", name="next").click()
    duration = "getComputedStyle(document.querySelector('.attn-rest rect')).transitionDuration"
    assert page.evaluate(duration) == "0s"
    context.close()


@each_story
def test_on_paper_it_is_a_figure_with_its_steps(browser, stands, name):
    with visit(browser, stands[name]) as (page, _):
        page.emulate_media(media="print")
        assert page.locator("svg.attn-diagram").is_visible() and page.locator(".attn-control:visible").count() == 0
        assert page.locator(".attn-step-paper li:visible").count() == len(STORIES[name].steps)
        faded = page.locator(".attn-rest :is(rect, circle, path)")
        assert set(faded.evaluate_all("all => all.map((n) => getComputedStyle(n).opacity)")) == {"1"}


class TestPage(PageTests):
    book_page = "notebooks/04_bahdanau.html"
    figure = ".attn-walkthrough svg.attn-diagram"
    seen = ".attn-walkthrough svg", 1

    @pytest.fixture
    def stand(self, tmp_path):
        with stand_alone(tmp_path, walkthrough("rnnsearch")) as url:
            yield url

    def explore(self, page):
        page.locator(".attn-walkthrough button", has_text="next").focus()
        page.keyboard.press("ArrowRight")
        expected, _ = next(rnnsearch())
        found = page.locator(".attn-walkthrough .attn-step-numbers dd").all_text_contents()
        assert [decimals(text) for text in found] == [pytest.approx(row, abs=0.0051) for row in expected[1]]
