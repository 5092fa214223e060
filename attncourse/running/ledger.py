"""What a chapter claims, measured in its notebook: one quiet line that unfolds, and an entry of the ledger.

>>> ledger.claim("dates read exactly right", ledger.proportion(4_995, 5_000), at_least=0.99)

A bound is a *guard*: it was set after pilots and keeps the book honest when code changes. It is no prediction. A claim
whose guard does not hold raises.
"""

import hashlib
import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist, fmean, stdev

from scipy.special import stdtrit  # Student's quantile

ANY = (-math.inf, math.inf)
SHARE = (0.0, 1.0)  # what a share, a probability or an accuracy can be
POSITIVE = (0.0, math.inf)


class ClaimFailed(AssertionError):
    pass


@dataclass(frozen=True)
class Measure:
    """A figure with what it rests on: n, and a 95% interval."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.short} [{digits(self.low, self._places)}, {digits(self.high, self._places)}], n = {self.n:,}"

    @property
    def short(self) -> str:
        return digits(self.value, self._places)

    @property
    def _places(self) -> int:
        """Decimals that the interval leaves meaning to; at most three significant digits of the value."""
        half = (self.high - self.low) / 2
        first = math.floor(math.log10(half)) if half > 0 else -3
        wanted = -first + (half < 3 * 10**first)  # one decimal more where the interval begins with a 1 or a 2
        size = max(abs(self.value), abs(self.low), abs(self.high))
        most = 2 - math.floor(math.log10(size)) if size > 0 else 3
        places = max(0, min(wanted, most))
        while self.low < self.high and digits(self.low, places) == digits(self.high, places):  # 0.9994 to 1
            places += 1
        return places


def digits(x: float, places: int | None = None) -> str:
    """A number as it is shown: three significant digits unless told, a true minus, no zeros that say nothing."""
    if math.isnan(x):
        return "not a number"
    if places is None:
        places = max(0, 2 - math.floor(math.log10(abs(x)))) if x else 0
    text = f"{x:,.{places}f}"
    text = text.rstrip("0").rstrip(".") if "." in text and float(text.replace(",", "")) == round(x) else text
    return ("0" if text in ("-0", "") else text).replace("-", "−")


def proportion(hits: int, n: int) -> Measure:
    """Wilson's interval: honest also near 0 and 1, where a plain ± would leave the range.

    Where nothing (or everything) was hit, the rule of three: with 95% confidence the share is below 3/n.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"a proportion needs 0 <= hits <= n and n > 0; got {hits} of {n}")
    if hits in (0, n):
        return Measure(hits / n, max(0.0, 1 - 3 / n) * (hits > 0), min(1.0, 3 / n) if hits == 0 else 1.0, n)
    z = NormalDist().inv_cdf(0.975)
    p, spread = hits / n, z / (1 + z * z / n)
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = spread * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Measure(p, centre - half, centre + half, n)


def mean(values: Sequence[float], within: tuple[float, float] = ANY) -> Measure:
    """The mean with Student's 95% interval, cut off where the figure could not be: `within=ledger.SHARE`."""
    values = [float(v) for v in values]
    if len(values) < 2:
        raise ValueError(f"an interval needs at least two values; got {len(values)}")
    low, high = within
    if not all(low <= v <= high for v in values):
        wrong = next(v for v in values if not low <= v <= high)
        raise ValueError(f"{wrong:g} does not lie within {low:g} and {high:g}")
    half = float(stdtrit(len(values) - 1, 0.975)) * stdev(values) / math.sqrt(len(values))  # three seeds are not thirty
    centre = fmean(values)
    return Measure(centre, max(low, centre - half), min(high, centre + half), len(values))


@dataclass(frozen=True)
class Claim:
    text: str
    measured: str  # the figure with its interval and n
    short: str  # the figure alone
    n: str  # "n = 5,000", or nothing
    guard: str
    paper: str
    holds: bool | None  # None: reported, there is no guard
    crosses: bool = False  # the interval reaches beyond the guard

    @property
    def id(self) -> str:
        """Where the ledger page finds it: the same as long as its words are."""
        return "claim-" + hashlib.sha256(self.text.encode()).hexdigest()[:8]

    @property
    def entry(self) -> dict:
        return asdict(self) | {"id": self.id}

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict, dict]:
        """The claim's fields go into the output's metadata, where `book/ledger_page.py` finds them."""
        return {"text/html": self.to_html(), "text/plain": repr(self)}, {"claim": self.entry}

    @property
    def guarded(self) -> str:
        """The guard, and whether the interval crosses it."""
        return self.guard + ("; the interval crosses it" if self.crosses else "") if self.guard else ""

    def to_html(self) -> str:
        figure = f"<b>{html.escape(self.short)}</b>" + (f", {self.n}" if self.n else "")
        cells = [("measured", self.measured), ("guard (set after pilots)", self.guarded), ("the paper", self.paper)]
        rows = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in cells if value)
        return (
            f'<details class="attn-claim" id="{self.id}"><summary>measured: {html.escape(self.text)}: {figure}'
            f"</summary><dl>{rows}</dl></details>"
        )


class Claims:
    """Several claims as one table."""

    def __init__(self, claims: Sequence[Claim]):
        self.claims = list(claims)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict, dict]:
        shown = {"text/html": self.to_html(), "text/plain": "\n".join(map(repr, self.claims))}
        return shown, {"claims": [claim.entry for claim in self.claims]}

    def to_html(self) -> str:
        columns = {
            "measured": [f"{c.measured}" for c in self.claims],
            "guard": [c.guarded for c in self.claims],
            "the paper": [c.paper for c in self.claims],
        }
        used = {name: cells for name, cells in columns.items() if any(cells)}
        head = "".join(f'<th scope="col">{name}</th>' for name in ("", *used))
        rows = "".join(
            f'<tr id="{claim.id}"><th scope="row">{html.escape(claim.text)}</th>'
            + "".join(f"<td>{html.escape(cells[i])}</td>" for cells in used.values())
            + "</tr>"
            for i, claim in enumerate(self.claims)
        )
        return f'<table class="attn-claims"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def together(*claims: Claim) -> Claims:
    """One table for claims that stand in a row."""
    return Claims(claims)


def claim(
    text: str,
    measured: Measure | float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    paper: str = "",
) -> Claim:
    """Show the claim; raise ClaimFailed when the measured value is not `at_least` / `at_most` its guard.

    Without a guard the figure is reported, and nothing can fail. `paper`: its figure for the same measurement; a
    number that measures something else is left out.
    """
    value = float(measured.value if isinstance(measured, Measure) else measured)
    bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", at_least), ("≤", at_most)) if bound is not None]
    holds = (at_least is None or value >= at_least) and (at_most is None or value <= at_most) if bounds else None
    ends = (float(measured.low), float(measured.high)) if isinstance(measured, Measure) else (value, value)
    crosses = (at_least is not None and ends[0] < at_least) or (at_most is not None and ends[1] > at_most)
    shown = str(measured) if isinstance(measured, Measure) else digits(value)
    short = measured.short if isinstance(measured, Measure) else shown
    n = f"n = {measured.n:,}" if isinstance(measured, Measure) else ""
    guard = " and ".join(bounds)
    if holds is False or math.isnan(value):
        raise ClaimFailed(f"{text}: measured {shown}, its guard is {guard or 'a number'}")
    return Claim(text, shown, short, n, guard, paper, holds, crosses)
