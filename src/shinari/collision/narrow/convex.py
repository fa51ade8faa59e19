"""Shapes as the record that the kernels of contact between bodies read.

A round shape is a core with a radius: a sphere is a point, a capsule a segment. Then the arms of a contact reach to the
core, and a ball rolls without a corner. All other cores are the shapes themselves. What is neither convex nor without
end is found by the field of its mesh.
"""

from collections.abc import Sequence

import numpy as np

from shinari.compute import Field, Record
from shinari.shapes.base import Shape
from shinari.shapes.hull import HULL
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import LAST_UNBOUNDED, four_numbers, type_of


class Shapes(Record, ragged=True):
    """Shapes, and the vertices and faces of their hulls."""

    kind = Field(np.int64, doc="see `shinari.shapes.registry`")
    size = Field(
        np.float64,
        4,
        unit="m",
        doc="its numbers; of a mesh the number of its field, then zeros",
    )
    radius = Field(np.float64, unit="m", doc="radius around the core")
    extent = Field(np.float64, unit="m", doc="half its largest length, about: a measure for tolerances")
    corners = Field(np.int64, doc="corners that are evaluated in the field of a mesh")
    axes = Field(np.int64, doc="normals of its own that are tried as the direction of a contact")
    flat = Field(np.bool_, doc="whether all its faces are flat, so that its points can be carried along")
    angular = Field(np.bool_, doc="whether it has no round places, so that points on a mesh stay where they are")
    hull = Field(np.int64, doc="which hull, -1 for other kinds")
    vertices = Field(np.float64, 3, unit="m", doc="vertices of all hulls")
    vertex_starts = Field(np.int64, doc="first vertex of each hull, and the end")
    planes = Field(np.float64, 4, unit="1, m", doc="outward unit normal and offset of all faces")
    face_starts = Field(np.int64, doc="first face of each hull, and the end")
    loops = Field(np.int64, doc="vertices of all faces, counter-clockwise seen from outside")
    loop_starts = Field(np.int64, doc="where the loop of each face starts, and the end")


def contact_shape(shape: Shape) -> Shape:
    """What stands for a shape in contacts between bodies: itself, or its mesh."""
    shape_type = type_of(shape)
    known = shape_type.support is not None or shape_type.kind <= LAST_UNBOUNDED
    return shape if known else shape.as_mesh


def shapes_of(solids: Sequence[Shape]) -> Shapes:
    """Record of shapes, in their order; the numbers of meshes are left at zero."""
    given = [contact_shape(shape) for shape in solids]
    types, cores = [type_of(shape) for shape in given], [shape.core() for shape in given]
    numbers = [np.zeros(4) if isinstance(shape, Mesh) else four_numbers(shape) for shape in given]
    hulls, vertices, planes, loops = [], [], [], []
    vertex_starts, face_starts, loop_starts = [0], [0], [0]
    for kind, shape in zip(types, given, strict=True):
        hulls.append(len(vertex_starts) - 1 if kind.kind == HULL else -1)
        if kind.kind == HULL:
            own = np.asarray(shape.vertices, np.float64)  # type: ignore[attr-defined]
            for loop in shape.loops:  # type: ignore[attr-defined]
                loops.extend(vertex_starts[-1] + int(v) for v in loop)
                loop_starts.append(len(loops))
                planes.append(_plane(own[np.asarray(loop)]))
            vertices.append(own)
            vertex_starts.append(vertex_starts[-1] + len(own))
            face_starts.append(len(planes))
    return Shapes(
        np.float64,
        kind=np.array([kind.kind for kind in types], np.int64),
        size=np.array(numbers, np.float64).reshape(-1, 4),
        radius=np.array([core.radius for core in cores], np.float64),
        extent=np.array([core.extent for core in cores], np.float64),
        corners=np.array([core.corners for core in cores], np.int64),
        axes=np.array([core.axes for core in cores], np.int64),
        flat=np.array([kind.flat for kind in types], np.bool_),
        angular=np.array([kind.angular for kind in types], np.bool_),
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
