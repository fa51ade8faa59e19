"""Meshes and points: topology, tetrahedra, embedding, hulls, trees, motions; it knows no scene and no model."""
