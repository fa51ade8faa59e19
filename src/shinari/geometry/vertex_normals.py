"""Smooth normals of the vertices of a mesh that moves, for the formats that draw it.

The normal of a vertex is the mean of those of its triangles, weighted by their areas (Gouraud 1971 takes the plain
mean): the sum of the cross products of their edges needs no division but the last one.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.maths.vec3 import ONE, ZERO, add, cross, sub


def vertex_normals(
    points: NDArray[np.float32], faces: NDArray[np.int32], drawn: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Unit normals of vertices by the right-hand rule, float32, shape (V, 3).

    Args:
        points: Positions [m], shape (V, 3).
        faces: Triangles, shape (F, 3).
        drawn: Which triangles are there, shape (F,); None: all.

    Returns:
        Normals; +Y where a vertex is in no triangle that is drawn and has an area.
    """
    points = np.ascontiguousarray(points, np.float32)
    if drawn is not None:
        faces = faces[np.asarray(drawn, bool)]
    triangles = Triangles(corners=np.ascontiguousarray(faces, np.int32))
    vertices = Vertices(place=points, normal=np.zeros((len(points), 3), np.float32))
    run_once(add_normals, triangles, vertices, count=1)
    run_once(normalise, vertices, count=len(points))
    return vertices.normal


class Triangles(Record):
    """Triangles that are drawn."""

    corners = Field(np.int32, 3)


class Vertices(Record):
    """Vertices, V rows."""

    place = Field(np.float32, 3, unit="m")
    normal = Field(np.float32, 3)


@kernel(fastmath=STEADY)
def add_normals(_, triangles: Triangles, vertices: Vertices):
    """Add twice the area vector of each triangle to the normals of its corners."""
    for f in range(len(triangles)):
        i, j, k = triangles.corners[f]
        p = vertices.place[i]
        normal = cross(sub(vertices.place[j], p), sub(vertices.place[k], p))
        vertices.normal[i] = add(vertices.normal[i], normal)
        vertices.normal[j] = add(vertices.normal[j], normal)
        vertices.normal[k] = add(vertices.normal[k], normal)


@kernel(fastmath=STEADY, mixed=True)
def normalise(i, vertices: Vertices):
    """Bring a normal to length one."""
    n = vertices.normal[i]
    # doubled: the squares of small areas are no numbers of single precision
    x, y, z = np.float64(n[0]), np.float64(n[1]), np.float64(n[2])
    length = np.sqrt(x * x + y * y + z * z)
    if length > 0.0:
        vertices.normal[i] = x / length, y / length, z / length
    else:
        vertices.normal[i] = ZERO, ONE, ZERO
