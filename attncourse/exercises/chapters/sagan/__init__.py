"""Attention over an image, the hinge of both networks, the largest singular value."""
