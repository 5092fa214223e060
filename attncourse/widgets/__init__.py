"""Explorables: anywidgets that compute in the browser, so they run in JupyterLab, Colab and the built page alike.

>>> from attncourse.widgets import ScoreExplorer, DateTranslator, quiz
"""

from .date_translator.widget import DateTranslator
from .draw_digit.widget import DrawDigit
from .memory_horizon.widget import MemoryHorizon
from .quiz.widget import Quiz, quiz
from .score_explorer.widget import ScoreExplorer
from .six_scores.widget import SixScores
from .squeeze.widget import Squeeze
from .where_look.widget import WhereLook
from .window.widget import LocalWindow

__all__ = [
    "DateTranslator",
    "DrawDigit",
    "LocalWindow",
    "MemoryHorizon",
    "Quiz",
    "ScoreExplorer",
    "SixScores",
    "Squeeze",
    "WhereLook",
    "quiz",
]
