"""Exercises: proofs for each of the manifest, and the engine behind them."""

import importlib
import inspect
import json
import re
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np
import places
import pytest
import torch
import torch.nn.functional as F

import attncourse
from attncourse import attend, exercises
from attncourse.core import masks
from attncourse.core.scores import Additive
from attncourse.exercises import (
    Case,
    Exercise,
    Fixture,
    Misconception,
    Outcome,
    Output,
    UnknownExercise,
    assess,
    exercise,
    find,
    manifest,
)
from attncourse.exercises.engine import card as cards
from attncourse.exercises.engine import catalogue, progress
from attncourse.exercises.engine import check as checking
from attncourse.exercises.engine.attempt import is_stub
from attncourse.exercises.engine.compare import alike, changed
from attncourse.exercises.engine.examine import cases_of, verdict
from attncourse.exercises.engine.judge import reference
from attncourse.exercises.engine.notebook import BadInput
from attncourse.exercises.engine.run import build, run
from attncourse.markup import to_html
from attncourse.mechanisms.seq2seq import AttentiveCarry, AttentiveDecoder

IDS = [entry.id for entry in manifest()]
WRONG = [(id, wrong.name) for id in IDS for wrong in find(id).wrong]
SEEDS = (0, 100, 2024)
ADDITIVE, SOFTMAX, STEP = (find(f"bahdanau.{name}") for name in ("additive-score", "masked-softmax", "decoder-step"))


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNCOURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("ATTNCOURSE_STATIC", raising=False)
    cards.CARDS.clear()


# --- proofs: every exercise of the manifest --------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_solution_and_other_spellings_pass(id):
    it = find(id)
    assert len(it.spellings) >= 2
    for answer in (it.solution, *it.spellings):
        for seed in SEEDS:
            assert assess(it, answer, seed).outcome is Outcome.CORRECT, (answer.__name__, seed)


@pytest.mark.parametrize(("id", "name"), WRONG)
def test_wrong_version_is_named(id, name):
    it = find(id)
    wrong = next(w for w in it.wrong if w.name == name)
    for version in wrong.versions:
        told = verdict(it, cases_of(it, 0), [run(version, case) for case in cases_of(it, 0)])
        assert (told.outcome, told.misconception, told.message) == (Outcome.MISCONCEPTION, name, wrong.message)
        _says_no_expected_number(it, told)


def _says_no_expected_number(it, told):
    text = "\n".join([told.headline, told.message, *told.seen])
    for case in cases_of(it, 0):
        value = reference(it.solution, case).value
        for tensor in value if isinstance(value, tuple) else (value,):
            if isinstance(tensor, str):
                continue
            numbers = {f"{x:.4g}" for x in torch.as_tensor(tensor).double().flatten().tolist()}
            leaked = {x for x in numbers if len(x.strip("-0.")) > 3 and x in text}
            assert not leaked, (leaked, text)


@pytest.mark.parametrize("id", IDS)
def test_wrong_versions_are_recognised_on_another_seed(id):
    it = find(id)
    cases = cases_of(it, SEEDS[-1])
    for wrong in it.wrong:
        told = verdict(it, cases, [run(wrong.versions[0], case) for case in cases])
        assert told.misconception == wrong.name


@pytest.mark.parametrize("id", IDS)
def test_any_two_wrong_versions_differ_on_a_case(id):
    it = find(id)
    assert len(it.wrong) >= 3
    versions = [(wrong.name, version) for wrong in it.wrong for version in wrong.versions]
    assert _agreeing(it, versions) == []


def _agreeing(it, versions):
    """Pairs that the check could not tell apart: it looks at gradients only where all values are the solution's."""
    cases = cases_of(it, 0)

    def agree(a, b, gradients):
        return all(alike(reference(a, case), reference(b, case), gradients) for case in cases)

    silent = {version for _, version in versions if agree(version, it.solution, False)}
    pairs = combinations(versions, 2)
    return [(a, b) for (a, f), (b, g) in pairs if agree(f, g, f in silent and g in silent)]


def test_two_wrong_versions_that_agree_are_noticed():
    twins = [("one", lambda scores, mask: scores), ("two", lambda scores, mask: scores * 1)]
    assert _agreeing(SOFTMAX, twins) == [("one", "two")]


@pytest.mark.parametrize("id", IDS)
def test_stub_is_not_attempted(id):
    it = find(id)
    space = {}
    exec(it.stub, space)
    assert assess(it, space[it.solution.__name__]).outcome is Outcome.NOT_ATTEMPTED
    assert list(inspect.signature(space[it.solution.__name__]).parameters) == list(
        inspect.signature(it.solution).parameters
    )


@pytest.mark.parametrize("id", IDS)
def test_texts_render_and_are_complete(id):
    it = find(id)
    assert len(it.hints) >= 2 and it.points > 0 and it.cell.startswith(f'@exercise("{id}")\ndef ')
    assert it.solution_source.startswith("def ")
    texts = [it.title, it.task, *it.hints, *(w.message for w in it.wrong), *(w.name for w in it.wrong)]
    for text in texts:
        html = to_html(text)
        assert "$" not in html and "!" not in text
    names = {w.name for w in it.wrong}
    assert len(names) == len(it.wrong) and all(len(name) < 70 and not name.endswith(".") for name in names)
    assert set(it.axes) <= set(inspect.signature(it.solution).parameters)


@pytest.mark.parametrize("id", IDS)
def test_cases_cover_the_edges(id):
    cases = cases_of(find(id), 0)
    tensors = [[x for x in case.inputs.values() if isinstance(x, torch.Tensor)] for case in cases]
    assert any(x[0].shape[0] == 1 for x in tensors if x) or not any(tensors), "no batch of one"
    whole = not any(x.is_floating_point() for row in tensors for x in row)  # symbols and lengths: nothing to derive
    values = [value for case in cases for value in case.inputs.values()]
    fixtures = [value for value in values if isinstance(value, Fixture)]
    doubles = [value for value in values if getattr(value, "dtype", None) in (torch.float64, "float64")]
    assert doubles or (whole and not fixtures), "no float64"
    the_answer_is_one = (
        id == "implicit_attention.saliency"
    )  # and `x.grad` has to work there: no case makes x a non-leaf
    assert any(case.gradients for case in cases) or the_answer_is_one or whole, "no gradient asked"
    assert len({case.kind for case in cases}) == len(cases)


def test_manifest_is_the_published_one():
    """Ids and points are in gradebooks: they change only on purpose, by `python -m attncourse.exercises`."""
    assert catalogue.MANIFEST.read_text(encoding="utf-8") == catalogue.manifest_text()
    assert len(set(IDS)) == len(IDS)
    for entry in manifest():
        assert find(entry.id).id == entry.id and re.fullmatch(r"\d\d_\w+", entry.chapter)


def test_chapters_are_loaded_on_first_use(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("attncourse.exercises")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(attncourse, "exercises", None)
    fresh = importlib.import_module("attncourse.exercises")
    assert not any(name.startswith("attncourse.exercises.chapters.bahdanau") for name in sys.modules)
    assert fresh.find(IDS[0]) is not find(IDS[0])


# --- chapter 04: the exercises are the package's own mechanisms -------------------------------------


def test_solutions_agree_with_the_package():
    torch.manual_seed(0)
    query, keys, score = torch.randn(2, 3, 4), torch.randn(2, 5, 6), Additive(4, 6, 7)
    ours = ADDITIVE.solution(query, keys, score.W_q.weight, score.W_k.weight, score.v)
    torch.testing.assert_close(ours, score(query, keys))
    mask = torch.rand(2, 3, 5) < 0.5
    torch.testing.assert_close(SOFTMAX.solution(ours, mask), masks.softmax(ours, mask))
    decoder, values = AttentiveDecoder(9, 4, 5), torch.randn(2, 6, 10)
    carry = AttentiveCarry(
        torch.randn(2, 5), decoder.score.project(values), values, masks.padding(torch.tensor([6, 3]), 6)
    )
    previous = torch.tensor([3, 7])
    logits, after, weights = decoder.step(previous, carry)
    ours = STEP.solution(decoder, carry.state, decoder.embed(previous), *carry[1:])
    torch.testing.assert_close(ours, (logits, after.state, weights))


# Answers that follow a misconception, written quite otherwise than the version that describes it.


def tanh_separately_loop(query, keys, W_q, W_k, v):
    out = torch.empty(query.shape[0], query.shape[1], keys.shape[1], dtype=query.dtype)
    for b in range(len(query)):
        for i in range(query.shape[1]):
            for j in range(keys.shape[1]):
                out[b, i, j] = (v * (W_q.mv(query[b, i]).tanh() + W_k.mv(keys[b, j]).tanh())).sum()
    return out


def no_tanh_einsum(query, keys, W_q, W_k, v):
    q, k = torch.einsum("bqd,ad,a->bq", query, W_q, v), torch.einsum("bkd,ad,a->bk", keys, W_k, v)
    return q[..., None] + k[:, None]


def untransposed_einsum(query, keys, W_q, W_k, v):
    q, k = torch.einsum("bqa,ad->bqd", query, W_q), torch.einsum("bka,ad->bkd", keys, W_k)
    return torch.einsum("bqkd,d->bqk", torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)), v)


def swapped_in_float32(query, keys, W_q, W_k, v):
    rows = [torch.tanh(query[:, i : i + 1] @ W_q.T + keys @ W_k.T) @ v for i in range(query.shape[1])]
    return torch.stack(rows, -1).float()  # has the wrong dtype besides


def v_left_out_without_gradient(query, keys, W_q, W_k, v):
    with torch.no_grad():
        return torch.tanh(F.linear(query, W_q)[:, :, None] + F.linear(keys, W_k)[:, None]).sum(-1)


def added_in_place(query, keys, W_q, W_k, v):
    q, k = query @ W_q.T, keys @ W_k.T
    q += k
    return q.tanh_().mv(v) if q.ndim == 2 else q.tanh_() @ v


def after_softmax_loop(scores, mask):
    out = torch.zeros_like(scores)
    for b, i in np.ndindex(*scores.shape[:2]):
        powers = torch.exp(scores[b, i] - scores[b, i].max())
        out[b, i, mask[b, i]] = (powers / powers.sum())[mask[b, i]]
    return out


def inverted_in_place(scores, mask):
    scores[mask] = float("-inf")
    return scores.softmax(-1)


def wrong_axis_loop(scores, mask):
    columns = [scores[..., k].masked_fill(~mask[..., k], -1e9).softmax(1) for k in range(scores.shape[-1])]
    return torch.stack(columns, -1)


def nan_rows_by_logarithm(scores, mask):
    return F.softmax(scores + mask.to(scores.dtype).log(), dim=2)


def leaky_rows_loop(scores, mask):
    return torch.stack([torch.softmax(torch.where(m, s, -1e12), -1) for s, m in zip(scores, mask, strict=True)])


def overflow_einsum(scores, mask):
    powers = torch.einsum("bqk,bqk->bqk", torch.exp(scores), mask.to(scores.dtype))
    return powers / torch.einsum("bqk->bq", powers)[..., None]


def multiplied_in_place(scores, mask):
    scores *= mask
    return F.softmax(scores, -1)


def nan_gradient(scores, mask):
    weights = F.softmax(scores + torch.where(mask, 0.0, -torch.inf), -1)
    return torch.where(weights.isnan(), torch.zeros_like(weights), weights)


def luong_order_by_hand(decoder, state, y, keys, values, mask):
    for _ in range(2):
        if _ == 0:
            query = state
        weights = decoder.score.match(query[:, None], keys).masked_fill(~mask, -1e20).softmax(-1)[:, 0]
        context = torch.einsum("bk,bkd->bd", weights, values)
        if _ == 0:
            query = decoder.cell(torch.cat([y, context], 1), state)
    hidden = decoder.readout(torch.cat([query, y, context], 1))
    return decoder.out(torch.max(hidden[:, ::2], hidden[:, 1::2])), query, weights


def old_state_loop(decoder, state, y, keys, values, mask):
    parts = [STEP.spellings[1](decoder, *(x[b : b + 1] for x in (state, y, keys, values, mask))) for b in range(len(y))]
    logits, _, weights = (torch.cat(x) for x in zip(*parts, strict=True))
    return [logits, state, weights]


def no_mask_by_hand(decoder, state, y, keys, values, mask):
    scores = torch.tanh(decoder.score.W_q(state)[:, None] + keys) @ decoder.score.v
    weights = torch.exp(scores) / torch.exp(scores).sum(1, keepdim=True)
    context = (weights[..., None] * values).sum(1)
    new = decoder.cell(torch.cat([y, context], 1), state)
    return decoder.out(F.max_pool1d(decoder.readout(torch.cat([new, y, context], 1)), 2)), new, weights


def swapped_cell_input(decoder, state, y, keys, values, mask):
    context, weights = attend(state[:, None], keys, values, decoder.score.match, mask)
    both = torch.empty(len(y), y.shape[1] + context.shape[2], dtype=y.dtype)
    both[:, : context.shape[2]], both[:, context.shape[2] :] = context[:, 0], y
    new = decoder.cell(both, state)
    hidden = decoder.readout(torch.cat([new, y, context[:, 0]], 1))
    return decoder.out(F.max_pool1d(hidden, 2)), new, weights.squeeze(1)


MUTANTS = [
    (ADDITIVE, tanh_separately_loop, "tanh is applied before the sum"),
    (ADDITIVE, no_tanh_einsum, "the tanh is missing"),
    (ADDITIVE, untransposed_einsum, "a weight matrix is used untransposed"),
    (ADDITIVE, swapped_in_float32, "queries and keys have changed places"),
    (ADDITIVE, v_left_out_without_gradient, "v is left out"),
    (SOFTMAX, after_softmax_loop, "the mask is applied after the softmax"),
    (SOFTMAX, inverted_in_place, "the mask is inverted"),
    (SOFTMAX, wrong_axis_loop, "the softmax runs over the wrong axis"),
    (SOFTMAX, nan_rows_by_logarithm, "a fully masked row is NaN"),
    (SOFTMAX, leaky_rows_loop, "a fully masked row is spread over masked keys"),
    (SOFTMAX, overflow_einsum, "exp of the scores overflows"),
    (SOFTMAX, multiplied_in_place, "the scores are multiplied by the mask"),
    (SOFTMAX, nan_gradient, "NaN is repaired after the fact"),
    (STEP, luong_order_by_hand, "the new state looks"),
    (STEP, old_state_loop, "the old state is returned"),
    (STEP, no_mask_by_hand, "padding is attended"),
    (STEP, swapped_cell_input, "the context is fed to the cell before the symbol"),
]


@pytest.mark.parametrize(("it", "answer", "name"), MUTANTS, ids=[m[1].__name__ for m in MUTANTS])
def test_misconception_is_recognised_however_it_is_written(it, answer, name):
    for seed in SEEDS:
        assert assess(it, answer, seed).misconception == name


def test_misconception_that_also_changes_its_input_says_both():
    told = assess(SOFTMAX, inverted_in_place)
    assert "besides, it changes its input scores" in told.seen


# --- the engine, on a toy ---------------------------------------------------------------------------


def double(x):
    return 2 * x


def _toy_cases(seed):
    rng = torch.Generator().manual_seed(seed)
    return [
        Case("a small one", {"x": torch.randn(2, 3, generator=rng)}),
        Case("float64 inputs", {"x": torch.randn(2, 3, generator=rng, dtype=torch.float64)}),
        Case("a gradient", {"x": torch.randn(2, 3, generator=rng)}, gradients=("x",)),
    ]


TOY = Exercise(
    id="toy.double",
    title="Double",
    points=1,
    task="Double `x`.",
    stub="def double(x):\n    y = ...\n    return y\n",
    hints=("Twice.", "Add."),
    solution=double,
    spellings=(lambda x: x + x, lambda x: x * 2),
    wrong=(Misconception("the square is taken", "Not $x^2$.", (lambda x: x * x,)),),
    cases=_toy_cases,
    axes={"x": "B D"},
    returns=(Output("y", "B D"),),
)
HASTY = replace(TOY, seconds=0.5)


def told(answer, it=TOY):
    return assess(it, answer)


def _forever(x):
    while True:
        pass


def _forever_stubborn(x):
    while True:
        try:
            x = x + 1
        except:  # noqa: E722
            continue


def _sleepy(x):
    time.sleep(60)


def _grows(x):
    items = [1]
    for item in items:
        items.append(item)
        print("x" * 1000)


@pytest.mark.parametrize("answer", [_forever, _forever_stubborn, _sleepy, _grows])
def test_endless_answers_are_stopped(answer):
    started = time.perf_counter()
    verdict = told(answer, HASTY)
    assert verdict.outcome is Outcome.TIMED_OUT and "0.5 seconds" in verdict.headline
    assert time.perf_counter() - started < 10
    assert len(verdict.printed) <= 2000
    assert told(double).outcome is Outcome.CORRECT  # the alarm is off again


def test_endless_answers_are_stopped_outside_the_main_thread():
    found = []
    for answer in (_forever, _forever_stubborn, double):
        thread = threading.Thread(target=lambda a=answer: found.append(told(a, HASTY).outcome))
        thread.start()
        thread.join(20)
    assert found == [Outcome.TIMED_OUT, Outcome.TIMED_OUT, Outcome.CORRECT]


def test_another_alarm_is_put_back():
    import signal

    def mine(*_):
        pass

    before = signal.signal(signal.SIGALRM, mine)
    try:
        told(double)
        assert signal.getsignal(signal.SIGALRM) is mine
    finally:
        signal.signal(signal.SIGALRM, before)


def _divides(x):
    half = x.sum().item() * 0
    return 1 / half


def _recursive(x):
    return _recursive(x)


def _exits(x):
    raise SystemExit("bye")


def _interrupts(x):
    raise KeyboardInterrupt


class _Odd(Exception):
    def __str__(self):
        raise ValueError


def _odd(x):
    raise _Odd


def _helper(x):
    return x @ x


def _through_helper(x):
    return _helper(x)


def _inside_torch(x):
    return torch.cat([x, x[:, None]], -1)


RAISING = [
    (_divides, "ZeroDivisionError", "return 1 / half"),
    (_recursive, "RecursionError", "return _recursive(x)"),
    (_exits, "SystemExit", 'raise SystemExit("bye")'),
    (_interrupts, "KeyboardInterrupt", "raise KeyboardInterrupt"),
    (_odd, "_Odd", "raise _Odd"),
    (_through_helper, "RuntimeError", "return x @ x"),
    (_inside_torch, "RuntimeError", "return torch.cat([x, x[:, None]], -1)"),
]


@pytest.mark.parametrize(("answer", "type", "line"), RAISING, ids=[r[0].__name__ for r in RAISING])
def test_raised_at_the_learners_line(answer, type, line):
    verdict = told(answer)
    assert verdict.outcome is Outcome.RAISED and verdict.headline.startswith(f"{type} at line ")
    assert verdict.seen[0].endswith(f":  {line}")
    assert "Traceback" not in str(verdict) and "exercises/" not in str(verdict)


def test_raised_shows_the_shapes_of_the_line():
    assert "there: x (2, 3)" in told(_through_helper).seen


def _in_place(x):
    x *= 2
    return x


def _in_place_view(x):
    x.view(-1).mul_(2)
    return x.clone()


def _overwritten_for_backward(x):
    y = x.exp()
    z = y.log() + x
    y.zero_()
    return z


def _prints(x):
    print("<b>seen</b>", x.shape)
    return x


OUTCOMES = [
    (double, Outcome.CORRECT, "Correct"),
    (lambda x: x * x, Outcome.MISCONCEPTION, "The square is taken"),
    (lambda x: None, Outcome.NOT_ATTEMPTED, "Not attempted yet"),
    (lambda x: print(x), Outcome.TYPE, "returns nothing"),
    (lambda x: [2 * x], Outcome.CORRECT, "Correct"),
    (lambda x: (2 * x).tolist(), Outcome.TYPE, "Another number of values"),
    (lambda x: [row * 2 for row in x], Outcome.TYPE, "Another number of values"),
    (lambda x: (2 * x).detach().numpy(), Outcome.TYPE, "is not a tensor"),
    (lambda x: {"y": 2 * x}, Outcome.TYPE, "is not a tensor"),
    (lambda x: (i for i in x), Outcome.TYPE, "is not a tensor"),
    (lambda x: 10**400, Outcome.TYPE, "is not a tensor"),
    (lambda x: "2x", Outcome.TYPE, "is not a tensor"),
    (lambda x: (2 * x, x), Outcome.TYPE, "Another number of values"),
    (lambda x: (2 * x).float(), Outcome.TYPE, "wrong dtype"),
    (lambda x: (2 * x).T, Outcome.SHAPE, "wrong shape"),
    (lambda x: (2 * x).sum(), Outcome.SHAPE, "wrong shape"),
    (lambda x: (2 * x)[None], Outcome.SHAPE, "wrong shape"),
    (lambda x: 3 * x, Outcome.VALUE, "wrong values"),
    (lambda x: x / 0, Outcome.VALUE, "not finite"),
    (lambda x: (2 * x).detach(), Outcome.GRADIENT, "No gradient reaches `x`"),
    (lambda x: x + x.detach(), Outcome.GRADIENT, "gradient of `x` is wrong"),
    (lambda x: 2 * x + 0 * (x - x).sqrt(), Outcome.GRADIENT, "gradient of `x` is NaN"),
    (lambda x: (2 * x).to_sparse(), Outcome.CORRECT, "Correct"),
    (_in_place, Outcome.CHANGED, "changes `x`"),
    (_in_place_view, Outcome.CHANGED, "changes `x`"),
    (_overwritten_for_backward, Outcome.RAISED, "while the gradient was computed"),
    (lambda y: 2 * y, Outcome.SIGNATURE, "parameters"),
    (lambda x, y: 2 * x, Outcome.SIGNATURE, "parameters"),
    (lambda: 2, Outcome.SIGNATURE, "parameters"),
    (lambda x, scale=2: scale * x, Outcome.CORRECT, "Correct"),
    (lambda **inputs: 2 * inputs["x"], Outcome.CORRECT, "Correct"),
    (torch.no_grad()(double), Outcome.GRADIENT, "No gradient"),
]


@pytest.mark.parametrize(("answer", "outcome", "words"), OUTCOMES)
def test_outcome(answer, outcome, words):
    verdict = told(answer)
    assert verdict.outcome is outcome and words in verdict.headline
    assert "!" not in verdict.message


def test_wrong_shape_names_the_axes():
    assert told(lambda x: (2 * x).T).seen[0] == "y has shape (3, 2), which reads (D, B); it should be (B, D) = (2, 3)"


def test_wrong_value_says_where_and_how_much():
    def answer(x):
        y = 2 * x
        y[1, 2] += 0.5
        return y

    verdict = told(answer)
    assert verdict.seen[0] == "y is off in 1 of 6 entries, by 0.5 at most, the most at y[B=1, D=2]"
    assert "every entry is the right one times 1.5" in told(lambda x: 3 * x).seen


def test_wrong_on_one_kind_says_the_others_are_right():
    verdict = told(lambda x: 2 * x + (x.dtype == torch.float64))
    assert verdict.message.startswith("On float64 inputs.")
    assert verdict.seen[-1] == "the other 2 kinds of input are right"


result_of_an_earlier_cell = torch.ones(2, 3)


def test_use_of_the_notebooks_own_tensors_is_pointed_out():
    def answer(x):
        return result_of_an_earlier_cell

    def innocent(x):
        return x.result_of_an_earlier_cell

    assert "notebook" not in str(told(innocent).seen)
    assert told(answer).seen[-1].startswith("it reads result_of_an_earlier_cell from the notebook")


def test_printed_text_is_kept_and_bounded():
    assert told(_prints).printed.startswith("<b>seen</b> torch.Size([2, 3])")
    assert len(told(lambda x: print("y" * 10**6)).printed) == 2000


STUBS = {
    "...": "def f(x):\n    ...",
    "pass": "def f(x): pass",
    "docstring": 'def f(x):\n    """Later."""',
    "comment": "def f(x):\n    # to do\n    ...",
    "return": "def f(x): return",
    "return None": "def f(x):\n    'doc'\n    return None",
    "raise": "def f(x): raise NotImplementedError",
    "raise with text": "def f(x): raise NotImplementedError('your code here')",
    "the stub, commented": 'def f(x):\n    """Mine."""\n    y = ...  # hm\n\n    return y',
}


@pytest.mark.parametrize("source", STUBS.values(), ids=STUBS)
def test_not_attempted(source):
    space = {}
    exec(source, space)
    assert is_stub(TOY.stub, space["f"])
    assert is_stub(TOY.stub, torch.no_grad()(space["f"]))


@pytest.mark.parametrize("source", ["def f(x): return 0", "def f(x):\n    y = ...\n    return y @ x", "def f(x): x"])
def test_attempted(source):
    space = {}
    exec(source, space)
    assert not is_stub(TOY.stub, space["f"])


def test_half_filled_stub_is_pointed_out():
    def answer(x):
        y = ...
        return y @ x

    assert "A `...` of the stub is still there" in told(answer).message


def _label(scale, name):
    return scale * 2.5, f"{name}: {scale}"


PLAIN = replace(
    TOY,
    solution=_label,
    cases=lambda seed: [Case("numbers", {"scale": seed + 2, "name": "a"})],
    axes={},
    returns=(Output("number", ""), Output("text", "")),
    stub="def label(scale, name): ...",
    wrong=(),
)


def test_numbers_and_texts():
    assert told(_label, PLAIN).outcome is Outcome.CORRECT
    assert told(lambda scale, name: (torch.tensor(5.0), "a: 2"), PLAIN).outcome is Outcome.CORRECT
    assert told(lambda scale, name: (5, "a: 3"), PLAIN).outcome is Outcome.VALUE
    assert told(lambda scale, name: (6, "a: 2"), PLAIN).outcome is Outcome.VALUE
    assert told(lambda scale, name: (5, 2), PLAIN).outcome is Outcome.TYPE
    assert told(lambda scale, name: (torch.ones(2), "a: 2"), PLAIN).outcome is Outcome.SHAPE


def test_values_in_another_order_are_pointed_out():
    def answer(**inputs):
        logits, state, weights = STEP.solution(**inputs)
        return state, logits, weights

    assert "shape of `state`: are the values returned in the order" in told(answer, STEP).message


def test_several_outputs_say_which_are_right():
    def answer(**inputs):
        logits, state, weights = STEP.solution(**inputs)
        return logits + 1, state, weights

    verdict = told(answer, STEP)
    assert verdict.headline == "`logits` has wrong values" and "right: state and weights" in verdict.seen


def test_fixture_is_rebuilt_the_same_and_changes_in_it_are_seen():
    fixture = Fixture("attncourse.mechanisms.seq2seq.AttentiveDecoder", (9, 4, 5), 3, "float64")
    state = torch.get_rng_state()
    one, two = build(fixture), build(fixture)
    assert torch.equal(state, torch.get_rng_state())
    assert one is not two and one.score.v.dtype == torch.float64
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))

    def answer(decoder, **inputs):
        outputs = STEP.solution(decoder, **inputs)
        decoder.out.bias.data += 1
        return outputs

    assert told(answer, STEP).headline == "Your function changes `decoder.out.bias`"


def test_results_are_plain_data_and_judged_apart():
    """What the grader will do: run elsewhere, send plain data home, judge there."""
    cases = cases_of(STEP, 7)
    results = [run(STEP.solution, case) for case in cases]
    for case, result in zip(cases, results, strict=True):
        assert all(isinstance(x, (torch.Tensor, Fixture, int, float, str)) for x in case.inputs.values())
        assert not any(x.requires_grad for x in [*result.value, *result.after.values(), *result.gradients.values()])
    assert verdict(STEP, cases, results).outcome is Outcome.CORRECT
    json.dumps(asdict(told(_through_helper)))


def test_random_answers_are_repeatable_and_leave_the_notebooks_generator_alone():
    case = cases_of(TOY, 0)[0]
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    first, second = (run(lambda x: torch.rand(3), case).value for _ in range(2))
    assert torch.equal(first, second) and torch.equal(torch.rand(2), expected)


@pytest.fixture
def odd_defaults():
    torch.set_default_device("meta")
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)


def test_what_the_notebook_has_made_the_default_does_no_harm(odd_defaults):
    for it in (TOY, ADDITIVE, SOFTMAX, STEP):
        assert assess(it, it.solution, seed=77).outcome is Outcome.CORRECT
        assert assess(it, it.spellings[0], seed=77).outcome is Outcome.CORRECT


def test_an_error_everywhere_is_no_misconception():
    always = replace(TOY, wrong=(Misconception("it fails", "…", (lambda x: x[9],)),))
    assert told(lambda x: x[7], always).outcome is Outcome.RAISED


def test_another_kind_of_error_is_another_behaviour():
    def strict(x):
        if x.dtype == torch.float64:
            raise ValueError
        return x * x

    def index(x):
        return (x * x)[: 2 - 3 * (x.dtype == torch.float64), 9 * (x.dtype == torch.float64) or slice(None)]

    picky = replace(TOY, wrong=(Misconception("float32 only", "…", (strict,)),))
    assert told(strict, picky).misconception == "float32 only"
    assert told(index, picky).misconception == ""


def test_nan_among_the_inputs_is_no_change():
    x = {"x": torch.tensor([1.0, float("nan")])}
    assert changed(x, {"x": x["x"].clone()}) == []
    assert changed(x, {"x": torch.zeros(2)}) == changed(x, {}) == changed(x, {"x": x["x"][None]}) == ["x"]


# --- the decorator and the card ---------------------------------------------------------------------


def test_decorator_gives_the_function_back():
    @exercise("bahdanau.masked-softmax")
    def mine(scores, mask):
        return scores

    assert mine(1, 2) == 1 and exercises.ANSWERS["bahdanau.masked-softmax"] is mine


def test_unknown_ids_say_what_there_is():
    with pytest.raises(UnknownExercise, match=r"'bahdanau' has: bahdanau.additive-score, .*decoder-step"):
        exercise("bahdanau.softmax")(lambda scores: scores)
    for id in ("nowhere.softmax", "core.x", "__main__.x", ""):
        with pytest.raises(UnknownExercise, match=r"their names begin with: .*bahdanau"):
            exercise(id)(lambda x: x)
    with pytest.raises(TypeError, match="needs its id"):
        exercise(lambda scores: scores)


@pytest.fixture
def shell():
    """A real IPython, as in a kernel, for one test."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    yield InteractiveShell.instance(config=config)
    InteractiveShell.clear_instance()


def _shown(shell, code):
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        shell.run_cell(code).raise_error()
    assert not captured.stdout, captured.stdout
    return [output.data for output in captured.outputs]


CELL = """import torch
from attncourse.exercises import exercise

@exercise("bahdanau.masked-softmax")
def masked_softmax(scores, mask):
    {}
"""


def test_cell_shows_a_card_and_running_it_again_replaces_the_answer(shell):
    (data,) = _shown(shell, CELL.format("..."))
    assert "application/vnd.jupyter.widget-view+json" in data
    card = cards.CARDS["bahdanau.masked-softmax"]
    card.check.click()
    assert "Not attempted yet" in card.message.value and card.solution.disabled
    card.hint.click()
    _shown(shell, CELL.format("return scores.softmax(-1) * mask"))
    assert cards.CARDS["bahdanau.masked-softmax"] is card and card.message.value == ""
    assert "Hint 1" in card.help.value  # stays open
    card.check.click()
    assert "The mask is applied after the softmax" in card.message.value and "attn-wrong" in card.message.value
    _shown(shell, CELL.format("return torch.softmx(scores)"))
    card.check.click()
    assert "AttributeError at line 6" in card.message.value and "return torch.softmx(scores)" in card.message.value


def test_static_card_in_place_of_a_live_one(shell, monkeypatch):
    monkeypatch.setenv("ATTNCOURSE_STATIC", "https://colab.example/04.ipynb?a=1&b=2")
    first, again = (_shown(shell, CELL.format("..."))[0]["text/html"] for _ in range(2))
    assert first == again == cards.static(SOFTMAX, "https://colab.example/04.ipynb?a=1&b=2")
    assert 'href="https://colab.example/04.ipynb?a=1&amp;b=2">Open in Colab to try it</a>' in first
    assert first.count("<details>") == len(SOFTMAX.hints) + 1 and "open>" not in first
    assert "<button" not in first and "<script" not in first and "<style" not in first
    assert "def masked_softmax(scores, mask):" in first and "Hint 3 of 3" in first
    assert "Open in Colab" not in cards.static(SOFTMAX, "1")


@pytest.mark.parametrize("id", IDS)
def test_static_card_is_well_formed(id):
    from xml.etree import ElementTree

    html = cards.static(find(id), "https://colab.example/")
    ElementTree.fromstring(html.replace("<br>", "<br/>").replace("<hr>", "<hr/>"))


def test_card_from_stub_to_solved():
    card = cards.of(SOFTMAX, lambda scores, mask: scores.softmax(1))
    assert "Not attempted yet" in card.status.value and card.solution.disabled
    assert [card.check.description, card.hint.description] == ["Check", "Hint 1 of 3"]
    card.check.click()
    assert "The softmax runs over the wrong axis" in card.message.value and 'role="alert"' in card.message.value
    assert "1 attempt so far" in card.status.value and not card.solution.disabled
    for label in ("Hint 2 of 3", "Hint 3 of 3", "No more hints"):
        card.hint.click()
        assert card.hint.description == label
    assert card.hint.disabled and card.help.value.count("<strong>Hint") == 3
    card.solution.click()
    assert "def masked_softmax(scores, mask):" in card.help.value
    card = cards.of(SOFTMAX, SOFTMAX.spellings[0])
    card.check.click()
    assert "attn-correct" in card.message.value and "✓" in card.message.value
    assert "✓ Solved on 20" in card.status.value
    entry = progress.read()["bahdanau.masked-softmax"]
    assert entry["attempts"] == 2 and entry["last"] == "correct" and entry["solved"]


def test_card_escapes_what_the_learner_wrote():
    def answer(scores, mask):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)>")

    card = cards.of(SOFTMAX, answer)
    card.check.click()
    assert "<img" not in card.message.value and "<script" not in card.message.value
    assert "&lt;img src=x" in card.message.value and "What your code printed" in card.message.value


def test_card_survives_a_fault_of_ours(monkeypatch):
    monkeypatch.setattr(cards, "assess", lambda *_: 1 / 0)
    card = cards.of(SOFTMAX, SOFTMAX.solution)
    card.check.click()
    assert "not your fault" in card.message.value


def test_card_lets_an_endless_answer_go(monkeypatch):
    card = cards.Card(replace(SOFTMAX, seconds=0.3, stub="def masked_softmax(scores, mask): ..."))

    def answer(scores, mask):
        while True:
            pass

    card.take(answer)
    card.check.click()
    assert "No answer after 0.3 seconds" in card.message.value


# --- progress ---------------------------------------------------------------------------------------


def test_solved_stays_solved():
    progress.record("a.b", "correct", True)
    when = progress.read()["a.b"]["solved"]
    progress.record("a.b", "wrong value", False)
    assert progress.read()["a.b"] == {"solved": when, "attempts": 2, "last": "wrong value"}


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"a.b": 3}', b"\xff\xfe"])
def test_damaged_file_is_set_aside(damage):
    progress.path().write_bytes(damage)
    assert progress.read() == {}
    assert progress.path().with_name("progress.json.damaged").read_bytes() == damage
    progress.record("a.b", "correct", True)
    assert progress.read()["a.b"]["attempts"] == 1


def test_odd_entries_do_no_harm():
    progress.path().write_text('{"a.b": {"attempts": "many"}, "later": {"new": 1}}')
    progress.record("a.b", "correct", True)
    assert progress.read()["a.b"]["attempts"] == 1 and progress.read()["later"] == {"new": 1}


def test_unwritable_place_is_not_fatal(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTNCOURSE_PROGRESS", str(tmp_path / "file" / "below" / "progress.json"))
    assert progress.record("a.b", "correct", True)["solved"]
    assert progress.read() == {}
    card = cards.of(SOFTMAX, SOFTMAX.solution)
    card.check.click()
    card.hint.click()
    assert "attn-correct" in card.message.value and "Solved" in card.status.value and not card.solution.disabled


def test_progress_has_a_usual_place(monkeypatch, tmp_path):
    monkeypatch.delenv("ATTNCOURSE_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress.path() == tmp_path / "attncourse" / "progress.json"


def test_two_kernels_lose_nothing():
    work = (
        "import runpy, sys; record = runpy.run_path(sys.argv[1])['record']\n"
        "for i in range(40): record(f'{sys.argv[2]}.{i}', 'correct', True)"
    )
    command = [sys.executable, "-c", work, progress.__file__]
    kernels = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [kernel.wait(60) for kernel in kernels] == [0, 0, 0]
    assert set(progress.read()) == {f"{name}.{i}" for name in "abc" for i in range(40)}
    left = {path.name for path in progress.path().parent.iterdir()}
    assert left == {"progress.json", "progress.json.lock"}


# --- attncourse check -------------------------------------------------------------------------------


def _notebook(path, *cells):
    code = [{"cell_type": "code", "metadata": {}, "source": cell.splitlines(True), "outputs": []} for cell in cells]
    content = {"cells": [{"cell_type": "markdown", "source": "# Title"}, *code], "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(content))
    return str(path)


IMPORTS = "%matplotlib inline\nimport torch, torch.nn.functional as F\nfrom attncourse.exercises import exercise\n!ls"
SCORE = '@exercise("bahdanau.additive-score")\ndef additive_score(query, keys, W_q, W_k, v):\n'
MASKED = '@exercise("bahdanau.masked-softmax")\ndef masked_softmax(scores, mask):\n'


def test_check_reads_a_notebook_as_people_leave_them(tmp_path, capsys):
    path = _notebook(
        tmp_path / "homework.ipynb",
        IMPORTS,
        "raise RuntimeError('an unrelated cell')",
        "data = open('missing.csv')",
        "%%bash\nexit 1",
        "%%time\n\ndef project(x, W):\n    return x @ W.T",
        '@exercise("bahdanau.additive-score")\ndef additive_score(query=undefined):\n    return query',
        "# again\n" + SCORE + "    q, k = project(query, W_q), project(keys, W_k)\n"
        "    return torch.tanh(q[:, :, None] + k[:, None]) @ v",
        "%precision 3\n\n" + MASKED + "    w = F.softmax(scores, -1)\n    return w * mask",
        STEP.cell,
    )
    assert checking.main(path) == 1
    out = capsys.readouterr().out
    assert re.search(r"✓ bahdanau.additive-score +2/2  correct\n", out)
    assert re.search(
        r"✗ bahdanau.masked-softmax +0/2  misconception: The mask is applied after the softmax\n +Mask", out
    )
    assert re.search(r"○ bahdanau.decoder-step +0/3  not attempted\n", out)
    assert out.endswith("1 of 3 correct, 2 of 7 points\n")


def test_check_of_correct_answers_exits_with_zero(tmp_path, capsys):
    script = tmp_path / "answers.py"
    script.write_text(f"import torch\nfrom attncourse import exercises\n\n@exercises.{SCORE[1:]}" + _body(ADDITIVE))
    assert checking.main(str(script)) == 0
    assert "1 of 1 correct, 2 of 2 points" in capsys.readouterr().out


def _body(it):
    return it.solution_source.partition("\n")[2] + "\n"


def test_check_survives_what_answers_do(tmp_path, capsys):
    path = _notebook(
        tmp_path / "hostile.ipynb",
        "import os, sys\nfrom attncourse.exercises import exercise",
        SCORE + "    os._exit(0)",
        MASKED + "    sys.exit(0)",
        '@exercise("bahdanau.decoder-step")\ndef f(decoder, state, y, keys, values, mask:\n    return 1',
        '@exercise("bahdanau.future")\ndef f(x): return x',
    )
    assert checking.main(path) == 1
    out = capsys.readouterr().out
    assert "additive-score            0/2  raised: Your code ended the process" in out
    assert "masked-softmax            0/2  raised: SystemExit at line 3" in out
    assert "decoder-step              0/3  raised: The cell is not Python" in out and "| line 2:  def f(decoder" in out
    assert "raised: There is no such exercise" in out and "0 of 4 correct, 0 of 7 points" in out


BAD = {
    "missing.ipynb": None,
    "empty.ipynb": "",
    "text.ipynb": "hello",
    "list.ipynb": "[]",
    "cells.ipynb": '{"cells": 3}',
    "old.ipynb": '{"worksheets": [{"cells": []}], "nbformat": 3}',
    "none.ipynb": '{"cells": [{"cell_type": "code", "source": "x = 1"}]}',
    "none.py": "x = 1",
    "bytes.py": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name, tmp_path):
    content = BAD[name]
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadInput) as raised:
        checking.main(str(tmp_path / name))
    assert name in str(raised.value) and "\n" not in str(raised.value)


def test_only_what_the_answers_need_is_run():
    from attncourse.exercises.engine.notebook import _parse, needed

    cells = {
        "cell 1": "import torch\nimport os\nfrom math import *\nx = slow()\nW = {}\nW['a'] = 2\nW = W or x2",
        "cell 2": "def helper(a):\n    return torch.sum(a) * W['a']\nif True:\n    x2 = 1\nprint(W)",
        "cell 3": SCORE + "    return helper(query)",
        "cell 4": "query = slow_and_unrelated()\nkeys = torch.ones(10**12)",
    }
    source = _parse(cells)
    lines = [f"{step.cell[-1]}.{step.node.lineno}" for step in needed(source.steps, source.ids)]
    assert lines == ["1.1", "1.3", "1.5", "1.6", "1.7", "2.1", "2.3", "3.2"]


def test_notebooks_pose_the_exercises_as_they_are():
    """A chapter's cell is the exercise's own stub: else "not attempted" would not be seen."""
    folder = places.NOTEBOOKS
    for entry in manifest():
        path = folder / f"{entry.chapter}.ipynb"
        text = "\n\n".join("".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"])
        assert find(entry.id).cell.strip() in text, entry.id
