"""Find by content, step to a neighbour, stay or go, erase and add."""
