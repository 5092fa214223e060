"""The additive score, a softmax that honours padding, one step of the decoder."""
