"""Time of impact of a triangle, segment or point with a solid.

Additive conservative advancement as in `shinari.systems.surface_contact.crossing` (Li, Kaufman and Jiang 2021,
algorithm 1): relative to the origin of the frame of the solid the corners go straight from where they begin to where
they end, while the solid turns. No point of the triangle goes farther than the corner that goes farthest, and no point
of the solid than the rotation times its distance from the origin.

The least distance is bounded from below by bisecting the triangle: a solid is no nearer to a part of it than its
distance from the centroid less the extent of the part; a convex solid lies behind the plane that touches it where it is
nearest to the centroid. For the time during which a part keeps its distance that plane counts too: only what its
corners move towards the plane brings them nearer, so that what slides along a solid goes all its path in one step.
"""

import numpy as np

from shinari.compute import scratch
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector_back, to_local
from shinari.maths.quaternion import exponential, rotate_back
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.shapes.registry import LAST_CONVEX
from shinari.systems.colliders.elements import blend, longest_path

# A path is safe when it keeps this part of the radius all along, or nearly its distance where that is less already.
KEPT, NEARLY = np.float32(0.2), np.float32(0.9)
# A distance is known when its bounds differ by less than this part; so many parts of a triangle are looked at.
CLOSE, MOST, DEPTH = np.float32(0.15), 2000, 40
# Parts of the distance: the path ends when the rest is less than the first; a step takes the second.
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
STEPS = 80
# Nearer than this part of the radius an object counts as inside already: it has no side.
TANGLED = np.float32(1e-4)
HALF = np.float32(0.5)


@steady
def least_distance(distance_and_normal, kind, s, fields, points, enough, allowed, too_near):
    """A lower bound of the distance of a triangle from a solid, and the weights of about the nearest point.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the solid.
        s: Its numbers.
        fields: Distance fields of meshes.
        points: Corners of the triangle in the axes of the solid [m].
        enough: Distance [m] above which it does not matter.
        allowed: How deep it may enter [m]: the distance is that from the solid less so much.
        too_near: Distance [m] at which the search ends, since no less matters: 0, where the triangle enters the solid,
            or more.

    Returns:
        The bound [m], at most `CLOSE` less than the distance, where that is above `too_near`; else `too_near` at most.
    """
    zero = enough - enough
    still = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    motion = still, zero, zero, zero, zero + np.float32(1e38)
    bound, nearest, _ = search(distance_and_normal, kind, s, fields, points, enough, allowed, too_near, motion)
    return bound, nearest


@steady
def search(distance_and_normal, kind, s, fields, points, enough, allowed, too_near, motion):
    """What `least_distance` finds, with the same arguments, and the part of a substep in which a distance is kept.

    The motion is what the corners move in a whole substep, in the axes of the solid [m]; how far a point of the solid
    is moved at most, and how far any point relative to the solid [m]; the distance to be kept [m]; and the part of the
    substep that is left: parts of the triangle that can go so far are looked at no further.
    """
    a, b, c = points
    moves, spin, fastest, least, left = motion
    zero = a[0] - a[0]
    one = zero + ONE
    third = one / (one + one + one)
    stack = scratch((DEPTH, 9), zero)
    for k in range(9):
        stack[0, k] = one if k % 4 == 0 else zero
    depth, looks = 1, 0
    best, low, nearest = zero + np.float32(1e30), zero + np.float32(1e30), (third, third, third)
    # a rounding of the moves is no reason to go on for ever
    slowest = np.float32(1e-5) * fastest + np.float32(1e-30)
    advance = zero + np.float32(1e30)
    while depth > 0 and best > too_near:
        depth -= 1
        u = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        v = stack[depth, 3], stack[depth, 4], stack[depth, 5]
        w = stack[depth, 6], stack[depth, 7], stack[depth, 8]
        p, q, r = blend(u, a, b, c), blend(v, a, b, c), blend(w, a, b, c)
        x = scale(add(p, add(q, r)), third)
        value, n = distance_and_normal(kind, x, s, fields)
        value = value + allowed
        looks += 1
        if value < best:
            best, nearest = value, scale(add(u, add(v, w)), third)
        bound = value - max(norm(sub(p, x)), max(norm(sub(q, x)), norm(sub(r, x))))
        goes = (bound - least) / (fastest + slowest)
        if kind <= LAST_CONVEX:
            over = value + dot(n, sub(p, x)), value + dot(n, sub(q, x)), value + dot(n, sub(r, x))
            plane = min(over[0], min(over[1], over[2]))
            bound = max(bound, plane)
            if plane > least:
                closing = spin - dot(n, moves[0]), spin - dot(n, moves[1]), spin - dot(n, moves[2])
                first = (over[0] - least) / (max(dot(u, closing), zero) + slowest)
                second = (over[1] - least) / (max(dot(v, closing), zero) + slowest)
                third_goes = (over[2] - least) / (max(dot(w, closing), zero) + slowest)
                goes = max(goes, min(first, min(second, third_goes)))
        if goes >= left:
            continue
        if bound >= enough or bound >= (ONE - CLOSE) * best or looks >= MOST or depth + 2 > DEPTH:
            # where the search ends early the nearest point found has to do
            early = looks >= MOST
            bound = max(bound, HALF * best) if early else bound
            goes = max(goes, (bound - least) / (fastest + slowest)) if early else goes
            low, advance = min(low, bound), min(advance, goes)
            continue
        pq, qr, rp = norm(sub(p, q)), norm(sub(q, r)), norm(sub(r, p))
        if qr > pq and qr >= rp:
            u, v, w = v, w, u
        elif rp > pq and rp > qr:
            u, v, w = w, u, v
        middle = scale(add(u, v), HALF)
        for k in range(2):
            first, second = (u, middle) if k == 0 else (middle, v)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = first
            stack[depth, 3], stack[depth, 4], stack[depth, 5] = second
            stack[depth, 6], stack[depth, 7], stack[depth, 8] = w
            depth += 1
    # what was not looked at may be nearer
    return min(low, best), nearest, zero if depth > 0 else advance


@steady
def along(begins, ends, turn, pose, time):
    """Corners in the axes of the solid at a time on their paths.

    Args:
        begins: Where they begin in the axes of the frame at the start, relative to its origin [m].
        ends: Where they end, relative to the origin at the end, in the same axes [m].
        turn: Rotation vector of the frame in these axes [rad].
        pose: Pose of the solid in the frame.
        time: Part of the substep.
    """
    rest = ONE - time
    q = exponential(scale(turn, time))
    return (
        to_local(pose, rotate_back(q, add(scale(begins[0], rest), scale(ends[0], time)))),
        to_local(pose, rotate_back(q, add(scale(begins[1], rest), scale(ends[1], time)))),
        to_local(pose, rotate_back(q, add(scale(begins[2], rest), scale(ends[2], time)))),
    )


@steady
def moves_along(begins, ends, turn, pose, time):
    """What the corners move in a whole substep, in the axes that the solid has at a time; arguments of `along`."""
    q = exponential(scale(turn, time))
    return (
        rotate_vector_back(pose, rotate_back(q, sub(ends[0], begins[0]))),
        rotate_vector_back(pose, rotate_back(q, sub(ends[1], begins[1]))),
        rotate_vector_back(pose, rotate_back(q, sub(ends[2], begins[2]))),
    )


@steady
def impact_time(distance_and_normal, solid, fields, paths, turn, pose, radius, allowed):
    """Time of impact of a triangle with a solid that is fixed to a frame, 1 when there is none.

    Args:
        distance_and_normal: The function of the shapes.
        solid: Kind of the solid, its numbers, and how far a point of it can be from the origin of the frame [m].
        fields: Distance fields of meshes.
        paths: `begins` and `ends`, see `along`.
        turn: Rotation vector, see `along`.
        pose: Pose of the solid in the frame.
        radius: Distance that the triangle is to keep [m].
        allowed: How deep it may enter on its path [m].

    Returns:
        The last time known to be safe, so that a path that ends there is; 1 for what begins inside.
    """
    begins, ends = paths
    kind, s, reach = solid
    spin = norm(turn) * reach
    fastest = longest_path(ends, begins) + spin
    zero = fastest - fastest
    # no point goes farther than half the path from where it is in the middle of it
    points = along(begins, ends, turn, pose, zero + HALF)
    kept = KEPT * (radius + allowed)
    enough = kept + HALF * fastest
    distance, _ = least_distance(distance_and_normal, kind, s, fields, points, enough, allowed, enough)
    if distance > enough:
        return zero + ONE
    # the plane of a convex solid is so good a bound that a longer step would end at the impact
    step = HALF if kind <= LAST_CONVEX else FARTHER
    time, safe, least, stop = zero, zero, kept, zero - ONE
    for _ in range(STEPS):
        points, left = along(begins, ends, turn, pose, time), (ONE - time) / FARTHER
        motion = moves_along(begins, ends, turn, pose, time), spin, fastest, least, left
        enough = least + left * fastest
        distance, _, advance = search(distance_and_normal, kind, s, fields, points, enough, allowed, zero, motion)
        if advance >= left:
            return zero + ONE
        if stop < ZERO:
            if distance <= TANGLED * radius:
                return zero + ONE
            nearly = NEARLY * distance < least
            least = min(least, NEARLY * distance)
            stop = NEARER * (distance - least)
            if nearly:
                # how far it can go depends on the distance that it keeps
                continue
        elif distance - least < stop:
            break
        safe = time
        time = time + step * advance
    return safe
