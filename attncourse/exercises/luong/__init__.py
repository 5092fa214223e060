"""Chapter 06: the general score, local attention, how far an alignment is from the truth."""

from . import alignment_error, general_score, local_p

CHAPTER = "06_luong"
EXERCISES = [general_score.EXERCISE, local_p.EXERCISE, alignment_error.EXERCISE]
