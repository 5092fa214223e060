"""The general score, local attention, how far an alignment is from the truth."""
