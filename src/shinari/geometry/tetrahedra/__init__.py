"""Tetrahedra: filling surfaces with them, checking them, measuring their quality."""
