"""Signed distances between shapes, and their nearest points."""

from collections.abc import Sequence

import numpy as np

from shinari.collision.narrow.axes import best_axis
from shinari.collision.narrow.convex import Shapes, contact_shape, shapes_of
from shinari.collision.narrow.gjk import refine
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.support import farthest
from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.geometry.motion import rotation_matrix
from shinari.maths.poses import origin, rotate_vector
from shinari.maths.vec3 import add, dot, neg, scale, sub
from shinari.shapes.base import Shape
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.plane import PLANE
from shinari.shapes.registry import type_of

ALL = np.inf


class Pairs(Record):
    """Pairs of shapes, and how far they are apart."""

    shapes = Field(np.int64, 2)
    distance = Field(np.float64, unit="m", doc="negative where they overlap")
    first = Field(np.float64, 3, unit="m", doc="the point of the first that is nearest to the second")
    normal = Field(np.float64, 3, doc="unit vector from there to the second, out of the first")


@kernel(fastmath=STEADY)
def measure_pair(k, pairs: Pairs, shapes: Shapes, poses: Poses):
    """Find the nearest points of two convex shapes, or of one and a half space."""
    i, j = pairs.shapes[k]
    swapped = shapes.kind[j] == PLANE
    a, b = (j, i) if swapped else (i, j)
    pose_a, pose_b, radius = poses.pose[a], poses.pose[b], shapes.radius[b]
    if shapes.kind[a] == PLANE:
        size = shapes.size[a]
        out = rotate_vector(pose_a, (size[0], size[1], size[2]))
        point = add(origin(pose_b), farthest(shapes, poses, b, neg(out)))
        gap = dot(out, sub(point, origin(pose_a))) - size[3]
        on_a, on_b, n = sub(point, scale(out, gap)), sub(point, scale(out, radius)), neg(out)
        gap -= radius
    else:
        offset = sub(origin(pose_a), origin(pose_b))
        tried, most, _ = best_axis(shapes, poses, a, b, offset, ALL, 0.0)
        extent = min(shapes.extent[a], shapes.extent[b])
        n, gap, core_a, core_b = refine(shapes, poses, a, b, offset, tried, most, extent)
        on_a = add(origin(pose_b), sub(core_a, scale(n, shapes.radius[a])))
        on_b = add(origin(pose_b), add(core_b, scale(n, radius)))
        gap -= radius + shapes.radius[a]
    pairs.distance[k] = gap
    pairs.first[k] = on_b if swapped else on_a
    # n points from b to a
    pairs.normal[k] = n if swapped else neg(n)


def is_measured(shape: Shape) -> bool:
    """Whether distances from a shape are known: it is convex and bounded, a hull, or a half space."""
    given = type_of(contact_shape(shape))
    return given.support is not None or given.kind == PLANE


def pair_distances(
    shapes: Sequence[Shape], poses: Sequence[tuple[np.ndarray, np.ndarray]], pairs: Sequence[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signed distances of pairs of shapes, of which not both are half spaces.

    Args:
        shapes: The shapes, each one that `is_measured`.
        poses: Position [m], (3,), and rotation w x y z, (4,), of each.
        pairs: Places of two shapes each, P of them.

    Returns:
        Distances [m], (P,), negative where they overlap by the least translation that parts them; nearest points of the
        first and of the second [m], (P, 2, 3); unit vectors from the first to the second, out of the first, (P, 3).
    """
    rows = [np.concatenate([rotation_matrix(turn).ravel(), place]) for place, turn in poses]
    found = Pairs.zeros(len(pairs), np.float64)
    found.shapes[...] = pairs
    records = shapes_of(shapes), Poses(np.float64, pose=np.array(rows))
    measure = for_kinds(measure_pair, records[0].kind)
    run_once(measure, found, *records, count=len(found), threads=1)
    second = found.first + found.distance[:, None] * found.normal
    return found.distance, np.stack([found.first, second], axis=1), found.normal
