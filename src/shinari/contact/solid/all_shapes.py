"""Signed distances of all collider shapes: the names and arguments of `shinari.contact.solid.shapes`, meshes included.

A mesh is a solid or a sheet; the first of its four numbers is its number in `fields`. The functions of meshes are
large: `distances` gives a scene without a mesh a function that knows the analytic shapes alone.
"""

import numpy as np

from shinari.compute import real, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.contact.solid import shapes
from shinari.contact.solid.field import MeshFields, mesh_distance_and_normal, tables
from shinari.contact.solid.shapes import MESH
from shinari.maths.function import steady

Vector = tuple[real, real, real]
Four = tuple[real, real, real, real]


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


@shared(fastmath=STEADY)
def analytic_distance(kind: int, q: Vector, s: Four, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of a shape that is no mesh, see `distance_and_normal`."""
    return shapes.distance_and_normal(kind, q, s, ())


@shared(fastmath=STEADY)
def mesh_distance(q: Vector, mesh: int, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of a mesh."""
    return mesh_distance_and_normal(q, mesh, tables(fields))


@shared(fastmath=STEADY)
def any_distance(kind: int, q: Vector, s: Four, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of any shape, see `distance_and_normal`."""
    if kind >= MESH:
        return mesh_distance(q, np.int64(s[0]), fields)
    return analytic_distance(kind, q, s, fields)


def distances(meshes: bool) -> Shared:
    """Function `(kind, q, s, fields) -> distance, normal` for scenes with or without meshes, compiled once.

    `fields` is a record, `MeshFields`.
    """
    return any_distance if meshes else analytic_distance
