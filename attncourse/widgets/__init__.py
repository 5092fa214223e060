"""Explorables: anywidgets that compute in the browser, so they run in JupyterLab, Colab and the built page alike.

>>> from attncourse.widgets import ScoreExplorer, DateTranslator, quiz
"""

from .date_translator.widget import DateTranslator
from .quiz.widget import Quiz, quiz
from .score_explorer.widget import ScoreExplorer

__all__ = ["DateTranslator", "Quiz", "ScoreExplorer", "quiz"]
