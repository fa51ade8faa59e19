"""Collider shapes as the arrays that kernels read, and distances of many points from Python."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari import check
from shinari.compute import Field, Kernel, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.program import run_once
from shinari.shapes.base import Shape
from shinari.shapes.kernels.all_distances import distances
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.mesh_distance import MeshFields, mesh_fields
from shinari.shapes.mesh import PARTS, Mesh
from shinari.shapes.registry import four_numbers, type_of
from shinari.shapes.sharing import different


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
    from shinari.shapes.kernels.mesh_field import build_field, join_fields

    shapes = [_given(shape) for shape in solids]
    meshes, places = different([shape for shape in shapes if isinstance(shape, Mesh)], *PARTS)
    kinds, numbers, place = [type_of(shape).kind for shape in shapes], [], iter(places)
    for shape in shapes:
        numbers.append([float(next(place)), 0.0, 0.0, 0.0] if isinstance(shape, Mesh) else four_numbers(shape))
    fields = join_fields([build_field(mesh) for mesh in meshes], precision)
    return np.array(kinds, np.int64), np.array(numbers, precision).reshape(-1, 4), fields


def meshes_of(solids: Sequence[Shape]) -> list[Mesh]:
    """The meshes among shapes, and those that stand for shapes without a distance of their own, each once."""
    given = (_given(shape) for shape in solids)
    return different([shape for shape in given if isinstance(shape, Mesh)], *PARTS)[0]


def _given(shape: Shape) -> Shape:
    """The shape itself, or its mesh."""
    return shape if type_of(shape).distance is not None else shape.as_mesh


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
    run_once(measure_distance(len(fields) > 0, kind), samples, shape, meshes, count=len(samples), grain=64)
    result[...] = samples.distance


class SolidShape(Record):
    """One row: a shape."""

    kind = Field(np.int64)
    size = Field(real, 4)


class Samples(Record):
    """Points and their distances from a shape."""

    point = Field(real, 3, unit="m")
    distance = Field(real, unit="m")


def measure_distance(meshes: bool, kind: int) -> Kernel:
    """Kernel that finds the distance of a point from a shape of a kind."""
    return for_kinds(_measure(meshes), [kind])


@once
def _measure(meshes: bool) -> Kernel:
    distance_and_normal = distances(meshes)

    @kernel(fastmath=STEADY)
    def measure(i, samples: Samples, shape: SolidShape, fields: MeshFields):
        samples.distance[i] = distance_and_normal(shape.kind[0], samples.point[i], shape.size[0], fields)[0]

    return measure
