"""Explorables and quizzes: traits in Python; numbers and behaviour in a browser, with a stand-in for the kernel."""

import base64
import datetime
import json
import re
import shutil

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from browser import serve, visit
from safetensors.torch import save
from torch import nn
from traitlets import TraitError
from widget_numbers import LIB, RUN, alignment_shown, as_js, same_as_torch, type_date, weights_shown
from widget_page import readable, stored, weights, write

from attncourse import quizzes, zoo
from attncourse.core import masks
from attncourse.core.scores import Additive, dot, scaled_dot
from attncourse.quizzes import Numeric, Right, SingleChoice, Wrong
from attncourse.tasks import dates
from attncourse.widgets import DateTranslator, Quiz, ScoreExplorer, bundle, quiz, state
from attncourse.widgets import weights as zoo_weights
from attncourse.zoo.dates import translate

FOLDERS = sorted(path.parent.name for path in bundle.HERE.glob("*/widget.mjs"))
WIDGETS = {"score": ScoreExplorer, "dates": DateTranslator, "quiz": lambda: quiz("bahdanau")}

# ---- bundling ----


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_bundle_needs_nothing_else(folder):
    module = bundle.esm(folder)
    assert not re.search(
        r"^\s*import|\bimport\(|\brequire\(|@import|url\((?!#)", module + bundle.css(folder), re.MULTILINE
    )
    assert set(re.findall(r"https?://[^\"'`\s]+", module + bundle.css(folder))) <= {"http://www.w3.org/2000/svg"}
    # It is stored with every widget of a notebook. drop_points holds a whole network, three solvers and a heatmap.
    assert len(module) < (21_000 if folder == "drop_points" else 16_000) and len(bundle.css(folder)) < 8_000


def test_the_bundles_are_those_of_the_sources():
    assert bundle.stale() == [], "run `make widgets`"


def test_a_bundle_of_other_sources_is_named(tmp_path, monkeypatch):
    shutil.copytree(bundle.HERE, tmp_path / "widgets", ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    monkeypatch.setattr(bundle, "HERE", tmp_path / "widgets")
    monkeypatch.setattr(bundle, "BUNDLES", tmp_path / "widgets/bundles")
    assert bundle.stale() == []
    with (tmp_path / "widgets/lib/pen.mjs").open("a") as source:
        source.write("// edited")
    (tmp_path / "widgets/bundles/quiz_card.css").unlink()
    with (tmp_path / "widgets/bundles/window.mjs").open("a") as made:
        made.write("// edited")
    (tmp_path / "widgets/newer").mkdir()
    (tmp_path / "widgets/newer/widget.mjs").touch()
    assert bundle.stale() == ["draw_digit", "five_characters", "lib", "newer", "quiz_card", "window"]


def test_a_bundle_holds_only_what_the_widget_uses():
    """Names of variables are shortened, those of properties and classes are not."""
    translator = bundle.esm("date_translator")
    assert "dilation" in bundle.esm("lib") and "dilation" not in translator  # conv2d's
    assert "weight_ih" in translator  # gruCell's
    assert "the page reads F16" in translator and "the page reads F16" not in bundle.esm("quiz_card")
    assert ".attn-heatmap" in bundle.css("date_translator") and ".attn-heatmap" not in bundle.css("quiz_card")


def test_weights_are_written_as_scripts_and_found_by_their_trait(tmp_path):
    saved = {"a": {"state": {"zoo": "bahdanau-dates"}}, "b": {"state": {"zoo": ""}}, "c": {"state": {}}, "d": {}}
    notebook = {"metadata": {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": saved}}}}
    assert state.zoo_names(notebook) == {"bahdanau-dates"} and state.zoo_names({}) == set()
    [path] = zoo_weights.export_zoo(state.zoo_names(notebook), tmp_path / "zoo")
    assert path.name == "bahdanau-dates.js" and path.read_text().startswith('(globalThis.attncourseZoo ??= {})["bahd')
    with pytest.raises(zoo.UnknownModel, match="bahdanau-dates"):
        zoo_weights.export_zoo(["no-such-model"], tmp_path)


# ---- traits ----


@pytest.mark.parametrize("name", WIDGETS)
def test_state_is_small_json_without_weights(name):
    assert stored(WIDGETS[name]()) < 60_000


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "additive"])
def test_the_explorer_attends_with_the_package(score):
    explorer = ScoreExplorer(score=score, temperature=0.5, query=[-0.5, 1.0])
    module = Additive(2, 2, 6).double()
    numbers = {"W_q.weight": explorer.W_q, "W_k.weight": explorer.W_k, "v": explorer.v}
    module.load_state_dict({name: torch.tensor(x, dtype=torch.float64) for name, x in numbers.items()})
    query, keys = torch.tensor([explorer.query]).double(), torch.tensor(explorer.key_vectors, dtype=torch.float64)
    expected = ({"dot": dot, "scaled_dot": scaled_dot, "additive": module}[score](query, keys) / 0.5).softmax(-1)[0]
    context, weights = explorer.attend()
    torch.testing.assert_close(weights, expected.detach())
    torch.testing.assert_close(context, expected.detach() @ torch.tensor(explorer.values, dtype=torch.float64))


def test_the_explorer_takes_a_trained_additive_score():
    module = Additive(2, 2, 3)
    explorer = ScoreExplorer(score="additive", additive=module)
    expected = module(torch.tensor([explorer.query]), torch.tensor(explorer.key_vectors)).softmax(-1)[0]
    torch.testing.assert_close(explorer.attend()[1].float(), expected)


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ({"query": [1, 2, 3]}, r"query\[0\] is \[1, 2, 3\]; it needs 2 numbers from -2 to 2"),
        ({"query": "here"}, "it needs 2 numbers"),
        ({"query": [float("nan"), 0]}, "it needs 2 numbers"),
        ({"key_vectors": [[0, 0], [0, 9]]}, r"key_vectors\[1\] is \[0, 9\]"),
        ({"key_vectors": []}, "1 to 8 keys; these are 0"),
        ({"values": [[0, 0, 1]] * 4}, "one value per key: 5 keys, 4 values"),
        ({"values": [[0, 0, 255]] * 5}, "3 numbers from 0 to 1"),
        ({"score": "cosine"}, "cosine"),
        ({"temperature": 0}, "temperature"),
        ({"v": [1.0]}, "hidden sizes of the additive score differ: W_q has 6 rows, W_k 6, v 1 numbers"),
    ],
)
def test_malformed_traits_are_refused_with_a_reason(traits, message):
    with pytest.raises(TraitError, match=message):
        ScoreExplorer(**traits)


def test_the_kernel_answers_with_bytes_or_a_reason(monkeypatch):
    widget, sent = DateTranslator(), []
    monkeypatch.setattr(widget, "send", lambda content, buffers=(): sent.append((content, *buffers)))
    widget._handle_custom_msg({"zoo": "bahdanau-dates"}, [])
    widget._handle_custom_msg({"zoo": "another"}, [])
    assert sent == [({"zoo": "bahdanau-dates"}, (zoo.WEIGHTS / "bahdanau-dates.safetensors").read_bytes())]
    monkeypatch.setattr(zoo_weights, "zoo_bytes", lambda name: (zoo.WEIGHTS / "gone").read_bytes())
    widget._handle_custom_msg({"zoo": "bahdanau-dates"}, [])
    assert "No such file" in sent[-1][0]["error"]


def test_the_translators_facts_are_true():
    widget = DateTranslator()
    assert widget.example["output"] == widget.output == "2024-03-05" and len(widget.example["weights"]) == 11
    days = [datetime.date(2024, month, day) for month in range(1, 13) for day in range(20, 27)]  # all weekdays
    formats = [(locale, pattern) for locale in dates.LOCALES for pattern in dates.patterns(locale)]
    assert widget.trained_length == max(len(dates.write(day, *how).text) for day in days for how in formats)
    model, card = zoo.load("bahdanau-dates")
    texts = [dates.normalise(text) for _, _, text in widget.examples]
    answers, _ = translate(model, texts, card["config"]["alphabet"])
    assert answers == ["1995-03-14", "2031-08-27", "1969-07-20", "1961-04-12", "1974-04-25", "1989-10-23"]
    assert DateTranslator(text=" ").example == {}


# ---- quiz content ----


@pytest.mark.parametrize("name", quizzes.names())
def test_every_quiz_is_sound(name):
    questions = quizzes.load(name)
    assert 3 <= len(questions) <= 5
    text = json.dumps([question.as_html() for question in questions], ensure_ascii=False)
    assert "$" not in text and "!" not in text


def test_an_unknown_quiz_names_the_known_ones():
    with pytest.raises(quizzes.QuizError, match="no quiz 'bahdenau'; there are: bahdanau"):
        quiz("bahdenau")


THREE = [Right("a", "why"), Wrong("b", "why"), Wrong("c", "why")]


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ([], "there is no question"),
        ([SingleChoice("a", "?", THREE), SingleChoice("a", "?", THREE)], "id 'a' is used more than once"),
        ([SingleChoice("a", "?", [*THREE, Right("d", "why")])], "2 right options"),
        ([SingleChoice("a", "?", THREE[1:])], "0 right options.*fewer than three options"),
        ([SingleChoice("a", "?", [*THREE, Wrong("d", " ")])], "no feedback for 'd'"),
        ([SingleChoice("a", "?", [*THREE, Wrong("c", "why")])], "same text"),
        ([SingleChoice("a", " ", THREE)], "a: no text"),
        ([Numeric("a", "?", 1.0, right="", wrong="w")], "empty feedback"),
        ([Numeric("a", "?", 1.0, right="r", wrong="w", traps={1.01: "t"})], "closer than the tolerance"),
        ([Numeric("a", "?", float("nan"), right="r", wrong="w")], "finite"),
    ],
)
def test_a_faulty_quiz_says_what_is_wrong(questions, message):
    with pytest.raises(quizzes.QuizError, match=message):
        Quiz("test", questions)


# ---- the page: a widget's own module, its state, and a model that stands in for the kernel ----


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    """The URL of a folder with a page for each widget, and the weights as a kernel and as the book give them."""
    folder = tmp_path_factory.mktemp("widgets")
    for name, make in WIDGETS.items():
        write(folder, name, make())
    weights(folder, "bahdanau-dates")
    with serve(folder) as url:
        yield url


@pytest.fixture(scope="module")
def blank(browser, desk):
    """A page in which functions are called, not used."""
    with visit(browser, desk + "dates.html") as (page, _):
        yield page


# ---- the library against PyTorch ----


def layer(module):
    """A layer's parameters as the page has them: all tensors, biases too."""
    named = module.state_dict().items()
    return {k.removesuffix("_l0"): {"shape": list(v.shape), "data": v.flatten().tolist()} for k, v in named}


@torch.no_grad()
def numeric_cases():
    """name -> function of the library, arguments, expected"""
    torch.manual_seed(0)
    r = torch.randn
    linear, gru, lstm, rnn = nn.Linear(5, 3), nn.GRUCell(4, 3), nn.LSTMCell(4, 3), nn.GRU(4, 3, batch_first=True)
    x, h, c, rows, keys, values, query = r(4), r(3), r(3), r(2, 5), r(6, 2), r(6, 3), r(2)
    scores, mask = torch.tensor([1e4, -3.0, 2.0, 1e4]), torch.tensor([False, True, True, False])
    conv1, conv2 = nn.Conv1d(2, 3, 3, stride=2, padding=2, dilation=2), nn.Conv2d(2, 3, (3, 2), (2, 1), (1, 2), (1, 2))
    line, image, additive = r(2, 11), r(2, 7, 6), Additive(2, 2, 5)
    wq, wk, v = additive.W_q.weight, additive.W_k.weight, additive.v
    p1, p2, W = layer(conv1), layer(conv2), {"W_q": wq, "W_k": wk, "v": v}
    two_ways = {"stride": [2, 1], "padding": [1, 2], "dilation": [1, 2]}
    one_way = {"stride": 2, "padding": 2, "dilation": 2}
    sequence = r(5, 4)
    return {
        "linear": ("linear", [rows.flatten(), *layer(linear).values()], linear(rows)),
        "linear without bias": ("linear", [rows[0], linear.weight], F.linear(rows[0], linear.weight)),
        "matmul": ("matmul", [rows, linear.weight.T.contiguous()], rows @ linear.weight.T),
        "tanh": ("tanh", [r(9) * 0 + torch.linspace(-30, 30, 9)], torch.linspace(-30, 30, 9).tanh()),
        "sigmoid": ("sigmoid", [torch.linspace(-200, 200, 9)], torch.linspace(-200, 200, 9).sigmoid()),
        "softmax": ("softmax", [scores], scores.softmax(-1)),
        "softmax, masked": ("softmax", [scores, mask.tolist()], masks.softmax(scores, mask)),
        "softmax, all masked": ("softmax", [scores, [False] * 4], torch.zeros(4)),
        "argmax": ("argmax", [scores], scores.argmax()),
        "gru cell": ("gruCell", [x, h, layer(gru)], gru(x, h)),
        "lstm cell": ("lstmCell", [x, [h, c], layer(lstm)], torch.stack(lstm(x, (h, c)))),
        "gru": ("gru", [list(sequence), layer(rnn)], rnn(sequence)[0]),
        "conv1d": ("conv1d", [line, p1["weight"], p1["bias"], one_way], conv1(line)),
        "conv2d": ("conv2d", [image, p2["weight"], p2["bias"], two_ways], conv2(image)),
        "conv2d, plain": ("conv2d", [image, p2["weight"]], F.conv2d(image, conv2.weight)),
        "dot": ("SCORES.dot", [query, keys[0]], query @ keys[0]),
        "scaled dot": ("SCORES.scaled_dot", [query, keys[0]], scaled_dot(query[None], keys[:1])),
        "additive": ("SCORES.additive", [query, keys[0], W], additive(query[None], keys[:1])),
        "mix": ("mix", [scores.softmax(-1), list(values[:4])], scores.softmax(-1) @ values[:4]),
        "concat": ("concat", [x, h], torch.cat([x, h])),
    }


def test_numbers_equal_pytorch(blank):
    cases = numeric_cases()
    found = blank.evaluate(RUN, [LIB, {key: [name, as_js(args)] for key, (name, args, _) in cases.items()}])
    for key, (_, _, expected) in cases.items():
        np.testing.assert_allclose(found[key], expected.flatten(), atol=2e-6, err_msg=key)


def test_safetensors_are_read_bit_by_bit(blank):
    halves = torch.from_numpy(np.arange(65536, dtype=np.uint16).view(np.float16).copy())  # every half there is
    tensors = {"odd": torch.tensor([1.5], dtype=torch.float16), "halves": halves.reshape(256, 256)}
    tensors["floats"] = torch.tensor([[1e-42, -3.4e38], [float("-inf"), 0.1]])
    read = """async ([source, file]) => {
      const lib = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0)).subarray(1); // not aligned, on purpose
      const tensors = lib.readSafetensors(bytes);
      const bits = (data) => new Uint32Array(data.buffer).join(" ");
      return Object.fromEntries(Object.entries(tensors).map(([k, { shape, data }]) => [k, [shape, bits(data)]]));
    }"""
    found = blank.evaluate(read, [LIB, base64.b64encode(b"x" + save(tensors, metadata={"made": "here"})).decode()])
    with pytest.raises(Exception, match="x is BF16; the page reads F16 and F32"):
        blank.evaluate(read, [LIB, base64.b64encode(b"x" + save({"x": torch.ones(2).bfloat16()})).decode()])
    for name, expected in tensors.items():
        shape, bits = found[name]
        assert shape == list(expected.shape)
        np.testing.assert_array_equal(
            np.array(bits.split(), np.uint32).view(np.float32), expected.float().flatten().numpy()
        )


def test_the_page_normalises_as_python_does(blank):
    texts = ["  5\u00a0MARS\t 2024 \n", "ΤΡΊΤΗ 5 ΜΑΡΤΊΟΥ", "ΟΔΟΣ. ΣΑΣ", "İSTANBUL ﬁ ①", "２０２４年", "", " \u2009 "]
    texts += ["\x1c a\x85b\u3000c\ufeff d\u200be", "Å e\u0301", "🎉 ẞ"]
    assert blank.evaluate("(texts) => texts.map(module.normalise)", texts) == [dates.normalise(t) for t in texts]


# ---- the score explorer ----


def test_the_explorer_by_keyboard_equals_python(browser, desk):
    with visit(browser, desk + "score.html") as (page, complaints):
        query, explorer = page.get_by_role("slider", name="query"), ScoreExplorer()
        query.focus()
        for key in ("ArrowRight", "ArrowRight", "Shift+ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        page.keyboard.press("Tab")  # the slider of the temperature comes after; shift-tab would reach the keys
        assert query.get_attribute("aria-valuetext") == "x 0.70, y 0.70"
        for score, temperature in [("dot", 0.25), ("scaled_dot", 4.0), ("additive", 1.0), ("additive", 0.1)]:
            page.get_by_role("radio", name=score.replace("_", " "), exact=True).check()
            page.evaluate("(t) => model.set('temperature', t)", temperature)
            explorer = ScoreExplorer(query=[0.7, 0.7], score=score, temperature=temperature)
            context, weights = explorer.attend()
            np.testing.assert_allclose(weights_shown(page), weights, atol=1e-5)
            shown = page.locator(".attn-widget").get_attribute("data-context").split()
            np.testing.assert_allclose([float(x) for x in shown], context, atol=1e-5)
        expect_words = f"key {int(weights.argmax()) + 1} ("
        page.wait_for_function("(w) => document.querySelector('.attn-words').textContent.includes(w)", arg=expect_words)
        slider = page.get_by_role("slider", name="temperature")
        slider.focus()
        page.keyboard.press("End")
        assert page.evaluate("model.get('temperature')") == 10 and slider.get_attribute("aria-valuetext") == "10.00"
        for _ in range(12):
            query.press("Shift+ArrowLeft")
        assert page.evaluate("model.get('query')") == [-2, 0.7]  # the plane ends there
        page.get_by_role("button", name="start again").click()
        np.testing.assert_allclose(weights_shown(page), ScoreExplorer().attend()[1], atol=1e-5)
    assert not complaints


def test_points_are_dragged_by_mouse_and_by_touch(browser, desk):
    with visit(browser, desk + "score.html") as (page, complaints):
        box = page.get_by_role("slider", name="key 3").bounding_box()
        x, y = box["x"] + box["width"] / 2 + 4, box["y"] + box["height"] / 2 - 3  # off-centre: it must not jump
        page.mouse.move(x, y)
        page.mouse.down()
        assert page.evaluate("model.get('key_vectors')[2]") == [-1.2, 0.8]
        page.mouse.move(x + 40, y + 30, steps=3)
        page.mouse.up()
        page.mouse.move(x + 90, y + 90)  # let go: it stays
        moved = page.evaluate("model.get('key_vectors')")
        assert moved[2][0] > -1.1 and moved[2][1] < 0.7 and moved[3] == [-0.8, -1.1]
        np.testing.assert_allclose(weights_shown(page), ScoreExplorer(key_vectors=moved).attend()[1], atol=1e-5)

        box, touch = page.get_by_role("slider", name="query").bounding_box(), page.context.new_cdp_session(page)
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
        for step in (20, 40, 60):
            further = {"x": at["x"] - step, "y": at["y"]}
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [further]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function("model.get('query')[0] < 0.35")
    assert not complaints


def test_the_explorer_follows_its_traits(browser, desk):
    with visit(browser, desk + "score.html") as (page, complaints):
        page.evaluate("model.set('key_vectors', [[1, 0], [0, 1]]); model.set('values', [[1, 0, 0], [0, 0, 1]])")
        two = ScoreExplorer(key_vectors=[[1, 0], [0, 1]], values=[[1, 0, 0], [0, 0, 1]])
        np.testing.assert_allclose(weights_shown(page), two.attend()[1], atol=1e-5)
        assert page.locator(".attn-key").count() == page.locator(".attn-lines line").count() == 2
        page.evaluate("cleanup(); model.set('query', [0, 0])")
        np.testing.assert_allclose(weights_shown(page), two.attend()[1], atol=1e-5)
    assert not complaints


# ---- the date translator ----


def test_the_translator_with_a_kernel(browser, desk):
    with visit(browser, desk + "dates.html") as (page, complaints):
        first = alignment_shown(page)  # before any weights are there
        assert first["output"] == "2024-03-05" and page.evaluate("!globalThis.attncourseZoo")
        same_as_torch(page, ["12 апреля 1961 г.", "7 Jul 1975", "٣ 2024", "1" * 200, "Mittwoch", "🎉", "a"])
        page.get_by_role("button", name="Português").click()
        page.wait_for_function("document.querySelector('.attn-date-translator').dataset.output === '1974-04-25'")
        assert page.evaluate("model.get('output')") == "1974-04-25"
    assert not complaints


def test_where_a_letter_looked(browser, desk):
    with visit(browser, desk + "dates.html") as (page, complaints):
        page.get_by_role("group", name="What the model wrote").get_by_role("button").first.focus()
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.textContent") == "3"
        words = page.locator(".attn-words")
        words.filter(has_text="For “3” the model looked at “").wait_for()
        assert page.locator(".attn-row.attn-selected").get_attribute("data-row") == "6"
        page.wait_for_timeout(300)  # the weights have arrived meanwhile: the letter keeps the focus
        assert page.evaluate("document.activeElement.textContent") == "3"
        page.keyboard.press("Shift+Tab")
        words.filter(has_text="wrote 2024-03-05").wait_for()
        assert page.locator(".attn-selected").count() == 0
        page.locator(".attn-row[data-row='9'] .attn-name").hover()
        words.filter(has_text="For “5” the model looked at “5”").wait_for()
    assert not complaints


def test_odd_input_is_said_to_be_odd(browser, desk):
    with visit(browser, desk + "dates.html") as (page, complaints):
        notes, words = page.locator(".attn-notes"), page.locator(".attn-words")
        for empty in ("", "  \t "):
            type_date(page, empty, "")
            words.filter(has_text="Type a date, and it will be translated here.").wait_for()
            assert page.locator(".attn-cell").count() == 0 and notes.inner_text() == ""
        type_date(page, "5 mars 🎉 2024 Ж", "5 mars 🎉 2024 ж")
        assert "It never saw these in training, so it reads them as “unknown”, drawn as ▯: 🎉 ж" in notes.inner_text()
        assert page.locator(".attn-unknown").all_text_contents() == ["▯", "▯"]
        type_date(page, "x" * 45, "x" * 45)
        assert (
            notes.inner_text()
            == "The model was trained on at most 39 characters, so do not rely on its answer beyond that."
        )
        type_date(page, "9" * 200, "9" * 80)
        assert "Only the first 80 of 200 characters are read." in notes.inner_text()
        assert page.locator(".attn-row[data-row='0'] .attn-cell").count() == 81
    assert not complaints


def test_weights_that_cannot_be_had(browser, desk):
    with visit(browser, desk + "dates.html") as (page, _):
        notes, retry = page.locator(".attn-notes"), page.get_by_role("button", name="Try again")
        page.evaluate("window.kernel = 'refuses'")
        page.locator("input").fill("1 mai 1999")
        notes.filter(has_text="The model's weights could not be loaded: the weights are damaged.").wait_for()
        page.clock.install()
        page.evaluate("window.kernel = 'silent'")
        retry.click()
        notes.filter(has_text="Loading the model").wait_for()
        page.clock.fast_forward(21_000)
        notes.filter(has_text="no kernel answered; run this notebook's cells first").wait_for()
        page.evaluate("window.kernel = 'answers'")
        retry.click()
        page.wait_for_function("document.querySelector('.attn-date-translator').dataset.output === '1999-05-01'")
        assert notes.inner_text() == ""
        page.clock.resume()


def test_weights_from_a_file_beside_the_page(browser, desk):
    with visit(browser, desk + "dates.html?book") as (page, complaints):
        page.route("**/bahdanau-dates.js", lambda route: route.fulfill(status=404))
        page.locator("input").fill("1 mai 1999")
        page.locator(".attn-notes").filter(has_text="_static/zoo/bahdanau-dates.js beside this page").wait_for()
        assert any("404" in complaint for complaint in complaints)
        page.unroute("**/bahdanau-dates.js")
        page.get_by_role("button", name="Try again").click()
        page.wait_for_function("document.querySelector('.attn-date-translator').dataset.output === '1999-05-01'")


# ---- the quiz ----


def test_the_quiz_by_keyboard(browser, desk):
    with visit(browser, desk + "quiz.html") as (page, complaints):
        cards, progress = page.locator("form"), page.locator(".attn-progress")
        assert progress.inner_text() == "0 of 5 right" and page.locator("math").count() > 20
        page.get_by_role("radio").first.focus()
        page.keyboard.press("Enter")
        assert cards.nth(0).locator(".attn-feedback").inner_text() == "Choose one of the answers first."
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        assert "✗ Not this." in cards.nth(0).inner_text() and "circle" in cards.nth(0).inner_text()
        page.keyboard.press("ArrowDown")
        assert "✗ Not this." in cards.nth(0).inner_text()  # choosing is not answering
        page.keyboard.press("Enter")
        assert "✓ Right." in cards.nth(0).inner_text() and progress.inner_text() == "1 of 5 right"
        number = page.get_by_role("textbox")
        feedbacks = {"seven": "Write a number", "28/13": "after the softmax", "71,38": "without the mask"}
        feedbacks |= {"8": "the score 0 would get no weight", "5": "without a calculator", "7.0": "✓ Right."}
        for answer, feedback in feedbacks.items():
            number.fill(answer)
            number.press("Enter")
            assert feedback in cards.nth(2).inner_text(), answer
        page.reload()
        cards.nth(2).filter(has_text="✓ Right.").wait_for()
        assert progress.inner_text() == "2 of 5 right" and number.input_value() == "7.0"
        assert page.get_by_role("radio").nth(1).is_checked()
        page.get_by_role("button", name="forget my answers").click()
        assert progress.inner_text() == "0 of 5 right" and number.input_value() == ""
        assert page.locator("input:checked").count() == 0 and page.locator(".attn-feedback:not(:empty)").count() == 0
    assert not complaints


def test_the_quiz_without_storage_and_with_a_damaged_one(browser, desk):
    with visit(browser, desk + "quiz.html?forgetful") as (page, complaints):
        page.get_by_role("textbox").fill("7")
        page.keyboard.press("Enter")
        assert page.locator(".attn-progress").inner_text() == "1 of 5 right"
        page.get_by_role("button", name="forget my answers").click()
    assert not complaints
    with visit(browser, desk + "quiz.html") as (page, complaints):
        for damage in ("{", "3", '{"query": 99, "context": {}, "padding": "x"}'):
            page.evaluate("(text) => localStorage.setItem('attncourse.quiz.bahdanau', text)", damage)
            page.reload()
            page.locator(".attn-progress").filter(has_text="0 of 5 right").wait_for()
    assert not complaints


# ---- for every widget ----


@pytest.mark.parametrize("name", WIDGETS)
def test_readable_by_all_on_screen_and_paper(browser, desk, name):
    with visit(browser, f"{desk}{name}.html", width=380) as (page, complaints):
        figure = {"score": ".attn-plane", "dates": ".attn-heatmap", "quiz": "fieldset >> nth=0"}[name]
        page.locator(figure).wait_for()
        if name == "quiz":
            page.get_by_role("radio").first.check()
            page.get_by_role("button", name="Check").first.click()
        readable(page, figure)
        assert not complaints
        page.emulate_media(media="screen", reduced_motion="reduce")
        names = "[...document.querySelectorAll('.attn-widget *')].map((e) => getComputedStyle(e).animationName)"
        assert set(page.evaluate(names)) == {"none"}
