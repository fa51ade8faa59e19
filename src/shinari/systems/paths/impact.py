"""Time of impact of a triangle, segment or point with a solid.

Additive conservative advancement as in `shinari.systems.surface_contact.crossing` (Li, Kaufman and Jiang 2021,
algorithm 1): relative to the origin of the frame of the solid the corners go straight from where they begin to where
they end, while the solid turns. No point of the triangle goes farther than the corner that goes farthest, and no point
of the solid than the rotation times its distance from the origin.

The least distance is bounded from below. A convex solid lies behind each plane that touches it: a few planes tell. From
a mesh it is that of the nearest triangles. Another solid is no nearer to a part of the triangle than its distance from
the centroid less the extent of the part, which is bisected.
"""

import numpy as np

from shinari.compute import real, scratch, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import to_local
from shinari.maths.quaternion import exponential, rotate_back
from shinari.maths.vec3 import ONE, add, norm, scale, sub
from shinari.shapes.kernels.all_distances import Corners, Four, Vector, distances, is_mesh, triangle_distances
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.systems.colliders.cutting_planes import FAR, PLANES, keep_plane, lowest_of_planes
from shinari.systems.colliders.element_points import (
    blend,
    longest_path,
)
from shinari.systems.colliders.elements import (
    tangent,
)

# A path is safe when it keeps this part of the radius all along, or nearly its distance where that is less already.
KEPT, NEARLY = np.float32(0.2), np.float32(0.9)
# A distance is known when its bounds differ by less than this part; so many parts of a triangle are looked at.
CLOSE, MOST, DEPTH = np.float32(0.15), 2000, 40
# Parts of the distance: the path ends when the rest is less than the first; a step takes the second.
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
STEPS = 80
# Nearer than this part of the radius an object counts as inside already: it has no side.
TANGLED = np.float32(1e-4)
# Of a distance less than this part of the radius nothing is lost: a tenth in each substep would leave nothing.
FLOOR = np.float32(0.02)
# Part of a coordinate by which rounding may change a distance.
ROUNDING = np.float32(2.5e-7)
# Looks at a convex solid, of which each gives a plane.
CUTS = 24
HALF = np.float32(0.5)


@steady
def is_known(low, best, enough, too_near):
    """Whether the bounds of a distance are near enough to each other, or no less matters."""
    return low >= enough or low >= (ONE - CLOSE) * best or best <= too_near


@steady
def cut_distance(distance_and_normal, solid, fields, points, enough, allowed, too_near):
    """Bounds of the distance of a triangle from a convex solid, as `least_distance`.

    The next look is where the planes found so far are lowest, see `shinari.systems.colliders.cutting_planes`.

    Returns:
        The lower bound [m], the upper one, and the weights of the nearest point found.
    """
    kind, s, convex = solid
    a, b, c = points
    zero = a[0] - a[0]
    third = (zero + ONE) / (ONE + ONE + ONE)
    planes, count, u = scratch((PLANES, 3), zero), 0, (third, third, third)
    low, best, nearest = zero - FAR, zero + FAR, u
    for _ in range(CUTS):
        x = blend(u, a, b, c)
        value, n = distance_and_normal(kind, x, s, fields)
        value = value + allowed
        if value < best:
            best, nearest = value, u
        if value > convex:
            # too far away for a plane: no point of the triangle is nearer than this
            low = max(low, value - max(norm(sub(a, x)), max(norm(sub(b, x)), norm(sub(c, x)))))
            break
        count = keep_plane(planes, count, tangent(value, n, x, a, b, c), u, zero)
        bound, u = lowest_of_planes(planes, count)
        low = max(low, bound)
        if is_known(low, best, enough, too_near) and not low < enough <= best:
            break
    return low, best, nearest


@steady
def surface_distance(distance_and_normal, triangle_distance, solid, fields, points, enough):
    """Distance of a triangle from a mesh, negative where it begins inside, and the weights of the nearest point.

    A mesh that is a sheet is solid within half its thickness. Above `enough` [m] it is told as that, inside or not.
    """
    kind, s, _ = solid
    mesh = np.int64(s[0])
    half = max(fields.frames[mesh, 5], enough - enough)
    distance, weights = triangle_distance(points, mesh, enough + half, fields)
    if distance < enough + half:
        value, _ = distance_and_normal(kind, blend(weights, points[0], points[1], points[2]), s, fields)
        if value < enough - enough:
            return value, weights
    return distance - half, weights


@steady
def least_distance(distance_and_normal, triangle_distance, solid, fields, points, enough, allowed, too_near):
    """A lower bound of the distance of a triangle from a solid, and the weights of about the nearest point.

    Args:
        distance_and_normal: The function of the shapes.
        triangle_distance: The function of the meshes.
        solid: Kind of the solid, its numbers, and the distance up to which all of it is behind each plane that touches
            it [m]: less than 0 where it is not convex.
        fields: Distance fields of meshes.
        points: Corners of the triangle in the axes of the solid [m].
        enough: Distance [m] above which it does not matter.
        allowed: How deep it may enter [m]: the distance is that from the solid less so much.
        too_near: Distance [m] at which the search ends, since no less matters: 0, where the triangle enters the solid,
            or more.

    Returns:
        The bound [m], at most `CLOSE` less than the distance, where that is above `too_near`; else `too_near` at most.
    """
    kind, s, convex = solid
    a, b, c = points
    zero = a[0] - a[0]
    one = zero + ONE
    third = one / (one + one + one)
    if convex >= zero:
        low, best, nearest = cut_distance(distance_and_normal, solid, fields, points, enough, allowed, too_near)
        if is_known(low, best, enough, too_near):
            return min(low, best), nearest
    if is_mesh(kind):
        return surface_distance(distance_and_normal, triangle_distance, solid, fields, points, enough)
    stack = scratch((DEPTH, 9), zero)
    for k in range(9):
        stack[0, k] = one if k % 4 == 0 else zero
    depth, looks = 1, 0
    best, low, nearest = zero + FAR, zero + FAR, (third, third, third)
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
        if value <= convex:
            heights = tangent(value, n, x, p, q, r)
            bound = max(bound, min(heights[0], min(heights[1], heights[2])))
        if bound >= enough or bound >= (ONE - CLOSE) * best or looks >= MOST or depth + 2 > DEPTH:
            # where the search ends early the nearest point found has to do
            bound = bound if looks < MOST else max(bound, HALF * best)
            low = min(low, bound)
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
    return min(low, best), nearest


@once
def least_distances(meshes: bool) -> Shared:
    """`least_distance` for scenes with or without meshes, compiled once."""
    distance_and_normal, triangle_distance = distances(meshes), triangle_distances(meshes)

    @shared(fastmath=STEADY)
    def least_distance_of(
        solid: tuple[int, Four, real], fields: MeshFields, points: Corners, enough: real, allowed: real, too_near: real
    ) -> tuple[real, Vector]:
        return least_distance(distance_and_normal, triangle_distance, solid, fields, points, enough, allowed, too_near)

    return least_distance_of


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
def end_distance(solid, distance, radius, points):
    """Distance that a path which begins near a solid has to keep at its end [m]: rounding is no loss.

    Args:
        solid: See `least_distance`.
        distance: Distance at the start [m].
        radius: Distance that the item is to keep [m].
        points: Its corners in the axes of the solid.
    """
    a, b, c = points
    rounding = TANGLED * radius + ROUNDING * max(norm(a), max(norm(b), norm(c)))
    last = max(min(distance, FLOOR * radius) - rounding, min(distance, TANGLED * radius))
    # bisection tells bounds only
    return last if solid[2] >= last - last or is_mesh(solid[0]) else (ONE - CLOSE) * last


@steady
def side_distance(solid, radius, keep, fields):
    """Distance [m] under which an item has no side of a solid: that from a mesh is rounding where it is small.

    Args:
        solid: See `least_distance`.
        radius: Distance that the item is to keep [m].
        keep: The same and how deep it may enter [m].
        fields: Distance fields of meshes.
    """
    kind, s, _ = solid
    tangled = TANGLED * radius
    if is_mesh(kind):
        tangled = max(tangled, min(fields.frames[np.int64(s[0]), 6], KEPT * keep))
    return tangled


@steady
def impact_time(least_distance_of, solid, reach, fields, paths, turn, pose, radius, allowed, known):
    """Time of impact of a triangle with a solid that is fixed to a frame, 1 when there is none.

    Args:
        least_distance_of: See `least_distances`.
        solid: See `least_distance`.
        reach: How far a point of the solid can be from the origin of the frame [m].
        fields: Distance fields of meshes.
        paths: `begins` and `ends`, see `along`.
        turn: Rotation vector, see `along`.
        pose: Pose of the solid in the frame.
        radius: Distance that the triangle is to keep [m].
        allowed: How deep it may enter on its path [m].
        known: The result for a path that begins outside and does not keep off; less than 0 where it is not known yet.

    Returns:
        The last time known to be safe, so that a path that ends there is; for what begins nearer than `FLOOR` that at
        which it is farthest. 1 for what begins inside.
    """
    begins, ends = paths
    fastest = longest_path(ends, begins) + norm(turn) * reach
    zero = fastest - fastest
    # no point goes farther than half the path from where it is in the middle of it
    points = along(begins, ends, turn, pose, zero + HALF)
    enough = KEPT * (radius + allowed) + HALF * fastest
    distance, _ = least_distance_of(solid, fields, points, enough, allowed, enough)
    if distance > enough:
        return zero + ONE
    points = along(begins, ends, turn, pose, zero)
    enough, keep = KEPT * (radius + allowed) + fastest / FARTHER, radius + allowed
    distance, _ = least_distance_of(solid, fields, points, enough, allowed, zero)
    least = min(KEPT * keep, NEARLY * distance)
    near = least < FLOOR * keep
    last = end_distance(solid, distance, keep, points) if near else least
    if distance <= side_distance(solid, radius, keep, fields) or distance - max(least, last) > fastest:
        return zero + ONE
    if known >= zero:
        return known
    stop, farthest = NEARER * (distance - least), distance
    time = safe = zero
    for _ in range(STEPS):
        # what is near stops where it is farthest
        safe = safe if near and distance < farthest else time
        farthest = max(farthest, distance)
        time = time + FARTHER * (distance - least) / fastest
        if time >= ONE and not near:
            return zero + ONE
        time = min(time, zero + ONE)
        points = along(begins, ends, turn, pose, time)
        rest = max(least + (ONE - time) * fastest / FARTHER, last)
        distance, _ = least_distance_of(solid, fields, points, rest, allowed, zero)
        if time >= ONE and distance >= last:
            return zero + ONE
        if time >= ONE or distance - least < stop:
            break
    return safe
