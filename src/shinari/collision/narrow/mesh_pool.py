"""Pool of the contact points that two shapes may have of which one is a mesh, and the distance field of either.

A point belongs to a feature, and is numbered among those of it. What lies outside of the normal cone of its feature has
a negative number: it counts only where others tell too little, see `shinari.collision.narrow.piercing`.
"""

from typing import Any

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.fields import BodyFields, analytic_distance, mesh_distance
from shinari.collision.narrow.pose_records import Poses, Vector
from shinari.collision.narrow.rows import CORE_A, CORE_B, FEATURE, GAP, NORMAL, OF_A, Rows
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back, to_world
from shinari.maths.vec3 import scale, sub
from shinari.shapes.hull import HULL
from shinari.shapes.mesh import MESH, MESH_SHEET

POOL = 256
"""Points of a pair from which the best are chosen."""
NUMBERS = 97
"""Numbers of a feature: three for each place between samples on an edge, and one."""
RIM_POINT, ENTERED = 6, 96
"""Numbers of the lowest place of a rim, and of a point beyond a face."""


@shared(fastmath=STEADY)
def solid_at(y: int, q: Vector, reach: float, shapes: Shapes, fields: BodyFields) -> tuple[float, Vector]:
    """Signed distance [m] of q from shape y, exact at least up to a reach, and the unit vector out of it; axes of y."""
    kind = shapes.kind[y]
    if kind == HULL:
        h = shapes.hull[y]
        most, best = -np.inf, shapes.face_starts[h]
        for i in range(shapes.face_starts[h], shapes.face_starts[h + 1]):
            p = shapes.planes[i]
            d = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] - p[3]
            if d > most:
                most, best = d, i
        n: Any = shapes.planes[best]
        return most, (n[0], n[1], n[2])
    if kind in (MESH, MESH_SHEET):
        return mesh_distance(q, np.int64(shapes.size[y, 0]), reach, fields)
    return analytic_distance(kind, q, shapes.size[y], fields)


@steady
def relative(pose_x, pose_y):
    """Pose of x in the axes of y."""
    r0 = rotate_vector_back(pose_y, (pose_x[0], pose_x[3], pose_x[6]))
    r1 = rotate_vector_back(pose_y, (pose_x[1], pose_x[4], pose_x[7]))
    r2 = rotate_vector_back(pose_y, (pose_x[2], pose_x[5], pose_x[8]))
    t = rotate_vector_back(pose_y, sub(origin(pose_x), origin(pose_y)))
    return r0[0], r1[0], r2[0], r0[1], r1[1], r2[1], r0[2], r1[2], r2[2], t[0], t[1], t[2]


@steady
def line_at(line, rel):
    """Start of a feature, and displacement to its end, in axes in which its mesh has a relative pose."""
    return to_world(rel, (line[0], line[1], line[2])), rotate_vector(rel, (line[3], line[4], line[5]))


@shared(fastmath=STEADY)
def offer(
    pool: Rows,
    n: int,
    limit: float,
    p: Vector,
    normal: Vector,
    gap: float,
    radius: float,
    radius_y: float,
    feature: int,
    swapped: bool,
    poses: Poses,
    y: int,
) -> int:
    """Add a point to the pool; returns how many it holds. In a full pool it replaces the highest point.

    Args:
        pool: Rows as `manifold` writes them, (POOL, 14).
        n: Points in it.
        limit: Gap [m] from which on a point does not count.
        p: Core point of x, in the axes of y.
        normal: Unit vector from y to x, in the axes of y.
        gap: Gap [m].
        radius: Radius of x at the point [m].
        radius_y: Radius of y at the point [m].
        feature: Number of the feature; -1 less that of a point outside of its cone.
        swapped: Whether x is b.
        poses: Poses of the collision shapes.
        y: Collision shape y.
    """
    if gap >= limit:
        return n
    at = n
    if n == POOL:
        at = 0
        for i in range(1, n):
            at = i if pool[i, GAP] > pool[at, GAP] else at
        if pool[at, GAP] <= gap:
            return n
    number = 2 * feature + (1 if swapped else 0) if feature >= 0 else 2 * feature + (0 if swapped else 1)
    pool[at, FEATURE], pool[at, OF_A] = float(number), 1.0 if swapped else 0.0
    write_point(pool, at, p, normal, gap, radius, radius_y, poses.pose[y])
    return n + 1 if n < POOL else n


@steady
def write_point(pool, at, p, normal, gap, radius, radius_y, pose_y):
    """Write place, normal and gap of row `at`, as in `offer`; which shape has the point is known."""
    mine = to_world(pose_y, p)
    theirs = to_world(pose_y, sub(p, scale(normal, gap + radius + radius_y)))
    out = rotate_vector(pose_y, normal)
    i, j, side = (CORE_B, CORE_A, -1.0) if pool[at, OF_A] != 0.0 else (CORE_A, CORE_B, 1.0)
    pool[at, i], pool[at, i + 1], pool[at, i + 2], pool[at, i + 3] = mine[0], mine[1], mine[2], radius
    pool[at, j], pool[at, j + 1], pool[at, j + 2], pool[at, j + 3] = theirs[0], theirs[1], theirs[2], radius_y
    pool[at, NORMAL], pool[at, NORMAL + 1], pool[at, NORMAL + 2] = side * out[0], side * out[1], side * out[2]
    pool[at, GAP] = gap
