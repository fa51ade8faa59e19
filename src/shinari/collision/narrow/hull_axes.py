"""The direction along which two hulls are farthest apart, or overlap least.

The points a - b of two hulls form a polytope. Its faces are those of a and of b, and one for each edge of a and edge of
b whose arcs on the sphere of normals cross (Gregorius 2013, The separating axis test between convex polyhedra). Most
cannot be the best one: along a direction n the gap is at most that of any two points of the hulls. Tried are the ball
around the origin inside of a hull, whose radius is known, and the vertices that are lowest along the best normal of a
face.

An axis across two edges is taken only when it is better than all normals of faces by a small length, so that the choice
does not flicker between nearly equal axes.

All is computed in the axes of b.
"""

import numpy as np

from shinari.collision.narrow.faces import ROOM
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back
from shinari.maths.vec3 import add, cross, direction_and_length, dot, neg, norm, scale, sub
from shinari.shapes.kernels.hull_lanes import (
    LANES,
    faces_of_block,
    farthest_vertex,
    highest,
    highest_less,
    lowest_along,
)

PARALLEL = 1e-4
"""Sine under which two edges are parallel and have no axis of their own."""


@steady
def vector_of(table, i):
    """Three numbers of a row."""
    return table[i, 0], table[i, 1], table[i, 2]


@steady
def farthest_point(shapes, h, d):
    """The vertex of a hull that lies farthest along d."""
    return vector_of(shapes.vertices, farthest_vertex(shapes, h, d))


@steady
def rotation_between(pose_a, pose_b):
    """The rotation that takes axes of a to axes of b, by rows."""
    x = rotate_vector_back(pose_b, (pose_a[0], pose_a[3], pose_a[6]))
    y = rotate_vector_back(pose_b, (pose_a[1], pose_a[4], pose_a[7]))
    z = rotate_vector_back(pose_b, (pose_a[2], pose_a[5], pose_a[8]))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@steady
def best_face(shapes, one, other, at, turn, inner, known, enough, tolerance):
    """The face of a hull over which another hull is highest.

    Args:
        shapes: The shapes.
        one: Number of the hull.
        other: Number of the other.
        at: Origin of the other in the axes of the hull [m].
        turn: Rotation from axes of the hull to those of the other, by rows.
        inner: Radius of the ball inside of the other.
        known: A gap that the best direction has at least [m].
        enough: Gap above which the search ends [m].
        tolerance: A later face has to be better than an earlier one by this length [m].

    Returns:
        The face, -1 where none is better than what is known, and the gap over it [m].
    """
    best, most = -1, known - tolerance
    i, last = shapes.face_blocks[one], shapes.face_blocks[one + 1]
    while i < last and most <= enough:
        if highest(shapes, i, at) - inner > most:
            first, end = faces_of_block(shapes, one, i)
            for f in range(first, end):
                plane = shapes.planes[f]
                m = plane[0], plane[1], plane[2]
                height = dot(m, at) - plane[3]
                if height - inner > most:
                    gap = height + lowest_along(shapes, other, rotate_vector(turn, m))
                    if gap > most + (tolerance if best >= 0 else 0.0):
                        best, most = f, gap
        i += 1
    return best, most


@steady
def nearest_of_face(shapes, f, p):
    """The point of a face that is nearest to p; all in the axes of its hull."""
    n = vector_of(shapes.planes, f)
    q = sub(p, scale(n, dot(n, p) - shapes.planes[f, 3]))
    nearest, least = q, np.inf
    begin, end = shapes.loop_starts[f], shapes.loop_starts[f + 1]
    start = vector_of(shapes.vertices, shapes.loops[end - 1])
    for k in range(begin, end):
        stop = vector_of(shapes.vertices, shapes.loops[k])
        side, arm = sub(stop, start), sub(q, start)
        if dot(cross(side, n), arm) > 0.0:
            t = min(max(dot(side, arm) / dot(side, side), 0.0), 1.0)
            away = sub(arm, scale(side, t))
            square = dot(away, away)
            nearest, least = (sub(q, away), square) if square < least else (nearest, least)
        start = stop
    return nearest


@steady
def is_near(shapes, f, point, most):
    """Whether a point is higher over a face of a hull than a gap, so that directions beside its normal may have it.

    A unit vector between the normals of two faces is a sum of parts of both over a length of 1 down to the width of
    their edge; the gap along it is at most the height of the point.
    """
    plane = shapes.planes[f]
    height = plane[0] * point[0] + plane[1] * point[1] + plane[2] * point[2] - plane[3]
    return height > (most * shapes.face_widths[f] if most > 0.0 else most)


@steady
def is_block_near(shapes, i, point, most):
    """Whether a point is near to a face of a block; see `is_near`."""
    return highest_less(shapes, i, point, max(most, 0.0)) > min(most, 0.0)


@steady
def edge_to_try(shapes, f, k, point, most, at, inner):
    """The edge at a place of the loop of a face, or -1 where it has no better direction or another face has it.

    Args:
        shapes: The shapes.
        f: A face that the point is near to.
        k: Place in its loop.
        point: A point of the other hull [m].
        most: Gap that has to be exceeded [m].
        at: Origin of the other hull in the axes of this one [m].
        inner: Radius of the ball around it inside of the other.
    """
    e = shapes.loop_edges[k]
    if e < 0:
        return e
    first, second = shapes.edge_faces[e]
    if f != first and is_near(shapes, first, point, most):
        return -1
    ball = is_near(shapes, first, at, most + inner) or is_near(shapes, second, at, most + inner)
    return e if ball else -1


@steady
def put_edge(shapes, e, offset, turn, table, i):
    """Write an edge of a to row i, in the axes of b: direction, a point of it, normals of its faces."""
    start = vector_of(shapes.vertices, shapes.edge_vertices[e, 0])
    along = rotate_vector(turn, sub(vector_of(shapes.vertices, shapes.edge_vertices[e, 1]), start))
    point = add(offset, rotate_vector(turn, start))
    first = rotate_vector(turn, vector_of(shapes.planes, shapes.edge_faces[e, 0]))
    second = rotate_vector(turn, vector_of(shapes.planes, shapes.edge_faces[e, 1]))
    table[i, 0], table[i, 1], table[i, 2] = along[0], along[1], along[2]
    table[i, 3], table[i, 4], table[i, 5] = point[0], point[1], point[2]
    table[i, 6], table[i, 7], table[i, 8] = first[0], first[1], first[2]
    table[i, 9], table[i, 10], table[i, 11] = second[0], second[1], second[2]


@steady
def edges_of_a(shapes, h, first, point, most, at, inner, offset, turn, table):
    """Write the edges of a that may have a better direction to the table, in the axes of b.

    Args:
        shapes: The shapes.
        h: Number of the hull a.
        first: Face to start with.
        point: A point of b in the axes of a [m].
        most: Gap that has to be exceeded [m].
        at: Origin of b in the axes of a [m].
        inner: Radius of the ball around it inside of b.
        offset: Origin of a in the axes of b [m].
        turn: Rotation from axes of a to those of b, by rows.
        table: Rows for work.

    Returns:
        The number of edges, and the face with which to go on.
    """
    count = 0
    begin = shapes.face_blocks[h] + (first - shapes.face_starts[h]) // LANES
    for i in range(begin, shapes.face_blocks[h + 1]):
        if is_block_near(shapes, i, point, most):
            face, end = faces_of_block(shapes, h, i)
            for f in range(max(face, first), end):
                if is_near(shapes, f, point, most):
                    begin, stop = shapes.loop_starts[f], shapes.loop_starts[f + 1]
                    if count > 0 and count + stop - begin > ROOM:
                        return count, f
                    for k in range(begin, stop):
                        e = edge_to_try(shapes, f, k, point, most, at, inner)
                        if e >= 0 and count < ROOM:
                            put_edge(shapes, e, offset, turn, table, count)
                            count += 1
    return count, shapes.face_starts[h + 1]


@steady
def best_edges(shapes, e, count, most, best, table):
    """The best direction across edge e of b and one of the edges of a in the table.

    Args:
        shapes: The shapes.
        e: The edge of b.
        count: Edges in the table.
        most: Gap that has to be exceeded [m].
        best: The direction so far.
        table: See `put_edge`.

    Returns:
        The unit vector, in the axes of b, and the gap; those given where none is better.
    """
    m, n = vector_of(shapes.planes, shapes.edge_faces[e, 0]), vector_of(shapes.planes, shapes.edge_faces[e, 1])
    start = vector_of(shapes.vertices, shapes.edge_vertices[e, 0])
    w = sub(vector_of(shapes.vertices, shapes.edge_vertices[e, 1]), start)
    for i in range(count):
        u = table[i, 0], table[i, 1], table[i, 2]
        p, q = (table[i, 6], table[i, 7], table[i, 8]), (table[i, 9], table[i, 10], table[i, 11])
        mu, nu, pw, qw = dot(m, u), dot(n, u), dot(p, w), dot(q, w)
        if mu * nu < 0.0 and pw * qw < 0.0 and max(mu * mu, nu * nu) > PARALLEL * PARALLEL * dot(u, u):
            t = mu / (mu - nu)
            across = add(m, scale(sub(n, m), t))
            if dot(across, add(p, q)) < 0.0:
                d, _ = direction_and_length(across)
                gap = dot(d, sub((table[i, 3], table[i, 4], table[i, 5]), start))
                if gap > most:
                    best, most = d, gap
    return best, most


@steady
def across_edges(shapes, h, point, best, most, at, inner, table, count):
    """The best direction across an edge of b and an edge of a in the table, and the gap; see `edge_to_try`.

    Args:
        shapes: The shapes.
        h: Number of the hull b.
        point: A point of a in the axes of b [m].
        best: The direction so far.
        most: The gap along it, which has to be exceeded [m].
        at: Origin of a [m].
        inner: Radius of the ball around it inside of a.
        table: See `put_edge`.
        count: Edges in the table.
    """
    for i in range(shapes.face_blocks[h], shapes.face_blocks[h + 1] if count > 0 else 0):
        if is_block_near(shapes, i, point, most):
            first, end = faces_of_block(shapes, h, i)
            for f in range(first, end):
                if is_near(shapes, f, point, most):
                    for k in range(shapes.loop_starts[f], shapes.loop_starts[f + 1]):
                        e = edge_to_try(shapes, f, k, point, most, at, inner)
                        if e >= 0:
                            best, most = best_edges(shapes, e, count, most, best, table)
    return best, most


@steady
def hull_axis(shapes, poses, a, b, offset, enough, tolerance, table):
    """The best direction of two hulls.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First hull.
        b: Second hull.
        offset: Origin of a minus origin of b [m].
        enough: Gap above which the search ends [m].
        tolerance: Length by which an axis has to be better than one that is preferred to it [m].
        table: Rows for work, see `put_edge`.

    Returns:
        Unit vector from b to a, the gap along it [m], and whether it is a normal of a.
    """
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    one, other = shapes.hull[a], shapes.hull[b]
    inner_a, inner_b = shapes.size[a, 1], shapes.size[b, 1]
    to_b = rotation_between(pose_a, pose_b)
    at_a, at_b = rotate_vector_back(pose_b, offset), neg(rotate_vector_back(pose_a, offset))
    n, length = direction_and_length(at_a)
    n = n if length > 0.0 else (0.0, 1.0, 0.0)
    most = dot(n, at_a) + lowest_along(shapes, one, rotate_vector_back(to_b, n))
    most += lowest_along(shapes, other, neg(n))
    if most > enough:
        return rotate_vector(pose_b, n), most, False
    to_a = to_b[0], to_b[3], to_b[6], to_b[1], to_b[4], to_b[7], to_b[2], to_b[5], to_b[8]
    f, gap = best_face(shapes, other, one, at_a, to_a, inner_a, most, enough, tolerance)
    if f >= 0:
        n, most = vector_of(shapes.planes, f), gap
        if gap > enough:
            return rotate_vector(pose_b, n), gap, False
    # a point of each that lies lowest in the other, as near to each other as may be: no gap exceeds their distance
    point_a = add(at_a, rotate_vector(to_b, farthest_point(shapes, one, neg(rotate_vector_back(to_b, n)))))
    point_b = nearest_of_face(shapes, f, point_a) if f >= 0 else farthest_point(shapes, other, n)
    if f >= 0 and norm(sub(point_a, point_b)) <= gap + tolerance:
        return rotate_vector(pose_b, n), gap, False
    e, gap = best_face(
        shapes, one, other, at_b, to_b, inner_b, most + 2.0 * tolerance if f >= 0 else most, enough, tolerance
    )
    of_a = e >= 0 and (f < 0 or gap > most + tolerance)
    if of_a:
        n, most = neg(rotate_vector(to_b, vector_of(shapes.planes, e))), gap
        if gap > enough:
            return rotate_vector(pose_b, n), gap, True
        point_b = farthest_point(shapes, other, n)
        point_a = nearest_of_face(shapes, e, add(at_b, rotate_vector_back(to_b, point_b)))
        point_a = add(at_a, rotate_vector(to_b, point_a))
        if norm(sub(point_a, point_b)) <= gap + tolerance:
            return rotate_vector(pose_b, n), gap, True
    point_b = add(at_b, rotate_vector_back(to_b, point_b))
    face, end = shapes.face_starts[one], shapes.face_starts[one + 1]
    found, needed = n, most + tolerance
    while face < end:
        count, face = edges_of_a(shapes, one, face, point_b, needed, at_b, inner_b, at_a, to_b, table)
        found, needed = across_edges(shapes, other, point_a, found, needed, at_a, inner_a, table, count)
    if needed > most + tolerance:
        return rotate_vector(pose_b, found), needed, False
    return rotate_vector(pose_b, n), most, of_a
