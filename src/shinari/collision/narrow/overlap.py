"""The corners of the overlap of two opposing faces, as contacts."""

from shinari.collision.narrow.clipping import (
    CORNERS,
    clip_polygon,
    clip_segment,
    clip_segments,
    corners,
    pick_four,
    plane_of,
)
from shinari.collision.narrow.faces import SECOND, face_along
from shinari.collision.narrow.pose_records import Vector
from shinari.collision.narrow.rows import Rows, write_row
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, scale
from shinari.shapes.kernels.projection import NONE


@steady
def overlap(shapes, poses, a, b, offset, frame, prefer_a, limit, slack, table):
    """Project the faces of two cores along n and write the corners of their overlap to the table.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First shape.
        b: Second shape.
        offset: Origin of a minus origin of b [m].
        frame: Three orthonormal vectors, the last of them n, from b to a.
        prefer_a: Whether n is a normal of a: then its face is the reference.
        limit: Largest gap between the cores [m].
        slack: Length that counts as nothing [m].
        table: Table of `clipping`.

    Returns:
        The number of corners, the lowest gap between the cores, and 1.0 if the incident face is that of a, -1.0
        if that is the reference.
    """
    count_a, count_b, tilt_a, tilt_b = NONE, NONE, 0.0, 0.0
    plane_a = plane_b = (0.0, 0.0, 0.0, 0.0, 0.0)
    usable = True
    for k in range(2):
        g, shift, side = (a, offset, -1.0) if k == 0 else (b, (0.0, 0.0, 0.0), 1.0)
        found, m = face_along(shapes, poses, g, shift, frame, side, table, 4 * k)
        plane, fits = plane_of(table, found, 4 * k, m)
        usable = usable and fits and found > 1  # of a round shape that is a point, the nearest points are sought
        if k == 0:
            count_a, plane_a, tilt_a = found, plane, -m[2]
        else:
            count_b, plane_b, tilt_b = found, plane, m[2]
    # A segment is clipped by a polygon; of two polygons the one that looks along n less by the one that does so more.
    one_segment = count_a != count_b and min(count_a, count_b) == 2
    from_a = count_b == 2 if one_segment else prefer_a or tilt_a > tilt_b + 1e-4
    count, other_count = (count_b, count_a) if from_a else (count_a, count_b)
    at, other = (SECOND, NONE) if from_a else (NONE, SECOND)
    side = -1.0 if from_a else 1.0
    if not usable:
        count = NONE
    elif other_count == 2:
        count = clip_segments(table, at, other, 100.0 * slack)
    elif count == 2:
        count = clip_segment(table, at, other_count, other, side, slack)
    else:
        count, at = clip_polygon(table, count, at, other_count, other, side, slack)
    plane = plane_a if from_a else plane_b
    count, lowest = corners(table, count, at, plane, side, limit)
    return count, lowest, side


@steady
def picked(table, i):
    """Columns of a corner."""
    return table[i, CORNERS], table[i, CORNERS + 1], table[i, CORNERS + 2], table[i, CORNERS + 3], table[i, CORNERS + 4]


@shared(fastmath=STEADY)
def write_corners(
    table: Rows,
    count: int,
    side: float,
    frame: tuple[Vector, Vector, Vector],
    start: Vector,
    radii: tuple[float, float],
    slack: float,
    first: int,
    most: int,
) -> int:
    """Write up to `most` corners as contacts from row `first` on, over the table.

    Args:
        table: Table of `clipping`, which becomes rows of contacts.
        count: Number of corners in it.
        side: 1.0 if the incident face is that of a, else -1.0.
        frame: Three orthonormal vectors, the last of them the normal.
        start: Where the projection has its origin, world axes [m].
        radii: Of a and of b [m].
        slack: Length that counts as nothing [m].
        first: Row to start with.
        most: How many rows at most: 1 to 4.

    Returns:
        The number of rows.
    """
    if count == 0:
        return 0
    rows = (NONE, min(1, count - 1), min(2, count - 1), min(3, count - 1))
    if count > most:
        rows = pick_four(table, count, slack, radii[0] + radii[1])
    i, j, k, m = rows
    p, q, r, s = picked(table, i), picked(table, j), picked(table, k), picked(table, m)
    written = first
    for turn in range(4):
        c = p if turn == 0 else (q if turn == 1 else (r if turn == 2 else s))
        row = i if turn == 0 else (j if turn == 1 else (k if turn == 2 else m))
        again = (turn > 0 and row == i) or (turn > 1 and row == j) or (turn > 2 and row == k)
        if again or written - first >= most:
            continue
        write_corner(c, side, frame, start, radii, table, written)
        written += 1
    return written - first


@steady
def write_corner(corner, side, frame, start, radii, out, i):
    """Write one corner as a contact."""
    u, v, here, feature, gap = corner
    across = add(start, add(scale(frame[0], u), scale(frame[1], v)))
    incident = add(across, scale(frame[2], here))
    there = here - side * gap
    from_a = side < 0.0
    reference = add(across, scale(frame[2], there))
    on_a, on_b = (reference, incident) if from_a else (incident, reference)
    write_row(
        out, i, on_a, radii[0], on_b, radii[1], frame[2], gap - radii[0] - radii[1], feature, 1.0 if from_a else 0.0
    )
