"""Explorables: anywidgets that compute in the browser, so they run in JupyterLab, Colab and the built page alike.

>>> from attncourse.widgets import ScoreExplorer, DateTranslator, quiz
"""

from .addressing.widget import AddressingBench
from .date_translator.widget import DateTranslator
from .draw_digit.widget import DrawDigit
from .drop_points.widget import DropPoints
from .family_map.widget import FamilyMap
from .five_characters.widget import FiveCharacters
from .generate_click.widget import GenerateClick
from .heads.widget import Heads
from .machine.widget import RunMachine
from .memory_horizon.widget import MemoryHorizon
from .position_clock.widget import PositionClock
from .quiz.widget import Quiz, quiz
from .score_explorer.widget import ScoreExplorer
from .six_scores.widget import SixScores
from .squeeze.widget import Squeeze
from .story_hops.widget import StoryHops
from .where_look.widget import WhereLook
from .who_looks.widget import WhoLooks
from .window.widget import LocalWindow
from .word_by_word.widget import WordByWord

__all__ = [
    "AddressingBench",
    "DateTranslator",
    "DrawDigit",
    "DropPoints",
    "FamilyMap",
    "FiveCharacters",
    "GenerateClick",
    "Heads",
    "LocalWindow",
    "MemoryHorizon",
    "PositionClock",
    "Quiz",
    "RunMachine",
    "ScoreExplorer",
    "SixScores",
    "Squeeze",
    "StoryHops",
    "WhereLook",
    "WhoLooks",
    "WordByWord",
    "quiz",
]
