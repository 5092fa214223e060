"""Chapter 08: the gated context, the doubly stochastic penalty, a read that is sometimes an expectation."""

from . import doubly_stochastic, expected_mix, gated_context

CHAPTER = "08_show_attend_tell"
EXERCISES = [gated_context.EXERCISE, doubly_stochastic.EXERCISE, expected_mix.EXERCISE]
