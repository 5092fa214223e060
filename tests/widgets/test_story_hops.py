"""The explorable of chapter 12: the network in the page looks where PyTorch's looks, and answers the same."""

import random

import numpy as np
import pytest
from browser import visit
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse.tasks import stories as task
from attncourse.widgets import StoryHops
from attncourse.widgets.story_hops.widget import worlds

BOOK_PAGE = "notebooks/12_memory_networks.html"
HERE = ".attn-story-hops"


@pytest.fixture(scope="module")
def widget():
    return StoryHops()


def test_state_is_small_and_holds_no_weights(widget):
    assert stored(widget) < 40_000 and widget.zoo == "memn2n-stories"


def test_the_stories_are_true_and_were_never_trained_on(widget):
    for world in widget.stories:
        sentences = [text.split() for text in world["sentences"]]
        assert task.is_held_out(sentences)
        kinds = [len(q["facts"]) for q in world["questions"]]
        assert kinds == [1, 1, 2, 2, 3, 3]
        for asked in world["questions"]:
            assert sentences[asked["facts"][-1]][-1] == asked["answer"]  # the last fact names the place


def test_the_first_view_is_two_facts_in_a_row(widget):
    """What the chapter tells the reader to look at first."""
    asked = widget.stories[widget.story]["questions"][widget.question]
    weights, answers = widget.read()
    assert len(asked["facts"]) == 2 and widget.places[int(answers.argmax())] == asked["answer"]
    first, second = asked["facts"]
    assert weights[:, first].max() > 0.5 and weights[-1, second] > 0.5
    np.testing.assert_allclose(widget.example["weights"], weights, atol=1e-4)
    np.testing.assert_allclose(widget.example["answers"], answers[0], atol=1e-4)


def test_another_story_is_told_as_it_happened():
    changed = StoryHops(order=[2, 0, 1])
    assert changed.example["order"] == [2, 0, 1] and changed.read()[0].shape == (3, 3)
    changed.story = 1
    assert changed.order == []


@pytest.mark.parametrize(
    "traits", [{"story": 6}, {"story": -1}, {"question": 6}, {"order": [0, 0]}, {"order": [40]}, {"order": [-1, 2]}]
)
def test_malformed_traits_are_refused(traits):
    with pytest.raises(TraitError):
        StoryHops(**traits)


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory, widget):
    with stand_alone(tmp_path_factory.mktemp("hops"), widget) as url:
        yield url


def told(traits):
    order = traits.get("order") or range(len(worlds()[traits["story"]]["sentences"]))
    return f"{traits['story']} {traits['question']} {','.join(map(str, order))}"


def same_as_torch(page, traits):
    """Weights, probabilities and the numbers on screen, when the page has read what the traits say."""
    page.wait_for_function(
        "([at, what]) => document.querySelector(at).dataset.shown === what", arg=[HERE, told(traits)]
    )
    weights, answers = StoryHops(**traits).read()
    here = page.locator(HERE)
    found = [[float(x) for x in row.split()] for row in here.get_attribute("data-weights").split(";")]
    np.testing.assert_allclose(found, weights, atol=1e-4)
    np.testing.assert_allclose([float(x) for x in here.get_attribute("data-answers").split()], answers[0], atol=1e-4)
    cells = here.locator(".attn-hops td span").all_text_contents()
    np.testing.assert_allclose([float(x) for x in cells], weights.T.flatten(), atol=0.0052)


@pytest.mark.parametrize("way", ["", "?book"])
def test_every_look_in_the_page_is_torchs(browser, stand, way):
    draw = random.Random(0)
    with visit(browser, stand + way) as (page, complaints):
        for story, world in enumerate(worlds()):
            n = len(world["sentences"])
            for question in range(6):
                some = draw.sample(range(n), draw.randint(1, n))
                for order in ([], some) if question in (1, 5) else ([],):
                    traits = {"story": story, "question": question, "order": order}
                    page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
                    same_as_torch(page, traits)
        page.evaluate("cleanup(), model.set('story', 0), 1")
        assert page.locator(HERE).get_attribute("data-shown") == told(traits)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard: another question, a sentence left out and brought back, a shuffle; then another story."""
    here, start = page.locator(HERE), StoryHops()
    n = len(start.stories[0]["sentences"])
    same_as_torch(page, {"story": 0, "question": start.question})
    assert here.locator(".attn-fact").count() == 2
    here.get_by_role("radio", name=start.stories[0]["questions"][2]["text"]).focus()
    page.keyboard.press("ArrowDown")
    same_as_torch(page, {"story": 0, "question": 3})
    last = here.locator(".attn-hops button").nth(n - 1)
    last.focus()
    page.keyboard.press("Enter")
    same_as_torch(page, {"story": 0, "question": 3, "order": list(range(n - 1))})
    gone = here.locator(".attn-hops [aria-pressed=false]")
    assert gone.text_content() == start.stories[0]["sentences"][-1]
    assert gone.evaluate("node => node === document.activeElement"), "the focus stays with the sentence"
    page.wait_for_function(
        "(at) => document.querySelector(at + ' .attn-words').textContent.includes('You have changed the story')",
        arg=HERE,
    )
    page.keyboard.press("Enter")
    same_as_torch(page, {"story": 0, "question": 3})
    here.get_by_role("button", name="shuffle the sentences").focus()
    page.keyboard.press("Space")
    order = [int(i) for i in here.get_attribute("data-shown").split()[2].split(",")]
    assert sorted(order) == list(range(n)) and order != sorted(order)
    same_as_torch(page, {"story": 0, "question": 3, "order": order})
    here.get_by_role("button", name="as it happened").click()
    same_as_torch(page, {"story": 0, "question": 3})
    here.get_by_role("radio", name="2", exact=True).check(force=True)
    same_as_torch(page, {"story": 1, "question": 3})


def test_one_sentence_has_to_stay(browser, stand):
    with visit(browser, stand) as (page, complaints):
        page.evaluate("model.set('order', [3]), 1")
        same_as_torch(page, {"story": 0, "question": 2, "order": [3]})
        page.locator(f"{HERE} .attn-hops [aria-pressed=true]").click()
        page.get_by_text("One sentence has to stay").wait_for()
        same_as_torch(page, {"story": 0, "question": 2, "order": [3]})
    assert not complaints


def test_without_weights_it_says_so_and_tries_again(browser, stand):
    with visit(browser, stand) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.evaluate("model.set('question', 0), 1")
        page.get_by_text("The model's weights could not be loaded: the weights are damaged.").wait_for()
        page.evaluate("window.kernel = ''")
        page.get_by_role("button", name="Try again").click()
        same_as_torch(page, {"story": 0, "question": 0})


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-hops", staticmethod(explore)
