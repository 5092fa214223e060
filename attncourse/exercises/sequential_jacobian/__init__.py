"""Chapter 02: the Jacobian of a linear RNN, reading an architecture off a map, a detach in its place."""

from . import linear_rnn, misplaced_detach, which_architecture

CHAPTER = "02_sequential_jacobian"
EXERCISES = [linear_rnn.EXERCISE, which_architecture.EXERCISE, misplaced_detach.EXERCISE]
