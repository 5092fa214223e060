"""Chapter 15: attention over an image, the hinge of both networks, the largest singular value."""

from . import attention_map, hinge, spectral_norm

CHAPTER = "15_sagan"
EXERCISES = [attention_map.EXERCISE, hinge.EXERCISE, spectral_norm.EXERCISE]
