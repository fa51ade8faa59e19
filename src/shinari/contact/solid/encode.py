"""Collider shapes as the arrays that kernels read, and distances of many points from Python."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari.compute import Field, Kernel, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.contact.solid import shapes
from shinari.contact.solid.all_shapes import distances
from shinari.contact.solid.field import MeshFields, mesh_fields
from shinari.scene import check
from shinari.scene.mesh_shape import Heightfield, Mesh
from shinari.scene.shapes import Box, Capsule, Cone, ConvexHull, Cylinder, Plane, Shape, Sphere


def encode_shapes(
    solids: Sequence[Shape], precision: type
) -> tuple[NDArray[np.int64], np.ndarray, tuple[np.ndarray, ...]]:
    """Shapes as arrays; a mesh that is given twice is built and held once.

    Args:
        solids: The shapes.
        precision: Floating point type of the solver.

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
    fields = join_fields([build_field(mesh) for mesh in meshes], precision)
    return np.array(kinds, np.int64), np.array(numbers, precision).reshape(-1, 4), fields


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
    mesh_distances(result, kinds[0], numbers[0], fields, at)
    return result


def mesh_distances(
    result: np.ndarray, kind: int, numbers: np.ndarray, fields: tuple[np.ndarray, ...], points: np.ndarray
) -> None:
    """Fill the distances (N,) of points (N, 3) from a shape given as `encode_shapes` does, which may be a mesh."""
    precision = result.dtype.type
    shape = SolidShape(precision, kind=np.array([kind], np.int64), size=np.asarray(numbers, precision).reshape(1, 4))
    samples = Samples(precision, point=np.ascontiguousarray(points, precision), distance=np.ascontiguousarray(result))
    meshes = mesh_fields(fields, precision)
    run_once(measure_distance(len(fields) > 0), samples, shape, meshes, count=len(samples), grain=64)
    result[...] = samples.distance


class SolidShape(Record):
    """One row: a shape."""

    kind = Field(np.int64)
    size = Field(real, 4)


class Samples(Record):
    """Points and their distances from a shape."""

    point = Field(real, 3, unit="m")
    distance = Field(real, unit="m")


@cache
def measure_distance(meshes: bool) -> Kernel:
    """Kernel that finds the distance of a point."""
    distance_and_normal = distances(meshes)

    @kernel(fastmath=STEADY)
    def measure(i, samples: Samples, shape: SolidShape, fields: MeshFields):
        samples.distance[i] = distance_and_normal(shape.kind[0], samples.point[i], shape.size[0], fields)[0]

    return measure
