"""Adds soft bodies of tetrahedra to a scene."""

from shinari.scene.contents import Contents


class SoftBodies(Contents):
    """Soft bodies of tetrahedra."""
