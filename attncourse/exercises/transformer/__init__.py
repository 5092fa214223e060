"""Chapter 10: heads, the causal mask, one step with a cache, where the parameters sit."""

from . import cache_step, causal_mask, multi_head, parameters

CHAPTER = "10_transformer"
EXERCISES = [multi_head.EXERCISE, causal_mask.EXERCISE, cache_step.EXERCISE, parameters.EXERCISE]
