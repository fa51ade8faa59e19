"""Solids of revolution about Y: their profiles, rims and caps.

A cap is a polygon of eight corners, one of which is the point of the rim that reaches farthest. Of a rim, eight places
stay where they are, and one is that which lies farthest in a direction: a cylinder rolls on it.
"""

import math

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, scale
from shinari.shapes.base import Triangles
from shinari.shapes.kernels.projection import projected, put

RIM = 9
"""Places of a rim: the lowest, and eight that stay."""
DIAGONAL = 0.7071067811865476
# Part of a direction across the axis below which no place of a rim counts as the lowest.
LEAST_ACROSS = 0.05
# Sine by which a direction may lie outside of the normal cone of a corner.
OUTSIDE = 0.05
UPRIGHT = 1e-5
"""Tilt of a cap under which the corners of its polygon are fixed in it, instead of following the lowest point."""
HALF = np.sqrt(0.5)


@steady
def sign(value):
    """-1 or 1."""
    return ONE if value >= ZERO else -ONE


@steady
def clamp(value, low, high):
    """The value brought between its bounds."""
    return min(max(value, low), high)


@steady
def turned_profile(q, rho, value, n_rho, n_y):
    """Distance and normal of a solid of revolution about Y, from those of its profile at (rho, y)."""
    per_rho = n_rho / rho if rho > ZERO else ZERO
    sideways = n_rho if rho <= ZERO else ZERO  # on the axis all directions are as good
    return value, (per_rho * q[0] + sideways, n_y, per_rho * q[2])


@steady
def around(d):
    """Unit vector across the axis along a direction, (x, z)."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    return (d[0] / across, d[2] / across) if across > 0.0 else (1.0, 0.0)


@steady
def along_axis(n, s):
    """Direction of the lines of a side, and half of their length: the second number of the shape."""
    one, zero = ONE + ZERO * n[0], ZERO * n[0]
    return (zero, one, zero), s[1]


@steady
def rim_place(k, towards):
    """Unit vector across the axis to place k of a rim: along a direction (for 0), or an eighth of a turn each."""
    if k == 0:
        across = (towards[0] * towards[0] + towards[2] * towards[2]) ** 0.5
        return (towards[0] / across, towards[2] / across) if across > LEAST_ACROSS else (0.0, 0.0)
    i = k - 1
    x = 1.0 if i == 0 else (-1.0 if i == 4 else (0.0 if i == 2 or i == 6 else (-DIAGONAL if 2 < i < 6 else DIAGONAL)))
    z = 1.0 if i == 2 else (-1.0 if i == 6 else (0.0 if i == 0 or i == 4 else (-DIAGONAL if i > 4 else DIAGONAL)))
    return x, z


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


def turned_mesh(profile: list[tuple[float, float]], segments: int) -> Triangles:
    """A disc at the bottom of a profile (radius, y) of two points, and a disc or the tip at its top."""
    (radius, bottom), (upper, top) = profile
    angles = 2.0 * math.pi * np.arange(segments) / segments
    here = np.arange(segments)
    beside = (here + 1) % segments
    ring = np.stack([np.cos(angles), np.zeros(segments), np.sin(angles)], axis=1)
    points = [radius * ring + [0.0, bottom, 0.0], np.array([[0.0, bottom, 0.0], [0.0, top, 0.0]])]
    south, north = np.full(segments, segments), np.full(segments, segments + 1)
    faces = [np.stack([south, here, beside], axis=1)]
    if upper == 0.0:
        faces.append(np.stack([here, north, beside], axis=1))
    else:
        points.append(upper * ring + [0.0, top, 0.0])
        a, b = here + segments + 2, beside + segments + 2
        faces += [np.stack([here, a, beside], 1), np.stack([beside, a, b], 1), np.stack([a, north, b], 1)]
    return np.concatenate(points), np.concatenate(faces).astype(np.int32)


def capsule_mesh(radius: float, length: float, segments: int) -> Triangles:
    """Two poles and rings of latitude between them; the halves of a capsule are pulled apart along Y."""
    stacks = segments // 2
    latitudes = [math.pi * (k / stacks - 0.5) for k in range(1, stacks)]
    if length > 0.0:
        middle = latitudes.index(0.0) if 0.0 in latitudes else len(latitudes) // 2
        latitudes.insert(middle, -0.0)  # the equator twice: once for each end of the segment
    rings, half = [], 0.5 * length
    angles = 2.0 * math.pi * np.arange(segments) / segments
    for number, latitude in enumerate(latitudes):
        lift = -half if number < len(latitudes) / 2 else half
        flat = radius * math.cos(latitude)
        y = np.full(segments, radius * math.sin(latitude) + lift)
        rings.append(np.stack([flat * np.cos(angles), y, flat * np.sin(angles)], axis=1))
    poles = np.array([[0.0, -radius - half, 0.0], [0.0, radius + half, 0.0]])
    vertices = np.concatenate([*rings, poles])
    south, north = len(vertices) - 2, len(vertices) - 1
    here = np.arange(segments)
    beside = (here + 1) % segments
    faces = [np.stack([np.full(segments, south), here, beside], axis=1)]
    for ring in range(len(rings) - 1):
        a, b = here + ring * segments, beside + ring * segments
        faces += [np.stack([a, a + segments, b], axis=1), np.stack([b, a + segments, b + segments], axis=1)]
    last = (len(rings) - 1) * segments
    faces.append(np.stack([here + last, np.full(segments, north), beside + last], axis=1))
    return vertices, np.concatenate(faces).astype(np.int32)
