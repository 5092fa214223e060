"""How an answer is examined: nothing here knows any exercise of any chapter."""
