"""Exercises in the built page: a small torch in plain Python, and the check that runs on it."""
