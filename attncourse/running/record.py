"""What a notebook uses, noted while it runs: the build of the book asks for it, to know what each chapter rests on."""

import os


def used(kind: str, name: str) -> None:
    """Add a line to the file that $ATTNCOURSE_RECORD names; without one, do nothing."""
    file = os.environ.get("ATTNCOURSE_RECORD")
    if file:
        with open(file, "a", encoding="utf-8") as record:
            record.write(f"{kind} {name}\n")
