"""Contact points of pairs with a mesh: convex vertices and edges of one shape in the distance field of the other.

Both shapes take both roles. For a mesh (`features.py`), the points of vertices and edges with least distance are found.
On an edge that is where the slope of the distance changes its sign. Where the slope jumps, the edge crosses an edge of
the other shape, and the normal is the mean of both gradients, at right angles to the edge. Corners, and the core points
of round shapes, are evaluated in the field of the mesh, whose nearest triangle is exact.

A point counts only if the direction into the other shape lies in the normal cone of the vertex or edge.
Vertices and edges beyond a thin part of the other shape: `piercing.py`.
"""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.features import Features
from shinari.collision.narrow.fields import BodyFields
from shinari.collision.narrow.mesh_pool import NUMBERS, RIM_POINT, line_at, offer, relative, solid_at
from shinari.collision.narrow.piercing import SAME, STEPS, drop_outside, entered_point
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.rows import CORE_A, CORE_B, OF_A, Rows
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector_back, to_world
from shinari.maths.vec3 import add, dot, neg, norm, scale, sub
from shinari.shapes.kernels.dispatch import corner, is_extreme
from shinari.shapes.mesh import MESH, MESH_SHEET
from shinari.shapes.plane import PLANE

# Sine by which the direction into the other shape may lie outside of a cone.
OUTSIDE = 0.05
# Slope of the distance along an edge below which it is even.
EVEN = 0.02
# Samples on an edge against a mesh, at most.
MOST_SAMPLES = 31
# Displacement of the centre of a ball in the search for further contacts, in radii.
ASIDE = 0.3
# How far from the surface the foot of a ball on a plane may lie, in radii.
FOOT = 0.01
# Distance in extents of a shape below which two places of its rim are one.
SAME_PLACE = 0.05
# Times that a place of a rim is lowered, and by how much at most, about, in extents of the shape.
LOWERED, SAG = 2, 0.1


@steady
def in_cone(k, u, features):
    """Whether a direction, in the axes of the mesh, lies in the normal cone of feature k."""
    inside = True
    for i in range(features.cone_starts[k], features.cone_starts[k + 1]):
        inside &= u[0] * features.cones[i, 0] + u[1] * features.cones[i, 1] + u[2] * features.cones[i, 2] <= OUTSIDE
    return inside


@steady
def deepest_between(length, before, after):
    """Whether there is one normal; part of the edge, distance and normal where the distance is least.

    That is between two close places. On an edge that goes through a thin part their normals are opposite.
    """
    t0, d0, g0, s0 = before
    t1, d1, g1, s1 = after
    bend = s1 - s0
    t = min(max((d0 - d1 + length * (s1 * t1 - s0 * t0)) / (bend * length), t0), t1) if bend > EVEN else t1
    part = s1 / bend if bend > EVEN else 0.0
    g = add(scale(g0, part), scale(g1, 1.0 - part))
    size = norm(g)
    d = min(d0 + s0 * length * (t - t0), min(d0, d1)) if bend > EVEN else d1
    # inside, the distance past a crossed edge is larger than that to either face
    good = size > 0.2
    d = d / size if good and d < 0.0 else d
    return good, t, d, scale(g, 1.0 / size) if good else g1


@steady
def close_in(low, high, level, y, start, along, unit, reach, shapes, fields):
    """Two close places of an edge between which the slope of the distance passes a level, by bisection."""
    for _ in range(STEPS):
        middle = 0.5 * (low[0] + high[0])
        d, g = solid_at(y, add(start, scale(along, middle)), reach, shapes, fields)
        between = (middle, d, g, dot(g, unit))
        low, high = (between, high) if between[3] < level else (low, between)
    return low, high


@shared(fastmath=STEADY)
def line_points(
    k: int,
    x: int,
    y: int,
    limit: float,
    poses: Poses,
    features: Features,
    shapes: Shapes,
    fields: BodyFields,
    pool: Rows,
    n: int,
    swapped: bool,
) -> int:
    """Offer the places where vertex or edge k of a mesh is deepest in y; returns how many the pool holds.

    Along an edge the slope of the distance to a convex shape grows: the edge goes into it, is even with it, and comes
    out. The places are where it begins and ceases to be even, which may be one. Against a mesh, the same holds between
    samples.
    """
    kind = shapes.kind[y]
    rel = relative(poses.pose[x], poses.pose[y])
    radius, spacing = features.thickness[np.int64(shapes.size[x, 0])], spacing_of(y, shapes, features)
    start, along = line_at(features.lines[k], rel)
    length = norm(along)
    vertex = length == 0.0
    unit = scale(along, 1.0 / length) if not vertex else along
    samples = 1 if spacing == 0.0 else min(max(int(np.ceil(length / spacing)), 2), MOST_SAMPLES)
    radius_y = shapes.radius[y]
    last = (0.0, 0.0, unit, 0.0)
    i = 0 if vertex else -1
    end = i if vertex or kind == PLANE else samples
    while i <= end:
        # first the middle: most edges are too far away
        t = 0.5 if i < 0 else i / samples
        d, g = solid_at(y, add(start, scale(along, t)), limit + radius, shapes, fields)
        if i < 0 and d - 0.5 * length - radius >= limit:
            break
        now = (t, d, g, dot(g, unit))
        one, two, three, clear = vertex, False, False, True
        first, second, third = (0.0, d, g), (t, d, g), (t, d, g)
        if i > 0 and min(last[1], d) - length * (t - last[0]) < limit + radius:
            # where it begins to be even, where it ceases to be, and the deepest place between if it is curved there
            even, uneven, jump = last, now, False
            for stage in range(3):
                level = -EVEN if stage == 0 else (EVEN if stage == 1 else 0.0)
                low, high = (even, uneven) if stage == 2 else (last, now)
                if stage == 2 and (jump or high[3] - low[3] < EVEN):
                    break
                if not (low[3] < level and high[3] > level):
                    continue
                low, high = close_in(low, high, level, y, start, along, unit, limit + radius, shapes, fields)
                sharp = low[3] < -EVEN and high[3] > EVEN
                if sharp or stage == 2:
                    clear, at, gap, normal = deepest_between(length, low, high)
                    third, jump, three = (at, gap, normal), True, True
                elif stage == 0:
                    one, first, even = True, (high[0], high[1], high[2]), high
                else:
                    two, second, uneven = True, (low[0], low[1], low[2]), low
                if sharp:
                    break
        for which in range(3):
            at, gap, normal = first if which == 0 else (second if which == 1 else third)
            there = one if which == 0 else (two if which == 1 else three)
            # between opposite faces of a thin part the nearest one tells nothing
            out = there and not ((which < 2 or clear) and in_cone(k, rotate_vector_back(rel, neg(normal)), features))
            if there and gap - radius < (min(limit, 0.0) if out else limit):
                p = add(start, scale(along, at))
                number = NUMBERS * k + 3 * max(i, 0) + which
                number = -1 - number if out else number
                n = offer(pool, n, limit, p, normal, gap - radius, radius, radius_y, number, swapped, poses, y)
        last, i = now, i + 1
    return n


@steady
def spacing_of(y, shapes, features):
    """Length over which collision shape y is not even [m]; 0 for one that is no mesh."""
    rough = shapes.kind[y] in (MESH, MESH_SHEET)
    return features.spacing[np.int64(shapes.size[y, 0])] if rough else 0.0


@steady
def feature_points(x, y, limit, poses, collision_shapes, features, shapes, fields, pool, n, swapped):
    """Offer the points of the vertices and edges of mesh x against y; returns how many the pool holds."""
    m = np.int64(shapes.size[x, 0])
    radius = features.thickness[m]
    rough = shapes.kind[y] in (MESH, MESH_SHEET)
    rel = relative(poses.pose[x], poses.pose[y])
    reach = limit + radius
    ended = collision_shapes.size[y] < np.inf
    low, high = collision_shapes.low[y], collision_shapes.high[y]
    node, end = features.node_starts[m], features.node_starts[m + 1]
    while node < end:
        link, box = features.links[node], features.boxes[node]
        following = link[0]
        middle = 0.5 * (box[0] + box[3]), 0.5 * (box[1] + box[4]), 0.5 * (box[2] + box[5])
        half = box[3] - middle[0], box[4] - middle[1], box[5] - middle[2]
        q = to_world(rel, middle)
        near = True
        if ended:
            wide = abs(rel[0]) * half[0] + abs(rel[1]) * half[1] + abs(rel[2]) * half[2] + reach
            near &= q[0] - wide <= high[0] and q[0] + wide >= low[0]
            wide = abs(rel[3]) * half[0] + abs(rel[4]) * half[1] + abs(rel[5]) * half[2] + reach
            near &= q[1] - wide <= high[1] and q[1] + wide >= low[1]
            wide = abs(rel[6]) * half[0] + abs(rel[7]) * half[1] + abs(rel[8]) * half[2] + reach
            near &= q[2] - wide <= high[2] and q[2] + wide >= low[2]
        far = norm(half)
        # looking a large box up in a field decides little
        if near and (not rough or far < 0.25 * collision_shapes.size[y]):
            near = solid_at(y, q, reach, shapes, fields)[0] <= far + reach
        if near:
            following = node + 1
            for k in range(link[1], link[2]):
                n = line_points(k, x, y, limit, poses, features, shapes, fields, pool, n, swapped)
        node = following
    return n


@steady
def corner_points(x, y, limit, poses, collision_shapes, features, shapes, fields, pool, n, swapped):
    """Offer the corners and round places of x, which is no mesh, against mesh y; returns how many the pool holds."""
    rel = relative(poses.pose[x], poses.pose[y])
    radius, extent = shapes.radius[x], shapes.extent[x]
    # the field is evaluated at the centre of a ball, and beside it
    reach = limit + (1.0 + 2.0 * ASIDE) * radius
    sheet = shapes.kind[y] == MESH_SHEET
    middle = to_world(rel, scale(add(collision_shapes.low[x], collision_shapes.high[x]), 0.5))
    rim = -1
    for k in range(shapes.corners[x]):
        pushed, plane, normal = (0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0)
        on_rim, c = corner(x, k, pushed, shapes)
        rim = k if on_rim else rim
        q = to_world(rel, c)
        at = q
        look = -1 if on_rim else 0
        while look < (5 if radius > 0.0 else 1):
            d, g = solid_at(y, at, reach, shapes, fields)
            if look < 0:
                # the lowest place of a rim is known once it is known where down is, and no farther than its other side
                if d >= limit + 2.0 * extent:
                    break
                _, c = corner(x, k, rotate_vector_back(rel, neg(g)), shapes)
                q = to_world(rel, c)
                at = q
            elif look % 2 == 1:
                # from where a ball has left one face another is the nearest: its plane may touch the ball as well
                normal, plane = g, d - dot(g, sub(at, q))
                if plane - radius >= limit or dot(pushed, g) > SAME * norm(pushed):
                    break
                at = sub(q, scale(g, plane))
            else:
                if look == 0:
                    normal, plane = g, d
                    entered, n = entered_point(x, y, k, middle, (q, d, g), poses, shapes, fields, pool, n, swapped)
                    if entered:
                        break
                # ... if the foot on that plane lies on the face
                if plane - radius >= limit or (look > 0 and abs(d) > FOOT * radius):
                    break
                out = not is_extreme(x, k, rotate_vector_back(rel, neg(normal)), shapes)
                number = NUMBERS * k + look
                number, most = (-1 - number, min(limit, 0.0)) if out else (number, limit)
                n = offer(pool, n, most, q, normal, plane - radius, radius, 0.0, number, swapped, poses, y)
                pushed = add(pushed, normal)
                at = add(q, scale(pushed, ASIDE * radius))
            look += 1
        if rim >= 0 and k > rim and radius == 0.0 and not sheet:
            n = rim_point(x, y, (rim, k), rel, q, limit, poses, shapes, fields, pool, n, swapped)
    return n


@steady
def rim_point(x, y, places, rel, q, limit, poses, shapes, fields, pool, n, swapped):
    """Offer the lowest place of a rim over the face of mesh y that is nearest to one of its places.

    A rim may dip into a face between its places, and into two faces at once.

    Args:
        x: The shape with the rim.
        y: The mesh.
        places: First place of the rim, and this one.
        rel: Pose of x in the axes of y.
        q: The place, in the axes of y.
        limit: Gap [m] from which on a point does not count.
        poses: Poses of the collision shapes.
        shapes: The shapes.
        fields: Fields of the meshes.
        pool: Receives the point.
        n: Points in it.
        swapped: Whether x is b.
    """
    rim, k = places
    extent = shapes.extent[x]
    d, g = solid_at(y, q, limit + extent, shapes, fields)
    turn = 0
    while turn < LOWERED and d < limit + SAG * extent:
        _, c = corner(x, rim, rotate_vector_back(rel, neg(g)), shapes)
        q = to_world(rel, c)
        d, g = solid_at(y, q, limit + extent, shapes, fields)
        turn += 1
    counts = d < limit and is_extreme(x, rim, rotate_vector_back(rel, neg(g)), shapes)
    if counts and is_new(q, SAME_PLACE * extent, pool, n, poses, y):
        n = offer(pool, n, limit, q, g, d, 0.0, 0.0, NUMBERS * k + RIM_POINT, swapped, poses, y)
    return n


@steady
def is_new(p, near, pool, n, poses, y):
    """Whether no contact point in the pool is near to a point in the axes of y."""
    at = to_world(poses.pose[y], p)
    new = True
    for i in range(n):
        side = CORE_B if pool[i, OF_A] != 0.0 else CORE_A
        apart = sub(at, (pool[i, side], pool[i, side + 1], pool[i, side + 2]))
        new &= dot(apart, apart) > near * near
    return new


@steady
def mesh_points(a, b, limit, unseen, poses, collision_shapes, features, shapes, fields, pool):
    """Fill the pool with the points of two shapes of which one is a mesh, up to a gap; returns their number.

    `unseen` is the part of the least extent from which on an overlap counts that only points outside of their cones
    tell.
    """
    n = 0
    for k in range(2):
        swapped = k == 1
        x, y = (b, a) if swapped else (a, b)
        if shapes.kind[x] in (MESH, MESH_SHEET):
            n = feature_points(x, y, limit, poses, collision_shapes, features, shapes, fields, pool, n, swapped)
        elif shapes.kind[y] in (MESH, MESH_SHEET):
            n = corner_points(x, y, limit, poses, collision_shapes, features, shapes, fields, pool, n, swapped)
    extent = min(least_extent(a, collision_shapes), least_extent(b, collision_shapes))
    return drop_outside(pool, n, unseen, extent, a, b, poses, features, shapes, fields)


@steady
def least_extent(g, collision_shapes):
    """Least extent of the box around a collision shape [m]."""
    low, high = collision_shapes.low[g], collision_shapes.high[g]
    return min(high[0] - low[0], high[1] - low[1], high[2] - low[2])
