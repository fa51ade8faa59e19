"""Adds Cosserat rods to a scene."""

from shinari.scene.contents import Contents


class Rods(Contents):
    """Cosserat rods."""
