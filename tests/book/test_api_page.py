"""The page about the package: complete, its sources where it says, linked with the chapters both ways."""

import re

import api_page
import make_notebooks
import pytest
from places import ROOT

import attncourse
from attncourse import course

TEXT = api_page.page("HERE")


def test_every_module_that_a_chapter_names_has_its_place():
    headings = {line.removeprefix("### ").replace(".", "") for line in TEXT.splitlines() if line.startswith("### ")}
    for chapter in course.read().chapters:
        assert {api_page.anchor(name) for name in chapter.mechanisms} <= headings


def test_every_name_of_the_root_is_there():
    for name, where in attncourse.EXPORTS.items():
        room, _, inside = where.partition(".")
        if room in api_page.ROOMS and inside and ":" not in inside:
            module = __import__(f"attncourse.{where}", fromlist=["x"])
            assert not list(api_page.public(module)) or f"### {where}\n" in TEXT, name
    assert "attend(query, keys, values, score=scaled_dot, mask=None)" in TEXT


def test_sources_lie_where_the_links_say():
    links = re.findall(r"\*\*(\w+)\*\* · \[source\]\(HERE/([^)#]+)#L(\d+)\)", TEXT)
    assert len(links) > 200
    for name, path, line in links:
        code = (ROOT / path).read_text(encoding="utf-8").splitlines()
        near = "\n".join(code[int(line) - 1 : int(line) + 3])  # a decorator may come first
        assert re.search(rf"(class|def) {name}\b", near), (name, path, line)


def test_every_chapter_links_to_its_code_and_is_linked_from_there():
    for chapter in course.read().chapters:
        header = make_notebooks.header(chapter.id)
        for name in chapter.mechanisms:
            assert f"../book/api.md#{api_page.anchor(name)}" in header
            section = TEXT.split(f"### {name if '.' in name else f'mechanisms.{name}'}\n")[1].split("\n###")[0]
            assert f"../notebooks/{chapter.id}.ipynb" in section


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("One line.", ["One line."]),
        ("A *star* and `a_b` in x_i [0, 1].", [r"A \*star\* and `a_b` in x\_i \[0, 1\]."]),
        ("First.\n\n    e = v tanh(x)\n\nLast\ntwo.", ["First.", "```text\ne = v tanh(x)\n```", "Last\\\ntwo."]),
        ("x (B, T) -> y (B,)", ["x (B, T) → y (B,)"]),
        ("", []),
    ],
)
def test_docstrings_become_markdown(docstring, markdown):
    assert api_page.prose(docstring) == markdown
