"""Zeros on the left, a softmax over the right axis, and how far a stack sees."""
