"""Distances of shapes in float64, whatever the precision of particles, as `shinari.shapes.kernels.all_distances`."""

import numpy as np

from shinari.collision.narrow.pose_records import Vector
from shinari.compute import Field, Record, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.shapes.kernels.dispatch import distance_and_normal
from shinari.shapes.kernels.mesh_distance import mesh_distance_within, tables
from shinari.shapes.kernels.mesh_triangles import entry, triangle_distance
from shinari.shapes.mesh import MESH, MESH_SHEET

Four = tuple[float, float, float, float]
Corners = tuple[Vector, Vector, Vector]


class BodyFields(Record, ragged=True):
    """Distance fields of meshes; see `shinari.shapes.kernels.mesh_distance.MeshFields`."""

    frames = Field(np.float64, 8)
    extents = Field(np.int64, 8)
    cells = Field(np.uint32, 3)
    boxes = Field(np.float64, 6, unit="m")
    links = Field(np.uint32, 3)
    triangles = Field(np.float64, 9, unit="m")
    normals = Field(np.float64, (7, 3))


def body_fields(arrays: tuple[np.ndarray, ...]) -> BodyFields:
    """Record of the arrays of `shinari.shapes.kernels.mesh_field.join_fields`; of none at all for `()`."""
    if not arrays:
        return BodyFields.zeros(0, np.float64)
    return BodyFields(np.float64, **dict(zip(BodyFields.fields, arrays, strict=True)))


@shared(fastmath=STEADY)
def mesh_distance(q: Vector, mesh: int, reach: float, fields: BodyFields) -> tuple[float, Vector]:
    """Signed distance [m] of q from a mesh, exact at least up to a reach, and the unit vector out of it."""
    return mesh_distance_within(q, mesh, reach, tables(fields))


@shared(fastmath=STEADY)
def mesh_entry(p: Vector, q: Vector, mesh: int, fields: BodyFields) -> tuple[float, Vector]:
    """Place on the segment from p to q where it first enters a mesh, see `mesh_triangles.entry`."""
    return entry(p, q, mesh, tables(fields))


@shared(fastmath=STEADY)
def analytic_distance(kind: int, q: Vector, s: Four, fields: BodyFields) -> tuple[float, Vector]:
    """Signed distance [m] of q from a shape that is no mesh, and the unit vector out of it."""
    return distance_and_normal(kind, q, s, ())


@shared(fastmath=STEADY)
def any_distance(kind: int, q: Vector, s: Four, fields: BodyFields) -> tuple[float, Vector]:
    """Signed distance [m] of q from any shape, and the unit vector out of it."""
    if kind in (MESH, MESH_SHEET):
        return mesh_distance(q, np.int64(s[0]), 0.0, fields)
    return analytic_distance(kind, q, s, fields)


@shared(fastmath=STEADY)
def triangle_from_mesh(points: Corners, mesh: int, enough: float, fields: BodyFields) -> tuple[float, Vector]:
    """Distance [m] of a triangle from the surface of a mesh, see `mesh_triangles.triangle_distance`."""
    return triangle_distance(points, mesh, enough, tables(fields))


@shared(fastmath=STEADY)
def triangle_from_none(points: Corners, mesh: int, enough: float, fields: BodyFields) -> tuple[float, Vector]:
    """The same in scenes without meshes: nothing is near."""
    return enough, (1.0, 0.0, 0.0)


def triangle_distances(meshes: bool) -> Shared:
    """Function `(points, mesh, enough, fields) -> distance, weights` for scenes with or without meshes."""
    return triangle_from_mesh if meshes else triangle_from_none


def distances(meshes: bool) -> Shared:
    """Function `(kind, q, s, fields) -> distance, normal` for scenes with or without meshes, compiled once."""
    return any_distance if meshes else analytic_distance
