"""Broad phase: which points and boxes are near each other; independent of contacts."""
