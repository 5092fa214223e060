"""The reversed source, the log-likelihood with padding, and running free."""
