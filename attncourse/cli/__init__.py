"""attncourse: read, check, train, measure and teach the course from the command line."""

import argparse
import importlib
import sys
import traceback

from .. import __version__
from ..errors import BadInput

# One module of this package per command: its docstring is the help, `arguments` adds the options, `run` does it.
COMMANDS = ("doctor", "chapters", "where", "check", "train", "evaluate", "bench", "grade", "handout", "verify")
UNEXPECTED = 70  # what sysexits.h calls an internal error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        """One sentence, not the whole usage."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error")
    top = _Parser(prog="attncourse", description=__doc__, parents=[debug])
    top.add_argument("--version", action="version", version=f"attncourse {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"{__name__}.{name}")
        about = (module.__doc__ or "").strip()
        sub = commands.add_parser(name, help=about.splitlines()[0], description=about, parents=[debug])
        module.arguments(sub)
        sub.set_defaults(run=module.run)
    return top


def main(argv: list[str] | None = None) -> int:
    """0: done. 1: something was found wrong. 2: bad input, in one sentence. 70: a fault of the course itself."""
    args = parser().parse_args(argv)
    debug = getattr(args, "debug", False)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("attncourse: stopped. Training goes on from its checkpoint, grading with --resume.", file=sys.stderr)
        return 130
    except (BadInput, OSError) as error:
        if debug:
            raise
        print(f"attncourse: {_words(error)}", file=sys.stderr)
        return 2
    except Exception as error:
        if debug:
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        print(
            f"attncourse: this should not have happened: {type(error).__name__}: {error}\n"
            f"  at {where.filename}, line {where.lineno}. The same command with --debug shows the whole way there; "
            "please report it as an issue.",
            file=sys.stderr,
        )
        return UNEXPECTED


def _words(error: Exception) -> str:
    """An error of the operating system names its file, too."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
