import math

import pytest
from scipy import stats

from attncourse.ledger import ClaimFailed, Measure, claim, mean, proportion


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (4_990, 5_000), (3, 7)])
def test_proportion_equals_scipy(hits, n):
    wanted = stats.binomtest(hits, n).proportion_ci(method="wilson")
    got = proportion(hits, n)
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_none_and_all_are_exact():
    """Rounding must not leave 4e-19 where Wilson's interval begins at 0."""
    assert all(str(proportion(0, n)).startswith("0 [0, ") for n in range(1, 600))
    assert all(proportion(n, n).high == 1 for n in range(1, 600))


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
        "measured": "0.999 [0.9977, 0.9996], n = 5,000",
        "expected": "≥ 0.99",
        "paper": "26.75 <BLEU>",
        "holds": True,
        "id": made.id,
    }
    assert f'id="{made.id}"' in shown["text/html"] and made.id != claim("reads numbers", 1.0).id
    assert "26.75 &lt;BLEU&gt;" in shown["text/html"]


def test_a_claim_that_does_not_hold_raises():
    with pytest.raises(ClaimFailed, match=r"reads dates: measured 0\.5, expected ≥ 0\.99"):
        claim("reads dates", 0.5, at_least=0.99)
    with pytest.raises(ClaimFailed):
        claim("error", 0.5, at_most=0.1)
    with pytest.raises(ClaimFailed):
        claim("nothing was measured", math.nan)
    assert claim("only reported", 0.5).holds is None
    assert claim("between", Measure(0.5, 0.4, 0.6, 9), at_least=0.1, at_most=0.9).expected == "≥ 0.1 and ≤ 0.9"


def test_impossible_measures_are_refused():
    with pytest.raises(ValueError, match="5 of 3"):
        proportion(5, 3)
    with pytest.raises(ValueError, match="at least two values"):
        mean([1.0])
