"""The quiz of a chapter: `quiz("bahdanau")` shows the questions of attncourse/quizzes/bahdanau.py."""

import traitlets

from ... import quizzes
from .. import bundle
from ..base import Explorable


class Quiz(Explorable):
    """Questions as the page needs them: HTML with MathML, made here, so that no MathJax is needed anywhere.

    Answers are remembered in the browser's localStorage under `name`; nothing is sent to the kernel.
    """

    _esm = bundle.esm("quiz_card")
    _css = bundle.css("quiz_card")

    name = traitlets.Unicode().tag(sync=True)
    questions = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(self, name: str, questions: list, **traits):
        quizzes.check(name, questions)
        super().__init__(name=name, questions=[question.as_html() for question in questions], **traits)


def quiz(name: str) -> Quiz:
    """The quiz of a chapter, by its name."""
    return Quiz(name, quizzes.load(name))
