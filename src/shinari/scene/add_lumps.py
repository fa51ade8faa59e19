"""Adds shape matched bodies and rigid lumps of particles to a scene."""

from shinari.scene.contents import Contents


class Lumps(Contents):
    """Shape matched bodies and rigid lumps of particles."""
