"""Measure shipped weights afresh, on new data."""

import argparse
import json

from . import values


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a model of the zoo")
    parser.add_argument("--seed", type=values.seed, default=1, help="of the test data (default 1)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--device", type=values.device, default="cpu", help="cuda, mps or cpu (default cpu)")
    parser.add_argument(
        "--weights", type=values.path, metavar="DIR", help="where weights and card lie (default: those that ship)"
    )


def run(args: argparse.Namespace) -> int:
    from .. import zoo

    result = zoo.evaluate(args.name, args.seed, args.device, args.weights or zoo.WEIGHTS)
    if args.json:
        print(json.dumps(result))
        return 0
    print(f"{result['name']}, data of seed {result['seed']}, {result['seconds']} s")
    for metric, value in result["metrics"].items():
        print(f"  {metric:24} {value:.4f}")
    return 0
