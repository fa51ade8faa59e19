"""Narrow phase of convex shapes: separating directions, faces, manifolds."""
