"""Contacts with a half space: the lowest face of the other shape. Containers have six, see `collision_shapes`."""

from shinari.collision.narrow.clipping import CORNERS
from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.faces import face_along
from shinari.collision.narrow.overlap import write_corners
from shinari.collision.narrow.pose_records import Poses, tangents
from shinari.collision.narrow.rows import Rows, separated
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector
from shinari.maths.vec3 import dot, neg, sub
from shinari.shapes.kernels.projection import NONE

DIAGONAL = 1.75
"""Largest distance of a point of a core from its origin, over its extent: for a cube the square root of three."""


@steady
def wall_corners(shapes, poses, b, offset, n, height, limit, table):
    """Corners of the lowest face of b over a wall.

    Args:
        shapes: The shapes.
        poses: Their poses.
        b: The shape.
        offset: Its origin minus that of the wall [m].
        n: Normal out of the wall.
        height: Offset of the wall along it [m].
        limit: Largest gap between wall and core [m].
        table: Table of `clipping`.

    Returns:
        The number of corners, and the frame of the projection, whose last vector is -n.
    """
    down = neg(n)
    t1, t2 = tangents(down)
    frame = (t1, t2, down)
    found, _ = face_along(shapes, poses, b, offset, frame, 1.0, table, NONE)
    count = NONE
    for i in range(found):
        u, v, w, label = table[i, 0], table[i, 1], table[i, 2], table[i, 3]
        if -w - height < limit:
            table[count, CORNERS], table[count, CORNERS + 1], table[count, CORNERS + 2] = u, v, w
            table[count, CORNERS + 3], table[count, CORNERS + 4] = label, -w - height
            count += 1
    return count, frame


@shared(fastmath=STEADY)
def plane_manifold(shapes: Shapes, poses: Poses, a: int, b: int, margin: float, table: Rows) -> int:
    """Contacts of a half space a with a bounded shape b: up to four, the deepest and the most spread corners."""
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    radius, length = shapes.radius[b], shapes.extent[b]
    offset = sub(origin(pose_b), origin(pose_a))
    limit = margin + radius
    n, height = rotate_vector(pose_a, (shapes.size[a, 0], shapes.size[a, 1], shapes.size[a, 2])), shapes.size[a, 3]
    gap = dot(n, offset) - height - DIAGONAL * length
    if gap >= limit:
        return separated(table, gap - radius)
    count, frame = wall_corners(shapes, poses, b, offset, n, height, limit, table)
    if count == 0:
        return separated(table, margin)
    return write_corners(table, count, -1.0, frame, origin(pose_a), (0.0, radius), 1e-5 * length, NONE, 4)
