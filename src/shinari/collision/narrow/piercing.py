"""Contact points beyond a thin part of the other shape, where the nearest face tells nothing.

A corner of a convex shape: the shape holds the segment from its middle to the corner. Where that enters the mesh, the
corner is as deep as it lies below the face.

An edge of a mesh goes into the other shape and out on the far side, or ends inside. One of its ends has come through:
the one that is less deep below the face through which the edge has entered. An edge tells that only where the points in
their cones tell less than half of the overlap: it may as well have come in sideways, past a corner of the other shape.
"""

import numpy as np

from shinari.collision.narrow.edge_cone import count_crossing
from shinari.collision.narrow.fields import mesh_entry
from shinari.collision.narrow.mesh_pool import ENTERED, NUMBERS, line_at, offer, relative, solid_at, write_point
from shinari.collision.narrow.rows import CORE_A, CORE_B, FEATURE, GAP, NORMAL, OF_A, WIDTH
from shinari.maths.function import steady
from shinari.maths.poses import to_local
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.shapes.mesh import MESH, MESH_SHEET

# Steps of a bisection.
STEPS = 24
# Part of its distance from the middle by which a corner is looked for beyond itself.
ROUNDING = 1e-9
# Part of the least extent up to which an edge counts that crosses the other shape.
MOST_CROSSED = 0.5
# Cosine of the angle between two normals above which they are one.
SAME = 0.98


@steady
def entered_point(x, y, k, middle, found, poses, shapes, fields, pool, n, swapped):
    """Offer a corner that has gone through a face of a mesh as deep as it lies below that face.

    A corner beyond a solid may have come from its side, past an edge: it counts where others tell too little.

    Args:
        x: The shape with the corner.
        y: The mesh.
        k: The corner.
        middle: A point inside x, in the axes of y.
        found: The corner, in the axes of y, its distance from the mesh, and the normal there.
        poses: Poses of the collision shapes.
        shapes: The shapes.
        fields: Fields of the meshes.
        pool: Receives the point.
        n: Points in it.
        swapped: Whether x is b.

    Returns:
        Whether the corner has gone through, and how many points the pool holds.
    """
    q, d, g = found
    along = sub(q, middle)
    # the nearest face is the one that it has entered, or too far away to be between
    if dot(g, along) < 0.0 or d * d >= dot(along, along):
        return False, n
    # a corner may lie on the middle of a sheet
    m = np.int64(shapes.size[y, 0])
    t, normal = mesh_entry(middle, add(q, scale(along, ROUNDING)), m, fields)
    if t < 0.0:
        return False, n
    radius = shapes.radius[x]
    gap = dot(normal, scale(along, 1.0 - t - ROUNDING * t)) - radius - max(fields.frames[m, 5], 0.0)
    feature = NUMBERS * k + ENTERED
    feature = feature if shapes.kind[y] == MESH_SHEET else -1 - feature
    return True, offer(pool, n, 0.0, q, normal, gap, radius, 0.0, feature, swapped, poses, y)


@steady
def enter_edge(pool, i, a, b, poses, features, shapes, fields):
    """Write an end of the edge of an outside point as deep as it lies below the face that the edge has entered.

    Args:
        pool: The points.
        i: The point.
        a: First shape of the pair.
        b: Second shape.
        poses: Poses of the shapes.
        features: Features of the meshes.
        shapes: The shapes.
        fields: Fields of the meshes.
    """
    number = -1 - np.int64(pool[i, FEATURE])
    x, y, core = (b, a, CORE_B) if number % 2 == 1 else (a, b, CORE_A)
    if shapes.kind[x] not in (MESH, MESH_SHEET):
        return
    pose_y = poses.pose[y]
    start, along = line_at(features.lines[number // 2 // NUMBERS], relative(poses.pose[x], pose_y))
    if norm(along) == 0.0:
        return
    radius = pool[i, core + 3]
    inside = to_local(pose_y, (pool[i, core], pool[i, core + 1], pool[i, core + 2]))
    least = -np.inf
    for end in range(2):
        base, tip = (start, add(start, along)) if end == 1 else (add(start, along), start)
        above, normal = solid_at(y, base, radius, shapes, fields)
        if above <= radius:
            continue
        low, high = base, inside
        for _ in range(STEPS):
            middle = scale(add(low, high), 0.5)
            d, g = solid_at(y, middle, radius, shapes, fields)
            low, high, above, normal = (middle, high, d, g) if d > radius else (low, middle, above, normal)
        depth = above - radius + dot(normal, sub(tip, low))
        if least < depth < 0.0:
            least = depth
            pool[i, FEATURE] = float(-1 - 2 * (number // 2 - number // 2 % NUMBERS + ENTERED) - number % 2)
            write_point(pool, i, tip, normal, depth, radius, shapes.radius[y], pose_y)


@steady
def drop_outside(pool, n, unseen, extent, a, b, poses, features, shapes, fields):
    """Drop the points outside of their cones; returns how many are left.

    Where the others tell less than half of the overlap, an edge that crosses the other shape counts. Where it is deeper
    than a part `unseen` of the least extent [m] as well, those stay that have gone through the face below which they
    are the least deep; if none has, the deepest one.
    """
    lowest = 0.0
    for i in range(n):
        lowest = min(lowest, pool[i, GAP] if pool[i, FEATURE] >= 0.0 else 0.0)
    if unseen < np.inf:
        crossed = count_crossing(pool, n, 2.0 * lowest, MOST_CROSSED * extent, a, b, poses, features, shapes)
        lowest = min(lowest, crossed)
    limit = min(2.0 * lowest, -unseen * extent)
    for i in range(n):
        if pool[i, FEATURE] < 0.0 and pool[i, GAP] < limit and not has_entered(pool[i, FEATURE]):
            enter_edge(pool, i, a, b, poses, features, shapes, fields)
    chosen = shallowest_entry(pool, n)
    entered = chosen >= 0
    if not entered:
        for i in range(n):
            if pool[i, FEATURE] < 0.0 and pool[i, GAP] < limit:
                chosen, limit = i, pool[i, GAP]
    left = 0
    for i in range(n):
        stays = pool[i, FEATURE] >= 0.0
        if not stays and chosen >= 0:
            stays = (has_entered(pool[i, FEATURE]) and same_normal(pool, i, chosen)) if entered else i == chosen
        if stays:
            for c in range(WIDTH):
                pool[left, c] = pool[i, c]
            pool[left, FEATURE] = max(pool[i, FEATURE], -1.0 - pool[i, FEATURE])
            left += 1
    return left


@steady
def has_entered(feature):
    """Whether a point outside of its cone has gone through a face."""
    return feature < 0.0 and (-1 - np.int64(feature)) // 2 % NUMBERS == ENTERED


@steady
def same_normal(pool, i, k):
    """Whether two points of the same shape have about the same normal."""
    cosine = 0.0
    for c in range(NORMAL, NORMAL + 3):
        cosine += pool[i, c] * pool[k, c]
    return cosine > SAME and pool[i, OF_A] == pool[k, OF_A]


@steady
def shallowest_entry(pool, n):
    """A point that has gone through the face below which the deepest is the least deep of all faces; -1: none has."""
    chosen, least = -1, -np.inf
    for i in range(n):
        if has_entered(pool[i, FEATURE]):
            depth = pool[i, GAP]
            for k in range(n):
                if has_entered(pool[k, FEATURE]) and same_normal(pool, i, k):
                    depth = min(depth, pool[k, GAP])
            if depth > least:
                chosen, least = i, depth
    return chosen
