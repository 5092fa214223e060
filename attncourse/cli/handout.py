"""Make copies of chapters for students, without solutions: a .zip, and a template for GitHub Classroom.

Uses the notebooks of the checkout that the package lies in; with an installed package, name them: --notebooks.
"""

import argparse

from . import values


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--chapters", metavar="NN-NN", required=True, help="as 04, 01-06 or 01,03-05")
    add(
        "--out",
        type=values.path,
        metavar="DIR",
        required=True,
        help="a folder that does not exist yet, or an empty one",
    )
    add("--notebooks", type=values.path, metavar="DIR", help="the course's notebooks (default: those of the checkout)")
    add("--repository", metavar="URL", default="", help="where the copies will lie, for links to Colab")
    add("--branch", default="main", help="of that repository (default main)")
    add("--hints", action=argparse.BooleanOptionalAction, default=True, help="show the exercises' hints")
    add("--clear-outputs", dest="outputs", action="store_false", help="hand out notebooks that were not run")


def run(args: argparse.Namespace) -> int:
    from dataclasses import fields

    from ..teaching.handout import Order, main

    return main(Order(**{field.name: getattr(args, field.name) for field in fields(Order)}))
