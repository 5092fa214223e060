"""The pointing distribution and its loss, the canonical order of a hull, what may come next on a tour."""
