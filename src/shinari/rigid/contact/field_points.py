"""Points of contact where a mesh is one of the two: what sticks out of one, in the distance field of the other.

Both ways. The vertices and edges of a mesh (`features.py`) look for the place where they are deepest in the other
shape: on an edge that is where the slope of the distance changes its sign. Where it jumps there, an edge of the other shape is
crossed, and the mean of both gradients that is at right angles to the edge is the normal. Corners, and the points with
a radius that round shapes are made of (`corners.py`), are looked up in the field of the mesh, which knows the nearest
triangle exactly.

A point counts only if the direction into the other shape lies in the normal cone of what sticks out.
"""

import numpy as np

from shinari.contact.solid.all_shapes import distance_and_normal
from shinari.maths.function import steady
from shinari.maths.vec3 import add, dot, neg, norm, scale, sub
from shinari.rigid.contact.corners import corner, corner_count, corner_radius, is_extreme
from shinari.rigid.contact.poses import origin, turn, turn_back
from shinari.rigid.contact.shapes import CAPSULE, CONTAINER, HULL, MESH, MESH_SHEET, PLANE, SPHERE

POOL = 256
"""Points of a pair from which the best are chosen."""
# Sine by which the direction into the other shape may lie outside of a cone.
OUTSIDE = 0.05
# Slope of the distance along an edge below which it is even.
EVEN = 0.02
# Samples on an edge against a mesh, at most; numbers of a feature; steps of a bisection.
MOST_SAMPLES = 32
NUMBERS = 64
STEPS = 24
# Part of the size of a body up to which a point of it may be on the wrong side of a sheet.
THROUGH = 0.1
# How far the centre of a ball is moved to see what else touches it, in radii.
ASIDE = 0.3
# Cosine of the angle between two normals above which they are one.
SAME = 0.98


@steady
def solid_at(y, q, shapes, fields):
    """Signed distance [m] of q from geom y and the unit vector out of it, in the axes of y."""
    kind = shapes.kind[y]
    if kind == HULL:
        h = shapes.hull[y]
        most, best = -np.inf, shapes.face_starts[h]
        for i in range(shapes.face_starts[h], shapes.face_starts[h + 1]):
            p = shapes.planes[i]
            d = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] - p[3]
            if d > most:
                most, best = d, i
        return most, (shapes.planes[best, 0], shapes.planes[best, 1], shapes.planes[best, 2])
    s = (shapes.size[y, 0], shapes.size[y, 1], shapes.size[y, 2], shapes.size[y, 3])
    return distance_and_normal(kind, q, s, fields)


@steady
def placed(pose, p):
    """A point in local axes, in the world."""
    return add(turn(pose, p), origin(pose))


@steady
def relative(pose_x, pose_y):
    """Pose of x in the axes of y."""
    r0 = turn_back(pose_y, (pose_x[0], pose_x[3], pose_x[6]))
    r1 = turn_back(pose_y, (pose_x[1], pose_x[4], pose_x[7]))
    r2 = turn_back(pose_y, (pose_x[2], pose_x[5], pose_x[8]))
    t = turn_back(pose_y, sub(origin(pose_x), origin(pose_y)))
    return r0[0], r1[0], r2[0], r0[1], r1[1], r2[1], r0[2], r1[2], r2[2], t[0], t[1], t[2]


@steady
def mesh_points(a, pose_a, b, pose_b, limit, geoms, features, shapes, fields, pool):
    """Fill the pool with the points of geoms of which one is a mesh, up to a gap; returns how many it holds."""
    n = 0
    kind_a, kind_b = shapes.kind[a], shapes.kind[b]
    mesh_a, mesh_b = kind_a in (MESH, MESH_SHEET), kind_b in (MESH, MESH_SHEET)
    if mesh_b and not mesh_a:
        n = touch_with_corners(a, pose_a, b, pose_b, limit, geoms, features, shapes, fields, pool, n, False)
    if mesh_a and not mesh_b:
        n = touch_with_corners(b, pose_b, a, pose_a, limit, geoms, features, shapes, fields, pool, n, True)
    if mesh_a:
        n = touch_with_features(a, pose_a, b, pose_b, limit, geoms, features, shapes, fields, pool, n, False)
    if mesh_b:
        n = touch_with_features(b, pose_b, a, pose_a, limit, geoms, features, shapes, fields, pool, n, True)
    return n


@steady
def offer(pool, n, limit, p, normal, gap, radius, radius_y, feature, swapped, pose_y):
    """Add a point to the pool; returns how many it holds. A full pool gives its highest point away.

    Args:
        pool: Rows as `manifold` writes them, (POOL, 14).
        n: Points in it.
        limit: Gap [m] from which on a point does not count.
        p: Core point of x, in the axes of y.
        normal: Unit vector from y to x, in the axes of y.
        gap: Gap [m].
        radius: Radius of x at the point [m].
        radius_y: Radius of y at the point [m].
        feature: Number of the feature.
        swapped: Whether x is b.
        pose_y: Pose of y.
    """
    if gap >= limit:
        return n
    at = n
    if n == POOL:
        at = 0
        for i in range(1, n):
            at = i if pool[i, 11] > pool[at, 11] else at
        if pool[at, 11] <= gap:
            return n
    mine = placed(pose_y, p)
    theirs = placed(pose_y, sub(p, scale(normal, gap + radius + radius_y)))
    out = turn(pose_y, normal)
    i, j = (4, 0) if swapped else (0, 4)
    for c in range(3):
        pool[at, i + c], pool[at, j + c], pool[at, 8 + c] = mine[c], theirs[c], -out[c] if swapped else out[c]
    pool[at, i + 3], pool[at, j + 3] = radius, radius_y
    # the normal is y's: it turns with it
    pool[at, 11], pool[at, 12], pool[at, 13] = gap, 2 * feature + (1 if swapped else 0), 1.0 if swapped else 0.0
    return n + 1 if n < POOL else n


@steady
def in_cone(k, u, features):
    """Whether a direction, in the axes of the mesh, lies in the normal cone of feature k."""
    inside = True
    for i in range(features.cone_starts[k], features.cone_starts[k + 1]):
        inside &= u[0] * features.cones[i, 0] + u[1] * features.cones[i, 1] + u[2] * features.cones[i, 2] <= OUTSIDE
    return inside


@steady
def own_radius(y, shapes):
    """What the core of y is thickened by: then the arm of y reaches to the core."""
    return shapes.size[y, 0] if shapes.kind[y] in (SPHERE, CAPSULE) else 0.0


@steady
def slope_at(y, start, way, t, shapes, fields):
    """Distance, gradient, and slope along an edge, at part t of it; `way` is its length and unit vector."""
    q = add(start, scale(way[1], t * way[0]))
    d, g = solid_at(y, q, shapes, fields)
    return d, g, dot(g, way[1])


@steady
def crossing(y, start, way, low, high, level, shapes, fields):
    """Where the slope along an edge passes a level between two parts of it, by bisection.

    Returns:
        Part, distance, gradient and slope on both sides.
    """
    d0, g0, s0 = slope_at(y, start, way, low, shapes, fields)
    d1, g1, s1 = slope_at(y, start, way, high, shapes, fields)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        d, g, s = slope_at(y, start, way, middle, shapes, fields)
        if s < level:
            low, d0, g0, s0 = middle, d, g, s
        else:
            high, d1, g1, s1 = middle, d, g, s
    return (low, d0, g0, s0), (high, d1, g1, s1)


@steady
def deepest_between(way, before, after):
    """Part of the edge, distance and normal where the distance is least between two close places around it."""
    t0, d0, g0, s0 = before
    t1, d1, g1, s1 = after
    length = way[0]
    bend = s1 - s0
    t = min(max((d0 - d1 + length * (s1 * t1 - s0 * t0)) / (bend * length), t0), t1) if bend > EVEN else t1
    part = s1 / bend if bend > EVEN else 0.0
    g = add(scale(g0, part), scale(g1, 1.0 - part))
    size = norm(g)
    d = min(d0 + s0 * length * (t - t0), min(d0, d1)) if bend > EVEN else d1
    # inside, the way out past a crossed edge is longer than that to either face
    good = size > 0.2
    d = d / size if good and d < 0.0 else d
    return good, t, d, scale(g, 1.0 / size) if good else g1


@steady
def touch_even(y, start, way, shapes, fields):
    """Where an edge begins and ceases to be even with a convex shape y, or is deepest in it.

    Returns:
        Whether there is a first and a second such place, and for both the part, the distance and the normal.
    """
    d0, g0, s0 = slope_at(y, start, way, 0.0, shapes, fields)
    d1, g1, s1 = slope_at(y, start, way, 1.0, shapes, fields)
    one = s0 < -EVEN and s1 > -EVEN
    two = s1 > EVEN and s0 < EVEN
    first, second = (0.0, d0, g0), (1.0, d1, g1)
    if one:
        before, after = crossing(y, start, way, 0.0, 1.0, -EVEN, shapes, fields)
        if after[3] < EVEN:
            first = (after[0], after[1], after[2])
        else:
            one, t, d, n = deepest_between(way, before, after)
            first = (t, d, n)
            two = False
    if two:
        before, after = crossing(y, start, way, first[0], 1.0, EVEN, shapes, fields)
        second = (before[0], before[1], before[2])
        if before[3] < -EVEN:
            two = False
    return one, two, first, second


@steady
def touch_edge(k, y, pose_y, rel, start, way, limit, features, radius, shapes, fields, pool, n, swapped):
    """Offer the places where edge k of a mesh is deepest in a convex shape y."""
    one, two, first, second = touch_even(y, start, way, shapes, fields)
    for which in range(2):
        t, d, normal = first if which == 0 else second
        if (one if which == 0 else two) and in_cone(k, turn_back(rel, neg(normal)), features):
            p = add(start, scale(way[1], t * way[0]))
            n = offer(pool, n, limit, p, normal, d - radius, radius, own_radius(y, shapes), NUMBERS * k + which,
                      swapped, pose_y)  # fmt: skip
    return n


@steady
def touch_rough_edge(k, y, pose_y, rel, start, way, limit, features, radius, spacing, shapes, fields, pool, n, swapped):
    """Offer the places where edge k of a mesh is deepest in another mesh y, or even with it."""
    samples = min(max(int(np.ceil(way[0] / spacing)), 2), MOST_SAMPLES)
    d0, _, s0 = slope_at(y, start, way, 0.0, shapes, fields)
    for i in range(1, samples + 1):
        t = i / samples
        d1, g1, s1 = slope_at(y, start, way, t, shapes, fields)
        good, at, d, normal = False, t, d1, g1
        if s0 < -EVEN and s1 > EVEN:
            if min(d0, d1) - way[0] / samples < limit + radius:
                before, after = crossing(y, start, way, (i - 1) / samples, t, 0.0, shapes, fields)
                good, at, d, normal = deepest_between(way, before, after)
        elif i < samples and abs(s1) <= EVEN:
            good = True
        if good and in_cone(k, turn_back(rel, neg(normal)), features):
            p = add(start, scale(way[1], at * way[0]))
            n = offer(pool, n, limit, p, normal, d - radius, radius, 0.0, NUMBERS * k + i, swapped, pose_y)
        d0, s0 = d1, s1
    return n


@steady
def touch_feature(k, y, pose_y, rel, limit, features, radius, spacing, shapes, fields, pool, n, swapped):
    """Offer the points of feature k of a mesh against y."""
    lines = features.lines
    start = placed(rel, (lines[k, 0], lines[k, 1], lines[k, 2]))
    along = turn(rel, (lines[k, 3], lines[k, 4], lines[k, 5]))
    length = norm(along)
    if length == 0.0:
        d, normal = solid_at(y, start, shapes, fields)
        if d - radius < limit and in_cone(k, turn_back(rel, neg(normal)), features):
            n = offer(pool, n, limit, start, normal, d - radius, radius, own_radius(y, shapes), NUMBERS * k, swapped,
                      pose_y)  # fmt: skip
        return n
    kind = shapes.kind[y]
    if kind in (PLANE, CONTAINER):
        return n
    if solid_at(y, add(start, scale(along, 0.5)), shapes, fields)[0] - 0.5 * length - radius >= limit:
        return n
    way = (length, scale(along, 1.0 / length))
    if kind in (MESH, MESH_SHEET):
        return touch_rough_edge(
            k, y, pose_y, rel, start, way, limit, features, radius, spacing, shapes, fields, pool, n, swapped
        )
    return touch_edge(k, y, pose_y, rel, start, way, limit, features, radius, shapes, fields, pool, n, swapped)


@steady
def touch_with_features(x, pose_x, y, pose_y, limit, geoms, features, shapes, fields, pool, n, swapped):
    """Offer the points of the vertices and edges of mesh x against y; returns how many the pool holds."""
    m = np.int64(shapes.size[x, 0])
    radius, spacing = features.thickness[m], features.spacing[m]
    rough = shapes.kind[y] >= MESH and shapes.kind[y] != HULL
    if rough:
        spacing = features.spacing[np.int64(shapes.size[y, 0])]
    rel = relative(pose_x, pose_y)
    reach = limit + radius
    ended = geoms.size[y] < np.inf
    boxes, links = features.boxes, features.links
    node, end = features.node_starts[m], features.node_starts[m + 1]
    while node < end:
        following = links[node, 0]
        middle = (0.5 * (boxes[node, 0] + boxes[node, 3]), 0.5 * (boxes[node, 1] + boxes[node, 4]),
                  0.5 * (boxes[node, 2] + boxes[node, 5]))  # fmt: skip
        half = sub((boxes[node, 3], boxes[node, 4], boxes[node, 5]), middle)
        q = placed(rel, middle)
        near = True
        if ended:
            for c in range(3):
                wide = abs(rel[3 * c]) * half[0] + abs(rel[3 * c + 1]) * half[1] + abs(rel[3 * c + 2]) * half[2] + reach
                near &= q[c] - wide <= geoms.high[y, c] and q[c] + wide >= geoms.low[y, c]
        far = norm(half)
        # looking a large box up in a field decides little
        if near and (not rough or far < 0.25 * geoms.size[y]):
            near = solid_at(y, q, shapes, fields)[0] <= far + reach
        if near:
            following = node + 1
            for k in range(links[node, 1], links[node, 2]):
                n = touch_feature(k, y, pose_y, rel, limit, features, radius, spacing, shapes, fields, pool, n, swapped)
        node = following
    return n


@steady
def beside_sheet(d, normal, q, middle, thickness, most):
    """Distance and normal of a point that may have gone through a sheet: the side is that of its body's middle."""
    span = d + thickness
    through = dot(normal, sub(middle, sub(q, scale(normal, span)))) < 0.0 and span < most
    return (-span - thickness, neg(normal)) if through else (d, normal)


@steady
def touch_with_corners(x, pose_x, y, pose_y, limit, geoms, features, shapes, fields, pool, n, swapped):
    """Offer the corners and round places of x, which is no mesh, against mesh y; returns how many the pool holds."""
    rel = relative(pose_x, pose_y)
    radius = corner_radius(x, shapes)
    m = np.int64(shapes.size[y, 0])
    sheet = shapes.kind[y] == MESH_SHEET
    low, high = geoms.low, geoms.high
    middle = placed(
        rel, (0.5 * (low[x, 0] + high[x, 0]), 0.5 * (low[x, 1] + high[x, 1]), 0.5 * (low[x, 2] + high[x, 2]))
    )
    for k in range(corner_count(x, shapes)):
        towards = (0.0, 0.0, 0.0)
        c = corner(x, k, towards, shapes)
        q = placed(rel, c[1])
        if c[0]:
            # the lowest place of a rim is known once it is known where down is
            towards = turn_back(rel, neg(solid_at(y, q, shapes, fields)[1]))
            c = corner(x, k, towards, shapes)
            q = placed(rel, c[1])
        looks, first, normal = 3 if radius > 0.0 else 1, towards, towards
        for look in range(looks):
            # another face that touches a ball is the nearest from where the ball has left the first
            from_q = add(q, scale(normal, ASIDE * radius)) if look > 0 else q
            d, normal = solid_at(y, from_q, shapes, fields)
            if sheet:
                d, normal = beside_sheet(d, normal, from_q, middle, features.thickness[m], THROUGH * geoms.size[x])
            d -= dot(normal, sub(from_q, q))
            if d - radius >= limit or (look > 0 and dot(normal, first) > SAME):
                break
            if look == 0:
                first = normal
            if is_extreme(x, k, turn_back(rel, neg(normal)), shapes):
                n = offer(pool, n, limit, q, normal, d - radius, radius, 0.0, NUMBERS * k + look, swapped, pose_y)
    return n
