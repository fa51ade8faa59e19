"""Contacts with a half space, and with the six walls of a container: the lowest face of the other shape."""

import numpy as np

from shinari.maths.function import steady
from shinari.rigid.contact.box_axes import column
from shinari.rigid.contact.clipping import CORNERS
from shinari.rigid.contact.faces import NONE, face_along, face_size
from shinari.rigid.contact.overlap import write_corners
from shinari.rigid.contact.poses import origin, tangents, turn
from shinari.rigid.contact.rows import FEATURE, WIDTH
from shinari.rigid.contact.shapes import PLANE, core_radius, extent
from shinari.rigid.contact.vectors import neg, sub

FLOOR = 3
"""The wall of a container that gets four contacts first: the one at the bottom, along y."""


@steady
def wall(kind, size, pose, k):
    """Normal of wall k out of the solid, world axes, and offset from the origin of the shape [m]."""
    if kind == PLANE:
        return turn(pose, (size[0], size[1], size[2])), size[3]
    axis = k // 2
    n = column(pose, axis)
    half = size[0] if axis == 0 else (size[1] if axis == 1 else size[2])
    return n if k % 2 == 1 else neg(n), -half


@steady
def wall_corners(shapes, b, pose_b, offset, n, height, limit, table):
    """Corners of the lowest face of b over a wall.

    Args:
        shapes: Arrays of shapes.
        b: The shape.
        pose_b: Its pose.
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
    found, _ = face_along(shapes, b, pose_b, offset, frame, 1.0, table, NONE)
    count = NONE
    for i in range(found):
        u, v, w, label = table[i, 0], table[i, 1], table[i, 2], table[i, 3]
        if -w - height < limit:
            table[count, CORNERS], table[count, CORNERS + 1], table[count, CORNERS + 2] = u, v, w
            table[count, CORNERS + 3], table[count, CORNERS + 4] = label, -w - height
            count += 1
    return count, frame


@steady
def plane_manifold(shapes, a, pose_a, b, pose_b, margin, out):
    """Contacts of a half space or a container a with a bounded shape b.

    A container gives four contacts to its floor and two to each other wall, so that there is room for three walls; when
    b reaches more of them at once, all but the floor get one.
    """
    kind = shapes.kind[a]
    size_a = (shapes.size[a, 0], shapes.size[a, 1], shapes.size[a, 2], shapes.size[a, 3])
    size_b = (shapes.size[b, 0], shapes.size[b, 1], shapes.size[b, 2])
    radius = core_radius(shapes.kind[b], size_b)
    slack = 1e-5 * extent(shapes.kind[b], size_b)
    offset = sub(origin(pose_b), origin(pose_a))
    limit = margin + radius
    walls = 1 if kind == PLANE else 6
    rows = face_size(shapes, b)
    table = out if walls == 1 and rows <= len(out) else np.empty((rows, WIDTH))
    reached = 0
    for k in range(walls if walls > 1 else 0):
        n, height = wall(kind, size_a, pose_a, k)
        count, _ = wall_corners(shapes, b, pose_b, offset, n, height, limit, table)
        reached += 1 if count > 0 else 0
    written = NONE
    for k in range(walls):
        n, height = wall(kind, size_a, pose_a, k)
        count, frame = wall_corners(shapes, b, pose_b, offset, n, height, limit, table)
        most = 4 if reached <= 2 or (kind != PLANE and k == FLOOR) else (2 if reached == 3 else 1)
        before = written
        written += write_corners(table, count, -1.0, frame, origin(pose_a), (0.0, radius), slack, out, written, most)
        for i in range(before, written):
            out[i, FEATURE] += 32.0 * k
    return written
