"""Data that needs no download: one module a task."""
