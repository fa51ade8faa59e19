"""Signed distances of all collider shapes: the names and arguments of `shinari.contact.solid.shapes`, meshes included.

A mesh is a solid or a sheet; the first of its four numbers is its number in `fields`.
"""

import numpy as np

from shinari.contact.solid import shapes
from shinari.contact.solid.field import mesh_distance_and_normal
from shinari.contact.solid.shapes import MESH
from shinari.maths.function import steady


@steady
def distance_and_normal(kind, q, s, fields):
    """Signed distance [m] of q from the surface, negative in the solid, and the unit vector out of the solid there."""
    if kind >= MESH:
        return mesh_distance_and_normal(q, np.int64(s[0]), fields)
    return shapes.distance_and_normal(kind, q, s, fields)


@steady
def distance(kind, q, s, fields):
    """Signed distance [m] of q from the surface, negative in the solid."""
    if kind >= MESH:
        return mesh_distance_and_normal(q, np.int64(s[0]), fields)[0]
    return shapes.distance(kind, q, s, fields)


@steady
def surface_normal(kind, q, s, fields):
    """Unit vector out of the solid at the surface nearest to q."""
    if kind >= MESH:
        return mesh_distance_and_normal(q, np.int64(s[0]), fields)[1]
    return shapes.surface_normal(kind, q, s, fields)
