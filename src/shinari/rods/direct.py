"""All rows of a rod solved at once: one Newton step in linear time.

Deul, Kugelstadt, Weiler and Bender 2018, Direct Position-Based Solver for Stiff Rods. The rows of all segments and
joints of a rod satisfy their equations C + alpha~ lambda = 0 together, to first order, when

    (G W G^T + alpha~) d lambda = -C - alpha~ lambda,    d(x, q) = W G^T d lambda

Ordered as segment 0, joint 0, segment 1, joint 1, ... a block of three couples to the next two on each side, so that
L D L^T takes one pass. Frames of thin rods weigh next to nothing and their rows lose many digits in the factors: this
is computed in double precision, whatever that of the simulation.

A ring couples its last segment and joint to the first ones. The rest of it is factorised as that of an open rod; the
last two blocks follow from their Schur complement (a bordered band matrix).

Rods run on all threads, each rod on one.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotate, rotation_rows, turned
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.rods.blocks import (
    factorise,
    load,
    scaled_columns,
    store,
    store_diagonal,
    store_vector,
    substitute,
    times_transposed,
    vector,
)
from shinari.rods.strain import bend, cross_rows, joint, joint_rows, stretch

# What is solved is linear in the turns. Where frames turn far in one step [rad], more steps follow, up to so many: with
# one alone a rod that falls freely in steps of 1/60 s gained several times its energy.
FAR, MOST_STEPS = np.float32(0.2), 5
NO_ROWS = ((ZERO, ZERO, ZERO), (ZERO, ZERO, ZERO), (ZERO, ZERO, ZERO))


@numba.njit(parallel=True, cache=True, **STEADY)
def project(
    threads, first, bounds, closed, points, lengths, rest, softness, weights, rates, begun, x, frames, multipliers,
    scale_h, shapes, bands, columns
):  # fmt: skip
    """Solve every rod once.

    Args:
        threads: Threads.
        first: Whether the multipliers count as zero.
        bounds: First segment of each rod and the one after its last, (R, 2).
        closed: Which rods are rings, (R,).
        points: Particles of each segment, (S, 2).
        lengths: Lengths of the segments at rest [m], (S,).
        rest: Quaternion at rest between the frame of each segment and the next one, (S, 4).
        softness: Compliances of each segment [m/N] and of its joint to the next one [rad/(N m)], (S, 6).
        weights: Inverse inertia of each frame across and along its third axis [1/(kg m^2)], (S, 2).
        rates: Damping time of each segment over h, (S,).
        begun: C when the substep began, for the damping, (S, 6).
        x: Positions and inverse mass, (N, 4).
        frames: Frames, (S, 4).
        multipliers: Multipliers, (S, 6).
        scale_h: 1 / h^2.
        shapes: Scratch, (S, 7) float64.
        bands: Scratch, (2 S, 24) float64.
        columns: Scratch, (1, 2 S, 3) float64, or (7, 2 S, 3) where there are rings.
    """
    rods = len(bounds)
    for t in numba.prange(threads):
        for r in range(rods * t // threads, rods * (t + 1) // threads):
            solve_rod(
                bounds[r, 0], bounds[r, 1], closed[r], points, lengths, rest, softness, weights, rates, begun, x,
                frames, multipliers, scale_h, shapes, bands, columns, first,
            )  # fmt: skip


@steady
def solve_rod(
    begin, end, ring, points, lengths, rest, softness, weights, rates, begun, x, frames, multipliers, scale_h,
    shapes, bands, columns, first
):  # fmt: skip
    """Newton steps of the rod of segments begin to end: one, and more while they turn frames far."""
    changes = columns[0]
    start, stop = 2 * begin, 2 * end - 2 if ring else 2 * end
    count = 7 if ring else 1
    fresh = first
    for _ in range(MOST_STEPS):
        measure(begin, end, ring, points, lengths, rest, softness, rates, begun, x, frames, multipliers, scale_h,
                shapes, changes, fresh)  # fmt: skip
        assemble(begin, end, ring, points, softness, weights, rates, x, scale_h, shapes, bands)
        if ring:
            border_columns(begin, end, points, weights, x, shapes, bands, columns)
        border = columns[1:count, start:stop].copy()
        factorise(bands, start, stop)
        for a in range(count):
            substitute(bands, columns[a], start, stop)
        if ring:
            close_ring(start, stop, bands, columns, border)
        largest = apply(begin, end, ring, points, weights, x, frames, shapes, changes)
        for s in range(begin, end):
            for k in range(6):
                before = ZERO if fresh else multipliers[s, k]
                multipliers[s, k] = before + changes[2 * s + k // 3, k % 3]
        fresh = False
        if largest < FAR * FAR:
            break


@steady
def quaternion_at(q, s):
    """A quaternion of a table, in double precision and of length one to its digits."""
    w, a, b, c = np.float64(q[s, 0]), np.float64(q[s, 1]), np.float64(q[s, 2]), np.float64(q[s, 3])
    # one step of Newton's method: a length that is off by rounding
    n = np.float64(1.5) - np.float64(0.5) * (w * w + a * a + b * b + c * c)
    return n * w, n * a, n * b, n * c


@steady
def point_at(x, i):
    """A position in double precision."""
    return np.float64(x[i, 0]), np.float64(x[i, 1]), np.float64(x[i, 2])


@steady
def measure(
    begin, end, ring, points, lengths, rest, softness, rates, begun, x, frames, multipliers, scale_h, shapes, changes,
    first
):  # fmt: skip
    """Strains and the right hand side -(C + gamma (C - C_n)) / (1 + gamma) - alpha~ lambda, gamma the damping."""
    q0 = quaternion_at(frames, begin)
    for s in range(begin, end):
        after = s + 1 if s + 1 < end else begin
        jointed = s + 1 < end or ring
        q1 = quaternion_at(frames, after)
        c = stretch(point_at(x, points[s, 0]), point_at(x, points[s, 1]), q0)
        r = quaternion_at(rest, s)
        p = joint(q0, q1, r)
        on = np.float64(1.0) if jointed else np.float64(0.0)
        turn = scale(bend(p, r), on)
        shapes[s, 0], shapes[s, 1], shapes[s, 2] = c
        # without a joint p is zero, and with it all that its rows act on
        shapes[s, 3], shapes[s, 4], shapes[s, 5], shapes[s, 6] = on * p[0], on * p[1], on * p[2], on * p[3]
        gamma = np.float64(rates[s])
        for k in range(3):
            value = c[k] - lengths[s] if k == 2 else c[k]
            changes[2 * s, k] = -(value + gamma * (value - begun[s, k])) / (ONE + gamma)
            changes[2 * s + 1, k] = -on * (turn[k] + gamma * (turn[k] - begun[s, 3 + k])) / (ONE + gamma)
        if not first:
            share = scale_h / (ONE + gamma)
            for k in range(6):
                changes[2 * s + k // 3, k % 3] -= softness[s, k] * share * multipliers[s, k]
        q0 = q1


@steady
def assemble(begin, end, ring, points, softness, weights, rates, x, scale_h, shapes, bands):
    """The band matrix G W G^T + alpha~ / (1 + gamma), with the couplings that do not go around a ring."""
    for s in range(begin, end):
        inner = s + 1 < end
        after = s + 1 if inner else begin
        c0, c1 = vector(shapes, s), vector(shapes, after)
        w, v = shapes[s, 3], (shapes[s, 4], shapes[s, 5], shapes[s, 6])
        j0, j1 = weight_at(weights, s), weight_at(weights, after)
        share = scale_h / (ONE + rates[s])
        w0, w1 = np.float64(x[points[s, 0], 3]), np.float64(x[points[s, 1], 3])
        arm, left, right = cross_rows(c0), joint_rows(-w, v), joint_rows(w, v)
        arm_j, left_j, right_j = scaled_columns(arm, j0), scaled_columns(left, j0), scaled_columns(right, j1)
        soft = vector(softness, s)
        stiff = (softness[s, 3], softness[s, 4], softness[s, 5])
        store_diagonal(bands, 2 * s, plus_diagonal(times_transposed(arm_j, arm), w0 + w1, scale(soft, share)))
        both = sum_rows(times_transposed(left_j, left), times_transposed(right_j, right))
        store_diagonal(bands, 2 * s + 1, plus_diagonal(both, ZERO * w0, scale(stiff, share)))
        store(bands, 2 * s, 6, times_transposed(left_j, arm))
        if inner:
            turn = rotation_rows((w, -v[0], -v[1], -v[2]))
            store(bands, 2 * s, 15, (scale(turn[0], -w1), scale(turn[1], -w1), scale(turn[2], -w1)))
            arm1 = scaled_columns(cross_rows(c1), j1)
            store(bands, 2 * s + 1, 6, times_transposed(arm1, right))
            left1 = joint_rows(-shapes[after, 3], (shapes[after, 4], shapes[after, 5], shapes[after, 6]))
            store(bands, 2 * s + 1, 15, times_transposed(scaled_columns(left1, j1), right))
        else:
            store(bands, 2 * s, 15, NO_ROWS)
            store(bands, 2 * s + 1, 6, NO_ROWS)
            store(bands, 2 * s + 1, 15, NO_ROWS)


@steady
def weight_at(weights, s):
    """Inverse inertia of a frame about its axes."""
    a, b = np.float64(weights[s, 0]), np.float64(weights[s, 1])
    return a, a, b


@steady
def plus_diagonal(m, w, d):
    """M + w + diag(d)."""
    return (
        (m[0][0] + w + d[0], m[0][1], m[0][2]),
        (m[1][0], m[1][1] + w + d[1], m[1][2]),
        (m[2][0], m[2][1], m[2][2] + w + d[2]),
    )


@steady
def sum_rows(a, b):
    """A + B."""
    return add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2])


@steady
def close_ring(start, stop, bands, columns, border):
    """Solve for the last segment and joint of a ring, which border the band T of the others, and correct those.

    With P the couplings (K, 6) of the last two blocks to the band and B those two, the Schur complement is
    B - P^T T^-1 P; the columns hold T^-1 of the right hand side and of P.
    """
    schur, right = np.empty((6, 6)), np.empty(6)
    for a in range(6):
        right[a] = columns[0, stop + a // 3, a % 3]
        for b in range(6):
            row, column = max(a, b), min(a, b)
            if row // 3 == column // 3:
                low, high = column % 3, row % 3
                schur[a, b] = bands[stop + row // 3, low * 3 - low * (low + 1) // 2 + high]
            else:
                schur[a, b] = bands[stop, 6 + (row - 3) * 3 + column]
    for a in range(6):
        for k in range(stop - start):
            for j in range(3):
                right[a] -= border[a, k, j] * columns[0, start + k, j]
                for b in range(6):
                    schur[a, b] -= border[a, k, j] * columns[1 + b, start + k, j]
    eliminate(schur, right)
    for b in range(6):
        columns[0, stop + b // 3, b % 3] = right[b]
        for k in range(start, stop):
            for j in range(3):
                columns[0, k, j] -= columns[1 + b, k, j] * right[b]


@steady
def border_columns(begin, end, points, weights, x, shapes, bands, columns):
    """The couplings of the last segment and joint of a ring to all others, as columns of the band."""
    last = end - 1
    for a in range(6):
        for k in range(2 * begin, 2 * last):
            for j in range(3):
                columns[1 + a, k, j] = ZERO
    w, v = shapes[last, 3], (shapes[last, 4], shapes[last, 5], shapes[last, 6])
    j0 = weight_at(weights, begin)
    shared = np.float64(x[points[begin, 0], 3])
    turn = rotation_rows((w, v[0], v[1], v[2]))
    right_j = scaled_columns(joint_rows(w, v), j0)
    left0 = joint_rows(-shapes[begin, 3], (shapes[begin, 4], shapes[begin, 5], shapes[begin, 6]))
    put_rows(columns, 1, 2 * begin, (scale(turn[0], -shared), scale(turn[1], -shared), scale(turn[2], -shared)))
    put_rows(columns, 4, 2 * begin, times_transposed(right_j, cross_rows(vector(shapes, begin))))
    put_rows(columns, 4, 2 * begin + 1, times_transposed(right_j, left0))
    put_rows(columns, 1, 2 * last - 2, load(bands, 2 * last - 2, 15))
    put_rows(columns, 1, 2 * last - 1, load(bands, 2 * last - 1, 6))
    put_rows(columns, 4, 2 * last - 1, load(bands, 2 * last - 1, 15))


@steady
def put_rows(columns, a, k, m):
    """Write three rows of the border where they couple to block k."""
    store_vector(columns[a], k, m[0])
    store_vector(columns[a + 1], k, m[1])
    store_vector(columns[a + 2], k, m[2])


@steady
def eliminate(matrix, right):
    """Solve a small symmetric positive definite system in place, by Gauss."""
    n = len(right)
    for k in range(n):
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            right[i] -= factor * right[k]
            for j in range(k + 1, n):
                matrix[i, j] -= factor * matrix[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]


@steady
def apply(begin, end, ring, points, weights, x, frames, shapes, changes):
    """Move points and frames by W G^T d lambda, all gradients those at the start; return the largest turn squared."""
    largest = ZERO * changes[0, 0]
    last = end - 1
    # what the joint before the first segment exerts: in a ring, the last one
    pull = joint_pull(shapes, changes, last) if ring else scale(joint_pull(shapes, changes, last), ZERO)
    for s in range(begin, end):
        q = quaternion_at(frames, s)
        force = vector(changes, 2 * s)
        f = rotate(q, force)
        i, j = points[s, 0], points[s, 1]
        wi, wj = x[i, 3], x[j, 3]
        for k in range(3):
            x[i, k] -= wi * f[k]
            x[j, k] += wj * f[k]
        w, v = shapes[s, 3], (shapes[s, 4], shapes[s, 5], shapes[s, 6])
        moment = vector(changes, 2 * s + 1)
        push = sub(cross(moment, v), scale(moment, w))
        torque = add(add(cross(force, vector(shapes, s)), push), pull)
        pull = joint_pull(shapes, changes, s)
        a, b = weights[s, 0], weights[s, 1]
        if b > ZERO:
            turn = (a * torque[0], a * torque[1], b * torque[2])
            largest = max(largest, dot(turn, turn))
            frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3] = turned(q, turn)
    return largest


@steady
def joint_pull(shapes, changes, s):
    """What joint s exerts on the frame after it: (w + [v])^T d lambda."""
    v = (shapes[s, 4], shapes[s, 5], shapes[s, 6])
    moment = vector(changes, 2 * s + 1)
    return add(scale(moment, shapes[s, 3]), cross(moment, v))
