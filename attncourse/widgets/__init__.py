"""Explorables: anywidgets that compute in the browser, so they run in JupyterLab, Colab and the built page alike.

>>> from attncourse.widgets import ScoreExplorer, DateTranslator, quiz

Each lives in a folder of its own and is loaded on first use.
"""

import importlib
from typing import Any

EXPORTS = {  # name -> the module that holds it
    "AddressingBench": "addressing.widget",
    "DateTranslator": "date_translator.widget",
    "DrawDigit": "draw_digit.widget",
    "DropPoints": "drop_points.widget",
    "FamilyMap": "family_map.widget",
    "FiveCharacters": "five_characters.widget",
    "GenerateClick": "generate_click.widget",
    "Heads": "heads.widget",
    "LocalWindow": "window.widget",
    "MemoryHorizon": "memory_horizon.widget",
    "PositionClock": "position_clock.widget",
    "Quiz": "quiz_card.widget",
    "RunMachine": "machine.widget",
    "ScoreExplorer": "score_explorer.widget",
    "SixScores": "six_scores.widget",
    "Squeeze": "squeeze.widget",
    "StoryHops": "story_hops.widget",
    "Walkthrough": "stepped.widget",
    "WhereLook": "where_look.widget",
    "WhoLooks": "who_looks.widget",
    "WordByWord": "word_by_word.widget",
    "predict": "prediction.widget",
    "quiz": "quiz_card.widget",
    "walkthrough": "stepped.widget",
}
__all__ = list(EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in EXPORTS:
        raise AttributeError(f"there is no explorable {name!r}; there are: {', '.join(EXPORTS)}")
    return getattr(importlib.import_module(f"{__name__}.{EXPORTS[name]}"), name)
