"""Where rays meet shapes, by the signed distances of `shinari.shapes.kernels.dispatch`.

Along a ray the distance of a convex solid is a convex function, so Newton's method comes to the first zero from outside
without ever passing it, doubling the digits in each step: each step goes to the plane that touches the solid at the
nearest point. A ray misses once it no longer approaches. From inside, the ray is followed back from beyond the solid.
A long ellipsoid's distance is not known to the last digits; its rays are met in closed form.
Of all other shapes the distance alone is known, a bound of how far a ray may go (Hart 1996, Sphere tracing).
"""

import numpy as np

from shinari.compute import real, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, dot, neg, norm, scale
from shinari.shapes.ellipsoid import ELLIPSOID
from shinari.shapes.kernels.all_distances import analytic_distance
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.plane import PLANE
from shinari.shapes.registry import FIRST_FREE_CONVEX

Vector = tuple[real, real, real]
Four = tuple[real, real, real, real]
NEWTON_STEPS, MOST_STEPS = 100, 4000
TOUCH, CLOSE = 1e-14, 1e-10
"""Distances below which a ray is on the surface, over the size: after Newton steps, after bounded ones."""
GRAZING = 1e-7
"""Sine of the angle to the surface below which a last step would only add rounding."""
FLAT = 0.01
"""Least sine of that angle by which the last step is taken after bounded ones."""


@steady
def at(origin, along, t):
    """The point at a distance along a ray."""
    return add(origin, scale(along, t))


@shared(fastmath=STEADY)
def approach(kind: int, origin: Vector, along: Vector, s: Four, size: real, fields: MeshFields) -> tuple[real, Vector]:
    """Where a ray from outside meets a convex shape, and the normal there; infinity where it misses."""
    t = size - size
    for _ in range(NEWTON_STEPS):
        d, n = analytic_distance(kind, at(origin, along, t), s, fields)
        slope = dot(n, along)
        if d <= TOUCH * size:
            return (t - d / slope if slope < -GRAZING else t), n
        if slope >= 0.0:
            break
        t -= d / slope
    return np.inf, along


@steady
def meet_ellipsoid(origin, along, s):
    """Where a ray meets an ellipsoid, and the normal there: a unit ball along axes over the half axes."""
    o = origin[0] / s[0], origin[1] / s[1], origin[2] / s[2]
    u = along[0] / s[0], along[1] / s[1], along[2] / s[2]
    speed = norm(u)
    u = scale(u, 1.0 / speed)
    middle = -dot(o, u)
    nearest = at(o, u, middle)
    square = 1.0 - dot(nearest, nearest)
    half = np.sqrt(max(square, 0.0))
    t = middle - half if middle - half >= 0.0 else middle + half
    if square < 0.0 or t < 0.0:
        return np.inf, along
    x = at(o, u, t)
    n = x[0] / s[0], x[1] / s[1], x[2] / s[2]
    return t / speed, scale(n, 1.0 / norm(n))


@shared(fastmath=STEADY)
def advance(kind: int, origin: Vector, along: Vector, s: Four, size: real, fields: MeshFields) -> tuple[real, Vector]:
    """Where a ray meets a shape by steps as long as the distance, from outside or inside."""
    t, end = size - size, 2.0 * size - dot(origin, along)
    for _ in range(MOST_STEPS):
        d, n = analytic_distance(kind, at(origin, along, t), s, fields)
        if abs(d) <= CLOSE * size:
            return t + abs(d) / max(abs(dot(n, along)), FLAT), n
        t += abs(d)
        if t > end:
            break
    return np.inf, along


@shared(fastmath=STEADY)
def meet_shape(
    kind: int, origin: Vector, along: Vector, s: Four, size: real, fields: MeshFields
) -> tuple[real, Vector]:
    """Where a ray first meets the surface of a shape that is no mesh, and the normal out of the solid there.

    Args:
        kind: Kind of the shape.
        origin: Origin of the ray in the axes of the shape [m].
        along: Its direction, a unit vector.
        s: Numbers of the shape.
        size: Radius of a ball around the origin of the shape that holds all of it [m].
        fields: Fields of meshes; not used.

    Returns:
        Distance along the ray [m], infinite where it misses, and the normal.
    """
    if kind >= FIRST_FREE_CONVEX:
        return advance(kind, origin, along, s, size, fields)
    if kind == ELLIPSOID:
        return meet_ellipsoid(origin, along, s)
    d, n = analytic_distance(kind, origin, s, fields)
    if kind == PLANE:
        t = -d / dot(n, along)
        return (t if t >= 0.0 else np.inf), n
    if d >= 0.0:
        return approach(kind, origin, along, s, size, fields)
    beyond = 2.0 * size - dot(origin, along)
    t, n = approach(kind, at(origin, along, beyond), neg(along), s, size, fields)
    return beyond - t, n
