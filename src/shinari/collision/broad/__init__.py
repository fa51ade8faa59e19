"""Broad phase: which points and boxes are near each other; it knows nothing of contacts."""
