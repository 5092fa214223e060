"""Self-attention from `attend`, a test of equivariance, pooling by levels."""
