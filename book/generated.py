"""The parts of texts that list chapters, written from course.toml between two markers; and the table of contents.

<!-- course:NAME -->
…
<!-- /course:NAME -->
"""

import re
from collections.abc import Callable
from pathlib import Path

from attncourse import course
from attncourse.exercises import manifest

ROOT = Path(__file__).resolve().parent.parent
HAND = "# Written by `make notebooks` from course.toml: edit that.\n"


def contents() -> str:
    """_toc.yml. A chapter's number stands in its title, not here: Sphinx would count the pages that exist."""
    read = course.read()
    parts = [(part.title, [f"notebooks/{chapter.id}" for chapter in read.of_part(part.title)]) for part in read.parts]
    parts += [(appendix.title, list(appendix.pages)) for appendix in read.appendices]
    lines = [HAND.rstrip(), "format: jb-book", "root: notebooks/00_start", "parts:"]
    for title, pages in parts:
        lines += [f"  - caption: {title}", "    chapters:", *(f"      - file: {page}" for page in pages)]
    return "\n".join(lines) + "\n"


def readme() -> str:
    rows = [f"| {c.number} | [{c.title}](notebooks/{c.id}.ipynb) | {c.question} |" for c in course.read().chapters]
    return "\n".join(["| # | chapter | its question |", "|---|---|---|", *rows])


def path() -> str:
    """The first page: one row per part."""
    rows = []
    for part in course.read().parts:
        links = ", ".join(f"[{c.number} · {c.short}]({c.id}.ipynb)" for c in course.read().of_part(part.title))
        rows.append(f"| {part.title} | {links} | {part.question} |")
    return "\n".join(["| part | chapters | the question |", "|---|---|---|", *rows])


def overview() -> str:
    """For instructors."""
    rows = []
    for c in course.read().chapters:
        own = [entry for entry in manifest() if entry.chapter == c.id]
        title, points = c.title.partition(":")[0], sum(entry.points for entry in own)
        needs = ", ".join(map(str, c.needs)) or "–"
        link = f"[{title}](../notebooks/{c.id}.ipynb)"
        rows.append(f"| {c.number} | {link} | {c.minutes} | {len(own)} | {points} | {needs} | {c.can} |")
    head = "| # | chapter | minutes | exercises | points | after | then students can |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *rows])


def syllabi() -> str:
    blocks = []
    for syllabus in course.read().syllabi:
        rows = []
        for week, plan in enumerate(syllabus.weeks, 1):
            chapters = [course.read().chapter(number) for number in plan.chapters]
            named = ", ".join(f"{c.number} · {c.short}" for c in chapters)
            work = ", ".join(f"`{id}`" for id in plan.exercises) or "all of " + (
                "this chapter" if len(chapters) == 1 else "these chapters"
            )
            rows.append(f"| {week} | {named} | {work if any(c.exercises for c in chapters) else '–'} |")
        head = ["| week | chapters | exercises at home |", "|---|---|---|"]
        blocks.append("\n".join([f"**{syllabus.title}**, {syllabus.about}:\n", *head, *rows]))
    return "\n\n".join(blocks)


def traps() -> str:
    """A heading and a cell for every chapter that has exercises."""
    cell = '```{{code-cell}} ipython3\n:tags: [remove-input]\n\ntraps.of_chapter("{}")\n```'
    return "\n\n".join(
        f"## [{c.number} · {c.title.partition(':')[0]}]({c.id}.ipynb)\n\n{cell.format(c.name)}"
        for c in course.read().chapters
        if c.exercises
    )


BLOCKS: dict[str, tuple[str, Callable[[], str]]] = {  # marker -> the file that holds it, what stands between
    "chapters": ("README.md", readme),
    "path": ("book/chapters/00_start.md", path),
    "overview": ("book/instructors.md", overview),
    "syllabi": ("book/instructors.md", syllabi),
    "traps": ("book/chapters/traps.md", traps),
}


def wanted() -> dict[Path, str]:
    """Every file with a generated part -> its whole text as it should be."""
    texts = {ROOT / "_toc.yml": contents()}
    for name, (file, make) in BLOCKS.items():
        path = ROOT / file
        text = texts.get(path) or path.read_text(encoding="utf-8")
        begin, end = f"<!-- course:{name} -->", f"<!-- /course:{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"{file} needs one {begin} and one {end}: the list of chapters goes between them")
        between = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", re.DOTALL)
        texts[path] = between.sub(lambda _, make=make: f"\n{make()}\n\n", text)
    return texts


def write() -> None:
    for path, text in wanted().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stale() -> list[str]:
    return [
        f"{path.relative_to(ROOT).as_posix()} is not what course.toml gives"
        for path, text in wanted().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
