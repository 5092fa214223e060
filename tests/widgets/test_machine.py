"""Run the machine: the Turing machine in the page is PyTorch's, through 241 steps, and says what it did."""

import numpy as np
import pytest
import torch
from browser import visit
from safetensors.torch import load, save
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse import zoo
from attncourse.tasks import algorithmic as task
from attncourse.widgets import RunMachine, weights
from attncourse.widgets.machine.widget import rows

BOOK_PAGE = "notebooks/13_ntm.html"
ROOT = "document.querySelector('.attn-machine')"


def drawn(length, seed=3):
    return rows(task.bits(length, task.BITS, rng=torch.Generator().manual_seed(seed)))


def wrong(widget):
    return sum(a != b for a, b in zip("".join(widget.pattern), "".join(widget.output), strict=True))


# ---- Python ----


def test_the_module_is_small_and_the_state_without_weights():
    assert stored(RunMachine()) < 50_000


@torch.no_grad()
def test_the_run_is_the_models_on_the_copy_task():
    batch = task.copy(1, 7, torch.Generator().manual_seed(5))
    widget = RunMachine(pattern=batch.inputs[0, :7, : task.BITS])
    model, _ = zoo.load(widget.zoo)
    expected, last = model(batch.inputs)
    logits, weights, memory = widget.run()
    torch.testing.assert_close(logits, expected[0], atol=1e-4, rtol=0)
    torch.testing.assert_close(weights[-1], last.weights[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(memory[-1], last.memory[0], atol=1e-4, rtol=0)
    assert wrong(widget) == int(task.bit_errors(expected, batch)[0])


def test_the_example_is_the_run_without_what_cannot_be_seen():
    widget = RunMachine(pattern=drawn(6))
    logits, weights, memory = widget.run()
    np.testing.assert_allclose(widget.example["logits"], logits, rtol=0.01)
    for t, heads in enumerate(widget.example["weights"]):
        for h, pairs in enumerate(heads):
            dense = np.zeros(widget.slots)
            for slot, w in pairs:
                dense[slot] = w
            np.testing.assert_allclose(dense, weights[t, h], atol=0.0051)
    dense = np.zeros(memory.shape[1:])
    for slot, numbers in widget.example["memory"]:
        dense[slot] = numbers
    np.testing.assert_allclose(dense, memory[-1], atol=0.051 * float(memory[-1].abs().max()))


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ([], "1 to 120 vectors; this one has 0"),
        (["01010101"] * 121, "this one has 121"),
        (["0101"], r"pattern\[0\] is '0101'; it needs 8 bits"),
        ([[0, 1, 0, 1, 0, 1, 0, 2]], r"pattern\[0\] is '01010102'"),
        ("01010101", "a list of vectors"),
        (7, "a list of vectors"),
    ],
)
def test_malformed_patterns_are_refused(pattern, said):
    with pytest.raises(TraitError, match=said):
        RunMachine(pattern=pattern)


def test_time_has_an_end():
    with pytest.raises(TraitError):
        RunMachine(time=242)


# ---- in a browser ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("machine"), RunMachine()) as url:
        yield url


def given(page, pattern):
    """Wait until the page has run this pattern."""
    wanted = " ".join(pattern)
    live = f"{ROOT}.dataset.pattern === wanted && {ROOT}.dataset.state === 'ready' && !!{ROOT}.result.memory[0]"
    page.wait_for_function(f"(wanted) => {live}", arg=wanted, timeout=60_000)


def same_as_torch(page, pattern, steps):
    """Logits and weights of all steps, the memory at some of them."""
    given(page, pattern)
    plain = f"""(steps) => {{
      const {{ logits, weights, memory }} = {ROOT}.result;
      return [logits.map((x) => [...x]), weights.map((heads) => heads.map((w) => [...w])),
        steps.map((t) => memory[t].map((slot) => [...slot]))];
    }}"""
    widget = RunMachine(pattern=pattern)
    logits, weights, memory = widget.run()
    shown = page.evaluate(plain, steps)
    np.testing.assert_allclose(shown[0], logits, atol=1e-3)
    np.testing.assert_allclose(shown[1], weights, atol=1e-3)
    np.testing.assert_allclose(shown[2], memory[steps], atol=1e-3)
    assert page.evaluate(f"{ROOT}.dataset.wrong") == str(wrong(widget))
    if page.evaluate("typeof model") != "undefined":
        assert page.evaluate("model.get('output')") == widget.output


def test_every_step_is_pytorchs_up_to_120_vectors(browser, stand):
    with visit(browser, stand) as (page, complaints):
        assert page.evaluate(f"{ROOT}.dataset.state") is None  # the first screen needs no weights
        assert page.evaluate(f"{ROOT}.dataset.wrong") == str(wrong(RunMachine()))
        for length in (1, 2, 7, 20, 60, 120):
            pattern = drawn(length, seed=length)
            page.evaluate("(pattern) => model.set('pattern', pattern)", pattern)
            same_as_torch(page, pattern, [0, length // 2, length, length + 1, 2 * length])
        page.evaluate("cleanup(), model.set('pattern', ['00000000']), 1")
        assert page.evaluate(f"{ROOT}.dataset.pattern") == " ".join(pattern)  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard: flip a bit, step, go to the end, another length; by the mouse: a bit, and a random pattern."""
    here, start = page.locator(".attn-machine"), RunMachine()
    pattern = [[*row] for row in start.pattern]

    def flip(vector, bit):
        pattern[vector][bit] = "10"[int(pattern[vector][bit])]

    here.get_by_role("button", name="vector 1, bit 1", exact=True).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Space"):
        page.keyboard.press(key)
    flip(2, 1)
    here.get_by_role("button", name="vector 5, bit 8", exact=True).click()
    flip(4, 7)
    pattern = ["".join(row) for row in pattern]
    same_as_torch(page, pattern, [0, 20])
    page.keyboard.press("ArrowDown")  # there is none below
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "vector 5, bit 8"

    here.get_by_role("button", name="begin").focus()
    page.keyboard.press("Enter")
    here.locator(".attn-words").filter(has_text="Before the first step").wait_for()
    here.get_by_role("button", name="one step").focus()
    for _ in range(13):
        page.keyboard.press("Enter")
    weights = RunMachine(pattern=pattern).run()[1][12]
    said = f"The write head is on slot {int(weights[1].argmax())} ({weights[1].max():.2f})"
    here.locator(".attn-words").filter(has_text="Step 13 of 21: vector 2 of 10 is answered").wait_for()
    assert said in here.locator(".attn-words").text_content()
    here.get_by_role("slider", name="step").focus()
    page.keyboard.press("End")
    here.locator(".attn-words").filter(has_text="It has answered all 10 vectors").wait_for()

    here.get_by_role("slider", name="length").focus()
    page.keyboard.press("ArrowLeft")
    same_as_torch(page, pattern[:9], [4, 18])
    here.get_by_role("button", name="random pattern of length 40").click()
    page.wait_for_function(f"{ROOT}.dataset.pattern.split(' ').length === 40")
    assert here.get_by_role("button", name="vector 1, bit 1", exact=True).count() == 0  # too small to be clicked
    same_as_torch(page, page.evaluate(f"{ROOT}.dataset.pattern").split(), [0, 40, 80])


def test_what_is_wrong_is_marked(browser, stand):
    """With an output that says the opposite, all that was right is wrong, counted and framed."""
    tensors = load(weights.zoo_bytes("ntm-copy"))
    opposite = save({name: -x if name.startswith("out.") else x for name, x in tensors.items()})
    pattern = drawn(5)
    expected = 5 * task.BITS - wrong(RunMachine(pattern=pattern))
    with visit(browser, stand) as (page, complaints):
        page.route("**/weights.safetensors", lambda route: route.fulfill(body=opposite))
        page.evaluate("(pattern) => model.set('pattern', pattern)", pattern)
        given(page, pattern)
        assert expected > 0 and page.evaluate(f"{ROOT}.dataset.wrong") == str(expected)
        assert page.locator(".attn-fault").last.get_attribute("d").count("M") == expected
        assert page.locator(".attn-verdict").text_content() == f"· {expected} of 40 bits wrong"
        page.locator(".attn-words").filter(has_text=f"{expected} of 40 bits wrong").wait_for()
    assert not complaints


def test_playing_and_reduced_motion(browser, stand):
    with visit(browser, stand) as (page, complaints):
        here = page.locator(".attn-machine")
        page.evaluate("model.set('pattern', ['11110000', '00001111'])")
        given(page, ["11110000", "00001111"])
        here.get_by_role("button", name="play").click()
        here.get_by_role("button", name="pause").wait_for()
        page.wait_for_function(f"{ROOT}.dataset.time === '2'")
        here.get_by_role("button", name="pause").click()
        stopped = int(page.evaluate(f"{ROOT}.dataset.time"))
        here.get_by_role("button", name="play").click()
        page.wait_for_function(f"{ROOT}.dataset.time === '{stopped + 1}'")  # goes on from there
        page.wait_for_function(f"{ROOT}.dataset.time === '5'")
        here.get_by_role("button", name="play").wait_for()
        assert page.evaluate("model.get('time')") == -1
        page.emulate_media(reduced_motion="reduce")
        here.get_by_role("button", name="begin").click()
        here.get_by_role("button", name="play").click()
        assert page.evaluate(f"{ROOT}.dataset.time") == "5"
    assert not complaints


def test_missing_weights_are_said_to_be_missing(browser, stand):
    with visit(browser, stand) as (page, _):
        page.route("**/weights.safetensors", lambda route: route.fulfill(status=404))
        page.get_by_role("button", name="random pattern of length 5").click()
        page.locator(".attn-notes").get_by_text("The model's weights could not be loaded").wait_for()
        assert page.locator(".attn-verdict").text_content() == "" and not page.locator(".attn-desk").is_visible()
        page.unroute("**/weights.safetensors")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function(f"{ROOT}.dataset.state === 'ready' && {ROOT}.dataset.pattern !== ''")
        assert page.locator(".attn-desk").is_visible()


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-machine .attn-desk", staticmethod(explore)
    seen = ".attn-matrix", 5
