"""The index of traps holds every misconception of every exercise, and nothing that would give an answer away."""

import json
import re

import pytest
from bs4 import BeautifulSoup
from places import ROOT

from attncourse.exercises import find, manifest
from attncourse.exercises.engine import traps
from attncourse.markup import to_html, to_html_inline
from attncourse.teaching.copies import leaks, text

PAGE = json.loads((ROOT / "notebooks/traps.ipynb").read_text(encoding="utf-8"))


def plain(html):
    return " ".join(BeautifulSoup(html, "html.parser").get_text(" ").split())


def by_chapter():
    """The stem that a heading links to -> what the cell below it shows."""
    shown, stem = {}, None
    for cell in PAGE["cells"]:
        if heading := re.search(r"^## \[.+\]\((\w+)\.ipynb\)", text(cell["source"]), re.M):
            stem = heading[1]
        elif stem and cell["cell_type"] == "code":
            shown[stem] = text(cell["outputs"][0]["data"]["text/html"])
    return shown


@pytest.mark.parametrize("entry", manifest(), ids=lambda entry: entry.id)
def test_every_trap_of_an_exercise_is_under_its_chapter(entry):
    """The committed page against the exercises as they are now: it cannot go stale."""
    soup = BeautifulSoup(by_chapter()[entry.chapter], "html.parser")
    [section] = [s for s in soup.select("section.attn-traps") if s.h3.find("code").get_text() == entry.id]
    found = [(plain(str(d.summary)), plain("".join(map(str, d.contents[1:])))) for d in section.select("details")]
    assert found == [(plain(to_html_inline(w.name)), plain(to_html(w.message))) for w in find(entry.id).wrong]


def test_no_solution_and_no_hint():
    exercises = [find(entry.id) for entry in manifest()]
    assert leaks(PAGE, exercises) == []
    said = plain("".join(by_chapter().values()))
    assert not [x.id for x in exercises for hint in x.hints if plain(to_html(hint)) in said]


def test_the_habits_are_those_of_several_chapters():
    rows = BeautifulSoup(traps.repeated().text, "html.parser").select("tbody tr")
    inverted = next(row for row in rows if "the mask is inverted" in row.get_text())
    having = {int(e.chapter[:2]) for e in manifest() if any(w.name == "the mask is inverted" for w in find(e.id).wrong)}
    assert inverted.select("td")[1].get_text() == ", ".join(map(str, sorted(having))) and len(having) > 1
    assert all("," in row.select("td")[1].get_text() for row in rows)
