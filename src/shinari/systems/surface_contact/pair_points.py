"""Particles of a pair of a point and a triangle, or of two edges, and its nearest points."""

import numpy as np

from shinari.geometry.proximity import gap_vector, nearest_points
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, norm, sub

# A nearest point of an edge is at a vertex within this part of the gap of it, which is as near then, to 1e-3.
AT_VERTEX = np.float32(0.05)


@steady
def separation(edges, x, i0, i1, i2, i3):
    """Vector between the nearest points of a point and a triangle, or of two edges, at positions x."""
    o = x[i0]
    a, b, c = sub(x[i1], o), sub(x[i2], o), sub(x[i3], o)
    return gap_vector(nearest_points(edges, a, b, c), a, b, c)


@steady
def points_of(p, q, first, second, edges):
    """Particles of a pair of elements."""
    a, b = first.points[p], second.points[q]
    return (
        np.int64(a[0]),
        np.int64(a[1] if edges else b[0]),
        np.int64(b[0] if edges else b[1]),
        np.int64(b[1] if edges else b[2]),
    )


@steady
def is_for_vertex(r, w, edges, rows, contact_particles, objects, clock):
    """Whether the nearest points of two edges are at a vertex, which keeps off the triangles of the other edge itself.

    Neighbours in one sheet, which keep less than both radii, are told apart by their gap.

    Args:
        r: The row.
        w: Weights of the nearest points.
        edges: Both edges as vectors [m].
        rows: The rows.
        contact_particles: Their particles.
        objects: Their objects.
        clock: Whether the stack is calm: while it falls all rows push.
    """
    i0, i1, i2, i3 = rows.points[r]
    radius, index, gap = contact_particles.radius, contact_particles.object_index, rows.gap[r]
    if clock.calm[0] == 0 or not rows.edges[r] or gap < radius[i0] + radius[i2]:
        return False
    one, other = ONE - max(w[0], w[1]), ONE + min(w[2], w[3])
    most, faces = AT_VERTEX * gap, objects.has_triangles
    first = faces[index[i2]] and one * norm(edges[0]) <= most and radius[i0 if w[0] > w[1] else i1] > ZERO
    return first or (faces[index[i0]] and other * norm(edges[1]) <= most and radius[i2 if w[2] < w[3] else i3] > ZERO)
