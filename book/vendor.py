"""Fetch what the built book loads besides our own files, so that no reader's browser needs a network.

python book/vendor.py           fetch again, and record each file in book/assets/vendor/VERSIONS.json
python book/vendor.py --check   fail if a file differs from the record, or from the installed anywidget

Fetching needs npm, and fontTools with brotli for the fonts (`pip install fonttools brotli`); checking needs neither.
"""

import argparse
import hashlib
import io
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
    "source-serif@4.5.1": [("LICENSE.md", "", f"{VENDOR}/fonts/serif")],
    "inter-ui@4.1.1": [("LICENSE.txt", "", f"{VENDOR}/fonts/sans")],
    "source-code-pro@2.42.0": [("LICENSE.md", "", f"{VENDOR}/fonts/code")],
    "@fontsource/stix-two-math@5.3.0": [("LICENSE", "", f"{VENDOR}/fonts/math")],
    "axe-core@4.14.0": [("axe.min.js", "", "tests/vendor")],
}

SERIF = "WOFF2/TTF/SourceSerif4-{}.ttf.woff2"
FONTS = {  # npm package -> {file in the repository: (font in the package, name of its family here)}
    "source-serif@4.5.1": {
        f"{VENDOR}/fonts/serif/{name.lower()}.woff2": (SERIF.format(name), "Attn Serif")
        for name in ("Regular", "It", "Semibold", "SemiboldIt")
    },
    "inter-ui@4.1.1": {
        f"{VENDOR}/fonts/sans/{name.lower()}.woff2": (f"web/Inter-{name}.woff2", "Attn Sans")
        for name in ("Regular", "SemiBold")
    },
    "source-code-pro@2.42.0": {
        f"{VENDOR}/fonts/code/upright.woff2": ("WOFF2/VF/SourceCodeVF-Upright.ttf.woff2", "Attn Code")
    },
    "@fontsource/stix-two-math@5.3.0": {
        f"{VENDOR}/fonts/math/regular.woff2": ("files/stix-two-math-latin-400-normal.woff2", "Attn Math")
    },
}
# A font keeps of these characters those that it has
TEXT = [
    (0x0020, 0x017F),  # Latin with accents
    (0x02C6, 0x0338),  # accents of their own, combining ones
    (0x0370, 0x03FF),  # Greek
    (0x2000, 0x20BF),  # punctuation, superscripts and subscripts, currencies
    (0x20D0, 0x20EF),  # combining marks for symbols
    (0x2100, 0x22FF),  # letterlike symbols, fractions, arrows, operators
    (0x2308, 0x230B),  # floor and ceiling
    (0x23DC, 0x23E1),  # braces above and below
    (0x25A0, 0x25FF),  # geometric shapes
    (0x2713, 0x2717),  # ticks and crosses
    (0x27E8, 0x27F9),  # angle brackets, long arrows
]
ALPHABETS = [  # of mathematics: MathML turns <mi>x</mi> into one of these
    (0x1D400, 0x1D467),  # bold, italic
    (0x1D49C, 0x1D4CF),  # script
    (0x1D538, 0x1D56B),  # double-struck
    (0x1D6A4, 0x1D755),  # dotless, Greek: bold, italic, bold italic
    (0x1D7CE, 0x1D7E1),  # digits: bold, double-struck
]


def npm_content(spec):
    """{path in the package: bytes}."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", spec], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as tar:
            return {m.name.removeprefix("package/"): tar.extractfile(m).read() for m in tar if m.isfile()}


def npm_files(spec, wanted):
    """The licence's name from the package's own manifest, and {path in the repository: bytes}."""
    content, files = npm_content(spec), {}
    for pattern, prefix, folder in wanted:
        found = [name for name in content if fnmatch(name, pattern)]
        if not found:
            sys.exit(f"{spec} has no file {pattern}.")
        files |= {f"{folder}/{name.removeprefix(prefix)}": content[name] for name in found}
    for path, (font, family) in FONTS.get(spec, {}).items():
        files[path] = subset(content[font], family)
    return json.loads(content["package.json"])["license"], files


def subset(font, family):
    """The characters that a page may need, as woff2, with the tables of layout and of mathematics.

    The Open Font License keeps a font's reserved name for the original, so the part gets a name of ours.
    """
    from fontTools import subset, ttLib

    opened = ttLib.TTFont(io.BytesIO(font), recalcTimestamp=False)
    options = subset.Options(hinting=False, notdef_outline=True, name_IDs=["*"], name_languages=["*"])
    options.layout_features += ["ssty", "dtls", "flac", "zero"]  # what formulas ask for
    part = subset.Subsetter(options)
    part.populate(unicodes=[code for first, last in (*TEXT, *ALPHABETS) for code in range(first, last + 1)])
    part.subset(opened)
    for entry in opened["name"].names:
        if entry.nameID in (1, 3, 4, 6, 16, 18, 21, 25):  # family, unique, full and PostScript names
            entry.string = family.replace(" ", "") if entry.nameID in (6, 25) else family
    opened.flavor = "woff2"
    opened.save(written := io.BytesIO())
    return written.getvalue()


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
