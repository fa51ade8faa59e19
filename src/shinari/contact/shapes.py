"""Signed distances of the collider shapes, for points in the frame of the shape.

A shape is a kind and four numbers. The first two kinds are solid without end beyond their surface; the others are
bounded and convex, so that a fast point can come out on the far side and has to be stopped on its way.
"""

import numpy as np

from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, direction_and_length, dot, norm, scale
from shinari.scene.shapes import Capsule, Plane, Shape, Sphere

PLANE, CONTAINER, SPHERE, BOX, CAPSULE = range(5)
LAST_UNBOUNDED = CONTAINER


def encode(shape: Shape) -> tuple[int, np.ndarray]:
    """Kind and numbers (4,) of a shape."""
    if isinstance(shape, Plane):
        return PLANE, np.array([*shape.normal, shape.offset])
    if isinstance(shape, Sphere):
        return SPHERE, np.array([shape.radius, 0.0, 0.0, 0.0])
    if isinstance(shape, Capsule):
        return CAPSULE, np.array([shape.radius, 0.5 * shape.length, 0.0, 0.0])
    return CONTAINER if shape.inside else BOX, np.array([*(0.5 * np.asarray(shape.size)), 0.0])


@function
def sign(value):
    """-1 or 1."""
    return ONE if value >= ZERO else -ONE


@function
def clamp(value, low, high):
    """The value brought between its bounds."""
    return min(max(value, low), high)


@function
def box_distance(q, s):
    """Distance outside, minus the depth below the nearest face inside."""
    dx, dy, dz = abs(q[0]) - s[0], abs(q[1]) - s[1], abs(q[2]) - s[2]
    outside = norm((max(dx, ZERO), max(dy, ZERO), max(dz, ZERO)))
    return outside + min(max(dx, max(dy, dz)), ZERO)


@function
def box_normal(q, s):
    """Gradient of the distance: away from the nearest point, or out of the nearest face."""
    dx, dy, dz = abs(q[0]) - s[0], abs(q[1]) - s[1], abs(q[2]) - s[2]
    n, length = direction_and_length(
        (max(dx, ZERO) * sign(q[0]), max(dy, ZERO) * sign(q[1]), max(dz, ZERO) * sign(q[2]))
    )
    if length > ZERO:
        return n
    if dx >= dy and dx >= dz:
        return sign(q[0]), ZERO, ZERO
    if dy >= dz:
        return ZERO, sign(q[1]), ZERO
    return ZERO, ZERO, sign(q[2])


@function
def axis_offset(q, s):
    """Vector from the nearest point of a capsule's segment to q."""
    return q[0], q[1] - clamp(q[1], -s[1], s[1]), q[2]


@function
def distance(kind, q, s):
    """Signed distance [m] of q from the surface, negative in the solid."""
    if kind == PLANE:
        return dot(q, (s[0], s[1], s[2])) - s[3]
    if kind == SPHERE:
        return norm(q) - s[0]
    if kind == CAPSULE:
        return norm(axis_offset(q, s)) - s[0]
    d = box_distance(q, s)
    return d if kind == BOX else -d


@function
def surface_normal(kind, q, s):
    """Unit vector out of the solid at the surface nearest to q; up or sideways where there is no nearest one."""
    if kind == PLANE:
        return s[0], s[1], s[2]
    if kind in (SPHERE, CAPSULE):
        offset = q if kind == SPHERE else axis_offset(q, s)
        n, length = direction_and_length(offset)
        if length > ZERO:
            return n
        return (ZERO, ONE, ZERO) if kind == SPHERE else (ONE, ZERO, ZERO)
    n = box_normal(q, s)
    return n if kind == BOX else scale(n, -ONE)
