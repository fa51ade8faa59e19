"""The frame in which particles keep to their boxes: it moves and deforms as they do in the mean.

A particle at x is at y = F^-1 (x - c) in the frame: c is the mean place, and F = 1 + t A with the velocity gradient A
of the particles at the last detection of all pairs, from least squares, a time t ago. What falls, turns, or is drawn
over something stays about where it is. Any A is right: a pair whose boxes are apart by d in the frame is apart by
d / |F^-1| at least. Pairs are kept for STRETCH times the distance that they keep, and found anew when |F^-1| is larger.

Within a substep F^-1 goes linearly from one value to the next, so that a path is a parabola in the frame; it leaves its
chord by at most a quarter of the product of both changes.
"""

import numpy as np

from shinari.compute import convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.mat3 import cofactors, determinant
from shinari.maths.poses import rotate_vector
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.model.particles import Clock
from shinari.systems.surface_contact.records import DetectionState, GradientSums, Members, Paths

# Particles in a block of sums.
CHUNK = 128
# How much longer a vector may be in the frame than outside of it.
STRETCH = np.float32(1.06)
# A frame that would stretch too much within so many substeps is not deformed at all.
LASTS = 3.0
# Part of the mean square of the places that is added to them along all axes: a flat sheet has none along its normal.
SPREAD = 1e-3
# A detection looks ahead as far as the particles typically move this many edges in the frame.
AHEAD = 0.25
QUARTER = np.float32(0.25)


@steady
def into_frame(inverse, mean, x):
    """A place in the frame, given F^-1 by rows."""
    return rotate_vector(inverse, sub(x, mean))


@steady
def velocity_in_frame(detection, v, y):
    """Velocity in the frame of a particle at y there."""
    return rotate_vector(
        detection.after[0], sub(sub(v, detection.velocity[0]), rotate_vector(detection.gradient[0], y))
    )


@steady
def joined_rows(a, b, c):
    """Three rows as nine numbers."""
    return a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]


@steady
def inverse_of(gradient, time):
    """Inverse of 1 + t A by rows, in float64."""
    columns = (
        (1.0 + time * gradient[0], time * gradient[3], time * gradient[6]),
        (time * gradient[1], 1.0 + time * gradient[4], time * gradient[7]),
        (time * gradient[2], time * gradient[5], 1.0 + time * gradient[8]),
    )
    over = 1.0 / determinant(columns)
    a, b, c = cofactors(columns)
    return joined_rows(scale(a, over), scale(b, over), scale(c, over))


@steady
def is_too_long(inverse):
    """Whether a vector may be longer by more than STRETCH after a matrix is applied to it."""
    a, b, c = (
        (inverse[0], inverse[3], inverse[6]),
        (inverse[1], inverse[4], inverse[7]),
        (inverse[2], inverse[5], inverse[8]),
    )
    xx, yy, zz = dot(a, a) - 1.0, dot(b, b) - 1.0, dot(c, c) - 1.0
    xy, yz, zx = dot(a, b), dot(b, c), dot(c, a)
    squares = xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx)
    # a singular matrix is too long: not a number is not below
    return not squares <= (np.float64(STRETCH) * np.float64(STRETCH) - 1.0) ** 2


@steady
def to_double(a):
    """Nine numbers in float64."""
    return (
        np.float64(a[0]), np.float64(a[1]), np.float64(a[2]), np.float64(a[3]), np.float64(a[4]), np.float64(a[5]),
        np.float64(a[6]), np.float64(a[7]), np.float64(a[8]),
    )  # fmt: skip


@steady
def to_real(a, like):
    """Nine numbers of float64 as those of another type."""
    return (
        convert(a[0], like), convert(a[1], like), convert(a[2], like), convert(a[3], like), convert(a[4], like),
        convert(a[5], like), convert(a[6], like), convert(a[7], like), convert(a[8], like),
    )  # fmt: skip


@steady
def set_frame(detection, h):
    """Set F^-1 at both ends of the substep; whether the frame is too far stretched at its end."""
    gradient, begin = to_double(detection.gradient[0]), np.float64(h) * np.float64(detection.elapsed[0])
    before, after = inverse_of(gradient, begin), inverse_of(gradient, begin + np.float64(h))
    detection.before[0], detection.after[0] = to_real(before, h), to_real(after, h)
    changes = 0.0
    for k in range(9):
        change = np.float64(detection.after[0, k]) - np.float64(detection.before[0, k])
        changes += change * change
    detection.bow[0] = QUARTER * convert(np.sqrt(changes), h)
    return is_too_long(after)


@steady
def bow_of(i, paths, detection):
    """How far the path of a particle to its goal leaves its chord in the frame."""
    return detection.bow[0] * norm(sub(sub(paths.goal[i], paths.place[i]), detection.displacement[0]))


@steady
def leaves_box(i, paths, detection):
    """Whether the path of a particle may leave its box in the substep."""
    at, low, high = into_frame(detection.after[0], detection.goal[0], paths.goal[i]), paths.low[i], paths.high[i]
    bow = bow_of(i, paths, detection)
    out = at[0] - bow < low[0] or at[1] - bow < low[1] or at[2] - bow < low[2]
    return out or at[0] + bow > high[0] or at[1] + bow > high[1] or at[2] + bow > high[2]


@kernel(fastmath=STEADY)
def sum_gradient(b, members: Members, detection: DetectionState, paths: Paths, sums: GradientSums):
    """Sums over a block of particles: products of places and velocities, both less their means."""
    x, y, z = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    u, v, w, squares = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for m in range(b * CHUNK, min((b + 1) * CHUNK, detection.members[0])):
        i = members.particle[m]
        place, velocity = sub(paths.place[i], detection.centre[0]), sub(paths.velocity[i], detection.velocity[0])
        r = np.float64(place[0]), np.float64(place[1]), np.float64(place[2])
        s = np.float64(velocity[0]), np.float64(velocity[1]), np.float64(velocity[2])
        x, y, z = add(x, scale(r, r[0])), add(y, scale(r, r[1])), add(z, scale(r, r[2]))
        u, v, w = add(u, scale(r, s[0])), add(v, scale(r, s[1])), add(w, scale(r, s[2]))
        squares += dot(s, s)
    sums.places[b], sums.velocities[b], sums.squares[b] = joined_rows(x, y, z), joined_rows(u, v, w), squares


@kernel(fastmath=STEADY)
def begin_frame(
    _, sums: GradientSums, detection: DetectionState, clock: Clock, edge_length: real, h: real, slow: np.float64,
    each_substep: bool
):  # fmt: skip
    """All pairs are found: begin the frame anew, and find how far boxes reach.

    The scene is calm where the root mean square of the velocities, less their mean, is below `slow` [m/s].
    """
    x, y, z = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    u, v, w, squares = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for b in range(len(sums)):
        p, q = sums.places[b], sums.velocities[b]
        x, y, z = add(x, (p[0], p[1], p[2])), add(y, (p[3], p[4], p[5])), add(z, (p[6], p[7], p[8]))
        u, v, w = add(u, (q[0], q[1], q[2])), add(v, (q[3], q[4], q[5])), add(w, (q[6], q[7], q[8]))
        squares += sums.squares[b]
    clock.calm[0] = np.sqrt(squares / max(detection.members[0], 1)) < slow
    more = SPREAD * (x[0] + y[1] + z[2])
    columns = (x[0] + more, x[1], x[2]), (y[0], y[1] + more, y[2]), (z[0], z[1], z[2] + more)
    whole = determinant(columns)
    a, b, c = cofactors(columns)
    over = 1.0 / whole if whole > 0.0 else 0.0
    gradient = joined_rows(
        scale(add(add(scale(a, u[0]), scale(b, u[1])), scale(c, u[2])), over),
        scale(add(add(scale(a, v[0]), scale(b, v[1])), scale(c, v[2])), over),
        scale(add(add(scale(a, w[0]), scale(b, w[1])), scale(c, w[2])), over),
    )
    longest = min(LASTS, np.float64(detection.left[0])) * np.float64(h)
    none = is_too_long(inverse_of(gradient, longest))
    for k in range(9):
        detection.gradient[0, k] = convert(0.0 if none else gradient[k], h)
    detection.elapsed[0] = 0
    set_frame(detection, h)
    # squares of the velocities in the frame
    g = to_double(detection.gradient[0])
    e, f, d = (g[0], g[1], g[2]), (g[3], g[4], g[5]), (g[6], g[7], g[8])
    squares -= 2.0 * (dot(e, u) + dot(f, v) + dot(d, w))
    squares += dot(e, rotate_vector(joined_rows(x, y, z), e)) + dot(f, rotate_vector(joined_rows(x, y, z), f))
    squares += dot(d, rotate_vector(joined_rows(x, y, z), d))
    typical = 2.0 * np.sqrt(max(squares / max(detection.members[0], 1), 0.0)) * h
    ahead = np.float64(detection.left[0])
    if typical > 0.0:
        ahead = min(ahead, AHEAD * edge_length / typical)
    detection.horizon[0] = convert(0.0 if each_substep else ahead, h) * h
    detection.ahead[0] = detection.horizon[0]
    detection.found[0] = 1
    detection.detections[0] += 1


@kernel
def begin_substep(_, detection: DetectionState, each_substep: bool):
    """The frame goes on; with a detection in each substep all pairs are found anew."""
    detection.elapsed[0] += 1
    if each_substep:
        detection.found[0] = 0
