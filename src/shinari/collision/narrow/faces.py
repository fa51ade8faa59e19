"""The face, line or point of a shape that faces a direction, projected along it; see `shapes.kernels.projection`."""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.pose_records import Poses, Vector
from shinari.collision.narrow.rows import Rows
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector_back
from shinari.maths.vec3 import dot
from shinari.shapes.kernels.dispatch import face
from shinari.shapes.kernels.projection import MOST_VERTICES

SECOND = np.int64(4)
"""The first column of the second face."""
ROOM = 2 * MOST_VERTICES + 8
"""Rows of a table that holds any two faces and their overlap."""
SMALL_ROOM = 24
"""Rows for two faces of boxes and their overlap, or for one face of a shape that is no hull. A face of a box has four
corners; each of the four lines that clip it, however rounded, makes at most half as many more. On a GPU each thread has
a table of its own."""


@steady
def projector(frame, pose, shift):
    """The projection of local points: its columns for x, y and z, and the origin."""
    t1, t2, n = frame
    r1, r2, r3 = rotate_vector_back(pose, t1), rotate_vector_back(pose, t2), rotate_vector_back(pose, n)
    return (
        (r1[0], r2[0], r3[0]),
        (r1[1], r2[1], r3[1]),
        (r1[2], r2[2], r3[2]),
        (dot(t1, shift), dot(t2, shift), dot(n, shift)),
    )


@shared(fastmath=STEADY)
def face_along(
    shapes: Shapes,
    poses: Poses,
    g: int,
    shift: Vector,
    frame: tuple[Vector, Vector, Vector],
    side: float,
    table: Rows,
    column: int,
) -> tuple[int, Vector]:
    """Write the face of a core in the direction side * n.

    Args:
        shapes: The shapes.
        poses: Their poses.
        g: The shape.
        shift: Its origin in the axes of the world [m].
        frame: Three orthonormal vectors: u, v and n.
        side: 1.0 or -1.0.
        table: Where to write, with room for `MOST_VERTICES`, or for 8 where there are no hulls.
        column: First of the four columns to write.

    Returns:
        The number of vertices: 1, 2, or that of a polygon; and its outward normal projected, zero when it is none.
    """
    projection = projector(frame, poses.pose[g], shift)
    d = (side * projection[0][2], side * projection[1][2], side * projection[2][2])
    return face(shapes, g, d, projection, table, column)
