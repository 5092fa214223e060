"""A soft dictionary, scaled dot-product attention with heads, a sample with its log-probability."""
