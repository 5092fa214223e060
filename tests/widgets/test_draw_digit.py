"""Draw a digit: traits in Python; the network's forward and backward pass in a browser, alone and on the built page."""

import base64

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from browser import visit
from traitlets import TraitError
from widget_numbers import LIB, RUN, as_js
from widget_page import built, readable, stand_alone, stored

from attncourse import zoo
from attncourse.mechanisms import implicit
from attncourse.tasks import digits
from attncourse.widgets import DrawDigit
from attncourse.widgets.draw_digit.widget import COPIES, PLACES, SIGMA, SIZE, noise, pack, unpack

CHAPTER = "notebooks/01_implicit_attention.html"
ROOT = "document.querySelector('.attn-draw-digit')"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The URL of a folder with the widget's page, and the weights as a kernel and as the book give them."""
    with stand_alone(tmp_path_factory.mktemp("draw"), DrawDigit()) as url:
        yield url


def shown(page):
    """What the page has computed: probabilities, gradient, the class asked about, the image it is of."""
    return page.evaluate(f"{ROOT}.result")


def settled(page, image=None):
    """Wait until the weights are there and the last drawing is computed."""
    page.wait_for_function(f"{ROOT}.dataset.state === 'ready'")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return shown(page)


def same_as_torch(page, result):
    """Within 1e-3 of PyTorch: the probabilities, and the map in units of its largest entry."""
    widget = DrawDigit(image=result["image"], target=result["asked"], copies=result["copies"])
    probabilities, gradient = widget.run()
    np.testing.assert_allclose(result["probabilities"], probabilities, atol=1e-3)
    scale = gradient.abs().max().item()
    np.testing.assert_allclose(np.array(result["gradient"]) / scale, gradient.flatten() / scale, atol=1e-3)


# ---- Python ----


def test_the_module_is_small_and_the_state_without_weights():
    assert stored(DrawDigit()) < 60_000


def test_the_widget_runs_the_zoo_model():
    widget, model = DrawDigit(), zoo.load("digits-cnn")[0]
    x = unpack(widget.image)
    with torch.no_grad():
        probabilities = model(x).softmax(1)[0]
    found, gradient = widget.run()
    torch.testing.assert_close(found, probabilities)
    torch.testing.assert_close(gradient, implicit.gradient(model, x, probabilities.argmax()[None])[0, 0])
    widget.target = 8
    torch.testing.assert_close(widget.run()[1], implicit.gradient(model, x, torch.tensor([8]))[0, 0])
    packed = torch.tensor(np.frombuffer(base64.b64decode(widget.example["map"]), np.int8).astype(float))
    scale = widget.example["scale"]
    assert (packed / 127 * scale - gradient.flatten()).abs().max() <= scale / 127


def test_every_example_is_read_right():
    model, images = zoo.load("digits-cnn")[0], torch.zeros(10, 1, SIZE, SIZE)
    pictures, labels = digits.mnist("test")
    for n, (index, row, column) in enumerate(PLACES):
        images[n, 0, row : row + 28, column : column + 28] = pictures[index] / 255
    with torch.no_grad():
        assert model(images).argmax(1).tolist() == labels[[p[0] for p in PLACES]].tolist() == list(range(10))


def test_smoothgrad_is_the_mean_over_noisy_copies():
    """The same noise as in the page; the mean of the gradients there, as `implicit.smoothgrad` takes it."""
    copies = torch.cat([noise(k + 1) for k in range(COPIES)])
    assert abs(copies.mean()) < 0.01 and copies.std() == pytest.approx(SIGMA, rel=0.02)
    assert not torch.equal(copies[0], copies[1])
    widget, model = DrawDigit(target=8, copies=COPIES), zoo.load("digits-cnn")[0]
    gradients = [implicit.gradient(model, unpack(widget.image) + n, torch.tensor([8])) for n in copies[:, None]]
    torch.testing.assert_close(widget.run()[1], torch.cat(gradients).mean(0)[0])


def test_averaging_gathers_the_map_around_the_strokes():
    """What the page says of it: for "what would make this an 8?", of every example."""
    pictures, _ = digits.mnist("test")

    def near_the_ink(image, copies):
        gradient = DrawDigit(image=image, target=8, copies=copies).run()[1].abs()
        near = F.max_pool2d(image[None, None], 7, 1, 3)[0, 0] > 0.3  # within three pixels
        return (gradient * near).sum() / gradient.sum()

    rises = []
    for index, row, column in PLACES:
        image = torch.zeros(SIZE, SIZE)
        image[row : row + 28, column : column + 28] = pictures[index] / 255
        rises.append((near_the_ink(image, COPIES) - near_the_ink(image, 0)).item())
    assert sum(rise > 0 for rise in rises) >= 9 and np.mean(rises) > 0.05


def test_an_image_is_taken_as_a_tensor_and_refused_with_a_reason():
    image = torch.rand(SIZE, SIZE)
    torch.testing.assert_close(unpack(DrawDigit(image=image).image)[0, 0], image, atol=1 / 255, rtol=0)
    for wrong in (torch.rand(28, 28), 3 * image + 1, "not base64", pack(torch.zeros(9)), None, 3):
        with pytest.raises(TraitError, match="it needs 40×40 numbers from 0 to 1"):
            DrawDigit(image=wrong)
    with pytest.raises(TraitError):
        DrawDigit(target=10)


# ---- JavaScript against PyTorch ----


@pytest.mark.parametrize(("stride", "padding", "size"), [([1, 1], [1, 1], 3), ([2, 2], [2, 2], 6), ([2, 1], [1, 0], 4)])
def test_the_backward_pass_of_a_convolution(browser, desk, stride, padding, size):
    torch.manual_seed(0)
    x, weight = torch.randn(1, 3, 10, 12, requires_grad=True), torch.randn(5, 3, size, size)
    out = F.conv2d(x, weight, stride=stride, padding=padding)
    slope = torch.randn_like(out) * (torch.rand_like(out) > 0.5)
    [expected] = torch.autograd.grad(out, x, slope)
    options = {"stride": stride, "padding": padding}
    case = ["conv2dBackward", [as_js(slope[0]), as_js(weight), [3, 10, 12], options]]
    with visit(browser, desk) as (page, _):
        found = page.evaluate(RUN, [LIB, {"one": case}])
    np.testing.assert_allclose(found["one"], expected.flatten(), atol=1e-5)


def test_the_network_equals_pytorch_on_thirty_digits(browser, desk):
    plain, among = digits.sample(15, 3, held_out=True), digits.sample(15, 4, clutter=2, held_out=True)
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="example: 7").click()
        settled(page)
        times = []
        for n, image in enumerate([*plain.images, *among.images]):
            page.evaluate("([image, target]) => { model.set('target', target); model.set('image', image); }",
                          [pack((255 * image).round()), n % 11 - 1])  # fmt: skip
            same_as_torch(page, settled(page))
            times.append(float(page.evaluate(f"{ROOT}.dataset.milliseconds")))
        assert sorted(times)[len(times) // 2] < 400  # a quarter of it on a machine with nothing else to do
        page.evaluate("model.set('target', -1); model.set('image', btoa(String.fromCharCode(...new Uint8Array(1600))))")
        same_as_torch(page, settled(page))
        page.locator(".attn-words").filter(has_text="The field is empty").wait_for()
    assert not complaints


# ---- in the hand ----


def test_the_first_screen_needs_no_weights(browser, desk):
    with visit(browser, desk) as (page, complaints):
        first = shown(page)
        assert page.evaluate(f"{ROOT}.dataset.state") is None and page.evaluate(f"{ROOT}.dataset.read") == "3"
        np.testing.assert_allclose(first["probabilities"], DrawDigit().run()[0], atol=1e-4)
        page.locator(".attn-words").filter(has_text="The network reads 3 (").wait_for()
    assert not complaints


def test_drawing_by_mouse_and_by_touch(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="clear the field").click()
        box = page.get_by_role("slider").bounding_box()
        x, y, size = box["x"], box["y"], box["width"]
        page.mouse.move(x + 0.5 * size, y + 0.25 * size)
        page.mouse.down()
        page.mouse.move(x + 0.5 * size, y + 0.75 * size, steps=12)
        page.mouse.up()
        one = settled(page)
        same_as_torch(page, one)
        assert page.evaluate(f"{ROOT}.dataset.read") == "1"  # an upright stroke
        assert page.evaluate("model.get('image')") == one["image"]  # Python is told
        ink = unpack(one["image"])[0, 0]
        assert ink[8:31, 18:22].sum() > 0.8 * ink.sum() and ink.max() == 1

        touch = page.context.new_cdp_session(page)
        at = {"x": x + 0.3 * size, "y": y + 0.25 * size}
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
        for step in range(1, 9):
            point = {"x": at["x"] + 0.025 * step * size, "y": at["y"]}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [point]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        seven = settled(page)
        assert unpack(seven["image"]).sum() > unpack(one["image"]).sum() + 10
        same_as_torch(page, seven)
    assert not complaints


def test_the_map_settles_and_starts_again(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="8: probability").click()
        settled(page)
        page.get_by_role("button", name="average over 16 noisy copies").click()
        page.wait_for_function(f"{ROOT}.result.copies === {COPIES}", timeout=120_000)
        result = settled(page)
        assert result["asked"] == 8
        same_as_torch(page, result)
        assert "mean over 16 noisy copies" in page.locator("figcaption").nth(1).inner_text()
        page.get_by_role("button", name="3: probability").click()  # another question: one gradient again
        again = settled(page)
        assert again["copies"] == 0 and again["asked"] == 3
        same_as_torch(page, again)
    assert not complaints


def test_drawing_by_keyboard(browser, desk):
    with visit(browser, desk) as (page, complaints):
        page.get_by_role("button", name="clear the field").click()
        pen = page.get_by_role("slider")
        pen.focus()
        for key in ["Shift+ArrowUp"] * 2 + ["ArrowUp"] * 2:
            page.keyboard.press(key)
        assert pen.get_attribute("aria-valuetext") == "column 20, row 10, pen up"
        assert not unpack(page.evaluate("model.get('image')")).any()  # a lifted pen draws nothing
        page.keyboard.press("Space")
        for _ in range(5):
            page.keyboard.press("Shift+ArrowDown")
        assert pen.get_attribute("aria-valuetext") == "column 20, row 30, pen down"
        page.keyboard.press("Space")
        page.keyboard.press("Shift+ArrowRight")
        same_as_torch(page, settled(page))
        assert page.evaluate(f"{ROOT}.dataset.read") == "1"
        page.get_by_role("button", name="8: probability").press("Enter")
        asked = settled(page)
        assert asked["asked"] == 8 == page.evaluate("model.get('target')")
        same_as_torch(page, asked)
        page.locator(".attn-words").filter(has_text="The map is about 8").wait_for()
        page.get_by_role("button", name="8: probability").press("Enter")  # again: back to the likeliest
        assert page.evaluate("model.get('target')") == -1
    assert not complaints


def test_weights_that_cannot_be_had(browser, desk):
    with visit(browser, desk) as (page, _):
        page.evaluate("window.kernel = 'refuses'")
        page.get_by_role("button", name="example: 4").click()
        page.locator(".attn-notes").filter(has_text="could not be loaded: the weights are damaged").wait_for()
        page.evaluate("window.kernel = 'answers'")
        page.get_by_role("button", name="Try again").click()
        settled(page)
        assert page.evaluate(f"{ROOT}.dataset.read") == "4" and page.locator(".attn-notes").inner_text() == ""


def test_readable_by_all_on_screen_and_paper(browser, desk):
    with visit(browser, desk, width=380) as (page, complaints):
        page.get_by_role("button", name="example: 5").click()
        settled(page)
        readable(page, "canvas >> nth=1")
    assert not complaints


# ---- on the built page ----


@pytest.mark.book
@pytest.mark.parametrize("look", [{}, {"way": "file", "width": 380, "scheme": "dark"}])
def test_on_the_built_page(browser, site, html, look):
    with built(browser, site, html, CHAPTER, **look) as page:
        page.locator(".attn-draw-digit canvas").first.wait_for()
        assert page.evaluate("globalThis.attncourseZoo") is None
        for name in range(10):
            page.get_by_role("button", name=f"example: {name}").click()
            found = settled(page)
            same_as_torch(page, found)
            assert page.evaluate(f"{ROOT}.dataset.read") == str(name)
        page.get_by_role("button", name="clear the field").click()
        page.get_by_role("slider", name="pen").press("Space")
        page.keyboard.press("Shift+ArrowDown")
        same_as_torch(page, settled(page))
