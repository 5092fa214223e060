"""List the chapters of the course, with their parts, minutes and exercises.

With --check, say what course.toml names and the tree lacks, or the other way round (needs a checkout).
"""

import argparse

from .. import course
from ..errors import BadInput


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="compare course.toml with the tree; exit code 1: they differ"
    )


def run(args: argparse.Namespace) -> int:
    read = course.read()
    if args.check:
        return _check(read)
    for part in read.parts:
        print(part.title)
        for chapter in read.of_part(part.title):
            many = f"{len(chapter.exercises)} exercises" if chapter.exercises else ""
            print(f"  {chapter.number:2}  {chapter.title:62} {chapter.minutes:3} min  {many}")
    minutes = sum(chapter.minutes for chapter in read.chapters)
    print(f"{len(read.chapters)} chapters, {len(read.exercises)} exercises, {minutes / 60:.0f} hours to read")
    return 0


def _check(read: course.Course) -> int:
    if not (course.HOME / "book/chapters").is_dir():
        raise BadInput("--check compares course.toml with a checkout of the course; this package lies in none")
    problems = course.missing(read)
    print("\n".join(problems) if problems else "course.toml and the tree agree.")
    return int(bool(problems))
