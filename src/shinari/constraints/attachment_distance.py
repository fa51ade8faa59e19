"""Attachments at a distance: keep a point as far from a place on a segment, a triangle or in a tetrahedron as it was.

        0                 place = x1 + sum b_k (x_k - x1),   k = 2, 3, ...,   as in "attachment_place"
        | L
      1-+---2             C = |x0 - place| - L,   grad0 = n,   grad_k = -b_k n,   n = (x0 - place) / |x0 - place|

A rod of length L without mass, free to turn at both ends. The force runs along it, so linear and angular momentum are
kept.
"""

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, add, direction_and_length, scale, sub


@function
def to_segment(x, p):
    """Keeps a point at a distance from a place on a segment."""
    b = -p[0]
    n, length = direction_and_length(add(sub(x[0], x[1]), scale(sub(x[2], x[1]), b)))
    return length - p[1], (n, scale(n, -ONE - b), scale(n, b))


@function
def to_triangle(x, p):
    """Keeps a point at a distance from a place on a triangle."""
    b, c = -p[0], -p[1]
    back = add(scale(sub(x[2], x[1]), b), scale(sub(x[3], x[1]), c))
    n, length = direction_and_length(add(sub(x[0], x[1]), back))
    return length - p[2], (n, scale(n, -ONE - b - c), scale(n, b), scale(n, c))


@function
def to_tetrahedron(x, p):
    """Keeps a point at a distance from a place in a tetrahedron."""
    b, c, d = -p[0], -p[1], -p[2]
    back = add(scale(sub(x[2], x[1]), b), add(scale(sub(x[3], x[1]), c), scale(sub(x[4], x[1]), d)))
    n, length = direction_and_length(add(sub(x[0], x[1]), back))
    return length - p[3], (n, scale(n, -ONE - b - c - d), scale(n, b), scale(n, c), scale(n, d))


ATTACHMENT_DISTANCE_SEGMENT = register(
    "attachment_distance_segment",
    points=3,
    parameters=(("weights", 1), "rest_length"),
    evaluate=to_segment,
    non_negative=("rest_length",),
)
ATTACHMENT_DISTANCE_TRIANGLE = register(
    "attachment_distance_triangle",
    points=4,
    parameters=(("weights", 2), "rest_length"),
    evaluate=to_triangle,
    non_negative=("rest_length",),
)
ATTACHMENT_DISTANCE_TETRAHEDRON = register(
    "attachment_distance_tetrahedron",
    points=5,
    parameters=(("weights", 3), "rest_length"),
    evaluate=to_tetrahedron,
    non_negative=("rest_length",),
)
