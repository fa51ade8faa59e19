r"""Attachments of a point to a place on a segment, on a triangle or in a tetrahedron.

        0            0              0
        :            :              :            place = x1 + sum b_k (x_k - x1),   k = 2, 3, ...
      1-+---2      1-+--3        1--+--4
                    \ : /         \ | /          C = x0 - place  (three rows, solved together)
                      2           2---3          grad0 of row r = the unit vector of axis r,   grad_k = -b_k grad0

The weights b are barycentric coordinates, b1 = 1 - b2 - b3 - ..., so the place moves with the object that it lies on.
The force acts at x0 and, spread by the weights, at the place: where the two coincide it exerts no torque, so linear and
angular momentum are kept. With one compliance it is a spring of zero length, the same in every direction.
"""

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, add, scale, sub


@function
def on_segment(x, p):
    """Holds a point at a place on a segment."""
    b = -p[0]
    a = -ONE - b
    return add(sub(x[0], x[1]), scale(sub(x[2], x[1]), b)), (
        ((ONE, ZERO, ZERO), (a, ZERO, ZERO), (b, ZERO, ZERO)),
        ((ZERO, ONE, ZERO), (ZERO, a, ZERO), (ZERO, b, ZERO)),
        ((ZERO, ZERO, ONE), (ZERO, ZERO, a), (ZERO, ZERO, b)),
    )


@function
def on_triangle(x, p):
    """Holds a point at a place on a triangle."""
    b, c = -p[0], -p[1]
    a = -ONE - b - c
    back = add(scale(sub(x[2], x[1]), b), scale(sub(x[3], x[1]), c))
    return add(sub(x[0], x[1]), back), (
        ((ONE, ZERO, ZERO), (a, ZERO, ZERO), (b, ZERO, ZERO), (c, ZERO, ZERO)),
        ((ZERO, ONE, ZERO), (ZERO, a, ZERO), (ZERO, b, ZERO), (ZERO, c, ZERO)),
        ((ZERO, ZERO, ONE), (ZERO, ZERO, a), (ZERO, ZERO, b), (ZERO, ZERO, c)),
    )


@function
def in_tetrahedron(x, p):
    """Holds a point at a place in a tetrahedron."""
    b, c, d = -p[0], -p[1], -p[2]
    a = -ONE - b - c - d
    back = add(scale(sub(x[2], x[1]), b), add(scale(sub(x[3], x[1]), c), scale(sub(x[4], x[1]), d)))
    return add(sub(x[0], x[1]), back), (
        ((ONE, ZERO, ZERO), (a, ZERO, ZERO), (b, ZERO, ZERO), (c, ZERO, ZERO), (d, ZERO, ZERO)),
        ((ZERO, ONE, ZERO), (ZERO, a, ZERO), (ZERO, b, ZERO), (ZERO, c, ZERO), (ZERO, d, ZERO)),
        ((ZERO, ZERO, ONE), (ZERO, ZERO, a), (ZERO, ZERO, b), (ZERO, ZERO, c), (ZERO, ZERO, d)),
    )


ATTACHMENT_SEGMENT = register(
    "attachment_segment", points=3, parameters=(("weights", 1),), evaluate=on_segment, rows=3
)  # fmt: skip
ATTACHMENT_TRIANGLE = register(
    "attachment_triangle", points=4, parameters=(("weights", 2),), evaluate=on_triangle, rows=3
)
ATTACHMENT_TETRAHEDRON = register(
    "attachment_tetrahedron", points=5, parameters=(("weights", 3),), evaluate=in_tetrahedron, rows=3
)
