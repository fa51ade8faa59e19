"""Signed distances of the analytic collider shapes, for points in the frame of the shape.

A shape is a kind and four numbers. The first two kinds are solid without end beyond their surface; the others are
bounded, so that a fast point can come out on the far side and has to be stopped on its way; up to `LAST_CONVEX` they
are convex.

`distance`, `surface_normal` and `distance_and_normal` take a last argument that they do not use: with the same
arguments `shinari.contact.solid.all_shapes` also knows meshes. A scene without meshes compiles only what is here.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, direction_and_length, dot, norm, scale
from shinari.scene.shapes import Box, Capsule, Cone, Cylinder, Plane, Shape, Sphere

PLANE, CONTAINER, SPHERE, BOX, CAPSULE, CYLINDER, CONE, MESH, MESH_SHEET = range(9)
LAST_UNBOUNDED = CONTAINER
LAST_CONVEX = CONE


def encode(shape: Shape) -> tuple[int, np.ndarray]:
    """Kind and numbers (4,) of an analytic shape."""
    if isinstance(shape, Plane):
        return PLANE, np.array([*shape.normal, shape.offset])
    if isinstance(shape, Sphere):
        return SPHERE, np.array([shape.radius, 0.0, 0.0, 0.0])
    if isinstance(shape, Capsule):
        return CAPSULE, np.array([shape.radius, 0.5 * shape.length, 0.0, 0.0])
    if isinstance(shape, Cylinder):
        return CYLINDER, np.array([shape.radius, 0.5 * shape.length, 0.0, 0.0])
    if isinstance(shape, Cone):
        slant = np.hypot(shape.radius, shape.height)
        return CONE, np.array([shape.radius, 0.5 * shape.height, shape.height / slant, shape.radius / slant])
    assert isinstance(shape, Box)
    return CONTAINER if shape.inside else BOX, np.array([*(0.5 * np.asarray(shape.size)), 0.0])


@steady
def sign(value):
    """-1 or 1."""
    return ONE if value >= ZERO else -ONE


@steady
def clamp(value, low, high):
    """The value brought between its bounds."""
    return min(max(value, low), high)


@steady
def box_distance(q, s):
    """Distance outside, minus the depth below the nearest face inside."""
    dx, dy, dz = abs(q[0]) - s[0], abs(q[1]) - s[1], abs(q[2]) - s[2]
    outside = norm((max(dx, ZERO), max(dy, ZERO), max(dz, ZERO)))
    return outside + min(max(dx, max(dy, dz)), ZERO)


@steady
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


@steady
def axis_offset(q, s):
    """Vector from the nearest point of a capsule's segment to q."""
    return q[0], q[1] - clamp(q[1], -s[1], s[1]), q[2]


@steady
def turned_profile(q, rho, value, n_rho, n_y):
    """Distance and normal of a solid of revolution about Y, from those of its profile at (rho, y)."""
    per_rho = n_rho / rho if rho > ZERO else ZERO
    sideways = n_rho if rho <= ZERO else ZERO  # on the axis all directions are as good
    return value, (per_rho * q[0] + sideways, n_y, per_rho * q[2])


@steady
def cylinder(q, s):
    """Distance and normal; the numbers are radius and half the length. The profile is a rectangle."""
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    side, end = rho - s[0], abs(q[1]) - s[1]
    up = sign(q[1])
    corner = side > ZERO and end > ZERO
    length = np.sqrt(side * side + end * end)
    on_side = side >= end
    n_rho = side / length if corner else (ONE if on_side else ZERO)
    n_y = end / length if corner else (ZERO if on_side else ONE)
    return turned_profile(q, rho, length if corner else max(side, end), n_rho, up * n_y)


@steady
def cone(q, s):
    """Distance and normal; the numbers are radius, half the height and the outward normal of the slant.

    The profile is a triangle; outside its faces the nearest point is the rim or the tip.
    """
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    n_rho, n_y = s[2], s[3]
    from_tip, from_rim = q[1] - s[1], rho - s[0]
    below = -(q[1] + s[1])
    slant = n_rho * rho + n_y * from_tip
    beyond_tip = n_y * rho - n_rho * from_tip < ZERO
    beyond_rim = n_y * from_rim + n_rho * below > ZERO
    outside = slant > ZERO or below > ZERO
    at_tip = outside and beyond_tip and below < ZERO
    at_rim = outside and beyond_rim and from_rim > ZERO and not at_tip
    on_base = below >= slant or (below > ZERO and from_rim <= ZERO)
    across = rho if at_tip else from_rim
    along = from_tip if at_tip else -below
    length = np.sqrt(across * across + along * along)
    corner = (at_tip or at_rim) and length > ZERO
    value = length if corner else (below if on_base else slant)
    r = across / length if corner else (ZERO if on_base else n_rho)
    y = along / length if corner else (-ONE if on_base else n_y)
    return turned_profile(q, rho, value, r, y)


@steady
def distance(kind, q, s, fields):
    """Signed distance [m] of q from the surface, negative in the solid."""
    if kind == PLANE:
        return dot(q, (s[0], s[1], s[2])) - s[3]
    if kind == SPHERE:
        return norm(q) - s[0]
    if kind == CAPSULE:
        return norm(axis_offset(q, s)) - s[0]
    if kind == CYLINDER:
        return cylinder(q, s)[0]
    if kind == CONE:
        return cone(q, s)[0]
    d = box_distance(q, s)
    return d if kind == BOX else -d


@steady
def surface_normal(kind, q, s, fields):
    """Unit vector out of the solid at the surface nearest to q; up or sideways where there is no nearest one."""
    if kind == PLANE:
        return s[0], s[1], s[2]
    if kind in (SPHERE, CAPSULE):
        offset = q if kind == SPHERE else axis_offset(q, s)
        n, length = direction_and_length(offset)
        if length > ZERO:
            return n
        return (ZERO, ONE, ZERO) if kind == SPHERE else (ONE, ZERO, ZERO)
    if kind == CYLINDER:
        return cylinder(q, s)[1]
    if kind == CONE:
        return cone(q, s)[1]
    n = box_normal(q, s)
    return n if kind == BOX else scale(n, -ONE)


@steady
def distance_and_normal(kind, q, s, fields):
    """Both `distance` and `surface_normal`."""
    if kind == PLANE:
        return dot(q, (s[0], s[1], s[2])) - s[3], (s[0], s[1], s[2])
    if kind == SPHERE:
        n, length = direction_and_length(q)
        return length - s[0], n if length > ZERO else (n[0], n[1] + ONE, n[2])
    if kind == CAPSULE:
        n, length = direction_and_length(axis_offset(q, s))
        return length - s[0], n if length > ZERO else (n[0] + ONE, n[1], n[2])
    if kind == CYLINDER:
        return cylinder(q, s)
    if kind == CONE:
        return cone(q, s)
    d, n = box_distance(q, s), box_normal(q, s)
    return (d, n) if kind == BOX else (-d, scale(n, -ONE))
