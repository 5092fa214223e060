"""What is graded so far: one line of JSON a student, written when it is known. A killed run goes on from here."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import BadInput

NAME = "journal.jsonl"


class Journal:
    """The first line says what the run asks; of a student with several lines the last counts."""

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self.at: dict[str, tuple[int, str]] = {}  # student -> where the line begins, digest of what was handed in
        self.end = 0  # of the last complete line

    def create(self, settings: dict) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{NAME}.tmp")
        self.end = temporary.write_bytes(json.dumps(settings).encode() + b"\n")
        os.replace(temporary, self.path)

    def open(self) -> dict:
        """Read what is there; -> the settings. A line that a kill has cut off does not count."""
        try:
            with open(self.path, "rb") as file:
                settings = json.loads(file.readline())
                self.end = file.tell()
                for line in file:
                    if line.endswith(b"\n"):
                        entry = json.loads(line)
                        self.at[entry["student"]] = self.end, entry["digest"]
                        self.end += len(line)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{self.path} is not the journal of a run ({type(error).__name__})") from None
        return settings

    def add(self, entry: dict) -> None:
        line = json.dumps(entry).encode() + b"\n"
        with open(self.path, "r+b") as file:
            file.seek(self.end)
            file.truncate()
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.at[entry["student"]] = self.end, entry["digest"]
        self.end += len(line)

    def has(self, student: str, digest: str) -> bool:
        return self.at.get(student, (0, ""))[1] == digest

    def entries(self, students: list[str]) -> Iterator[dict]:
        """In this order, one at a time: a class of any size fits into memory."""
        with open(self.path, "rb") as file:
            for student in students:
                file.seek(self.at[student][0])
                yield json.loads(file.readline())
