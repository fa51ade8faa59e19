"""Signed distances of all shapes, as `shinari.shapes.kernels.dispatch` gives them, meshes included.

A mesh is a solid or a sheet; the first of its four numbers is its number in `fields`. The functions of meshes are
large: `distances` gives a scene without a mesh a function that knows the analytic shapes alone.
"""

import numpy as np

from shinari.compute import convert, real, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE
from shinari.shapes.kernels.dispatch import distance_and_normal
from shinari.shapes.kernels.mesh_distance import MeshFields, mesh_distance_and_normal, tables
from shinari.shapes.kernels.mesh_triangles import triangle_distance
from shinari.shapes.mesh import MESH, MESH_SHEET

Vector = tuple[real, real, real]
Four = tuple[real, real, real, real]
Corners = tuple[Vector, Vector, Vector]


@steady
def is_mesh(kind):
    """Whether a shape is a mesh, a solid or a sheet."""
    return kind in (MESH, MESH_SHEET)


@steady
def is_solid_mesh(kind):
    """Whether a shape is a closed mesh."""
    return kind == MESH


@shared(fastmath=STEADY)
def analytic_distance(kind: int, q: Vector, s: Four, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of a shape that is no mesh, see `shinari.shapes.kernels.dispatch`."""
    return distance_and_normal(kind, q, s, ())


@shared(fastmath=STEADY)
def mesh_distance(q: Vector, mesh: int, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of a mesh."""
    return mesh_distance_and_normal(q, mesh, tables(fields))


@shared(fastmath=STEADY)
def any_distance(kind: int, q: Vector, s: Four, fields: MeshFields) -> tuple[real, Vector]:
    """Signed distance and normal of any shape, see `shinari.shapes.kernels.dispatch`."""
    if is_mesh(kind):
        return mesh_distance(q, np.int64(s[0]), fields)
    return analytic_distance(kind, q, s, fields)


@shared(fastmath=STEADY)
def triangle_from_mesh(points: Corners, mesh: int, enough: real, fields: MeshFields) -> tuple[real, Vector]:
    """Distance [m] of a triangle from the surface of a mesh, see `mesh_triangles.triangle_distance`."""
    return triangle_distance(points, mesh, enough, tables(fields))


@shared(fastmath=STEADY)
def triangle_from_none(points: Corners, mesh: int, enough: real, fields: MeshFields) -> tuple[real, Vector]:
    """The same in scenes without meshes: nothing is near."""
    zero = enough - enough
    return enough, (convert(ONE, enough), zero, zero)


def triangle_distances(meshes: bool) -> Shared:
    """Function `(points, mesh, enough, fields) -> distance, weights` for scenes with or without meshes."""
    return triangle_from_mesh if meshes else triangle_from_none


def distances(meshes: bool) -> Shared:
    """Function `(kind, q, s, fields) -> distance, normal` for scenes with or without meshes, compiled once.

    `fields` is a record, `MeshFields`.
    """
    return any_distance if meshes else analytic_distance
