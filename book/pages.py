"""Build the book into _build/html, unless nothing changed since; say where to open it.

python book/pages.py            what readers and writers use
python book/pages.py --strict   what CI uses: from nothing, warnings are errors
"""

import hashlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HTML, STAMP = ROOT / "_build/html", ROOT / "_build/inputs.sha256"


def inputs() -> str:
    """One digest of all that the pages are made from."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "_config.yml", "_toc.yml", "book", "notebooks", "attncourse"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    names = (
        listed.stdout.split("\n") if listed.returncode == 0 else [str(p) for p in sorted((ROOT / "book").rglob("*"))]
    )
    total = hashlib.sha256()
    for name in names:
        if (ROOT / name).is_file():
            total.update(name.encode() + (ROOT / name).read_bytes())
    return total.hexdigest()


def main() -> int:
    strict, started, wanted = "--strict" in sys.argv[1:], time.perf_counter(), inputs()
    if strict or not (STAMP.exists() and STAMP.read_text() == wanted):
        options = ["-W", "--keep-going", "-q"] if strict else ["-q"]
        # --all: Jupyter Book copies changed static files only when some page changed too
        command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "--all", *options]
        print("Building the book ...", flush=True)
        STAMP.unlink(missing_ok=True)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        lines = (done.stdout + done.stderr).splitlines()
        noise = [line for line in lines if "WARNING" in line or "ERROR" in line or done.returncode]
        print("\n".join(noise), end="\n" * bool(noise))
        if done.returncode or not (HTML / "index.html").exists():
            print("The book could not be built.")
            return 1
        STAMP.write_text(wanted)
        print(f"Built in {time.perf_counter() - started:.0f} s.")
    print(f"The book: {(HTML / 'index.html').as_uri()}   (or: make serve)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
