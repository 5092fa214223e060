"""What holds for every explorable: it begins with a task, its sentence keeps step with its picture, one palette."""

import re

import pytest
from browser import visit
from places import ROOT
from widget_page import stand_alone

from attncourse import widgets
from attncourse.running import plots

OTHERS = {"Quiz", "quiz", "Walkthrough", "walkthrough", "Predict", "predict"}  # they ask by themselves
EXPLORABLES = sorted(set(widgets.EXPORTS) - OTHERS)
PAIR = [[0.5, 0.5], [0.1, 0.2], [0.9, 0.8], [0.2, 0.9]]
CHANGES = {  # a burst of changes, as a drag or a run makes them: a state, many times over, and another one at last
    "AddressingBench": ("gate", [0.1, 0.9]),
    "DateTranslator": ("text", ["14 juli 1995", "3 mai 2001"]),
    "DrawDigit": ("target", [8, 5]),
    "DropPoints": ("points", [PAIR, [*PAIR, [0.6, 0.1]]]),
    "FamilyMap": ("selected", ["SNAIL", "Transformer"]),
    "FiveCharacters": ("images", [[5, 4, 3, 2, 1, 0], [1, 0, 2, 3, 4, 5]]),  # permutations of the first six
    "GenerateClick": ("place", [[0, 0], [9, 14]]),
    "Heads": ("row", [0, 3]),
    "LocalWindow": ("centre", [1.0, 5.5]),
    "MemoryHorizon": ("step", [24, 31]),
    "PositionClock": ("distance", [-40, 17]),
    "RunMachine": ("time", [2, 5]),
    "ScoreExplorer": ("query", [[-1.0, -1.0], [1.5, 0.5]]),
    "SixScores": ("query", [[-1.0, -1.0], [1.5, 0.5]]),
    "Squeeze": ("size", ["64", "256"]),
    "StoryHops": ("question", [1, 0]),
    "WhereLook": ("places", [[[0, 0], [0.5, 0.5]], [[0, 0], [-0.5, 0.2], [0.1, 0.7]]]),
    "WhoLooks": ("word", [0, 3]),
    "WordByWord": ("word", [0, 3]),
}


@pytest.fixture(scope="module", params=EXPLORABLES)
def stand(request, tmp_path_factory):
    """name, the widget, and the URL of a page that holds it alone"""
    widget = getattr(widgets, request.param)()
    with stand_alone(tmp_path_factory.mktemp(request.param), widget) as url:
        yield request.param, widget, url


def test_it_begins_with_its_task(browser, stand):
    """Above all else: the first thing in it, before any control. What a chapter sets is what stands there."""
    _, widget, url = stand
    assert re.fullmatch(r"[A-Z].{20,140}[.?]", widget.challenge), widget.challenge
    with visit(browser, url, width=380) as (page, complaints):
        first = page.locator(".attn-widget > :first-child")
        assert first.inner_text() == f"Try it: {widget.challenge}" and first.is_visible()
        page.evaluate("cleanup?.(); model.set('challenge', 'Find something else.')")
        page.evaluate("document.querySelector('main').replaceChildren()")
        page.evaluate("module.default.render({ model, el: document.querySelector('main') })")
        assert first.inner_text() == "Try it: Find something else."
    assert not complaints


def test_a_chapter_may_set_another_task():
    for name in EXPLORABLES:
        assert getattr(widgets, name)(challenge="Find something else.").challenge == "Find something else.", name
    assert widgets.DropPoints("hull").challenge != widgets.DropPoints("tsp").challenge


# Sets the trait to one state and the other in turns, ends with the second; gives the sentence in the frame after the
# last change, the sentence and its copy for screen readers a second later, and how often that copy has changed
BURST = """async ([name, states]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const shown = document.querySelector(".attn-words");
  const aloud = shown.parentNode.querySelector("[role=status]");
  let told = 0;
  new MutationObserver(() => told++).observe(aloud, { childList: true, characterData: true, subtree: true });
  const texts = [];
  for (let i = 0; i < 12; i++) {
    model.set(name, states[i % 2]);
    await frame();
    texts.push(shown.textContent);
  }
  const during = told;
  await new Promise((done) => setTimeout(done, 1500));
  return { texts, later: shown.textContent, aloud: aloud.textContent, during, told };
}"""


def loaded(page):
    """The weights of a model that the page runs are loaded on first use."""
    page.evaluate("document.querySelector('.attn-widget').dispatchEvent(new Event('focusin'))")
    page.wait_for_function("(document.querySelector('.attn-widget').dataset.state ?? 'ready') === 'ready'")


def test_the_sentence_keeps_step_with_the_picture_and_is_read_aloud_once(browser, stand):
    name, widget, url = stand
    trait, states = CHANGES[name]
    if name == "FiveCharacters":
        states = [[widget.images[i] for i in order] for order in states]
    with visit(browser, url) as (page, complaints):
        loaded(page)
        page.wait_for_timeout(800)  # what the first screen says has been read aloud
        found = page.evaluate(BURST, [trait, states])
        one, other = found["texts"][-2:]
        assert one and other and one != other
        assert found["texts"] == [one, other] * 6  # at once, every time, whatever came before
        assert found["later"] == found["aloud"] == other
        assert found["during"] <= 2 and found["told"] <= found["during"] + 1, found  # a slow machine may pause once
    assert not complaints


def test_while_the_machine_runs_its_sentence_names_the_step_that_is_drawn(browser, tmp_path):
    """A sentence that was announced when the run began must not stand there at step 43 of 241."""
    with stand_alone(tmp_path, widgets.RunMachine()) as url, visit(browser, url) as (page, complaints):
        page.get_by_role("button", name="random pattern of length 120").click()
        page.wait_for_function("document.querySelector('.attn-machine').dataset.pattern.split(' ').length === 120")
        page.get_by_role("button", name="play").click()
        watch = """async () => {
          const [root, seen] = [document.querySelector(".attn-machine"), []];
          while (seen.length < 60) {
            await new Promise(requestAnimationFrame);
            const clock = root.querySelector("input[aria-label=step]").value;
            seen.push([root.dataset.time, clock, root.querySelector(".attn-words").textContent]);
          }
          return seen;
        }"""
        seen = page.evaluate(watch)
        page.get_by_role("button", name="pause").click()
        assert len({time for time, _, _ in seen}) > 5
        for time, clock, text in seen:
            said = re.match(r"Step (\d+) of 241:", text)
            assert time == clock == (said[1] if said else "0") and (said or text.startswith("Before the first step"))
    assert not complaints


def test_nothing_of_an_old_state_stands_there_while_the_weights_are_missing(browser, tmp_path):
    with stand_alone(tmp_path, widgets.RunMachine()) as url, visit(browser, url) as (page, _):
        page.evaluate("window.kernel = 'silent'")
        assert page.locator(".attn-words").inner_text().startswith("It has answered all 10 vectors")
        page.get_by_role("button", name="random pattern of length 20").click()
        assert page.locator(".attn-words").inner_text() == ""
        assert page.locator(".attn-notes").inner_text() == "Loading the model …"


def test_a_remark_that_stays_is_not_repeated(browser, tmp_path):
    with stand_alone(tmp_path, widgets.DateTranslator()) as url, visit(browser, url) as (page, complaints):
        loaded(page)
        page.evaluate("model.set('text', '5 mars 2024 ❤')")
        page.locator(".attn-notes").filter(has_text="❤").wait_for()
        count = """() => new MutationObserver((all) => (window.told = all.length)).observe(
          document.querySelector(".attn-notes"), { childList: true, subtree: true })"""
        page.evaluate(count)
        for text in ("5 mars 2024 ❤ ", "5 mars 202 ❤", "5 mars 20 ❤"):
            page.evaluate("(text) => model.set('text', text)", text)
        page.wait_for_timeout(200)
        assert page.evaluate("window.told ?? 0") == 0
    assert not complaints


TEXT = """() => [...document.querySelectorAll(".attn-widget *")].flatMap((node) => {
  const own = [...node.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
  const box = node.getBoundingClientRect();
  if (!own || box.width <= 2 || node.closest("[hidden]")) return [];
  const matrix = node.ownerSVGElement && node.getScreenCTM();
  return [[own, parseFloat(getComputedStyle(node).fontSize) * (matrix ? Math.hypot(matrix.a, matrix.b) : 1)]];
})"""


@pytest.mark.parametrize("width", [380, 1280])
def test_no_text_is_smaller_than_ten_pixels(browser, stand, width):
    _, _, url = stand
    with visit(browser, url, width=width) as (page, _):
        sizes = page.evaluate(TEXT)
    assert len(sizes) > 5
    assert [(text, size) for text, size in sizes if size < 9.95] == []


def colours(path, prefix):
    text = (ROOT / path).read_text(encoding="utf-8")
    return {
        name: re.search(rf"{prefix}{name}: *(#\w+)", text)[1].upper() for name in ("query", "keys", "values", "context")
    }


def test_one_palette_in_drawings_explorables_and_figures():
    figures = {"query": plots.QUERY, "keys": plots.KEYS, "values": plots.VALUES, "context": plots.CONTEXT}
    explorables = colours("attncourse/widgets/lib/look.css", "--attn-")
    assert explorables == figures == colours("attncourse/diagrams/diagram.css", "--")


def test_what_marks_roles_stands_out_in_both_themes():
    """A mark that is not text needs 3:1 against what it stands on (WCAG 1.4.11), where it stands without an outline."""

    def light(code):
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(a, b):
        high, low = sorted((light(a), light(b)), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for colour in (plots.QUERY, plots.KEYS, plots.VALUES, plots.CONTEXT):
        assert contrast(colour, "#000000") > 4.5  # black letters stand on them
        assert contrast(colour, "#14181E") > 3  # the dark theme's ground
    assert all(contrast(colour, "#FFFFFF") > 3 for colour in (plots.VALUES, plots.CONTEXT))
