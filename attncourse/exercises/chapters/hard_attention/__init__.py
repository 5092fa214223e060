"""Who learns from which term, a window at the border, how probable a drawn place was."""
