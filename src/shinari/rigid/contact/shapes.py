"""Convex shapes as arrays, and as the record that the kernels of contact between bodies read.

A round shape is a core with a radius: a sphere is a point, a capsule a segment. Then the arms of a contact reach to the
core, and a ball rolls without a corner. All other cores are the shapes themselves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shinari.compute import Field, Record
from shinari.contact.solid import shapes as solid
from shinari.maths.function import steady
from shinari.scene.mesh_shape import Heightfield, Mesh
from shinari.scene.shapes import Box, Plane

PLANE, SPHERE, BOX, CAPSULE = solid.PLANE, solid.SPHERE, solid.BOX, solid.CAPSULE
CYLINDER, CONE, MESH, MESH_SHEET = solid.CYLINDER, solid.CONE, solid.MESH, solid.MESH_SHEET
HULL = 9


class Shapes(Record, ragged=True):
    """Shapes, and the vertices and faces of their hulls."""

    kind = Field(np.int64, doc="one of the kinds above")
    size = Field(
        np.float64,
        4,
        unit="m",
        doc="numbers as `shinari.contact.solid.shapes.encode` gives them; of a hull its largest distance from its "
        "origin, then zeros; of a mesh the number of its field, then zeros",
    )
    hull = Field(np.int64, doc="which hull, -1 for other kinds")
    vertices = Field(np.float64, 3, unit="m", doc="vertices of all hulls")
    vertex_starts = Field(np.int64, doc="first vertex of each hull, and the end")
    planes = Field(np.float64, 4, unit="1, m", doc="outward unit normal and offset of all faces")
    face_starts = Field(np.int64, doc="first face of each hull, and the end")
    loops = Field(np.int64, doc="vertices of all faces, counter-clockwise seen from outside")
    loop_starts = Field(np.int64, doc="where the loop of each face starts, and the end")


def shapes_of(solids: Sequence[Any]) -> Shapes:
    """Arrays of shapes, in their order.

    Args:
        solids: Shapes of a scene. A hull has `vertices` (V, 3) and `loops`, the vertex indices of each face,
            counter-clockwise seen from outside.
    """
    kinds, sizes, hulls = [], [], []
    vertices, planes, loops = [], [], []
    vertex_starts, face_starts, loop_starts = [0], [0], [0]
    for shape in solids:
        hull = -1
        if isinstance(shape, (Mesh, Heightfield)):
            mesh = shape.mesh if isinstance(shape, Heightfield) else shape
            kind, size = (MESH if mesh.solid else MESH_SHEET), np.zeros(4)
        elif hasattr(shape, "loops"):
            kind, size, hull = HULL, np.zeros(4), len(vertex_starts) - 1
            own = np.asarray(shape.vertices, np.float64)
            size[0] = np.sqrt((own**2).sum(axis=1).max())
            for loop in shape.loops:
                loops.extend(vertex_starts[-1] + int(v) for v in loop)
                loop_starts.append(len(loops))
                planes.append(_plane(own[np.asarray(loop)]))
            vertices.append(own)
            vertex_starts.append(vertex_starts[-1] + len(own))
            face_starts.append(len(planes))
        else:
            kind, size = solid.encode(shape)
        kinds.append(kind)
        sizes.append(size)
        hulls.append(hull)
    return Shapes(
        np.float64,
        kind=np.array(kinds, np.int64),
        size=np.array(sizes, np.float64).reshape(-1, 4),
        hull=np.array(hulls, np.int64),
        vertices=np.concatenate([*vertices, np.zeros((0, 3))]),
        vertex_starts=np.array(vertex_starts, np.int64),
        planes=np.array(planes, np.float64).reshape(-1, 4),
        face_starts=np.array(face_starts, np.int64),
        loops=np.array(loops, np.int64),
        loop_starts=np.array(loop_starts, np.int64),
    )


def _plane(corners: np.ndarray) -> np.ndarray:
    """Outward unit normal and offset (4,) of a polygon (N, 3): its vector area, about its own centre."""
    arms = corners - corners.mean(axis=0)
    normal = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
    normal = normal / np.linalg.norm(normal)
    return np.array([*normal, (corners @ normal).max()])


def walls_of(box: Box) -> list[Plane]:
    """The six half spaces around a container."""
    x, y, z = box.size
    return [
        Plane((s * (axis == 0), s * (axis == 1), s * (axis == 2)), -0.5 * length)
        for axis, length in enumerate((x, y, z))
        for s in (1.0, -1.0)
    ]


@steady
def core_radius(kind, size):
    """What the core is thickened by [m]; `size` are the four numbers."""
    return size[0] if kind in (SPHERE, CAPSULE) else 0.0


@steady
def extent(kind, size):
    """Half the largest length of a bounded shape, about [m]: a measure for tolerances."""
    if kind == BOX:
        return max(size[0], max(size[1], size[2]))
    if kind == CAPSULE:
        return size[0] + size[1]
    if kind in (CYLINDER, CONE):
        return max(size[0], size[1])
    return size[0]
