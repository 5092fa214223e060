"""The parts of texts that list chapters, written from course.toml between two markers; the table of contents; and the
minutes that a chapter takes, computed from its text.

<!-- course:NAME -->
…
<!-- /course:NAME -->
"""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from attncourse import course
from attncourse.exercises import manifest

ROOT = Path(__file__).resolve().parent.parent
HAND = "# Written by `make notebooks` from course.toml: edit that.\n"
NEWCOMERS = ("bottleneck", "bahdanau", "query_key_value", "self_attention", "transformer")
AFTERWARDS = ("implicit_attention", "sequential_jacobian")  # what they were spared

# --- minutes -------------------------------------------------------------------------------------------------

WORDS, LINES = 100, 6  # per minute, read to be understood: of technical prose, of code
EACH = {"picture": 1, "formula": 0.5, "explorable": 5, "prediction": 1, "quiz": 5}  # minutes
EXERCISE = 20  # minutes, on top
FOLDED = re.compile(r"\b(hide|remove)-(input|cell)\b")


def minutes(text: str, explorables: int) -> int:
    """To read a chapter: its words, the code that is not folded away, and what there is to look at and to do.

    Exercises are not among them. Rounded up to five minutes; no reader was timed.
    """
    text = re.sub(r"\A---.*?^---$", "", text, flags=re.DOTALL | re.MULTILINE)
    cells = re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$|^\$\$.*?\$\$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    heads, bodies = zip(*map(_cell, cells), strict=True) if cells else ((), ())
    visible = [body for head, body in zip(heads, bodies, strict=True) if not FOLDED.search(head)]
    lines = sum(bool(line.strip()) for body in visible for line in body.splitlines())
    code = "\n".join(bodies)
    counted = {
        "picture": sum("alt:" in head for head in heads) + len(re.findall(r"\bdiagrams\.\w+\(", code)),
        "formula": len(re.findall(r"^\$\$.*?\$\$", text, re.DOTALL | re.MULTILINE)),
        "explorable": explorables,
        "prediction": len(re.findall(r"\bpredict\(", code)),
        "quiz": len(re.findall(r"\bquiz\(", code)),
    }
    spent = len(prose.split()) / WORDS + lines / LINES + sum(EACH[what] * n for what, n in counted.items())
    return 5 * math.ceil(spent / 5)


def _cell(source: str) -> tuple[str, str]:
    """A cell's head (tags, alternative text) and its code."""
    head = re.match(r"---\n.*?\n---\n|(?::[^\n]*\n)*", source, re.DOTALL)[0]
    return head, source[len(head) :]


def course_map() -> str:
    """course.toml with the minutes that the chapters' texts give."""
    whole = (ROOT / "course.toml").read_text(encoding="utf-8")
    for chapter in course.read().chapters:
        path = ROOT / f"book/chapters/{chapter.id}.md"
        if path.exists():
            n = minutes(path.read_text(encoding="utf-8"), len(chapter.widgets))
            entry = re.compile(rf'(?<=\nid = "{chapter.id}"\n)(.*?\nminutes = )\d+', re.DOTALL)
            whole = entry.sub(lambda found, n=n: f"{found[1]}{n}", whole, count=1)
    return whole


def reckoning() -> str:
    """How the minutes come about, for the reader."""
    return (
        f"We reckon with {WORDS} words or {LINES} lines of visible code per minute, half a minute for a displayed "
        f"formula, one for a picture or a prediction, five for an explorable or a quiz, and round up to five. An "
        f"exercise takes about {EXERCISE} minutes more. No reader was timed."
    )


# --- lists of chapters ---------------------------------------------------------------------------------------


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


def newcomers() -> str:
    """The first page: the short path, one line per chapter."""
    first, later = ([course.read().chapter(name) for name in names] for names in (NEWCOMERS, AFTERWARDS))
    lines = [f"{i}. {_link(c)} ({c.minutes} min): {c.question}" for i, c in enumerate(first, 1)]
    then = " and ".join(f"{_link(c)} ({c.minutes} min)" for c in later)
    return "\n".join([*lines, "", f"That is {_hours(first)} of reading. Then go back to {then}, and on from there."])


def path() -> str:
    """The first page: one row per part."""
    rows = []
    for part in course.read().parts:
        own = course.read().of_part(part.title)
        links = ", ".join(map(_link, own))
        rows.append(f"| {part.title} | {links} | {part.question} | {sum(c.minutes for c in own)} |")
    head = ["| part | chapters | the question | min |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, "", f"All of it is {_hours(course.read().chapters)} of reading. {reckoning()}"])


def _link(chapter: course.Chapter) -> str:
    return f"[{chapter.number} · {chapter.short}]({chapter.id}.ipynb)"


def _hours(chapters: Iterable[course.Chapter]) -> str:
    return f"about {sum(c.minutes for c in chapters) / 60:.0f} hours"


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
    "newcomers": ("book/chapters/00_start.md", newcomers),
    "path": ("book/chapters/00_start.md", path),
    "overview": ("book/instructors.md", overview),
    "syllabi": ("book/instructors.md", syllabi),
    "traps": ("book/chapters/traps.md", traps),
}


def wanted() -> dict[Path, str]:
    """Every file with a generated part -> its whole text as it should be."""
    texts = {ROOT / "course.toml": course_map(), ROOT / "_toc.yml": contents()}
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
    (ROOT / "course.toml").write_text(course_map(), encoding="utf-8")
    course.read.cache_clear()  # the lists below show its minutes
    for path, text in wanted().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def stale() -> list[str]:
    origin = {"course.toml": "the chapters' texts give (their minutes)"}
    names = {path: path.relative_to(ROOT).as_posix() for path in wanted()}
    return [
        f"{names[path]} is not what {origin.get(names[path], 'course.toml gives')}"
        for path, text in wanted().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
