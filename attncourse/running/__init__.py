"""What a notebook does with a mechanism: train it, decode with it, plot, and claim."""
