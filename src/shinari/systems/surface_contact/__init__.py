"""Contacts of triangles, edges and points: candidates, rows, ways that must not cross."""
