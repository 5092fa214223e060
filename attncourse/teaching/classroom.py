"""The files around the notebooks of a hand-out: what students read, and the workflow of GitHub Classroom."""

from collections.abc import Iterable, Mapping

from ..exercises import Entry
from .copies import Kind

CPU = "https://download.pytorch.org/whl/cpu"
CLASSROOM = """\
# GitHub Classroom: checks the exercises of every push and gives their points. The reasons stand in the first step.
name: Autograding Tests
on: [push, repository_dispatch]
permissions: {{checks: write, actions: read, contents: read}}
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    timeout-minutes: 30
    if: github.actor != 'github-classroom[bot]'
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "3.11", cache: pip}}
      - run: pip install -q -r requirements.txt
      - name: attncourse check
        env: {{PYTHONIOENCODING: utf-8}}
        run: |
{checks}
{graders}
      - uses: education/autograding-grading-reporter@v1
        env:
{results}
        with: {{runners: "{runners}"}}
"""
GRADER = """\
      - id: {step}
        uses: education/autograding-command-grader@v1
        with:
          test-name: "{id}"
          command: "grep -q '^  ✓ {id} ' '{table}'"
          timeout: 1
          max-score: {points}"""

HOW = (
    'Write your answers below `@exercise("…")`, where the `...` stands, and press Check under the cell: it says why '
    "an answer is wrong. Leave the line with `@exercise` as it is; everything else of a notebook you may change. The "
    "first cell installs the package in Colab. On your own machine, with Python 3.11 or newer:"
)


def workflow(posed: Iterable[Entry]) -> str:
    """One run of `attncourse check` a chapter, then a grader an exercise that looks its line up."""
    posed = list(posed)
    chapters = dict.fromkeys(entry.chapter for entry in posed)
    steps = {entry.id: entry.id.replace(".", "-").replace("_", "-") for entry in posed}
    table = "${{ runner.temp }}/%s.txt"
    return CLASSROOM.format(
        checks="\n".join(
            f'          attncourse check notebooks/{stem}.ipynb | tee "{table % stem}" || true' for stem in chapters
        ),
        graders="\n".join(
            GRADER.format(step=steps[entry.id], id=entry.id, points=entry.points, table=table % entry.chapter)
            for entry in posed
        ),
        results="\n".join(
            f'          {step.upper()}_RESULTS: "${{{{ steps.{step}.outputs.result }}}}"' for step in steps.values()
        ),
        runners=",".join(steps.values()),
    )


def requirements(course: str) -> str:
    return (
        "# The course's package, on torch's CPU build. To stay with one version, put @COMMIT after the address.\n"
        f"--extra-index-url {CPU}\n"
        f"attncourse @ git+{course}\n"
    )


def readme(titles: Mapping[str, str], posed: Iterable[Entry], kind: Kind, course: str) -> str:
    posed = list(posed)
    rows = []
    for stem, title in titles.items():
        own = [entry for entry in posed if entry.chapter == stem]
        place = f", [in Colab]({kind.colab(stem)})" if kind.repository else ""
        rows.append(f"| [{title}](notebooks/{stem}.ipynb){place} | {len(own)} | {sum(e.points for e in own)} |")
    first = next(iter(titles))
    return f"""\
# A course on attention: notebooks to work in

| chapter | exercises | points |
|---|---|---|
{chr(10).join(rows)}

{HOW}

```bash
pip install --extra-index-url {CPU} "attncourse[book] @ git+{course}"
jupyter lab notebooks
attncourse check notebooks/{first}.ipynb    # all exercises of a notebook at once
```

The course and its licence: {course}
"""
