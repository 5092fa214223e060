"""Chapter 14: zeros on the left, a softmax over the right axis, and how far a stack sees."""

from . import causal_convolution, causal_weights, receptive_field

CHAPTER = "14_snail"
EXERCISES = [causal_convolution.EXERCISE, receptive_field.EXERCISE, causal_weights.EXERCISE]
