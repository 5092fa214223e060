"""`attncourse verify`: hands over to tests/verify.py of the checkout, which knows the steps and runs them."""

import subprocess
import sys
from pathlib import Path

from .. import course
from ..errors import BadInput


def main(chapter: str | None = None, home: Path = course.HOME) -> int:
    """0: all is well, 1: something failed."""
    script = home / "tests/verify.py"
    if not script.is_file():
        raise BadInput(
            f"verify needs a checkout of the course's repository, and this package lies in {home}, which is none; "
            "clone the course and run `make verify` there"
        )
    which = [] if chapter is None else [course.read().chapter(chapter).id]
    return subprocess.run([sys.executable, str(script), *which], cwd=home).returncode
