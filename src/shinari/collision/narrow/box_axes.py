"""The direction along which two boxes are farthest apart, or overlap least: fifteen axes are enough.

Gottschalk, Lin, Manocha 1996, OBBTree, section 5. An axis across two edges is taken only when it is better than all
normals of faces by a small length, so that the choice does not flicker between nearly equal axes.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector_back
from shinari.maths.vec3 import cross, dot, neg, scale, sub

FACE_A, FACE_B, EDGES = 0, 1, 2
PARALLEL = 1e-8
"""Squared sine under which two edges are parallel and have no axis of their own."""


@steady
def column(pose, k):
    """Local axis k in world axes."""
    if k == 0:
        return pose[0], pose[3], pose[6]
    if k == 1:
        return pose[1], pose[4], pose[7]
    return pose[2], pose[5], pose[8]


@steady
def columns(pose):
    """The local axes in world axes."""
    return (pose[0], pose[3], pose[6]), (pose[1], pose[4], pose[7]), (pose[2], pose[5], pose[8])


@steady
def best_of(x, y, z):
    """The largest of three and its index, the first of equal ones."""
    k = 0 if x >= y and x >= z else (1 if y >= z else 2)
    return max(x, max(y, z)), k


@steady
def edge_gap(apart, cosine, reach):
    """Gap along the axis across two edges: offset and reach along the product of the edges, which is no unit vector."""
    squared = 1.0 - cosine * cosine
    return (abs(apart) - reach) / np.sqrt(squared) if squared > PARALLEL else -np.inf


@steady
def edge_gaps(ha, hb, row, row1, row2, signed, apart1, apart2):
    """Gaps along the products of one axis of a with the three axes of b.

    Args:
        ha: Half sizes of a along its other two axes, in cyclic order.
        hb: Half sizes of b.
        row: Cosines between this axis of a and the axes of b.
        row1: Their absolute values for the next axis of a.
        row2: The same for the one after.
        signed: Those of the next two axes with their signs.
        apart1: Offset of the origins along the next axis of a.
        apart2: Along the one after.
    """
    c1, c2 = signed
    r = (abs(row[0]), abs(row[1]), abs(row[2]))
    g0 = edge_gap(
        apart2 * c1[0] - apart1 * c2[0], row[0], ha[0] * row2[0] + ha[1] * row1[0] + hb[1] * r[2] + hb[2] * r[1]
    )
    g1 = edge_gap(
        apart2 * c1[1] - apart1 * c2[1], row[1], ha[0] * row2[1] + ha[1] * row1[1] + hb[0] * r[2] + hb[2] * r[0]
    )
    g2 = edge_gap(
        apart2 * c1[2] - apart1 * c2[2], row[2], ha[0] * row2[2] + ha[1] * row1[2] + hb[0] * r[1] + hb[1] * r[0]
    )
    return best_of(g0, g1, g2)


@steady
def box_axis(ha, pose_a, hb, pose_b, offset, margin, tolerance):
    """Best axis of two boxes.

    Args:
        ha: Half sizes of a [m].
        pose_a: Pose of a.
        hb: Half sizes of b [m].
        pose_b: Pose of b.
        offset: Origin of a minus origin of b, world axes [m].
        margin: Gap above which the search ends [m].
        tolerance: Length by which an axis has to be better than one that is preferred to it [m].

    Returns:
        The gap, `FACE_A`, `FACE_B` or `EDGES`, the axis of a, the axis of b, and the unit normal from b to a. When the
        gap is above the margin, only the gap means anything.
    """
    x, y, z = columns(pose_a)
    c0, c1, c2 = rotate_vector_back(pose_b, x), rotate_vector_back(pose_b, y), rotate_vector_back(pose_b, z)
    a0 = (abs(c0[0]), abs(c0[1]), abs(c0[2]))
    a1 = (abs(c1[0]), abs(c1[1]), abs(c1[2]))
    a2 = (abs(c2[0]), abs(c2[1]), abs(c2[2]))
    da, db = rotate_vector_back(pose_a, offset), rotate_vector_back(pose_b, offset)
    none = (0.0, 0.0, 0.0)
    gap_a, face_a = best_of(
        abs(da[0]) - ha[0] - dot(a0, hb), abs(da[1]) - ha[1] - dot(a1, hb), abs(da[2]) - ha[2] - dot(a2, hb)
    )
    if gap_a > margin:
        return gap_a, FACE_A, 0, 0, none
    gap_b, face_b = best_of(
        abs(db[0]) - hb[0] - (ha[0] * a0[0] + ha[1] * a1[0] + ha[2] * a2[0]),
        abs(db[1]) - hb[1] - (ha[0] * a0[1] + ha[1] * a1[1] + ha[2] * a2[1]),
        abs(db[2]) - hb[2] - (ha[0] * a0[2] + ha[1] * a1[2] + ha[2] * a2[2]),
    )
    if gap_b > margin:
        return gap_b, FACE_B, 0, 0, none
    e0, j0 = edge_gaps((ha[1], ha[2]), hb, c0, a1, a2, (c1, c2), da[1], da[2])
    e1, j1 = edge_gaps((ha[2], ha[0]), hb, c1, a2, a0, (c2, c0), da[2], da[0])
    e2, j2 = edge_gaps((ha[0], ha[1]), hb, c2, a0, a1, (c0, c1), da[0], da[1])
    gap_edge, i = best_of(e0, e1, e2)
    if gap_edge > margin:
        return gap_edge, EDGES, 0, 0, none
    face = max(gap_a, gap_b)
    if gap_edge > face + tolerance:
        j = j0 if i == 0 else (j1 if i == 1 else j2)
        n = cross(column(pose_a, i), column(pose_b, j))
        n = scale(n, 1.0 / np.sqrt(dot(n, n)))
        n = n if dot(n, offset) >= 0.0 else neg(n)
        return gap_edge, EDGES, i, j, n
    if gap_b > gap_a + tolerance:
        n = column(pose_b, face_b)
        return gap_b, FACE_B, 0, face_b, n if dot(n, offset) >= 0.0 else neg(n)
    n = column(pose_a, face_a)
    return gap_a, FACE_A, face_a, 0, n if dot(n, offset) >= 0.0 else neg(n)


@steady
def edge_centre(h, pose, axis, d):
    """Centre of the edge of a box along an axis that lies farthest along d, about the box; and a number of the edge."""
    x, y, z = columns(pose)
    u = 0.0 if axis == 0 else np.copysign(h[0], dot(x, d))
    v = 0.0 if axis == 1 else np.copysign(h[1], dot(y, d))
    w = 0.0 if axis == 2 else np.copysign(h[2], dot(z, d))
    centre = (
        u * x[0] + v * y[0] + w * z[0],
        u * x[1] + v * y[1] + w * z[1],
        u * x[2] + v * y[2] + w * z[2],
    )
    return centre, 8 * axis + (4 if u > 0.0 else 0) + (2 if v > 0.0 else 0) + (1 if w > 0.0 else 0)


@steady
def edge_points(ha, pose_a, i, hb, pose_b, j, offset, n, slack):
    """Where edge i of box a and edge j of box b are nearest to each other.

    Returns:
        Point of a and point of b, both about the origin of b, world axes [m], a number of the pair of edges, and
        whether the points lie between the ends of both; `slack` beyond them is allowed.
    """
    centre_a, edge_a = edge_centre(ha, pose_a, i, neg(n))
    centre_b, edge_b = edge_centre(hb, pose_b, j, n)
    pa = (centre_a[0] + offset[0], centre_a[1] + offset[1], centre_a[2] + offset[2])
    u, w = column(pose_a, i), column(pose_b, j)
    r = sub(pa, centre_b)
    c, ru, rw = dot(u, w), dot(r, u), dot(r, w)
    s = (c * rw - ru) / (1.0 - c * c)
    t = (rw - c * ru) / (1.0 - c * c)
    most_a = ha[0] if i == 0 else (ha[1] if i == 1 else ha[2])
    most_b = hb[0] if j == 0 else (hb[1] if j == 1 else hb[2])
    between = abs(s) <= most_a + slack and abs(t) <= most_b + slack
    point_a = (pa[0] + s * u[0], pa[1] + s * u[1], pa[2] + s * u[2])
    point_b = (centre_b[0] + t * w[0], centre_b[1] + t * w[1], centre_b[2] + t * w[2])
    return point_a, point_b, 32 * edge_a + edge_b, between
