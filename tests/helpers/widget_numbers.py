"""Numbers of the page beside PyTorch's: functions of the shared script, and what two explorables show."""

import numpy as np
import torch

from attncourse import zoo
from attncourse.tasks import dates
from attncourse.widgets import bundle
from attncourse.zoo.dates import translate


def as_js(x):
    if isinstance(x, torch.Tensor):
        return {"shape": list(x.shape), "data": x.flatten().tolist()} if x.dim() > 1 else x.tolist()
    if isinstance(x, dict):
        return {k: as_js(v) for k, v in x.items()}
    return [as_js(y) for y in x] if isinstance(x, list | tuple) else x


RUN = """async ([source, cases]) => {
  const lib = await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const revive = (x) => {
    if (Array.isArray(x)) return typeof x[0] === "number" ? Float32Array.from(x) : x.map(revive);
    if (x === null || typeof x !== "object") return x;
    if (x.shape) return { shape: x.shape, data: Float32Array.from(x.data) };
    return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, revive(v)]));
  };
  const plain = (y) => (typeof y === "number" ? [y] : y.data ? [...y.data] : Array.from(y, plain).flat());
  const call = ([name, args]) => plain(name.split(".").reduce((at, part) => at[part], lib)(...args.map(revive)));
  return Object.fromEntries(Object.entries(cases).map(([key, value]) => [key, call(value)]));
}"""
LIB = bundle.esm("lib")  # the whole library; it is not in the wheel


def weights_shown(page):
    return [float(row.get_attribute("data-weight")) for row in page.locator("tr[data-weight]").all()]


def alignment_shown(page):
    """What the translator read and wrote, and its weights, from the drawing."""
    return page.evaluate("""() => {
        const root = document.querySelector(".attn-date-translator"), weights = [];
        for (const { dataset } of root.querySelectorAll(".attn-cell"))
            (weights[dataset.row] = weights[dataset.row] || [])[dataset.column] = Number(dataset.weight);
        return { text: root.dataset.text, output: root.dataset.output, weights };
    }""")


def type_date(page, text, read):
    page.locator(".attn-date-translator input").fill(text)
    page.wait_for_function("(text) => document.querySelector('.attn-date-translator').dataset.text === text", arg=read)


def same_as_torch(page, texts):
    """Type each text and compare output and weights with PyTorch's."""
    model, card = zoo.load("bahdanau-dates")
    page.locator(".attn-cell").first.wait_for()
    for text in texts:
        read = dates.normalise(text)[:80]
        [output], weights = translate(model, [read], card["config"]["alphabet"])
        type_date(page, text, read)
        shown = alignment_shown(page)
        assert shown["output"] == output, text
        np.testing.assert_allclose(shown["weights"], weights[0], atol=1e-3, err_msg=text)
