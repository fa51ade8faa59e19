"""Kernels that find the points of the pairs that are sought, each for a kind of pair.

Only the kinds that occur in a scene are compiled; that of meshes is in `mesh_pairs`. Two hulls that were found without
points keep the direction that separated them: while it does, they are not searched.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.faces import ROOM, SMALL_ROOM
from shinari.collision.narrow.manifold import boxes_manifold, convex_manifold
from shinari.collision.narrow.planes import plane_manifold
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.round import ball_manifold, capsules_manifold
from shinari.collision.narrow.rows import BEFORE, GAP, NORMAL, WIDTH, forget, mirror
from shinari.compute import kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back
from shinari.maths.vec3 import direction_and_length, dot, neg, sub
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.hull_lanes import lowest_along
from shinari.shapes.registry import types_of_kinds
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import Detection, FrameMargins
from shinari.systems.rigid.contact.pair_points import PairPoints, vector_at
from shinari.systems.rigid.contact.pairs import (
    BALLS,
    BOXES,
    CAPSULES,
    CONVEX,
    FEATURES,
    PLANES,
    Pairs,
    Points,
    rows_of_key,
    write_slots,
)

# Kinds of pairs whose points are chosen of the corners of faces.
CHOSEN = (PLANES, BOXES, CONVEX)
# Part of the size of a shape by which a known gap has to exceed the one up to which points are sought. The normals of
# faces are preferred to directions that are better by a hundredth of it: a search may miss as much.
SURE = 1e-4


@steady
def no_gap(p, a, b, pairs, shapes, poses):
    """Gap of a pair of a kind of which no direction is kept."""
    return -np.inf


@steady
def keep_nothing(p, b, pairs, poses, rows):
    """No direction is kept."""


@steady
def kept_gap(p, a, b, pairs, shapes, poses):
    """Gap along the direction that separated two hulls when they were searched last; without one no gap."""
    d = pairs.separation[p]
    n, length = direction_and_length((np.float64(d[0]), np.float64(d[1]), np.float64(d[2])))
    if length == 0.0:
        return -np.inf
    n = rotate_vector(poses.pose[b], n)
    offset = sub(origin(poses.pose[a]), origin(poses.pose[b]))
    lowest = lowest_along(shapes, shapes.hull[a], rotate_vector_back(poses.pose[a], n))
    lowest += lowest_along(shapes, shapes.hull[b], neg(rotate_vector_back(poses.pose[b], n)))
    return dot(n, offset) + lowest - shapes.radius[a] - shapes.radius[b]


@steady
def keep_separation(p, b, pairs, poses, rows):
    """Keep the direction along which two hulls have more than the gap up to which points were sought, if there is."""
    n = rotate_vector_back(poses.pose[b], vector_at(rows, 0, NORMAL))
    pairs.separation[p] = np.float32(n[0]), np.float32(n[1]), np.float32(n[2])


@steady
def recall(p, base, pairs, points, detection, rows):
    """Write the features that pair p has in the table to where a manifold looks for them; `base` is its first key."""
    forget(rows)
    first, last = pairs.start[p], pairs.start[p] + pairs.rows[p]
    if detection.renew[0] != 0 and pairs.before[p] < 0:
        # of a state that was loaded
        first, last = rows_of_key(base, points.key, detection.points[0])
    for k in range(last - first):
        rows[k, BEFORE] = np.float64(points.key[first + k] - base)


def _finder(
    wanted: int, manifold: Any, name: str, room: int = ROOM, known: Any = no_gap, keep: Any = keep_nothing
) -> Any:
    """Kernel that finds the points of the pairs of a kind, with a table of so many rows.

    `known` is a gap that a pair without points has: where it is large enough, a search would find none either. `keep`
    keeps for it what a search without points has found.
    """

    def find(
        i, pairs: Pairs, stored: PairPoints, collision_shapes: CollisionShapeArrays, shapes: Shapes, frame_poses: Poses,
        poses: Poses, margins: FrameMargins, points: Points, detection: Detection, time: float
    ):  # fmt: skip
        """Points of a pair of the kind."""
        p = pairs.sought[i]
        if pairs.kind[p] == wanted:
            a, b = pairs.collision_shapes[p]
            rows = scratch((room, WIDTH), pairs.margin[p])
            if pairs.count[p] == 0:
                gap = known(p, a, b, pairs, shapes, poses)
                if gap > pairs.margin[p] + SURE * collision_shapes.size[a]:
                    pairs.margin[p] = gap
                    return
            if wanted in CHOSEN:
                recall(p, (a * len(collision_shapes) + b) * FEATURES, pairs, points, detection, rows)
            swapped = shapes.kind[a] > shapes.kind[b]
            first, second = (b, a) if swapped else (a, b)
            count = manifold(shapes, poses, first, second, pairs.margin[p], rows)
            if count == 0:
                keep(p, b, pairs, poses, rows)
                pairs.margin[p] = max(pairs.margin[p], rows[0, GAP])
            if swapped:
                mirror(rows, count)
            write_slots(p, count, pairs, stored, collision_shapes, frame_poses, margins, time, rows)

    find.__name__ = name
    return kernel(find, fastmath=STEADY)


FINDERS = {
    PLANES: _finder(PLANES, plane_manifold, "find_plane_points"),
    BALLS: _finder(BALLS, ball_manifold, "find_ball_points"),
    CAPSULES: _finder(CAPSULES, capsules_manifold, "find_capsule_points"),
    BOXES: _finder(BOXES, boxes_manifold, "find_box_points", SMALL_ROOM),
    CONVEX: _finder(CONVEX, convex_manifold, "find_convex_points", known=kept_gap, keep=keep_separation),
}
PLANES_WITHOUT_HULLS = _finder(PLANES, plane_manifold, "find_plane_points", SMALL_ROOM)


def finder(kind: int, kinds: Iterable[int]) -> Any:
    """Kernel that finds the points of the pairs of a kind in a scene with some kinds of shapes."""
    if kind == PLANES and all(each.common for each in types_of_kinds(kinds)):
        return PLANES_WITHOUT_HULLS
    return for_kinds(FINDERS[kind], kinds)
