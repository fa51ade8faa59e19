"""Cosserat rods: points that carry the mass, frames that carry the bending and the twist."""
