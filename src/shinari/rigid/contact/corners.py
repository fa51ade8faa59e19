"""The corners of shapes that are no meshes, and the points with a radius that round ones are made of.

A box or a hull has its vertices, a ball its centre, a capsule the centres of its caps, a cone its tip. Of a rim, eight
places stay where they are, and one is that which lies farthest in a direction: a cylinder rolls on it.
"""

from shinari.maths.function import steady
from shinari.maths.vec3 import dot, sub
from shinari.rigid.contact.shapes import BOX, CAPSULE, CONE, CYLINDER, HULL, SPHERE

RIM = 9
"""Places of a rim: the lowest, and eight that stay."""
DIAGONAL = 0.7071067811865476
# Part of a direction across the axis below which no place of a rim counts as the lowest.
UPRIGHT = 0.05
# Sine by which a direction may lie outside of the normal cone of a corner.
OUTSIDE = 0.05


@steady
def corner_count(g, shapes):
    """Number of corners."""
    kind = shapes.kind[g]
    if kind == BOX:
        return 8
    if kind == HULL:
        h = shapes.hull[g]
        return shapes.vertex_starts[h + 1] - shapes.vertex_starts[h]
    if kind == CAPSULE:
        return 2
    if kind == CYLINDER:
        return 2 * RIM
    if kind == CONE:
        return 1 + RIM
    return 1 if kind == SPHERE else 0


@steady
def corner_radius(g, shapes):
    """Distance of the surface from each of the corners [m]."""
    return shapes.size[g, 0] if shapes.kind[g] in (SPHERE, CAPSULE) else 0.0


@steady
def rim_place(k, towards):
    """Unit vector across the axis to place k of a rim: along a direction (for 0), or an eighth of a turn each."""
    if k == 0:
        across = (towards[0] * towards[0] + towards[2] * towards[2]) ** 0.5
        return (towards[0] / across, towards[2] / across) if across > UPRIGHT else (0.0, 0.0)
    i = k - 1
    x = 1.0 if i == 0 else (-1.0 if i == 4 else (0.0 if i == 2 or i == 6 else (-DIAGONAL if 2 < i < 6 else DIAGONAL)))
    z = 1.0 if i == 2 else (-1.0 if i == 6 else (0.0 if i == 0 or i == 4 else (-DIAGONAL if i > 4 else DIAGONAL)))
    return x, z


@steady
def corner(g, k, towards, shapes):
    """Corner k in the axes of the shape, and whether it depends on the direction in which it is to lie farthest.

    Without a direction (zero) such a corner is the centre of its rim.
    """
    kind = shapes.kind[g]
    s0, s1, s2 = shapes.size[g, 0], shapes.size[g, 1], shapes.size[g, 2]
    if kind == BOX:
        return False, (s0 if k & 1 else -s0, s1 if k & 2 else -s1, s2 if k & 4 else -s2)
    if kind == HULL:
        v = shapes.vertex_starts[shapes.hull[g]] + k
        return False, (shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2])
    if kind == CAPSULE:
        return False, (0.0, s1 if k else -s1, 0.0)
    if kind == CYLINDER:
        x, z = rim_place(k % RIM, towards)
        return k % RIM == 0, (s0 * x, s1 if k >= RIM else -s1, s0 * z)
    if kind == CONE:
        if k == 0:
            return False, (0.0, s1, 0.0)
        x, z = rim_place(k - 1, towards)
        return k == 1, (s0 * x, -s1, s0 * z)
    return False, (0.0, 0.0, 0.0)


@steady
def is_extreme(g, k, u, shapes):
    """Whether corner k is the farthest along the unit vector u, about: whether u is in its normal cone."""
    kind = shapes.kind[g]
    if kind == BOX:
        return (
            u[0] * (1.0 if k & 1 else -1.0) >= -OUTSIDE
            and u[1] * (1.0 if k & 2 else -1.0) >= -OUTSIDE
            and u[2] * (1.0 if k & 4 else -1.0) >= -OUTSIDE
        )
    if kind == HULL:
        first, end = shapes.vertex_starts[shapes.hull[g]], shapes.vertex_starts[shapes.hull[g] + 1]
        v, inside = first + k, True
        p = (shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2])
        for i in range(first, end):
            way = sub((shapes.vertices[i, 0], shapes.vertices[i, 1], shapes.vertices[i, 2]), p)
            inside &= dot(u, way) <= OUTSIDE * dot(way, way) ** 0.5
        return inside
    if kind == CAPSULE:
        return u[1] * (1.0 if k else -1.0) >= -OUTSIDE
    if kind == CYLINDER:
        x, z = rim_place(k % RIM, u)
        return u[1] * (1.0 if k >= RIM else -1.0) >= -OUTSIDE and u[0] * x + u[2] * z >= -OUTSIDE
    if kind == CONE:
        out, up = shapes.size[g, 2], shapes.size[g, 3]
        across = (u[0] * u[0] + u[2] * u[2]) ** 0.5
        if k == 0:
            return up * across - out * u[1] <= OUTSIDE
        x, z = rim_place(k - 1, u)
        radial = u[0] * x + u[2] * z
        return radial >= -OUTSIDE and out * u[1] - up * radial <= OUTSIDE
    return True
