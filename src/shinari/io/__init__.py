"""Meshes in and out, and the files that a run writes."""
