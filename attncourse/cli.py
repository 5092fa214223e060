"""attncourse: check, train, measure and repair the course from the command line."""

import argparse
import importlib.metadata
import json
import platform
import sys
from pathlib import Path


class UsageError(Exception):
    """Bad input: one sentence for the user, exit code 2."""


def doctor(args: argparse.Namespace) -> int:
    """What is installed, what works here, and what to do about what does not."""
    problems = 0
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}")
    for report in (_versions, _device, _widgets, _weights, _data):
        for good, text, remedy in report():
            print(f"{'ok  ' if good else 'LOOK'}  {text}" + ("" if good else f"\n      -> {remedy}"))
            problems += not good
    print("Everything is in place." if not problems else f"{problems} to look at: see the lines marked LOOK.")
    return min(problems, 1)


def _versions():
    for name in ("torch", "numpy", "matplotlib", "ipywidgets", "anywidget", "Babel", "safetensors"):
        try:
            yield True, f"{name} {importlib.metadata.version(name)}", ""
        except importlib.metadata.PackageNotFoundError:
            yield False, f"{name} is not installed", f"pip install {name}"


def _device():
    import torch

    from .training import best_device

    device = best_device()
    x = torch.randn(64, 64, device=device)
    good = bool(torch.isfinite(x @ x).all())
    name = torch.cuda.get_device_name() if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    yield good, f"device {device.type} ({name})", "the device computes no finite product: check its driver"


def _widgets():
    from . import widgets

    try:
        widgets.ScoreExplorer()
        yield True, "widgets can be built", ""
    except Exception as error:
        yield False, f"widgets fail: {error}", "pip install --upgrade ipywidgets anywidget"


def _weights():
    from . import zoo

    for name in sorted(zoo.recipes()):
        try:
            card = zoo.load(name)[1]
            yield True, f"weights {name} ({card['parameters']:,} parameters)", ""
        except ValueError as error:
            yield False, f"weights {name}: {error}", "reinstall the package"


def _data():
    from .tasks import dates

    example = dates.sample(1, seed=0)[0]
    yield True, f"data: dates ({example.text!r} is {example.iso})", ""


def train(args: argparse.Namespace) -> int:
    """Train a zoo model; goes on from its checkpoint when there is one."""
    from . import zoo

    if args.list:
        for name, recipe in sorted(zoo.recipes().items()):
            print(f"{name:28} {recipe.about}")
        return 0
    if args.name is None:
        raise UsageError(f"which model? attncourse train NAME, with one of: {', '.join(sorted(zoo.recipes()))}")
    zoo.recipe(args.name)
    out = Path(args.out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file; give a folder")
    card = zoo.train(args.name, out, args.seed, args.steps, args.device, args.beside)
    print(json.dumps({k: v for k, v in card.items() if k != "config"}, indent=1))
    print(f"written: {out / args.name}.json" + ("" if args.beside else " and .safetensors"))
    return 0


def evaluate(args: argparse.Namespace) -> int:
    """Measure shipped weights afresh, on new data."""
    from . import zoo

    result = zoo.evaluate(args.name, args.seed, args.device or "cpu", Path(args.weights or zoo.WEIGHTS))
    if args.json:
        print(json.dumps(result))
    else:
        print(f"{result['name']}, data of seed {result['seed']}, {result['seconds']} s")
        for metric, value in result["metrics"].items():
            print(f"  {metric:24} {value:.4f}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Check the exercises of a notebook (or .py file) and say why an answer is wrong."""
    from .exercises import check

    return check.main(args.notebook)


def grade(args: argparse.Namespace) -> int:
    """Grade a folder (or .zip) of submissions: tables, a feedback page for each student, a page about the class.

    alice.ipynb, alice.py and all in alice/ belong to alice; --students says otherwise. Students' code runs apart,
    without rights, network or solutions; the summary says what of this could be had here.
    """
    from .grading.grade import Order, main

    paths = {name: getattr(args, name) and Path(getattr(args, name)) for name in ("submissions", "out", "students")}
    rest = {name: getattr(args, name) for name in ("chapter", "seed", "workers", "full", "resume", "seconds")}
    return main(Order(**paths, **rest, old=args.diff and Path(args.diff)))


def verify(args: argparse.Namespace) -> int:
    """After an edit: does the course, or one chapter of it, still hold? One table at the end. Needs a checkout."""
    from .teaching import verify

    return verify.main(args.chapter)


def handout(args: argparse.Namespace) -> int:
    """Copies of chapters for students, without solutions; a .zip, and a template for GitHub Classroom.

    Uses the notebooks of the checkout that the package lies in; with an installed package, name them: --notebooks.
    """
    from .teaching.handout import Order, main

    paths = {name: getattr(args, name) and Path(getattr(args, name)) for name in ("out", "notebooks")}
    rest = {name: getattr(args, name) for name in ("chapters", "hints", "repository", "branch")}
    return main(Order(**paths, **rest, outputs=not args.clear_outputs))


def bench(args: argparse.Namespace) -> int:
    """Ratios measured in one run, interleaved, with their quartiles; the first line of each group is 1."""
    import torch

    from .bench import SUITES, compare

    if args.suite not in SUITES:
        raise UsageError(f"there is no benchmark {args.suite!r}; there are: {', '.join(SUITES)}")
    torch.manual_seed(0)
    print(f"{torch.get_num_threads()} threads, {args.rounds} rounds; time relative to the first line of each group")
    for title, candidates in SUITES[args.suite]().items():
        print(f"\n{title}")
        for name, (median, low, high) in compare(candidates, args.rounds).items():
            print(f"  {median:8.2f}  [{low:.2f}, {high:.2f}]  {name}")
    return 0


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def seed(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above zero")
    return value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        """One sentence, not the whole usage."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="attncourse", description=__doc__)
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(run):
        sub = commands.add_parser(run.__name__, help=run.__doc__.splitlines()[0], description=run.__doc__)
        sub.set_defaults(run=run)
        return sub

    command(doctor)
    sub = command(train)
    sub.add_argument("name", nargs="?", metavar="NAME", help="a model of the zoo")
    sub.add_argument("--list", action="store_true", help="list the models and stop")
    sub.add_argument("--seed", type=seed, default=0, help="of initial weights, data and order (default 0)")
    sub.add_argument("--steps", type=positive, help="instead of the recipe's own number")
    sub.add_argument("--out", default="runs", help="folder for weights, card and checkpoint (default runs)")
    sub.add_argument("--device", help="cuda, mps or cpu (default: the best there is)")
    sub.add_argument("--beside", action="store_true", help="another seed: add its numbers to the card that is there")
    sub = command(evaluate)
    sub.add_argument("name", metavar="NAME", help="a model of the zoo")
    sub.add_argument("--seed", type=seed, default=1, help="of the test data (default 1)")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    sub.add_argument("--device", help="cuda, mps or cpu (default cpu)")
    sub.add_argument("--weights", metavar="DIR", help="where weights and card lie (default: those that ship)")
    sub = command(check)
    sub.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb or .py file with @exercise answers")
    sub = command(grade)
    sub.add_argument("submissions", metavar="SUBMISSIONS", help="a folder or .zip of .ipynb and .py files")
    sub.add_argument("--out", metavar="DIR", required=True, help="folder for tables and pages")
    sub.add_argument("--chapter", metavar="NN", help="only its exercises, as 04 (default: all of the course)")
    sub.add_argument("--seed", type=seed, help="of the inputs (default: a new one, said in the summary)")
    sub.add_argument("--workers", type=positive, help="processes at a time (default: one a core)")
    sub.add_argument("--students", metavar="CSV", help="a table with the columns file and student")
    sub.add_argument("--diff", metavar="OLD", help="list what differs from an earlier run's folder or grades.csv")
    sub.add_argument("--seconds", type=seconds, help="of work for a statement or case (default: the exercise's own)")
    sub.add_argument("--full", action="store_true", help="run whole notebooks, not only what the answers need")
    sub.add_argument("--resume", action="store_true", help="go on with the run that DIR holds")
    sub = command(verify)
    sub.add_argument("--chapter", metavar="NN", help="only this one, as 04 (default: the whole course)")
    sub = command(handout)
    sub.add_argument("--chapters", metavar="NN-NN", required=True, help="as 04, 01-06 or 01,03-05")
    sub.add_argument("--out", metavar="DIR", required=True, help="a folder that does not exist yet, or an empty one")
    sub.add_argument("--notebooks", metavar="DIR", help="the course's notebooks (default: those of the checkout)")
    sub.add_argument("--repository", metavar="URL", default="", help="where the copies will lie, for links to Colab")
    sub.add_argument("--branch", default="main", help="of that repository (default main)")
    sub.add_argument("--hints", action=argparse.BooleanOptionalAction, default=True, help="show the exercises' hints")
    sub.add_argument("--clear-outputs", action="store_true", help="hand out notebooks that were not run")
    sub = command(bench)
    sub.add_argument("suite", nargs="?", default="core", metavar="SUITE", help="what to compare (default core)")
    sub.add_argument("--rounds", type=positive, default=15, help="how often each candidate runs (default 15)")
    return top


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        return args.run(args)
    except (UsageError, ValueError, RuntimeError, OSError) as error:
        print(f"attncourse: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "attncourse: stopped; called again, training goes on from its checkpoint, grading with --resume",
            file=sys.stderr,
        )
        return 130
