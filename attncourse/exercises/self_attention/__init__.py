"""Chapter 09: self-attention from `attend`, a test of equivariance, pooling by levels."""

from . import equivariance, hierarchical_pooling, self_attention

CHAPTER = "09_self_attention"
EXERCISES = [self_attention.EXERCISE, equivariance.EXERCISE, hierarchical_pooling.EXERCISE]
