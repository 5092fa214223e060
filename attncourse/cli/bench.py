"""Compare speeds as ratios: one run, interleaved, with quartiles; the first line of each group is 1."""

import argparse

from ..errors import BadInput
from . import values


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", nargs="?", default="core", metavar="SUITE", help="what to compare (default core)")
    parser.add_argument("--rounds", type=values.positive, default=15, help="how often each candidate runs (default 15)")


def run(args: argparse.Namespace) -> int:
    from ..bench import SUITES, compare, suite

    if args.suite not in SUITES:
        raise BadInput(f"there is no benchmark {args.suite!r}; there are: {', '.join(SUITES)}")
    import torch

    torch.manual_seed(0)
    print(f"{torch.get_num_threads()} threads, {args.rounds} rounds; time relative to the first line of each group")
    for title, candidates in suite(args.suite).items():
        print(f"\n{title}")
        for name, (median, low, high) in compare(candidates, args.rounds).items():
            print(f"  {median:8.2f}  [{low:.2f}, {high:.2f}]  {name}")
    return 0
