"""The Jacobian of a linear RNN, reading an architecture off a map, a detach in its place."""
