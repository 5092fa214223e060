"""Explorables and quiz on the built page of chapter 04, without a kernel and with all other addresses cut off."""

import json

import numpy as np
import pytest
from browser import visit
from places import ROOT
from widget_numbers import same_as_torch, weights_shown

from attncourse.tasks import dates
from attncourse.widgets import ScoreExplorer

pytestmark = pytest.mark.book
NOTEBOOK = ROOT / "notebooks/04_bahdanau.ipynb"
PAGE = "notebooks/04_bahdanau.html"
FIFTY = [e.text for i, locale in enumerate(dates.LOCALES) for e in dates.sample(3, i, held_out=True, locales=(locale,))]


def explorer_of_the_page():
    """The explorer that the chapter shows, from the state that the notebook keeps."""
    saved = json.loads(NOTEBOOK.read_text())["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]
    states = [widget["state"] for widget in saved["state"].values()]
    [state] = [state for state in states if state.get("_anywidget_id", "").endswith("ScoreExplorer")]
    names = ("query", "key_vectors", "values", "score", "temperature", "W_q", "W_k", "v")
    return ScoreExplorer(**{name: state[name] for name in names})


def explore(page):
    """Move the query by keyboard, change the score: the weights are Python's."""
    explorer = explorer_of_the_page()
    query = page.get_by_role("slider", name="query")
    query.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowDown")
    explorer.query = [round(explorer.query[0] - 0.05, 2), round(explorer.query[1] - 0.25, 2)]
    for score in ("dot", "scaled_dot", "additive"):
        page.get_by_role("radio", name=score.replace("_", " "), exact=True).check()
        explorer.score = score
        np.testing.assert_allclose(weights_shown(page), explorer.attend()[1], atol=1e-5)


def answer_the_quiz(page):
    """The numeric question and the first of the others, by keyboard; both are remembered."""
    quiz = page.locator(".attn-quiz")
    number = quiz.locator("form[data-question=context] input")
    number.focus()
    page.keyboard.type("71.38")
    page.keyboard.press("Enter")
    assert "without the mask" in quiz.locator("form[data-question=context]").inner_text()
    number.fill("7")
    page.keyboard.press("Enter")
    quiz.locator("form[data-question=query] input").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert quiz.locator(".attn-progress").inner_text() == "2 of 5 right"
    page.wait_for_timeout(1500)  # Chromium hands localStorage to its other processes in the background
    page.reload()
    quiz.locator(".attn-progress").filter(has_text="2 of 5 right").wait_for(timeout=60_000)
    assert number.input_value() == "7"


def test_the_translator_equals_pytorch_on_fifty_dates(browser, site):
    with visit(browser, site + PAGE) as (page, complaints):
        page.locator(".attn-date-translator .attn-cell").first.wait_for()  # the example stands there at once,
        assert page.evaluate("globalThis.attncourseZoo") is None  # before any weights are loaded
        same_as_torch(page, FIFTY)
        assert len(FIFTY) >= 50
    assert not complaints


def test_explorer_and_quiz_over_http(browser, site):
    with visit(browser, site + PAGE) as (page, complaints):
        explore(page)
        answer_the_quiz(page)
    assert not complaints


def test_all_of_it_from_a_folder_in_the_dark_on_a_telephone(browser, html):
    with visit(browser, (html / PAGE).as_uri(), width=380, scheme="dark") as (page, complaints):
        explore(page)
        same_as_torch(page, FIFTY[:4])
        answer_the_quiz(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert not complaints


def test_missing_weights_are_said_to_be_missing(browser, site):
    with visit(browser, site + PAGE) as (page, _):
        page.route("**/_static/zoo/*.js", lambda route: route.fulfill(status=404))
        translator = page.locator(".attn-date-translator")
        translator.locator("input").fill("1 mai 1999")
        translator.get_by_text("_static/zoo/bahdanau-dates.js beside this page could not be read").wait_for()
        page.unroute("**/_static/zoo/*.js")
        translator.get_by_role("button", name="Try again").click()
        page.wait_for_function("document.querySelector('.attn-date-translator').dataset.output === '1999-05-01'")
