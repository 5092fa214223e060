"""The addressing bench of chapter 13: every stage in the page is the package's, for both encodings of the shift."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from browser import visit
from torch.testing import assert_close
from traitlets import TraitError
from widget_page import PageTests, stand_alone, stored

from attncourse.mechanisms import ntm
from attncourse.widgets import AddressingBench
from attncourse.widgets.addressing.widget import EXTENT, SLOTS, STAGES, moves

BOOK_PAGE = "notebooks/13_ntm.html"
ROOT = "document.querySelector('.attn-addressing')"


def settings(seed):
    """Any state of the bench; now and then at the ends of the sliders."""
    draw = np.random.default_rng(seed)
    end = seed % 5 == 0
    weights = np.eye(SLOTS)[draw.integers(SLOTS)] if seed % 3 else draw.dirichlet(np.ones(SLOTS))
    memory = draw.uniform(-EXTENT, EXTENT, (SLOTS, 2))
    memory[2:4] *= [1.0, 0.0, 1e-4, 2e-3][seed % 4]  # empty, or all but empty: as ntm.EMPTY has it
    return {
        "memory": memory.tolist(),
        "key": [0.0, 0.0] if seed % 7 == 6 else draw.uniform(-EXTENT, EXTENT, 2).tolist(),
        "previous": weights.tolist(),
        "strength": float(draw.choice([0, 50]) if end else draw.uniform(0, 20)),
        "gate": float(draw.choice([0, 1]) if end else draw.uniform(0, 1)),
        "power": float(draw.choice([1, 20]) if end else draw.uniform(1, 20)),
        "encoding": ["softmax", "scalar"][seed % 2],
        "logits": draw.uniform(-6, 6, 3).tolist(),
        "scalar": float(draw.integers(1 - SLOTS, SLOTS) if end else draw.uniform(1 - SLOTS, SLOTS - 1)),
    }


# ---- Python ----


def test_a_number_is_split_between_its_neighbours():
    seen = moves(torch.tensor([[6.7, -0.25, 3.0, -7.0]]), 7)[0]
    expected = torch.zeros(4, 15)  # for -7 … 7
    expected[0, 7 + 6], expected[0, 7 + 7] = 0.3, 0.7
    expected[1, 7 - 1], expected[1, 7] = 0.25, 0.75
    expected[2, 7 + 3] = expected[3, 7 - 7] = 1
    assert_close(seen, expected, atol=1e-6, rtol=0)


def test_one_number_can_go_all_the_way_round():
    weights = torch.rand(1, 1, SLOTS).double().softmax(-1)
    back, on = (ntm.rotate(weights, moves(torch.tensor([[m]], dtype=torch.float64), 7)) for m in (-1.3, 6.7))
    assert_close(back, on)
    expected = 0.7 * weights.roll(-1, -1) + 0.3 * weights.roll(-2, -1)
    assert_close(back, expected)
    with pytest.raises(ValueError, match=r"a shift by 7\.5 goes beyond reach = 7; it needs at least 8"):
        moves(torch.tensor([[7.5]]), 7)


def test_a_number_learns():
    scalar = torch.tensor([[0.3, -1.6, 2.5]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: moves(s, 3), scalar)


def test_the_stages_by_hand():
    """Slots along the axes, the key on the first: what the picture shows can be said without a computer."""
    four = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    bench = AddressingBench(
        memory=four + four, key=[2, 0], previous=2, strength=50, gate=0.5, encoding="scalar", scalar=1.0, power=1.0
    )
    stages = bench.stages()
    half, quarter = 0.5, 0.25  # slots 0 and 4 are alike
    assert_close(stages["content"], torch.tensor([half, 0, 0, 0, half, 0, 0, 0]).double())
    assert_close(stages["interpolate"], torch.tensor([quarter, 0, half, 0, quarter, 0, 0, 0]).double())
    assert_close(stages["shift"], torch.tensor([0, quarter, 0, half, 0, quarter, 0, 0]).double())
    bench.power = 2.0
    assert_close(bench.stages()["sharpen"], torch.tensor([0, 1, 0, 4, 0, 1, 0, 0]).double() / 6, atol=1e-9, rtol=0)


def test_the_first_view_uses_every_stage():
    stages = [AddressingBench().stages()[name] for name in STAGES]
    assert all((a - b).abs().max() > 0.05 for a, b in pairwise(stages))
    assert int(stages[0].argmax()) + 1 == int(stages[-1].argmax())


@pytest.mark.parametrize(
    ("traits", "said"),
    [
        ({"memory": [[0, 0]] * 7}, "8 slots; this one has 7"),
        ({"memory": [[0, 3]] * 8}, r"memory\[0\] is \[0, 3\]; it needs 2 numbers from -2 to 2"),
        ({"key": [1]}, "2 numbers"),
        ({"previous": 8}, "0 to 7; previous is 8"),
        ({"previous": [0.2] * 8}, "sums to 1; previous sums to 1.6"),
        ({"logits": [0, 1]}, "3 numbers"),
        ({"gate": 1.5}, "gate"),
        ({"power": 0.5}, "power"),
        ({"scalar": 7.1}, "scalar"),
        ({"encoding": "hard"}, "encoding"),
    ],
)
def test_malformed_traits_are_refused(traits, said):
    with pytest.raises(TraitError, match=said):
        AddressingBench(**traits)


def test_state_is_small():
    assert stored(AddressingBench()) < 30_000


# ---- in a browser, with a stand-in for the kernel ----


@pytest.fixture(scope="module")
def stand(tmp_path_factory):
    with stand_alone(tmp_path_factory.mktemp("bench"), AddressingBench()) as url:
        yield url


def same_as_python(page, expected):
    shown = page.evaluate(f"{ROOT}.result")
    np.testing.assert_allclose(shown["moves"], expected.moves(), atol=1e-5)
    for name, weights in expected.stages().items():
        np.testing.assert_allclose(shown[name], weights, atol=1e-5, err_msg=name)
        charted = page.locator(f"[aria-label='weights: {name}'] .attn-number").all_text_contents()
        np.testing.assert_allclose([float(x) for x in charted], weights, atol=0.0051, err_msg=name)


def test_every_stage_in_the_page_is_pythons(browser, stand):
    with visit(browser, stand) as (page, complaints):
        same_as_python(page, AddressingBench())
        for seed in range(40):
            traits = settings(seed)
            page.evaluate("(traits) => Object.entries(traits).forEach(([k, v]) => model.set(k, v))", traits)
            same_as_python(page, AddressingBench(**traits))
        page.evaluate("cleanup(), model.set('gate', 0.123), 1")
        same_as_python(page, AddressingBench(**traits))  # it listens no more
    assert not complaints


def explore(page):
    """By keyboard all that can be set, and a drag: the page follows, as Python says."""
    here, bench = page.locator(".attn-addressing"), AddressingBench()
    here.get_by_role("slider", name="slot 3").focus()
    page.keyboard.press("Shift+ArrowUp")
    memory = [*bench.memory]
    memory[3] = [memory[3][0], memory[3][1] + 0.25]
    bench.memory = memory
    here.get_by_role("slider", name="key k").focus()
    page.keyboard.press("ArrowLeft")
    bench.key = [bench.key[0] - 0.05, bench.key[1]]
    same_as_python(page, bench)
    here.get_by_role("radio", name="slot 5", exact=True).focus()
    page.keyboard.press("ArrowRight")
    bench.previous = 6
    same_as_python(page, bench)
    for name, trait, key, step in (
        ("strength β", "strength", "ArrowRight", 0.1),
        ("gate g", "gate", "ArrowLeft", -0.01),
        ("power γ", "power", "ArrowRight", 0.1),
    ):
        here.get_by_role("slider", name=name).focus()
        page.keyboard.press(key)
        setattr(bench, trait, getattr(bench, trait) + step)
    here.get_by_role("slider", name="+1", exact=True).focus()
    page.keyboard.press("End")
    bench.logits = [*bench.logits[:2], 6.0]
    same_as_python(page, bench)
    here.get_by_role("radio", name="one number").focus()
    page.keyboard.press("Space")
    bench.encoding = "scalar"
    here.get_by_text("0.30 on +6, 0.70 on +7", exact=True).wait_for()
    here.get_by_role("slider", name="shift by").focus()
    page.keyboard.press("Home")
    bench.scalar = -7.0
    same_as_python(page, bench)
    here.get_by_role("button", name="next step").click()
    bench.previous = bench.stages()["sharpen"].float().tolist()
    same_as_python(page, bench)
    key = here.get_by_role("slider", name="key k")
    key.evaluate("(point) => point.scrollIntoView({ block: 'center' })")
    at = key.bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.mouse.down()
    page.mouse.move(at["x"] + at["width"] / 2 - 60, at["y"] + at["height"] / 2 + 40, steps=4)
    page.mouse.up()
    before, after = bench.stages()["content"], page.evaluate(f"{ROOT}.result.content")
    assert np.abs(np.array(after) - before.numpy()).max() > 0.05
    here.get_by_role("button", name="start again").click()
    same_as_python(page, AddressingBench())
    here.locator(".attn-words").filter(has_text="By content (β = 8.0) the head looks most at slot 2").wait_for()


class TestPage(PageTests):
    book_page, figure, explore = BOOK_PAGE, ".attn-addressing .attn-stages", staticmethod(explore)
    seen = ".attn-weights", 5
