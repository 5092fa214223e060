"""Check the exercises of a notebook (or .py file) and say why an answer is wrong."""

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb or .py file with @exercise answers")


def run(args: argparse.Namespace) -> int:
    from ..exercises.engine.check import main

    return main(args.notebook)
