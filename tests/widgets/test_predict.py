"""`predict`: nothing is given away before the guess, and everything is there without a script and on paper."""

import re

import ledger_page
import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import serve, visit
from places import AXE, ROOT

from attncourse import ledger
from attncourse.widgets import predict

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>prediction</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width">
<style>
html { --pst-color-text-base: #222832; --pst-color-background: #fff; color-scheme: light; }
html.dark { --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; color-scheme: dark; }
body { margin: 0; padding: 12px; background: var(--pst-color-background); }
</style>
<main><h1>Predictions</h1>OUTPUTS</main></html>"""
CHOICES = ("It falls as well", "It stays flat", "It rises with $T$")
LENGTHS, SHARES = (5, 10, 20, 50), (1, 0.9, 0.6, 0.2)


def figure():
    drawn, ax = plt.subplots()
    ax.plot([1, 0.9])
    return drawn


def by_choice(**changes):
    claim = ledger.claim("long texts read right", ledger.proportion(83, 100), at_least=0.5)
    given = {"choices": CHOICES, "answer": 1, "result": "It stays **flat**: 0.83 of them are right."}
    given |= {"alt": "A line that stays at one."} | changes
    show = given.pop("show", None) or (figure(), claim)
    return predict("bahdanau.length", "What will $c_i$ do with length?", show=show, **given)


def by_number(**changes):
    given = {"number": (0, 1), "answer": 0.43, "unit": "share right", "result": "Not half of them."}
    return predict("bahdanau.longest", "How many of the longest are right?", **given | changes)


def by_curve(**changes):
    given = {"curve": LENGTHS, "answer": SHARES, "axes": ("length", "share right"), "result": "It falls."}
    return predict("bahdanau.curve", "Draw the share of right answers.", **given | changes)


@pytest.fixture(autouse=True)
def no_figure_is_left():
    """The notebook would show it below, before the guess."""
    plt.close("all")
    yield
    assert plt.get_fignums() == []


# ---- what Python makes ----


def test_claims_are_found_by_the_ledger():
    claims = [ledger.claim(f"claim {i}", i / 4) for i in range(4)]
    shown = by_choice(show=(claims[0], ledger.together(*claims[1:3]), figure(), claims[3]))
    data, metadata = shown._repr_mimebundle_()
    cells = [{"outputs": [{"data": data, "metadata": metadata}]}]
    assert ledger_page.claims_of({"cells": cells}) == [claim.entry for claim in claims]
    for claim in claims:
        assert data["text/html"].count(f'id="{claim.id}"') == 1


def test_without_claims_there_is_no_metadata():
    assert by_number()._repr_mimebundle_()[1] == {}


def test_the_name_is_always_the_function():
    """A folder of the same name would take its place after the first import."""
    from attncourse.widgets import predict as again

    assert predict is again and callable(again)


def test_whatever_shows_itself_as_html_can_be_shown():
    class Table:
        def _repr_html_(self):
            return "<table><tr><td>17</td></tr></table>"

    text = by_number(show=[Table(), "A *note*."]).to_html()
    assert "<td>17</td>" in text and "<p>A <em>note</em>.</p>" in text


def test_arrays_of_a_run_are_numbers():
    asked = by_curve(answer=np.array(SHARES), curve=np.array(LENGTHS)).guess
    assert asked["answer"] == list(SHARES) and asked["places"] == ["5", "10", "20", "50"]
    assert by_number(answer=np.float32(0.5)).guess["measured"] == "0.500"


@pytest.mark.parametrize(
    ("ends", "step", "decimals"),
    [((0, 1), 0.01, 2), ((0, 100), 1, 0), ((0, 12), 0.2, 1), ((-1, 1), 0.02, 2), ((0, 4_000), 50, 0)],
)
def test_a_slider_has_about_a_hundred_round_steps(ends, step, decimals):
    asked = by_number(number=ends, answer=ends[0]).guess
    assert (asked["step"], asked["decimals"]) == (step, decimals)


@pytest.mark.parametrize(
    ("make", "changes", "sentence"),
    [
        (
            by_choice,
            {"answer": 3},
            "length: answer is the index of what happened, 0 to 2 for 3 choices; got 3",
        ),
        (by_choice, {"answer": -1}, "0 to 2 for 3 choices; got -1"),
        (by_choice, {"answer": "It stays flat"}, "got 'It stays flat'"),
        (by_choice, {"choices": ("yes",), "answer": 0}, "two or more different texts"),
        (by_choice, {"choices": ("yes", "yes")}, "two or more different texts"),
        (by_choice, {"choices": "yes"}, "two or more different texts; got 'yes'"),
        (by_choice, {"choices": None}, "exactly one of choices, number and curve; got none"),
        (by_choice, {"number": (0, 1)}, "exactly one of choices, number and curve; got choices and number"),
        (by_number, {"answer": 1.5}, "answer is 1.5, outside of 0 to 1"),
        (by_number, {"answer": float("nan")}, "answer is nan, outside of 0 to 1"),
        (by_number, {"number": (1, 0)}, r"two numbers, the lower one first; got \(1, 0\)"),
        (by_number, {"number": (0, 1, 2)}, "two numbers, the lower one first"),
        (by_curve, {"answer": (1, 0.5)}, "one value per place of the curve, 4; got 2 values"),
        (by_curve, {"answer": 0.5}, "one value per place of the curve, 4; got 0.5"),
        (by_curve, {"answer": (1, 0.9, 0.6, 2)}, r"answer\[3\] is 2, outside of 0 to 1"),
        (by_curve, {"curve": (5,), "answer": (1,)}, "two places or more"),
        (by_curve, {"axes": ("length", "")}, "axes="),
        (by_choice, {"alt": ()}, "each figure needs its text in alt; got 1 figures and 0 texts"),
        (by_number, {"alt": "A line."}, "got 0 figures and 1 texts"),
        (by_number, {"show": 17}, "show holds a int, which is no figure and has no HTML"),
    ],
)
def test_wrong_arguments_are_told_what_would_be_right(make, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        make(**changes)
    plt.close("all")


@pytest.mark.parametrize("name", ["length", "Bahdanau.length", "a b.c", ""])
def test_a_name_says_where_it_is_asked(name):
    with pytest.raises(ValueError, match=r"should be like 'bahdanau\.length'"):
        predict(name, "?", number=(0, 1), answer=0, result=".")


def test_every_prediction_of_the_course_has_its_own_name():
    """Guesses are kept under it."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "book/chapters").glob("*.md"))]
    names = [name for text in texts for name in re.findall(r'\bpredict\(\s*"([^"]+)"', text)]
    assert len(names) == len(set(names))


# ---- in a browser ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predict")
    outputs = [f'<div class="output">{made.to_html()}</div>' for made in (by_choice(), by_number(), by_curve())]
    (folder / "index.html").write_text(PAGE.replace("OUTPUTS", "".join(outputs)), encoding="utf-8")
    with serve(folder) as url:
        yield url


def cards(page):
    return [page.locator(".attn-predict").nth(i) for i in range(3)]


def commit(card):
    card.get_by_role("button", name="This is my guess").click()


def status(card):
    return card.locator("p[role=status]").inner_text()


def is_open(card):
    return card.locator(".attn-result").is_visible()


def test_hidden_before_and_together_after(browser, stand):
    with visit(browser, stand) as (page, complaints):
        choice, number, curve = cards(page)
        assert not any(is_open(card) for card in cards(page))
        assert (
            "0.83" not in page.locator("main").inner_text()
            and page.locator("img:visible, .attn-claim:visible").count() == 0
        )

        commit(choice)
        assert status(choice).startswith("Choose one") and not is_open(choice)
        choice.get_by_label("It falls as well").check()
        commit(choice)
        assert is_open(choice) and choice.locator("img").is_visible() and choice.locator(".attn-claim").is_visible()
        assert status(choice) == "You said “It falls as well”; what happened: “It stays flat”."
        marked = choice.locator(".attn-verdicts li").all_inner_texts()
        assert marked[:2] == ["It falls as well — your guess", "It stays flat — what happened"] and "—" not in marked[2]
        assert not is_open(number) and not is_open(curve), "one guess opens one result"

        number.get_by_role("slider").fill("0.8")
        commit(number)
        assert status(number) == "Share right: you said 0.80; measured: 0.430. That is 0.37 too high."
        assert number.get_by_role("img").get_attribute("aria-label").endswith("you said 0.80, measured 0.430.")
        assert not complaints


def test_the_right_choice_is_said_to_be_right(browser, stand):
    with visit(browser, stand) as (page, _):
        choice = cards(page)[0]
        choice.get_by_label("It stays flat").check()
        commit(choice)
        assert status(choice) == "You said “It stays flat”, and that is what happened."
        assert choice.locator("li[data-mark]").all_inner_texts() == ["It stays flat — your guess and what happened"]


def test_a_curve_is_drawn_by_keys(browser, stand):
    with visit(browser, stand) as (page, complaints):
        curve = cards(page)[2]
        points = curve.get_by_role("slider")
        assert points.count() == 4 and points.nth(3).get_attribute("aria-label") == "share right at length 50"
        points.nth(0).focus()
        for key in (
            "End",
            "ArrowRight",
            "ArrowUp",
            "ArrowUp",
            "ArrowRight",
            "PageDown",
            "ArrowRight",
            "Home",
            "ArrowUp",
        ):
            page.keyboard.press(key)
        assert [float(points.nth(i).get_attribute("aria-valuenow")) for i in range(4)] == [1, 0.6, 0.3, 0.05]
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert status(curve) == "You were furthest off at length = 10: you said 0.60; measured: 0.90."
        both = curve.get_by_role("img").get_attribute("aria-label")
        assert "at 10 you said 0.60, measured 0.90" in both and "at 50 you said 0.05, measured 0.20" in both
        assert not complaints


def test_a_curve_is_drawn_through_by_dragging(browser, stand):
    with visit(browser, stand) as (page, _):
        curve = cards(page)[2]
        points = [curve.get_by_role("slider").nth(i) for i in range(4)]
        boxes = [point.bounding_box() for point in points]
        at = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
        page.mouse.move(at[0][0], at[0][1] - 40)
        page.mouse.down()
        page.mouse.move(at[3][0], at[3][1] + 40)  # at once: the columns between are passed, too
        page.mouse.up()
        page.mouse.move(at[0][0], at[0][1])  # the pen is lifted
        values = [float(point.get_attribute("aria-valuenow")) for point in points]
        assert values == sorted(values, reverse=True) and len(set(values)) == 4
        assert values[0] + values[3] == pytest.approx(1, abs=0.02) and values[0] > 0.6
        steps = np.diff(values)
        assert steps == pytest.approx(steps.mean(), abs=0.011)


def test_skipped_and_asked_again(browser, stand):
    with visit(browser, stand) as (page, _):
        for card in cards(page):
            card.get_by_role("button", name="Show me").click()
            assert is_open(card) and status(card) == "Shown without a guess."
            card.get_by_role("button", name="Guess after all").click()
            assert not is_open(card) and status(card) == ""
            assert card.evaluate("card => card.contains(document.activeElement)")


def test_a_guess_is_kept(browser, stand):
    with visit(browser, stand) as (page, complaints):
        choice, number, curve = cards(page)
        choice.get_by_label("It rises").check()
        commit(choice)
        commit(curve)
        number.get_by_role("button", name="Show me").click()
        before = [status(card) for card in cards(page)]
        page.reload()
        assert [status(card) for card in cards(page)] == before and all(is_open(card) for card in cards(page))
        cards(page)[0].get_by_role("button", name="Guess again").click()
        page.reload()
        assert [is_open(card) for card in cards(page)] == [False, True, True]
        assert not complaints


@pytest.mark.parametrize("kept", ['{"guess": "It sinks"}', '{"guess": 7}', "7", "null", "{", '{"guess": [0.5]}'])
def test_what_no_longer_fits_is_forgotten(browser, stand, kept):
    """A prediction may be written anew under the same name."""
    with visit(browser, stand) as (page, complaints):
        for name in ("length", "longest", "curve"):
            page.evaluate(
                "([key, value]) => localStorage.setItem(key, value)", [f"attncourse.predict.bahdanau.{name}", kept]
            )
        page.reload()
        assert not any(is_open(card) for card in cards(page))
        assert not complaints


def test_it_works_without_storage(browser, stand):
    forbid = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } })"
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(forbid)
    page.goto(stand)
    commit(cards(page)[1])
    assert is_open(cards(page)[1])
    page.reload()
    assert not is_open(cards(page)[1])
    context.close()


def test_a_link_from_the_ledger_opens_it(browser, stand):
    claim = ledger.claim("long texts read right", 0.83)
    with visit(browser, f"{stand}#{claim.id}") as (page, _):
        assert page.locator(f"#{claim.id}").is_visible() and page.locator(f"#{claim.id}").bounding_box()["y"] < 900
        assert [is_open(card) for card in cards(page)] == [True, False, False]


def test_without_scripts_all_is_shown(browser, stand):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(stand)
    assert all(is_open(card) for card in cards(page))
    assert cards(page)[0].locator("li").all_inner_texts()[:2] == ["It falls as well", "It stays flat"]
    assert page.locator(".attn-predict img").is_visible() and page.locator("button, input").count() == 0
    context.close()


@pytest.mark.parametrize("guessed", [False, True])
def test_on_paper_all_is_shown(browser, stand, guessed):
    with visit(browser, stand) as (page, _):
        if guessed:
            cards(page)[0].get_by_label("It falls as well").check()
            commit(cards(page)[0])
        page.emulate_media(media="print")
        assert all(is_open(card) for card in cards(page)) and page.locator(".attn-predict img").is_visible()
        assert page.locator(".attn-control:visible").count() == 0
        assert cards(page)[0].locator("li:visible").count() == 3, "what there was to choose from, once"


@pytest.mark.parametrize("look", ["", "dark"])
@pytest.mark.parametrize("guessed", [False, True])
def test_readable_by_all_on_a_phone(browser, stand, guessed, look):
    with visit(browser, stand, width=380) as (page, complaints):
        page.evaluate("(look) => (document.documentElement.className = look)", look)
        if guessed:
            cards(page)[0].get_by_label("It falls as well").check()
            for card in cards(page):
                commit(card)
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        sizes = page.evaluate(
            "[...document.querySelectorAll('svg.attn-chart text')].filter((text) => text.getClientRects().length).map("
            "(text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
        )
        assert sizes and min(sizes) >= 10
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run('.attn-predict', {resultTypes: ['violations']})")["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == []
        assert not complaints
