"""Where things lie in the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
HTML = ROOT / "_build/html"
AXE = ROOT / "tests/vendor/axe.min.js"
