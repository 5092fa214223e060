"""The primers: every number of their examples computed again, and every line of their code run."""

import math
import re
from itertools import combinations, pairwise

import pytest
import sacrebleu
import torch
from places import ROOT
from scipy import stats

from attncourse import course
from attncourse.running import ledger
from attncourse.tasks import parsing, translation

PAGES = ("primers", "primer_tensors", "primer_recurrent", "primer_metrics", "primer_statistics")
TEXT = {page: (ROOT / f"book/{page}.md").read_text(encoding="utf-8") for page in PAGES}
SIZES = {"B": 2, "T": 3, "Tq": 3, "Tk": 5, "D": 7, "A": 11, "H": 4, "Dh": 13}


def said(page, *phrases):
    """The page says each of them, to the letter."""
    for phrase in phrases:
        assert phrase in TEXT[f"primer_{page}"], phrase


def test_the_primers_stand_together_in_the_table_of_contents():
    pages = next(a.pages for a in course.read().appendices if a.title == "Reference")
    first = pages.index("book/primers")
    assert list(pages[first : first + len(PAGES)]) == [f"book/{page}" for page in PAGES]
    assert all(f"({page}.md)" in TEXT["primers"] for page in PAGES[1:])


# --- tensors -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ran():
    """What the code of the page on tensors leaves behind; every shape behind a line is compared on the way."""
    space, compared = {"torch": torch, "lengths": torch.tensor([5, 2]), **SIZES}, 0
    for block in re.findall(r"```python\n(.*?)```", TEXT["primer_tensors"], re.DOTALL):
        for line in block.splitlines():
            exec(line, space)
            if found := re.search(r"^(\w+) = .*# (\(.*\))$", line):
                name, shape = found.groups()
                assert tuple(space[name].shape) == eval(shape, SIZES), line
                compared += 1
    assert compared == 9
    return space


def test_the_code_about_tensors_runs_and_has_the_shapes_it_says(ran):
    assert ran["loss"].item() == pytest.approx(4 / 3)
    said("tensors", "is 1.33, not 0")
    ahead, beyond = torch.ones(3, 5, dtype=torch.bool).triu(1), torch.arange(5) >= 2
    assert torch.equal(torch.isinf(ran["scores"]), torch.stack([ahead, ahead | beyond]))


def test_one_way_to_split_heads_keeps_words_together(ran):
    x, heads, mixed = ran["x"], ran["heads"], ran["mixed"]
    assert torch.equal(heads[:, 1], x[:, :, 13:26]) and not torch.equal(mixed[:, 1], x[:, :, 13:26])


def test_a_mask_without_its_axis_fits_only_by_accident():
    scores, mask = torch.zeros(3, 3, 5), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]).bool()
    hidden = torch.isinf(scores.masked_fill(~mask, -torch.inf))
    assert all(torch.equal(hidden[b], ~mask) for b in range(3)), "every query has the length of some sentence"
    with pytest.raises(RuntimeError):
        torch.zeros(2, 3, 5).masked_fill(~mask[:2], -torch.inf)


def test_small_examples_of_tensors():
    query, keys = torch.tensor([[1, 0], [2, 1]]), torch.tensor([[1, 1], [0, 3], [2, 0]])
    x = torch.arange(6).reshape(2, 3)
    said("tensors", f"`{(query @ keys.mT).tolist()}`", f"`{x.mT.tolist()}`", f"`{x.reshape(3, 2).tolist()}`")
    raised = torch.tensor([2.0, 0.0, 1.0]).exp()
    said("tensors", f"{raised[0]:.2f}, 1 and {raised[2]:.2f}, which add up to {raised.sum():.2f}")
    said("tensors", "{:.2f}, {:.2f} and {:.2f}".format(*raised / raised.sum()))
    sums = torch.tensor([[2.0, 0.0, 1.0], [0.0, 0.0, 0.0]]).softmax(0).sum(1)
    said("tensors", f"sum to {sums[0]:.2f} and the second with weights that sum to {sums[1]:.2f}")


# --- recurrent networks --------------------------------------------------------------------------------------


def test_the_plain_network_forgets():
    h = [0.0]
    for x in (1.0, 0.0, 0.0):
        h.append(math.tanh(x + 0.5 * h[-1]))
    for i, value in enumerate(h[1:], 1):
        assert re.search(rf"^- \$h_{i} = .* = {value:.3f}\$$", TEXT["primer_recurrent"], re.MULTILINE), (i, value)
    said("recurrent", f"tanh({h[1] / 2:.3f})", f"tanh({h[2] / 2:.3f})", f"only {h[3]:.2f} is left")


def test_gates_mix():
    said(
        "recurrent", f"= {0.9 * 0.8 + 0.1 * -0.5:.2f}$, nearly the old", f"= {0.1 * 0.8 + 0.9 * -0.5:.2f}$, nearly the"
    )


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_equations_are_those_of_torch(kind):
    """With torch's own reset, which the page names, for the GRU."""
    torch.manual_seed(0)
    x, h, c = torch.randn(1, 3), torch.randn(1, 4), torch.randn(1, 4)
    cell = {"gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}[kind](3, 4)
    ours, state = (x @ cell.weight_ih.T + cell.bias_ih), (h @ cell.weight_hh.T + cell.bias_hh)
    a, u = ours.chunk(3 if kind == "gru" else 4, -1), state.chunk(3 if kind == "gru" else 4, -1)
    if kind == "gru":
        r, z = (a[0] + u[0]).sigmoid(), (a[1] + u[1]).sigmoid()
        torch.testing.assert_close(cell(x, h), z * h + (1 - z) * (a[2] + r * u[2]).tanh())
    else:
        i, f, candidate, o = (a[0] + u[0]).sigmoid(), (a[1] + u[1]).sigmoid(), (a[2] + u[2]).tanh(), a[3] + u[3]
        memory = f * c + i * candidate
        torch.testing.assert_close(cell(x, (h, c)), (o.sigmoid() * memory.tanh(), memory))


# --- metrics -------------------------------------------------------------------------------------------------

REFERENCE = "the black cat sees the dog"


def bleu(*answers):
    return sacrebleu.corpus_bleu(list(answers), [[REFERENCE] * len(answers)], tokenize="none", force=True)


def agree(a, b):
    return sum(x == y for x, y in zip(a, b, strict=False))


def test_exact_match_and_token_accuracy():
    rows = re.findall(
        r"^\| `([\d-]{10})` \| `([\d-]{10})` \| (\d+) of 10 \| (\w+) \|$", TEXT["primer_metrics"], re.MULTILINE
    )
    assert len(rows) == 3
    for right, written, n, verdict in rows:
        assert agree(right, written) == int(n) and (right == written) == (verdict == "right")
    said("metrics", f"1/3 = {1 / 3:.2f}", f"{sum(int(row[2]) for row in rows)}/30 = {27 / 30:.2f}")
    said("metrics", f"0.98^{{20}} = {0.98**20:.2f}", f"only {agree('2024-03-05', '204-03-05')} of 10 positions agree")


def test_bleu_by_hand_is_sacrebleus():
    answer = "the black cat sees dogs"
    words, wanted = answer.split(), REFERENCE.split()
    precisions = []
    for n in range(1, 5):
        of_answer, of_reference = (list(zip(*(w[i:] for i in range(n)), strict=False)) for w in (words, wanted))
        hits = sum(min(of_answer.count(g), of_reference.count(g)) for g in set(of_answer))
        precisions.append(hits / len(of_answer))
        grams = ", ".join(" ".join(g) for g in of_answer)
        said("metrics", f"| {n} | {grams} | {hits} of {len(of_answer)} | {precisions[-1]:.2f} |")
    penalty, root = math.exp(1 - len(wanted) / len(words)), math.prod(precisions) ** 0.25
    assert bleu(answer).score == pytest.approx(100 * penalty * root) and math.prod(precisions) == pytest.approx(1 / 5)
    said("metrics", f"fourth root is {root:.3f}", f"e^{{-0.2}} = {penalty:.3f}")
    said("metrics", rf"100 \cdot {penalty:.3f} \cdot {root:.3f} = {bleu(answer).score:.1f}$")


def test_other_answers_in_bleu():
    first = bleu("the black cat sees dogs").score
    together = bleu("the black cat sees dogs", REFERENCE).score
    said(
        "metrics",
        f"together have {together:.1f}, while the mean of {first:.1f} and 100 would be {(first + 100) / 2:.1f}",
    )
    assert bleu("the the the the the").counts[0] == 2
    for answer, words in (
        ("the black dog sees the cat", "turns the story around and gets {:.1f}"),
        ("the dark cat watches a dog", "is a fair paraphrase and gets {:.1f}"),
        ("the the the the the", "about as much as *the the the the the* with {:.1f}"),
    ):
        said("metrics", f"*{answer}*", words.format(bleu(answer).score))
        assert bleu(answer).counts[3] == 0, "smoothed"


def test_perplexity():
    surprises = [-math.log2(p) for p in (1 / 2, 1 / 4, 1 / 8, 1 / 4)]
    nats = math.log(2) * sum(surprises) / 4
    assert surprises == [1, 2, 3, 2] and math.exp(nats) == pytest.approx(4)
    said("metrics", "1, 2, 3 and 2, on average 2 bits", f"= {nats:.3f}$ nats", f"= {1 / math.log(2):.3f}$ bits")


def test_alignment_error_rate():
    """Places count from 0 in both sentences: the name of the king, le nom du roi."""
    sure = frozenset({(0, 0), (1, 1), (4, 3)})
    possible = sure | {(2, 2), (3, 2)}
    example = translation.Example("the name of the king".split(), "le nom du roi".split(), sure, possible, "")
    found = {(0, 0), (1, 1), (2, 2), (3, 3)}
    rate = translation.alignment_error_rate([found], [example])
    assert (len(sure), len(possible), len(found & sure), len(found & possible)) == (3, 5, 2, 3)
    said("metrics", rf"1 - \frac{{2 + 3}}{{4 + 3}} = {rate:.2f}$", "$|S| = 3$, $|P| = 5$")
    assert translation.alignment_error_rate([found - {(3, 3)} | {(4, 3)}], [example]) == 0


def test_most_sentences_have_sure_links_only():
    sentences = translation.sample(400, seed=3, lengths=(3, 10))
    merged = [e for e in sentences if e.possible - e.sure]
    assert 0 < len(merged) < 100 and any("du" in e.french for e in merged)


def test_f1():
    wanted, found = (line.split() for line in re.findall(r"`(\(S .*)`", TEXT["primer_metrics"]))
    right, n_found, n_wanted = parsing.count(found, wanted)
    assert (right, n_found, n_wanted) == (3, 3, 4)
    said(
        "metrics",
        f"(3 + 4) = {parsing.f1([(right, n_found, n_wanted)]):.2f}$",
        f"arithmetic mean would be {1.75 / 2:.2f}",
    )


# --- statistics ----------------------------------------------------------------------------------------------


def bracket(measure):
    return f"[{measure.low:.3f}, {measure.high:.3f}]"


def test_shares():
    plain = 1.96 * math.sqrt(0.98 * 0.02 / 100)
    said("statistics", rf"0.98 \pm {plain:.3f} = [{0.98 - plain:.3f}, {0.98 + plain:.3f}]")
    for hits, n in ((98, 100), (980, 1_000), (910, 1_000), (900, 1_000)):
        scipys = stats.binomtest(hits, n).proportion_ci(method="wilson")
        ours = ledger.proportion(hits, n)
        assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high))
        said("statistics", bracket(ours))
    said("statistics", str(ledger.proportion(98, 100)))
    few, many = (m.high - m.low for m in (ledger.proportion(98, 100), ledger.proportion(980, 1_000)))
    said("statistics", f"{many / few:.2f} times as wide", rf"1/\sqrt{{10}} = {10**-0.5:.2f}")
    z, low = stats.norm.ppf(0.975), ledger.proportion(98, 100).low  # an end is a share whose own error reaches to p
    assert 0.98 - low == pytest.approx(z * math.sqrt(low * (1 - low) / 100))


def test_the_rule_of_three():
    said("statistics", f"that is {0.99**300:.3f}", f"exact limit is {1 - 0.05 ** (1 / 300):.5f}")
    said("statistics", f"= {math.log(0.05):.1f}$")
    assert ledger.proportion(0, 300).high == pytest.approx(0.01)
    exact = stats.binomtest(0, 300, alternative="less").proportion_ci(0.95).high  # one-sided, Clopper and Pearson
    assert exact == pytest.approx(1 - 0.05 ** (1 / 300))


def test_students_interval():
    values = [0.91, 0.93, 0.94, 0.90, 0.92]
    mean, s = ledger.mean(values), stats.tstd(values)
    scipys = stats.t.interval(0.95, 4, mean.value, s / math.sqrt(5))
    assert (mean.low, mean.high) == pytest.approx(scipys)
    said("statistics", f"$s = {s:.4f}$", rf"0.92 \pm {mean.high - 0.92:.3f} = {bracket(mean)}")
    seeds = (2, 3, 5, 10, 30)
    said("statistics", f"| $t$ | {' | '.join(f'{stats.t.ppf(0.975, n - 1):.2f}' for n in seeds)} |")
    covered = [f"{1 - 2 * stats.t.sf(1.96, n - 1):.0%}" for n in seeds]
    said("statistics", f"really cover | {' | '.join(covered)} |")
    three, five = (stats.t.ppf(0.975, n - 1) / math.sqrt(n) for n in (3, 5))
    said("statistics", f"is {three:.1f}, with five it is {five:.1f}")


def test_pairs():
    a, b = [0.62, 0.81, 0.70, 0.90, 0.75], [0.65, 0.83, 0.74, 0.93, 0.78]
    differences = [y - x for x, y in zip(a, b, strict=True)]
    for name, values in (("A", a), ("B", b), ("B − A", differences)):
        shown = str(ledger.mean(values)).removesuffix(", n = 5")
        said("statistics", f"| {name} | {' | '.join(f'{v:.2f}' for v in values)} | {shown} |")
    said("statistics", f"$p = {stats.ttest_ind(a, b).pvalue:.2f}$", f"$p = {stats.ttest_rel(a, b).pvalue:.4f}$")
    said("statistics", f"either side has probability {stats.binomtest(15, 20).pvalue:.3f}")


def orders(n):
    """All ways to give n of 2n places to B -> how many pairs of runs are out of order in each, were B the better"""
    places = range(2 * n)
    return [sum(x > y for y in mine for x in set(places) - set(mine)) for mine in combinations(places, n)]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_how_often_chance_puts_all_runs_of_one_ahead(n):
    all_orders = orders(n)
    whole, ahead = len(all_orders), all_orders.count(0)
    either = ahead + all_orders.count(n * n)
    assert (ahead, either) == (1, 2)
    said("statistics", f"| {n} | {whole} | 1/{whole} | 1/{whole // 2} = {either / whole:.{2 if n == 3 else 3}f} |")


def test_one_pair_out_of_order():
    for n, text in ((5, "4/252 = 0.016"), (4, "4/70 = 0.057")):
        found = orders(n)
        extreme = sum(k <= 1 or k >= n * n - 1 for k in found)
        assert text == f"{extreme}/{len(found)} = {extreme / len(found):.3f}"
        said("statistics", text)


def test_who_looks_often_finds_something():
    said("statistics", f"= {1 - 0.95**20:.2f}$ if they are independent", f"1/16 = {stats.binomtest(5, 5).pvalue:.2f}$")
    assert stats.binomtest(6, 6).pvalue < 0.05 < stats.binomtest(5, 5).pvalue


def test_a_guard_stops_what_falls_below_it_and_tells_what_crosses():
    line = re.search(r"```python\n(ledger\.claim.*)\n```", TEXT["primer_statistics"])[1]
    assert eval(line, {"ledger": ledger}).short == "0.999"
    assert ledger.claim("x", ledger.proportion(991, 1_000), at_least=0.99).crosses
    with pytest.raises(ledger.ClaimFailed):
        ledger.claim("x", ledger.proportion(989, 1_000), at_least=0.99)


def test_headings_that_other_pages_lead_to():
    for heading in ("## RNNs", "## Policy gradients", "## GANs"):
        assert f"\n{heading}\n" in TEXT["primers"]
    for page, text in TEXT.items():
        levels = [
            len(marks) for marks in re.findall(r"^(#+) ", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
        ]
        assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels)), page
