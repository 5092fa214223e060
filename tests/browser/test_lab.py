"""A learner at work: chapter 04 in a real JupyterLab, in a real browser."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import make_notebooks
import nbformat
import pytest
from places import ROOT

pytestmark = pytest.mark.book

SOURCE = ROOT / "notebooks" / "04_bahdanau.ipynb"
EXERCISE = '@exercise("bahdanau.masked-softmax")\ndef masked_softmax(scores, mask):\n    '
WRONG = EXERCISE + "return scores.softmax(-1) * mask"
RIGHT = EXERCISE + "return scores.masked_fill(~mask, -1e30).softmax(-1) * mask"
SETTINGS = {  # nothing is fetched, and every cell of the notebook is on the page
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "notebook-extension/tracker": {"windowingMode": "none", "autoStartDefaultKernel": True},
}


@pytest.fixture
def folder(tmp_path):
    """The learner's folder: the chapter and nothing else; without outputs, so that what is seen has just been run."""
    notebook = json.loads(SOURCE.read_text(encoding="utf-8"))
    notebook["metadata"].pop("widgets", None)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    work = tmp_path / "work"
    work.mkdir()
    (work / SOURCE.name).write_text(json.dumps(notebook), encoding="utf-8")
    for name, values in SETTINGS.items():
        file = tmp_path / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    return work


@contextmanager
def jupyterlab(folder):
    """A server of its own, untouched by the user's settings; gives the URL of the chapter in it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, place = secrets.token_hex(16), folder.parent
    options = {
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.open_browser": False,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": token,
        "LabApp.extension_manager": "readonly",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": "None",
    }
    folders = ["CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"]
    environment = os.environ | {f"JUPYTER_{name}": str(place / name.lower()) for name in folders}
    environment |= {"JUPYTERLAB_SETTINGS_DIR": str(place / "settings"), "IPYTHONDIR": str(place / "ipython")}
    environment |= {"JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"), "PYTHONPATH": str(ROOT)}
    environment |= {"ATTNCOURSE_PROGRESS": str(place / "progress.json")}
    environment.pop("ATTNCOURSE_STATIC", None)
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    with (place / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server, place / "server.log")
            yield f"http://127.0.0.1:{port}/lab/tree/{SOURCE.name}?token={token}"
        finally:
            server.terminate()
            server.wait(20)


def _wait_for(url, server, log):
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            return urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}", pytrace=False)


@pytest.fixture
def page(browser, folder):
    """The chapter, open in JupyterLab; at the end nothing may have been asked from outside."""
    with jupyterlab(folder) as url:
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        outside = []
        own = re.escape(re.match(r"http://[^/]+/", url)[0])

        def block(route):
            outside.append(route.request.url)
            route.abort()

        context.route(re.compile(rf"^(?!{own}|data:|blob:)"), block)
        page = context.new_page()
        page.goto(url)
        page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for(timeout=60_000)
        yield page
        context.close()
    assert outside == []


def run_all(page):
    page.get_by_text(re.compile(r"\| Idle$")).wait_for(
        timeout=60_000
    )  # what is run before the kernel is there, is lost
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def wait_until_idle(page, seconds=600):
    """Until every cell has run, or one has failed."""
    state = """() => {
      const texts = (selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent.trim());
      const failed = texts(".jp-OutputArea-output").find((text) => text.includes("Traceback"));
      const prompts = texts(".jp-CodeCell .jp-InputPrompt:not(.jp-Placeholder-prompt)"); // that one is a folded cell's
      if (failed) return failed;
      return prompts.length > 0 && prompts.every((text) => /^\\[\\d+\\]:$/.test(text)) && "idle";
    }"""
    assert page.wait_for_function(state, timeout=seconds * 1000).json_value() == "idle"


def answer(page, code):
    """Replace the exercise's cell as a learner does, run it, press Check; gives the card."""
    cell = page.locator(".jp-CodeCell").filter(has=page.locator(".cm-content", has_text="masked-softmax"))
    cell.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(code)
    page.keyboard.press("ControlOrMeta+Enter")
    wait_until_idle(page)
    card = cell.locator(".attn-exercise").first
    card.get_by_role("button", name="Check").click()
    return card


def test_learner_in_jupyterlab(page, folder):
    run_all(page)

    explorer = page.locator(".jp-OutputArea .attn-score-explorer").first
    weights = explorer.locator("tr[data-weight]")
    weights.first.wait_for(timeout=300_000)
    before = weights.all_text_contents()
    explorer.locator(".attn-query").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("([row, text]) => row.textContent !== text", arg=[weights.first.element_handle(), before[0]])
    assert weights.all_text_contents() != before

    wait_until_idle(page)
    card = answer(page, WRONG)
    card.get_by_text("The mask is applied after the softmax").wait_for(timeout=30_000)
    assert card.locator(".attn-wrong").count() == 1
    progress = folder.parent / "progress.json"
    assert json.loads(progress.read_text())["bahdanau.masked-softmax"]["solved"] is None

    card = answer(page, RIGHT)
    card.locator(".attn-correct").get_by_text("Correct", exact=True).wait_for(timeout=30_000)
    assert json.loads(progress.read_text())["bahdanau.masked-softmax"]["solved"]


class TestFoldedCellsAndPredictions:
    """A small notebook in place of the chapter."""

    TEXT = """# 4 · A small page

<details><summary>Notes on the experiment</summary>

The *pilot* had three steps.

</details>

```{code-cell} ipython3
:fold: How this was measured

from attncourse.widgets import predict
predict("lab.share", "How many?", number=(0, 1), answer=0.43, result="Not half of them.")
```
"""

    @pytest.fixture
    def folder(self, folder):
        chapter = folder.parent / "04_bahdanau.md"
        chapter.write_text(self.TEXT, encoding="utf-8")
        nbformat.write(make_notebooks.convert(chapter), folder / SOURCE.name)
        return folder

    def test_in_jupyterlab(self, page):
        notes = page.locator(".jp-MarkdownCell details")
        assert not notes.get_by_text("pilot").is_visible()
        notes.locator("summary").click()
        assert notes.locator("em").inner_text() == "pilot"

        cell = page.locator(".jp-CodeCell")
        assert "How this was measured" in cell.inner_text() and "attncourse.widgets" not in cell.inner_text()
        run_all(page)
        card = cell.locator(".attn-predict")
        card.get_by_role("slider").wait_for(timeout=60_000)
        assert not card.get_by_text("Not half of them.").is_visible()
        card.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")  # would go to another cell, were it JupyterLab's
        card.get_by_role("button", name="This is my guess").press("Enter")
        assert card.get_by_text("Not half of them.").is_visible()
        assert card.locator("p[role=status]").inner_text() == "You said 0.51; measured: 0.430. That is 0.08 too high."
        assert cell.count() == 1 and "attncourse.widgets" not in cell.inner_text(), "Enter has opened no editor"
