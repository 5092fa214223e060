"""claim(): what a chapter says, measured in the notebook beside the paper's figure. A claim that fails, raises."""

import hashlib
import html
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist, fmean, stdev

from scipy.special import stdtrit  # Student's quantile


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
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}], n = {self.n:,}"


def proportion(hits: int, n: int) -> Measure:
    """Wilson's interval: honest also near 0 and 1, where a plain ± would leave the range."""
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"a proportion needs 0 <= hits <= n and n > 0; got {hits} of {n}")
    z = NormalDist().inv_cdf(0.975)
    p, spread = hits / n, z / (1 + z * z / n)
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = spread * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (0.0 if hits == 0 else centre - half), (1.0 if hits == n else centre + half)  # not 4e-19
    return Measure(p, low, high, n)


def mean(values: Sequence[float]) -> Measure:
    """The mean with Student's 95% interval."""
    values = [float(v) for v in values]
    if len(values) < 2:
        raise ValueError(f"an interval needs at least two values; got {len(values)}")
    half = stdtrit(len(values) - 1, 0.975) * stdev(values) / math.sqrt(len(values))  # three seeds are not thirty
    centre = fmean(values)
    return Measure(centre, centre - half, centre + half, len(values))


@dataclass(frozen=True)
class Claim:
    text: str
    measured: str
    expected: str
    paper: str
    holds: bool | None  # None: reported, nothing was promised

    @property
    def id(self) -> str:
        """Where the ledger page finds it: the same as long as its words are."""
        return "claim-" + hashlib.sha256(self.text.encode()).hexdigest()[:8]

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        """The claim's fields go into the output's metadata, where `book/build.py` finds them."""
        return {"text/html": self.to_html(), "text/plain": repr(self)}, {"claim": asdict(self) | {"id": self.id}}

    def to_html(self) -> str:
        mark, word = {True: ("✓", "holds"), False: ("✗", "fails"), None: ("·", "reported")}[self.holds]
        cells = [("measured", self.measured), ("expected", self.expected), ("paper", self.paper)]
        rows = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in cells if value)
        return (
            f'<div class="attn-claim attn-claim-{word}" id="{self.id}">'
            f'<p><span class="attn-mark" aria-hidden="true">{mark}</span> '
            f"{html.escape(self.text)} <small>({word})</small></p><dl>{rows}</dl></div>"
        )


def claim(
    text: str,
    measured: Measure | float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    paper: str = "",
) -> Claim:
    """Show the claim; raise ClaimFailed when the measured value is not `at_least` / `at_most` the bound.

    Without a bound the figure is reported, beside the paper's, and nothing can fail.
    """
    value = measured.value if isinstance(measured, Measure) else float(measured)
    bounds = [f"{sign} {bound:g}" for sign, bound in (("≥", at_least), ("≤", at_most)) if bound is not None]
    holds = (at_least is None or value >= at_least) and (at_most is None or value <= at_most) if bounds else None
    shown = str(measured) if isinstance(measured, Measure) else f"{value:.4g}"
    made = Claim(text, shown, " and ".join(bounds), paper, holds)
    if holds is False or math.isnan(value):
        raise ClaimFailed(f"{text}: measured {shown}, expected {made.expected or 'a number'}")
    return made
