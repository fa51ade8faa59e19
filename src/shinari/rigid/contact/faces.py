"""The face, line or point of a shape that looks in a direction, projected along it.

What is projected is written to columns of a table: u and v across the direction, w along it, and the number of the
vertex. Faces are written counter-clockwise seen from outside. A cap of a cylinder is a polygon of eight corners, one
of which is the point of the rim that reaches farthest; its side is a line.
"""

import numpy as np

from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import turn_back
from shinari.maths.vec3 import add, dot, scale
from shinari.rigid.contact.poses import Poses, Vector
from shinari.rigid.contact.rows import Rows
from shinari.rigid.contact.shapes import BOX, CAPSULE, CONE, CYLINDER, HULL, Shapes
from shinari.rigid.contact.support import farthest_vertex

UPRIGHT = 1e-5
"""Tilt of a cap under which the corners of its polygon are fixed in it, instead of following the lowest point."""
HALF = np.sqrt(0.5)
NONE, SECOND = np.int64(0), np.int64(4)
"""No vertices, or the first columns; and those of the second face."""
LARGEST_LABEL = 512
"""Numbers of vertices are below this one; larger ones start again at 0."""
MOST_VERTICES = 512
"""Most vertices of a face; of one with more, vertices evenly spread around it count."""
ROOM = 2 * MOST_VERTICES + 8
"""Rows of a table that holds any two faces and their overlap."""


@steady
def put(table, i, column, at, label):
    """Write one vertex; its label is a float."""
    table[i, column] = at[0]
    table[i, column + 1] = at[1]
    table[i, column + 2] = at[2]
    table[i, column + 3] = label


@steady
def projector(frame, pose, shift):
    """The projection of local points: its columns for x, y and z, and the origin."""
    t1, t2, n = frame
    r1, r2, r3 = turn_back(pose, t1), turn_back(pose, t2), turn_back(pose, n)
    return (
        (r1[0], r2[0], r3[0]),
        (r1[1], r2[1], r3[1]),
        (r1[2], r2[2], r3[2]),
        (dot(t1, shift), dot(t2, shift), dot(n, shift)),
    )


@steady
def projected(projection, v):
    """Coordinates of a local point."""
    x, y, z, start = projection
    return add(start, add(scale(x, v[0]), add(scale(y, v[1]), scale(z, v[2]))))


@steady
def box_face(h, d, projection, table, column):
    """Write the face of a box that looks along d. Returns the number of vertices and the projected outward normal."""
    x, y, z, start = projection
    ax, ay, az = abs(d[0]), abs(d[1]), abs(d[2])
    if ax >= ay and ax >= az:
        k, m, e, f = 0, x, scale(y, h[1]), scale(z, h[2])
        s, most, bit_e, bit_f = d[0], h[0], 2.0, 4.0
    elif ay >= az:
        k, m, e, f = 1, y, scale(z, h[2]), scale(x, h[0])
        s, most, bit_e, bit_f = d[1], h[1], 4.0, 1.0
    else:
        k, m, e, f = 2, z, scale(x, h[0]), scale(y, h[1])
        s, most, bit_e, bit_f = d[2], h[2], 1.0, 2.0
    side = 1.0 if s >= 0.0 else -1.0
    centre = add(start, scale(m, side * most))
    base = float(1 << k) if s >= 0.0 else 0.0
    for i in range(4):
        along = 1.0 if i in (1, 2) else -1.0
        across = side if i >= 2 else -side
        label = base + (bit_e if along > 0.0 else 0.0) + (bit_f if across > 0.0 else 0.0)
        put(table, i, column, add(centre, add(scale(e, along), scale(f, across))), label)
    return 4, scale(m, side)


@steady
def hull_face(shapes, g, d, projection, table, column):
    """Write the face of a hull that looks along d most of those at the vertex that lies farthest along d."""
    h = shapes.hull[g]
    start = shapes.vertex_starts[h]
    v = farthest_vertex(shapes.vertices, start, shapes.vertex_starts[h + 1], d)
    px, py, pz = shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2]
    slack = 1e-7 * shapes.size[g, 0]
    face, most = -1, -np.inf
    for f in range(shapes.face_starts[h], shapes.face_starts[h + 1]):
        mx, my, mz = shapes.planes[f, 0], shapes.planes[f, 1], shapes.planes[f, 2]
        along = mx * d[0] + my * d[1] + mz * d[2]
        if along > most and mx * px + my * py + mz * pz >= shapes.planes[f, 3] - slack:
            face, most = f, along
    begin, end = shapes.loop_starts[face], shapes.loop_starts[face + 1]
    stride = (end - begin + MOST_VERTICES - 1) // MOST_VERTICES
    count = (end - begin + stride - 1) // stride
    for k in range(count):
        i = shapes.loops[begin + k * stride]
        at = projected(projection, shapes.vertices[i])
        put(table, k, column, at, float((i - start) % LARGEST_LABEL))
    x, y, z, _ = projection
    m = add(scale(x, shapes.planes[face, 0]), add(scale(y, shapes.planes[face, 1]), scale(z, shapes.planes[face, 2])))
    return count, m


@steady
def rim_direction(d):
    """Where on the rim the first corner of a cap lies, (cos, sin): farthest along d, or fixed if all lie as far."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    weight = min(max((across - UPRIGHT) / (9.0 * UPRIGHT), 0.0), 1.0)
    per = weight / across if across > 0.0 else 0.0
    c, s = d[0] * per + (1.0 - weight), d[2] * per
    length = np.sqrt(c * c + s * s)
    return (c / length, s / length) if length > 1e-3 else (0.0, 1.0)


@steady
def cap(radius, y, up, d, projection, table, column):
    """Write the cap of a cylinder or the base of a cone at height y, as a polygon of eight corners."""
    c, s = rim_direction(d)
    base = 8.0 if up < 0.0 else 0.0
    side = -up  # from x to z is clockwise seen from above
    p, q = (c, s), (-side * s, side * c)
    for k in range(8):
        r = p if k % 2 == 0 else (HALF * (p[0] + q[0]), HALF * (p[1] + q[1]))
        put(table, k, column, projected(projection, (radius * r[0], y, radius * r[1])), base + k)
        if k % 2 == 1:
            p, q = q, (-p[0], -p[1])
    return 8, scale(projection[1], up)


@steady
def line(first, second, label, projection, table, column):
    """Write a segment."""
    for k in range(2):
        put(table, k, column, projected(projection, first if k == 0 else second), label + k)
    return 2, (0.0, 0.0, 0.0)


@steady
def turned_face(kind, s0, s1, d, projection, table, column):
    """Write the face of a cylinder or of a cone that looks along d: a cap, or a line on the side."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    c, s = (d[0] / across, d[2] / across) if across > 0.0 else (1.0, 0.0)
    bottom = (s0 * c, -s1, s0 * s)
    if kind == CONE:
        at_tip = s0 * across < 2.0 * s1 * d[1]
        per = 1.0 / np.sqrt(s0 * s0 + 4.0 * s1 * s1)
        on_slant = per * (2.0 * s1 * across + s0 * d[1]) >= -d[1]
        if at_tip or on_slant:
            return line(bottom, (0.0, s1, 0.0), 16.0, projection, table, column)
        return cap(s0, -s1, -1.0, d, projection, table, column)
    if abs(d[1]) > across:
        up = 1.0 if d[1] > 0.0 else -1.0
        return cap(s0, up * s1, up, d, projection, table, column)
    return line(bottom, (s0 * c, s1, s0 * s), 16.0, projection, table, column)


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
    """Write the face of a core that looks along side * n.

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
    kind = shapes.kind[g]
    s0, s1 = shapes.size[g, 0], shapes.size[g, 1]
    projection = projector(frame, poses.pose[g], shift)
    d = (side * projection[0][2], side * projection[1][2], side * projection[2][2])
    if kind == BOX:
        return box_face((s0, s1, shapes.size[g, 2]), d, projection, table, column)
    if kind == CAPSULE:
        return line((0.0, -s1, 0.0), (0.0, s1, 0.0), 0.0, projection, table, column)
    if kind in (CYLINDER, CONE):
        return turned_face(kind, s0, s1, d, projection, table, column)
    if kind == HULL:
        return hull_face(shapes, g, d, projection, table, column)
    put(table, NONE, column, projection[3], 0.0)
    return 1, (0.0, 0.0, 0.0)
