import math

import pytest
from scipy import stats

from attncourse.running.ledger import SHARE, ClaimFailed, Measure, claim, digits, mean, proportion, together


@pytest.mark.parametrize(("hits", "n"), [(1, 10), (9, 10), (4_990, 5_000), (3, 7)])
def test_proportion_equals_scipy(hits, n):
    wanted = stats.binomtest(hits, n).proportion_ci(method="wilson")
    got = proportion(hits, n)
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 200, 5_000])
def test_no_errors_follow_the_rule_of_three(n):
    """0 [0, 0] would promise what n cases cannot: with 95% confidence the share is below 3/n."""
    none, every = proportion(0, n), proportion(n, n)
    assert (none.value, none.low, none.high) == (0, 0, min(1, 3 / n))
    assert (every.value, every.low, every.high) == (1, max(0, 1 - 3 / n), 1)
    if n >= 10:  # the exact bound: (1 - p)^n = 0.05
        assert none.high == pytest.approx(1 - 0.05 ** (1 / n), rel=0.2)


def test_an_interval_stays_where_the_figure_can_be():
    values = [0.999, 0.98, 1.0]
    assert mean(values).high > 1 and mean(values, SHARE).high == 1 and mean(values, SHARE).low == mean(values).low
    with pytest.raises(ValueError, match=r"1\.2 does not lie within 0 and 1"):
        mean([0.5, 1.2], SHARE)


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (Measure(0.58471, 0.4341, 0.7354, 3), "0.58 [0.43, 0.74], n = 3"),
        (Measure(0.98961, 0.986, 0.9921, 5_000), "0.990 [0.986, 0.992], n = 5,000"),
        (Measure(21.0, 18.52, 23.48, 3), "21 [18.5, 23.5], n = 3"),
        (Measure(-0.004, -0.01315, 0.00515, 3), "−0.004 [−0.013, 0.005], n = 3"),
        (Measure(97.73, 96.2, 98.9, 500), "97.7 [96.2, 98.9], n = 500"),
        (Measure(1.0, 1.0, 1.0, 3), "1 [1, 1], n = 3"),
        (Measure(1.0, 0.9994, 1.0, 5_000), "1 [0.999, 1], n = 5,000"),
        (Measure(12_345.6, 12_001.0, 12_690.0, 9), "12,346 [12,001, 12,690], n = 9"),
    ],
)
def test_digits_that_the_interval_leaves_meaning_to(measure, text):
    assert str(measure) == text


def test_a_plain_number_has_three_significant_digits():
    assert [digits(x) for x in (0.001898, 1234.5, 0.5, 0, -2.0, 3.14159)] == [
        "0.00190", "1,234", "0.500", "0", "−2", "3.14",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[0.1, 0.4], [1.0, 2.0, 4.0], [float(i % 7) for i in range(80)]])
def test_mean_equals_scipy(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values))
    got = mean(values)
    assert (got.low, got.high) == pytest.approx((low, high))


def test_claim_shows_and_stores_itself():
    made = claim("reads dates", proportion(4_995, 5_000), at_least=0.99, paper="26.75 <BLEU>")
    shown, metadata = made._repr_mimebundle_()
    assert metadata["claim"] == {
        "text": "reads dates",
        "measured": "0.999 [0.998, 1], n = 5,000",
        "short": "0.999",
        "n": "n = 5,000",
        "guard": "≥ 0.99",
        "paper": "26.75 <BLEU>",
        "holds": True,
        "crosses": False,
        "id": made.id,
    }
    assert f'id="{made.id}"' in shown["text/html"] and made.id != claim("reads numbers", 1.0).id
    assert "26.75 &lt;BLEU&gt;" in shown["text/html"]


def test_a_claim_that_does_not_hold_raises():
    with pytest.raises(ClaimFailed, match=r"reads dates: measured 0\.500, its guard is ≥ 0\.99"):
        claim("reads dates", 0.5, at_least=0.99)
    with pytest.raises(ClaimFailed):
        claim("error", 0.5, at_most=0.1)
    with pytest.raises(ClaimFailed):
        claim("nothing was measured", math.nan)
    assert claim("only reported", 0.5).holds is None
    assert claim("between", Measure(0.5, 0.4, 0.6, 9), at_least=0.1, at_most=0.9).guard == "≥ 0.1 and ≤ 0.9"


def test_an_interval_that_crosses_the_guard_is_marked():
    made = claim("gain", Measure(0.3, 0.1, 0.5, 3), at_least=0.2)
    assert made.holds and made.crosses and "the interval crosses it" in made.to_html()
    assert not claim("gain", Measure(0.3, 0.25, 0.5, 3), at_least=0.2).crosses


def test_claims_in_a_row_are_one_table():
    made = together(claim("a < b", 0.5), claim("b", Measure(0.3, 0.2, 0.4, 9), at_least=0.1))
    shown, metadata = made._repr_mimebundle_()
    assert [entry["text"] for entry in metadata["claims"]] == ["a < b", "b"]
    assert shown["text/html"].count("<tr id=") == 2 and "a &lt; b" in shown["text/html"]
    assert "the paper" not in shown["text/html"]  # a column that nobody fills is left out


def test_impossible_measures_are_refused():
    with pytest.raises(ValueError, match="5 of 3"):
        proportion(5, 3)
    with pytest.raises(ValueError, match="at least two values"):
        mean([1.0])
