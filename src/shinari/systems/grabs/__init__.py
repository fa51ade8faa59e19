"""Grabs: particles and places on bodies held at a target."""
