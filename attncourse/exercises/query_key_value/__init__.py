"""Chapter 05: a soft dictionary, scaled dot-product attention with heads, a sample with its log-probability."""

from . import sample_log_prob, scaled_dot, soft_dictionary

CHAPTER = "05_query_key_value"
EXERCISES = [soft_dictionary.EXERCISE, scaled_dot.EXERCISE, sample_log_prob.EXERCISE]
