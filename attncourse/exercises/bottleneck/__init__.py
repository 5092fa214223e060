"""Chapter 03: the reversed source, the log-likelihood with padding, and running free."""

from . import free_running, log_likelihood, reversal

CHAPTER = "03_bottleneck"
EXERCISES = [reversal.EXERCISE, log_likelihood.EXERCISE, free_running.EXERCISE]
