"""One hop, the position encoding, the temporal encoding."""
