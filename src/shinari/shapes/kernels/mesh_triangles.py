"""Distance of a triangle from a mesh, that of the nearest pair of triangles, and where a segment enters a mesh.

Two triangles that do not meet are nearest to each other at a corner of one of them and the other, or at two edges;
where an edge of one goes through the other it is zero. The triangles of the mesh are the leaves of its tree of boxes,
see `shinari.shapes.kernels.mesh_distance`: a box that is farther away than what was found is passed over with its own.
"""

import numpy as np

from shinari.geometry.proximity import nearest_weights, segment_weights
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.shapes.kernels.mesh_distance import closest_on_triangle, pseudonormal, row


@steady
def chosen(k, a, b, c):
    """The k-th of three."""
    return a if k == 0 else (b if k == 1 else c)


@steady
def corner_weights(k, zero):
    """Weights of corner k of a triangle."""
    one = zero + ONE
    return one if k == 0 else zero, one if k == 1 else zero, one if k == 2 else zero


@steady
def edge_weights(k, t):
    """Weights of the place t on the edge from corner k of a triangle to the next."""
    rest, zero = ONE - t, ZERO * t
    return (
        rest if k == 0 else (zero if k == 1 else t),
        t if k == 0 else (rest if k == 1 else zero),
        zero if k == 0 else (t if k == 1 else rest),
    )


@steady
def piercing(p, q, a, b, c):
    """Place on the segment from p to q where it goes through a triangle; negative: it does not."""
    n = cross(sub(b, a), sub(c, a))
    first, last = dot(n, sub(p, a)), dot(n, sub(q, a))
    none = ZERO * first - ONE
    if not first * last < ZERO:
        return none
    t = first / (first - last)
    x = add(p, scale(sub(q, p), t))
    inside = dot(n, cross(sub(b, a), sub(x, a))) >= ZERO and dot(n, cross(sub(c, b), sub(x, b))) >= ZERO
    return t if inside and dot(n, cross(sub(a, c), sub(x, c))) >= ZERO else none


@steady
def nearer_of_pair(square, weights, points, others):
    """The less of a square and that of the distance of two triangles, with weights of the point of the first there."""
    a, b, c = points
    d, e, f = others
    zero = ZERO * square
    for k in range(3):
        p, y = chosen(k, a, b, c), chosen(k, d, e, f)
        _, found, _ = closest_on_triangle(sub(p, d), sub(e, d), sub(f, d))
        # two corners of a segment may be one
        if found < square:
            square, weights = found, corner_weights(k, zero)
        near = nearest_weights(y, a, b, c)
        away = sub(y, add(scale(a, near[0]), add(scale(b, near[1]), scale(c, near[2]))))
        if dot(away, away) < square:
            square, weights = dot(away, away), near
        for m in range(3):
            q, z = chosen(m, d, e, f), chosen(m, e, f, d)
            s, t = segment_weights(sub(chosen(k, b, c, a), p), sub(q, p), sub(z, p))
            away = sub(add(p, scale(sub(chosen(k, b, c, a), p), s)), add(q, scale(sub(z, q), t)))
            if dot(away, away) < square:
                square, weights = dot(away, away), edge_weights(k, s)
    for k in range(3):
        p, q = chosen(k, a, b, c), chosen(k, b, c, a)
        t = piercing(p, q, d, e, f)
        if t >= ZERO:
            square, weights = zero, edge_weights(k, t)
        p, q = chosen(k, d, e, f), chosen(k, e, f, d)
        t = piercing(p, q, a, b, c)
        if t >= ZERO:
            square, weights = zero, nearest_weights(add(p, scale(sub(q, p), t)), a, b, c)
    return square, weights


@steady
def box_gap(low, high, i, boxes):
    """Square of the distance of two boxes, of which the second is node i."""
    x = max(max(boxes[i, 0] - high[0], low[0] - boxes[i, 3]), ZERO)
    y = max(max(boxes[i, 1] - high[1], low[1] - boxes[i, 4]), ZERO)
    z = max(max(boxes[i, 2] - high[2], low[2] - boxes[i, 5]), ZERO)
    return x * x + y * y + z * z


@steady
def triangle_distance(points, m, enough, fields):
    """Distance [m] of a triangle from the surface of mesh m, and weights of its nearest point.

    A distance above `enough` is told as that; both are at least zero. Two or all corners may be one.
    """
    _, extents, _, boxes, links, triangles, _ = fields
    a, b, c = points
    low = min(a[0], min(b[0], c[0])), min(a[1], min(b[1], c[1])), min(a[2], min(b[2], c[2]))
    high = max(a[0], max(b[0], c[0])), max(a[1], max(b[1], c[1])), max(a[2], max(b[2], c[2]))
    third = (enough - enough + ONE) / (ONE + ONE + ONE)
    square, weights = enough * enough, (third, third, third)
    node, end = np.int64(extents[m, 4]), np.int64(extents[m, 5])
    while node < end:
        following = np.int64(links[node, 0])
        if box_gap(low, high, node, boxes) < square:
            following = node + 1
            for i in range(np.int64(links[node, 1]), np.int64(links[node, 2])):
                d = row(triangles, i, 0)
                others = d, add(d, row(triangles, i, 3)), add(d, row(triangles, i, 6))
                square, weights = nearer_of_pair(square, weights, points, others)
        node = following
    return np.sqrt(square), weights


@steady
def entry(p, q, m, fields):
    """Place on the segment from p to q where it first enters mesh m, and the normal there; negative: nowhere.

    A sheet is entered from either side: its normal points to p.
    """
    frames, extents, _, boxes, links, triangles, normals = fields
    low = min(p[0], q[0]), min(p[1], q[1]), min(p[2], q[2])
    high = max(p[0], q[0]), max(p[1], q[1]), max(p[2], q[2])
    along, sheet = sub(q, p), frames[m, 5] >= ZERO
    first, normal = ZERO * p[0] - ONE, along
    node, end = np.int64(extents[m, 4]), np.int64(extents[m, 5])
    while node < end:
        following = np.int64(links[node, 0])
        if box_gap(low, high, node, boxes) <= ZERO:
            following = node + 1
            for i in range(np.int64(links[node, 1]), np.int64(links[node, 2])):
                a = row(triangles, i, 0)
                t = piercing(p, q, a, add(a, row(triangles, i, 3)), add(a, row(triangles, i, 6)))
                n = pseudonormal(normals, i, 0)
                enters = t >= ZERO and (sheet or dot(n, along) < ZERO)
                if enters and (first < ZERO or t < first):
                    first, normal = t, scale(n, ONE if dot(n, along) < ZERO else -ONE)
        node = following
    return first, normal
