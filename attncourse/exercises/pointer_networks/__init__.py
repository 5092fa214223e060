"""Chapter 13: the pointing distribution and its loss, the canonical order of a hull, what may come next on a tour."""

from . import allowed_next, canonical_order, pointing

CHAPTER = "13_pointer_networks"
EXERCISES = [pointing.EXERCISE, canonical_order.EXERCISE, allowed_next.EXERCISE]
