"""Volumes of closed meshes: one multiplier each, the pressure inside."""
