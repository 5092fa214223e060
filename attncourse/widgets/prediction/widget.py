"""`predict(…)`: the reader commits to a guess before a result is shown, then sees guess and result together."""

import html
import json
import math
import re
from collections.abc import Sequence
from typing import Any

from ... import markup
from ...running import ledger, record
from .. import bundle

Part = tuple[str, list[dict]]  # HTML, and the claims that it makes


class Prediction:
    """A question, what happened, and the figures that show it, as one output of a cell.

    It is plain HTML in which everything can be read, with a script in it that hides the result until the reader has
    guessed. So it needs no kernel, and shows everything on paper and where no script runs.
    """

    def __init__(self, name: str, question: str, guess: dict, result: str, shown: list[Part]):
        self.name, self.question, self.guess, self.result, self.shown = name, question, guess, result, shown
        record.used("widget", "predict")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> tuple[dict, dict]:
        """Claims that are shown inside go into the metadata, as they would outside: the ledger looks there."""
        claims = [claim for _, made in self.shown for claim in made]
        plain = markup.to_plain(f"{self.question}\n{self.result}")
        return {"text/html": self.to_html(), "text/plain": plain}, {"claims": claims} if claims else {}

    def to_html(self) -> str:
        asked = html.escape(json.dumps({"name": self.name, **self.guess}), quote=True)
        shown = "".join(text for text, _ in self.shown)
        return (
            f"<style>{bundle.css('prediction')}</style>"
            '<div class="attn-widget attn-predict" role="group" aria-label="Predict, then look" '
            f'data-lm-suppress-shortcuts="true" data-asked="{asked}">'
            f'<p class="attn-question"><strong>Predict, then look.</strong> {markup.to_html_inline(self.question)}</p>'
            f'{_options(self.guess)}<div class="attn-shown"><p class="attn-result">'
            f"{markup.to_html_inline(self.result)}</p>{shown}</div></div>"
            f"<script>(() => {{{bundle.esm('prediction')}}})();</script>"
        )


def predict(
    name: str,
    question: str,
    *,
    answer: Any,
    result: str,
    choices: Sequence[str] | None = None,
    number: tuple[float, float] | None = None,
    unit: str = "",
    curve: Sequence[float | str] | None = None,
    between: tuple[float, float] = (0, 1),
    axes: tuple[str, str] = ("", ""),
    show: Any = (),
    alt: str | Sequence[str] = (),
) -> Prediction:
    """Ask `question` (Markdown with $…$), and show `result` and `show` only after a guess or "Show me".

    name      "chapter.what", unique in the course: the guess is kept in the browser under it
    choices   texts to choose from; `answer`: the index of what happened
    number    the ends of a slider, `unit` says of what; `answer`: a number between them
    curve     places on the x-axis, values lie `between` two numbers, `axes` names both; `answer`: one value per place
    show      figures of matplotlib (each with its text in `alt`), claims, tables, whatever shows itself as HTML
    """
    if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name):
        raise ValueError(f"the name {name!r} should be like 'bahdanau.length': a chapter, a dot, and what is asked")
    kinds = {"choices": choices, "number": number, "curve": curve}
    given = [kind for kind, value in kinds.items() if value is not None]
    if len(given) != 1:
        seen = " and ".join(given) or "none"
        raise ValueError(f"{name}: a prediction needs exactly one of choices, number and curve; got {seen}")
    if choices is not None:
        guess = _choice(name, choices, answer)
    elif number is not None:
        guess = _number(name, number, answer, unit)
    elif curve is not None:
        guess = _curve(name, list(curve), between, axes, answer)
    parts = list(show) if isinstance(show, list | tuple) else [show]
    return Prediction(name, question, guess, result, _shown(name, parts, [alt] if isinstance(alt, str) else list(alt)))


# --- the three kinds of guess, as the script reads them ------------------------------------------------------


def _choice(name: str, choices: Sequence[str], answer: Any) -> dict:
    if isinstance(choices, str) or len(choices) < 2 or len(set(choices)) < len(choices):
        raise ValueError(f"{name}: choices should be two or more different texts; got {choices!r}")
    if answer not in range(len(choices)):
        raise ValueError(
            f"{name}: answer is the index of what happened, 0 to {len(choices) - 1} for {len(choices)} choices; "
            f"got {answer!r}"
        )
    return {"kind": "choice", "choices": [markup.to_html_inline(text) for text in choices], "answer": int(answer)}


def _number(name: str, ends: Sequence[float], answer: Any, unit: str) -> dict:
    scale = _scale(name, "number", ends)
    value = _inside(name, answer, scale, "answer")
    return {"kind": "number", **scale, "unit": unit, "answer": value, "measured": ledger.digits(value)}


def _curve(name: str, places: list, between: Sequence[float], axes: Sequence[str], answer: Any) -> dict:
    if len(places) < 2:
        raise ValueError(f"{name}: a curve needs two places or more on its x-axis; got {places!r}")
    answer = answer.tolist() if hasattr(answer, "tolist") else answer
    if not hasattr(answer, "__len__") or len(answer) != len(places):
        seen = f"{len(answer)} values" if hasattr(answer, "__len__") else repr(answer)
        raise ValueError(f"{name}: answer needs one value per place of the curve, {len(places)}; got {seen}")
    if len(axes) != 2 or not all(axes):
        raise ValueError(f"{name}: a curve needs axes=(what lies along x, what along y); got {axes!r}")
    scale = _scale(name, "between", between)
    values = [_inside(name, y, scale, f"answer[{i}]") for i, y in enumerate(answer)]
    names = [x if isinstance(x, str) else f"{x:,g}" if abs(x) < 1e6 else f"{x:g}" for x in places]
    return {"kind": "curve", **scale, "places": names, "axes": list(axes), "answer": values}


def _scale(name: str, what: str, ends: Sequence[float]) -> dict:
    """A step of 1, 2 or 5 hundredths of some power of ten: about a hundred of them from end to end."""
    if len(ends) != 2 or not all(math.isfinite(end) for end in ends) or not ends[0] < ends[1]:
        raise ValueError(f"{name}: {what} should be two numbers, the lower one first; got {ends!r}")
    low, high = map(float, ends)
    ten = 10 ** math.floor(math.log10((high - low) / 100))
    step = next(m * ten for m in (1, 2, 5, 10) if m * ten > (high - low) / 100 * 0.999)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return {"low": low, "high": high, "step": round(step, decimals), "decimals": decimals}


def _inside(name: str, value: Any, scale: dict, what: str) -> float:
    value = float(value)
    if not scale["low"] <= value <= scale["high"]:
        raise ValueError(
            f"{name}: {what} is {value:g}, outside of {scale['low']:g} to {scale['high']:g}: nobody could guess it"
        )
    return value


def _options(guess: dict) -> str:
    """What there was to choose from, for readers on paper and without scripts."""
    if guess["kind"] != "choice":
        return ""
    return '<ul class="attn-choices">' + "".join(f"<li>{text}</li>" for text in guess["choices"]) + "</ul>"


# --- what is shown with the result ---------------------------------------------------------------------------


def _shown(name: str, parts: list, alts: list[str]) -> list[Part]:
    figures = sum(hasattr(part, "savefig") for part in parts)
    if figures != len(alts) or not all(alts):
        raise ValueError(f"{name}: each figure needs its text in alt; got {figures} figures and {len(alts)} texts")
    texts = iter(alts)
    return [(_figure(part, next(texts)), []) if hasattr(part, "savefig") else _output(name, part) for part in parts]


def _figure(figure: Any, alt: str) -> str:
    """As a notebook would show it; then closed, so that the notebook does not show it once more."""
    import matplotlib.pyplot as plt
    from IPython.core.pylabtools import print_figure

    png = print_figure(figure, "png", base64=True)
    plt.close(figure)
    return f'<img src="data:image/png;base64,{png.strip()}" alt="{html.escape(alt, quote=True)}">'


def _output(name: str, part: Any) -> Part:
    if isinstance(part, str):
        return markup.to_html(part), []
    if hasattr(part, "_repr_mimebundle_"):
        bundled = part._repr_mimebundle_()
        data, kept = bundled if isinstance(bundled, tuple) else (bundled, {})
        if "text/html" in data:
            return data["text/html"], [*kept.get("claims", []), *([kept["claim"]] if "claim" in kept else [])]
    if hasattr(part, "_repr_html_") and (text := part._repr_html_()):
        return text, []
    raise ValueError(
        f"{name}: show holds a {type(part).__name__}, which is no figure and has no HTML; "
        "give figures, claims, tables or texts"
    )
