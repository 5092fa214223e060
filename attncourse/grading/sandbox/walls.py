"""What the isolation was, in words: as a student's process found it, not as it was meant."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Walls:
    mode: str
    facts: dict  # of student.Desk.do_probe
    failed: tuple[str, ...] = ()  # stronger ways that did not work here

    def words(self) -> list[str]:
        """One sentence a wall: what holds, and what does not."""
        how = {
            "bubblewrap": "bubblewrap: for each student, processes, files and a network apart from all others",
            "namespaces": "namespaces: for each student, processes, files and a network apart from all others",
            "user": "no namespaces here: for each student a process with limits, and nothing more",
        }[self.mode]
        facts = self.facts
        lines = [how, f"students' code ran as user {facts['user']}{self._namespaced()}"]
        if facts["network"]:
            lines.append("NOT KEPT OUT: the network could be reached")
        if facts["readable"]:
            lines.append(
                "NOT KEPT OUT: the solutions cannot be imported, but one who knows where they lie can read the files"
            )
        if facts["sees_grader"]:
            lines.append(
                "NOT KEPT OUT: it ran as the same user as the grader, and could have ended it or read its files"
            )
        if not (facts["network"] or facts["readable"] or facts["sees_grader"]):
            lines.append("tried from inside and refused: the network, the solutions' files, the grader's process")
        return lines + [f"did not work here: {words}" for words in self.failed]

    def _namespaced(self) -> str:
        """Without root there is no other user to become, only another name for one's own."""
        own = self.mode != "user" and os.geteuid() != 0
        return " of a user namespace, outside of it the grader's own" if own else ""
