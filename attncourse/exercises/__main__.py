"""`python -m attncourse.exercises` rewrites manifest.json, after an exercise was added."""

from .engine.catalogue import MANIFEST, manifest_text

if __name__ == "__main__":
    MANIFEST.write_text(manifest_text(), encoding="utf-8")
