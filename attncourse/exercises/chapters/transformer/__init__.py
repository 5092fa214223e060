"""Heads, the causal mask, one step with a cache, where the parameters sit."""
