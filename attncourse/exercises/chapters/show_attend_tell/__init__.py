"""The gated context, the doubly stochastic penalty, a read that is sometimes an expectation."""
