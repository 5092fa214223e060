"""Train a zoo model; goes on from its checkpoint when there is one."""

import argparse
import json
import sys

from ..errors import BadInput
from . import values


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a model of the zoo")
    parser.add_argument("--list", action="store_true", help="list the models and stop")
    parser.add_argument("--seed", type=values.seed, default=0, help="of initial weights, data and order (default 0)")
    parser.add_argument("--steps", type=values.positive, help="instead of the recipe's own number")
    parser.add_argument(
        "--out", type=values.path, default="runs", help="folder for weights, card and checkpoint (default runs)"
    )
    parser.add_argument("--device", type=values.device, help="cuda, mps or cpu (default: the best there is)")
    parser.add_argument("--beside", action="store_true", help="another seed: add its numbers to the card that is there")


def run(args: argparse.Namespace) -> int:
    from .. import zoo

    if args.list:
        for name, recipe in sorted(zoo.recipes().items()):
            print(f"{name:28} {recipe.about}")
        return 0
    if args.name is None:
        raise BadInput(f"which model? attncourse train NAME, with one of: {', '.join(sorted(zoo.recipes()))}")
    zoo.recipe(args.name)
    if args.out.exists() and not args.out.is_dir():
        raise BadInput(f"--out {args.out} is a file; give a folder")
    from ..running.training import TrainingStopped

    try:
        card = zoo.train(args.name, args.out, args.seed, args.steps, args.device, args.beside)
    except TrainingStopped as error:
        print(f"attncourse: {error}", file=sys.stderr)
        return 1
    print(json.dumps({k: v for k, v in card.items() if k != "config"}, indent=1))
    print(f"written: {args.out / args.name}.json" + ("" if args.beside else " and .safetensors"))
    return 0
