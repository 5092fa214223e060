"""Drawings and a stepped drawing as outputs in a real JupyterLab."""

import importlib.util
import json

import pytest
from drawn import complaints, unreadable
from places import ROOT

SPEC = importlib.util.spec_from_file_location("lab", ROOT / "tests/browser/test_lab.py")
lab = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lab)
CELLS = [
    "from attncourse import diagrams\nfrom attncourse.widgets import walkthrough\ndiagrams.score_normalise_read()",
    "diagrams.whole_transformer()",
    'walkthrough("rnnsearch")',
]
pytestmark = [pytest.mark.book, pytest.mark.slow]


def test_in_jupyterlab(browser, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [cell | {"source": source, "id": f"cell-{i}"} for i, source in enumerate(CELLS)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (work / lab.SOURCE.name).write_text(json.dumps(notebook), encoding="utf-8")
    for name, values in lab.SETTINGS.items():
        file = tmp_path / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    with lab.jupyterlab(work) as url:
        context = browser.new_context(viewport={"width": 1300, "height": 1000})
        page = context.new_page()
        page.goto(url)
        page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for(timeout=120_000)
        lab.run_all(page)
        lab.wait_until_idle(page)
        page.locator(".attn-walkthrough svg.attn-diagram").wait_for(timeout=60_000)
        drawings = page.locator(".jp-OutputArea svg.attn-diagram")
        assert drawings.count() == len(CELLS)
        tinted = page.locator("svg.attn-diagram .query rect").first.evaluate("r => getComputedStyle(r).stroke")
        assert tinted == "rgb(230, 159, 0)", "the style came along"
        for i in range(2):
            assert complaints(page, f"svg.attn-diagram >> nth={i}", smallest=10) == []
        walk = page.locator(".attn-walkthrough")
        walk.get_by_role("button", name="next").click()
        page.keyboard.press("ArrowRight")  # stays in the widget: in JupyterLab an arrow would leave the cell
        assert walk.get_attribute("data-step") == "3"
        assert unreadable(page, ".attn-walkthrough svg.attn-diagram") == []
        context.close()
