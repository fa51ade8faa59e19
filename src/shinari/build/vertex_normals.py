"""Smooth normals of the vertices of a mesh that moves, for the formats that draw it.

The normal of a vertex is the mean of those of its triangles, weighted by their areas (Gouraud 1971 takes the plain
mean): the sum of the cross products of their edges needs no division but the last one.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.maths.function import STEADY


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
    result = np.empty((len(points), 3), np.float32)
    there = np.ones(1, np.bool_) if drawn is None else np.ascontiguousarray(drawn, np.bool_)
    points = np.ascontiguousarray(points, np.float32)
    _vertex_normals(points, np.ascontiguousarray(faces, np.int32), there, drawn is None, result)
    return result


@numba.njit(cache=True, **STEADY)
def _vertex_normals(x, faces, there, every, normals):
    normals[:] = np.float32(0.0)
    for f in range(faces.shape[0]):
        if every or there[f]:
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            ux, uy, uz = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
            vx, vy, vz = x[c, 0] - x[a, 0], x[c, 1] - x[a, 1], x[c, 2] - x[a, 2]
            nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            for k in range(3):
                i = faces[f, k]
                normals[i, 0] += nx
                normals[i, 1] += ny
                normals[i, 2] += nz
    for i in range(normals.shape[0]):
        nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
        # doubled: the squares of small areas are no numbers of single precision
        length = np.sqrt(np.float64(nx) * nx + np.float64(ny) * ny + np.float64(nz) * nz)
        if length > 0.0:
            normals[i, 0], normals[i, 1], normals[i, 2] = nx / length, ny / length, nz / length
        else:
            normals[i, 0], normals[i, 1], normals[i, 2] = np.float32(0.0), np.float32(1.0), np.float32(0.0)
