"""Grade a folder (or .zip) of submissions: tables, a feedback page for each student, a page about the class.

alice.ipynb, alice.py and all in alice/ belong to alice; --students says otherwise. Students' code runs apart,
without rights, network or solutions; the summary says how much of this can be had on this machine.
"""

import argparse

from . import values


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("submissions", type=values.path, metavar="SUBMISSIONS", help="a folder or .zip of .ipynb and .py files")
    add("--out", type=values.path, metavar="DIR", required=True, help="folder for tables and pages")
    add("--chapter", metavar="NN", help="only its exercises, as 04 (default: all of the course)")
    add("--seed", type=values.seed, help="of the inputs (default: a new one, said in the summary)")
    add("--workers", type=values.positive, help="processes at a time (default: one per core)")
    add("--students", type=values.path, metavar="CSV", help="a table with the columns file and student")
    add(
        "--diff", type=values.path, metavar="OLD", dest="old",
        help="list what differs from an earlier run's folder or grades.csv",
    )  # fmt: skip
    add("--seconds", type=values.seconds, help="of work for a statement or case (default: the exercise's own)")
    add("--full", action="store_true", help="run whole notebooks, not only what the answers need")
    add("--resume", action="store_true", help="go on with the run that DIR holds")


def run(args: argparse.Namespace) -> int:
    from dataclasses import fields

    from ..grading.grade import Order, main

    return main(Order(**{field.name: getattr(args, field.name) for field in fields(Order)}))
