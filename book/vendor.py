"""Fetch what the built book loads besides our own files, so that no reader's browser needs a network.

python book/vendor.py           fetch again, and record each file in book/assets/vendor/VERSIONS.json
python book/vendor.py --check   fail if a file differs from the record, or from the installed anywidget
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from fnmatch import fnmatch
from importlib import metadata, resources
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = "book/assets/vendor"
RECORD = ROOT / VENDOR / "VERSIONS.json"
OURS = {f"{VENDOR}/VERSIONS.json", f"{VENDOR}/widgets/paths.js"}  # the only files there that we wrote

# npm package -> (pattern in the package, prefix to cut, folder in the repository)
NPM = {
    "mathjax@3.2.2": [
        ("LICENSE", "", f"{VENDOR}/mathjax"),
        ("es5/tex-chtml.js", "es5/", f"{VENDOR}/mathjax"),
        # MathJax asks for these on the first \cancel, \boldsymbol, ...; the tests report any other as a 404
        *(
            (f"es5/input/tex/extensions/{name}.js", "es5/", f"{VENDOR}/mathjax")
            for name in ("bbox", "boldsymbol", "cancel", "color", "enclose")
        ),
        ("es5/output/chtml/fonts/woff-v2/*.woff", "es5/", f"{VENDOR}/mathjax"),
    ],
    "requirejs@2.3.8": [("require.js", "", f"{VENDOR}/widgets")],
    "@jupyter-widgets/html-manager@1.0.15": [
        ("dist/embed-amd.js", "dist/", f"{VENDOR}/widgets"),
        ("dist/*.woff2", "dist/", f"{VENDOR}/widgets"),
    ],
    "axe-core@4.14.0": [("axe.min.js", "", "tests/vendor")],
}


def npm_files(spec, wanted):
    """The licence's name from the package's own manifest, and {path in the repository: bytes}."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", spec], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as tar:
            content = {m.name.removeprefix("package/"): tar.extractfile(m).read() for m in tar if m.isfile()}
    files = {}
    for pattern, prefix, folder in wanted:
        found = [name for name in content if fnmatch(name, pattern)]
        if not found:
            sys.exit(f"{spec} has no file {pattern}.")
        files |= {f"{folder}/{name.removeprefix(prefix)}": content[name] for name in found}
    return json.loads(content["package.json"])["license"], files


def installed_anywidget():
    """The widget's browser half, taken from the installed package so that both halves stay in step."""
    return (resources.files("anywidget") / "nbextension" / "index.js").read_bytes()


def fetch():
    old = json.loads(RECORD.read_text()) if RECORD.exists() else []
    for path in (path for entry in old for path in entry["files"]):
        (ROOT / path).unlink(missing_ok=True)
    packages = {spec: npm_files(spec, wanted) for spec, wanted in NPM.items()}
    anywidget = f"anywidget@{metadata.version('anywidget')}"
    packages[anywidget] = ("MIT", {f"{VENDOR}/widgets/anywidget.js": installed_anywidget()})
    record = []
    for spec, (licence, files) in packages.items():
        name, _, version = spec.rpartition("@")
        hashes = {}
        for path, content in sorted(files.items()):
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_bytes(content)
            hashes[path] = hashlib.sha256(content).hexdigest()
        record.append({"package": name, "version": version, "licence": licence, "files": hashes})
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def problems():
    """A sentence for each way in which the tree differs from the record."""
    expected = {path: sha for entry in json.loads(RECORD.read_text()) for path, sha in entry["files"].items()}
    for path, sha in expected.items():
        if not (ROOT / path).is_file():
            yield f"{path} is recorded in VERSIONS.json, but missing."
        elif hashlib.sha256((ROOT / path).read_bytes()).hexdigest() != sha:
            yield f"{path} differs from its hash in VERSIONS.json."
    for folder in (VENDOR, "tests/vendor"):
        for file in (ROOT / folder).rglob("*"):
            path = file.relative_to(ROOT).as_posix()
            if file.is_file() and path not in expected | dict.fromkeys(OURS):
                yield f"{path} is not recorded in VERSIONS.json."
    if (ROOT / VENDOR / "widgets/anywidget.js").read_bytes() != installed_anywidget():
        yield f"anywidget.js is not the one of the installed anywidget {metadata.version('anywidget')}."


def main():
    parser = argparse.ArgumentParser(description="Fetch what the built book loads from others, or check it.")
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        fetch()
    found = list(problems())
    if found:
        sys.exit("\n".join([*found, "Run `python book/vendor.py` and commit what it writes."]))
    print("Vendored files are as recorded.")


if __name__ == "__main__":
    main()
