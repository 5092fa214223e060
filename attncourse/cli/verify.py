"""After an edit: does the course, or one chapter of it, still hold? One table at the end. Needs a checkout."""

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chapter", metavar="NN", help="only this one, as 04 (default: the whole course)")


def run(args: argparse.Namespace) -> int:
    from ..teaching.verify import main

    return main(args.chapter)
