"""Meshes in files."""
