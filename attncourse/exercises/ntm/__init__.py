"""Chapter 12: find by content, step to a neighbour, stay or go, erase and add."""

from . import circular_shift, content_addressing, erase_and_add, interpolation

CHAPTER = "12_ntm"
EXERCISES = [content_addressing.EXERCISE, circular_shift.EXERCISE, interpolation.EXERCISE, erase_and_add.EXERCISE]
