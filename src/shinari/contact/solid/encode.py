"""Collider shapes as the arrays that kernels read, and distances of many points from Python."""

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari.contact.solid import shapes
from shinari.contact.solid.all_shapes import distance
from shinari.maths.function import STEADY
from shinari.scene import check
from shinari.scene.mesh_shape import Heightfield, Mesh
from shinari.scene.shapes import Box, Capsule, Cone, ConvexHull, Cylinder, Plane, Shape, Sphere


def encode_shapes(solids: Sequence[Shape], real: type) -> tuple[NDArray[np.int64], np.ndarray, tuple[np.ndarray, ...]]:
    """Shapes as arrays; a mesh that is given twice is built and held once.

    Args:
        solids: The shapes.
        real: Floating point type of the solver.

    Returns:
        Kinds (K,), numbers (K, 4), and the distance fields of the meshes, `()` when there are none.
    """
    from shinari.build.field import build_field, join_fields

    kinds, numbers, meshes = [], [], []
    for shape in solids:
        mesh = shape.mesh if isinstance(shape, (Heightfield, ConvexHull)) else shape
        if isinstance(mesh, Mesh):
            index = next((k for k, known in enumerate(meshes) if known is mesh), len(meshes))
            meshes += [mesh] if index == len(meshes) else []
            kinds.append(shapes.MESH if mesh.solid else shapes.MESH_SHEET)
            numbers.append([float(index), 0.0, 0.0, 0.0])
        else:
            kind, values = shapes.encode(mesh)
            kinds.append(kind)
            numbers.append(values)
    fields = join_fields([build_field(mesh) for mesh in meshes], real)
    return np.array(kinds, np.int64), np.array(numbers, real).reshape(-1, 4), fields


def bounds(shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest corner (3,) [m] of the box around a solid in its own axes; infinite where it has no end."""
    everywhere = np.full(3, np.inf)
    if isinstance(shape, Plane):
        low, high = -everywhere, everywhere.copy()
        for axis in np.flatnonzero(np.abs(shape.normal) == 1.0):
            (high if shape.normal[axis] > 0.0 else low)[axis] = shape.offset * shape.normal[axis]
        return low, high
    if isinstance(shape, ConvexHull):
        return shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    if isinstance(shape, (Mesh, Heightfield)):
        mesh = shape.mesh if isinstance(shape, Heightfield) else shape
        used = mesh.vertices[np.unique(mesh.faces)]
        return used.min(axis=0) - 0.5 * mesh.thickness, used.max(axis=0) + 0.5 * mesh.thickness
    if isinstance(shape, Box):
        half = everywhere if shape.inside else 0.5 * np.array(shape.size)
    elif isinstance(shape, Sphere):
        half = np.full(3, shape.radius)
    elif isinstance(shape, Capsule):
        half = shape.radius + np.array([0.0, 0.5 * shape.length, 0.0])
    elif isinstance(shape, Cylinder):
        half = np.array([shape.radius, 0.5 * shape.length, shape.radius])
    else:
        assert isinstance(shape, Cone)
        half = np.array([shape.radius, 0.5 * shape.height, shape.radius])
    return -half, half


def signed_distance(shape: Shape, points: ArrayLike) -> NDArray[np.float64]:
    """Signed distance of points from a shape, negative in the solid.

    Args:
        shape: The shape.
        points: Points in its axes [m], (N, 3).

    Returns:
        Distances [m], (N,).

    Raises:
        SceneError: The points are no finite numbers of that shape.
    """
    at = check.array("signed_distance", "points", points, (None, 3))
    kinds, numbers, fields = encode_shapes([shape], np.float64)
    result = np.zeros(len(at))
    if fields:
        mesh_distances(result, kinds[0], numbers[0], fields, at)
    else:
        analytic_distances(result, kinds[0], numbers[0], at)
    return result


@numba.njit(parallel=True, cache=True, **STEADY)
def mesh_distances(result, kind, numbers, fields, points):
    """Distances (N,) of points (N, 3)."""
    s = (numbers[0], numbers[1], numbers[2], numbers[3])
    for i in numba.prange(len(points)):
        result[i] = distance(kind, (points[i, 0], points[i, 1], points[i, 2]), s, fields)


@numba.njit(cache=True, **STEADY)
def analytic_distances(result, kind, numbers, points):
    """Distances (N,) of points (N, 3)."""
    s = (numbers[0], numbers[1], numbers[2], numbers[3])
    for i in range(len(points)):
        result[i] = shapes.distance(kind, (points[i, 0], points[i, 1], points[i, 2]), s, ())
