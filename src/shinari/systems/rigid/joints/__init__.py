"""Joints between bodies: constraints, limits and motors of each kind."""
