"""Chapter 07: who learns from which term, a window at the border, how probable a drawn place was."""

from . import gaussian_place, glimpse_at_the_border, score_function

CHAPTER = "07_hard_attention"
EXERCISES = [glimpse_at_the_border.EXERCISE, score_function.EXERCISE, gaussian_place.EXERCISE]
