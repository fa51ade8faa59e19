"""Rows of rods one after the other: Gauss-Seidel over segments and joints.

Kugelstadt and Schoemer 2016, algorithm 1: all rows of a segment, and all of a joint, are solved as one block of three.
Two neighbouring segments share a point and two neighbouring joints a frame, so every second one can be solved at the
same time. Frames of thin rods weigh next to nothing beside their points, and a sweep carries little along the rod:
this takes many iterations where the direct solver takes one.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotate, turned
from shinari.maths.vec3 import ONE, ZERO, add, cross, scale, sub
from shinari.rods.blocks import inverse, scaled_columns, times, times_transposed
from shinari.rods.direct import plus_diagonal, point_at, quaternion_at, sum_rows, weight_at
from shinari.rods.strain import bend, cross_rows, joint, joint_rows, stretch


@numba.njit(parallel=True, cache=True, **STEADY)
def sweep(
    threads, first, offsets, order, joints, after, points, lengths, rest, softness, weights, rates, begun, x, frames,
    multipliers, scale_h
):  # fmt: skip
    """Solve the segments, or the joints, of all rods once, colour after colour.

    Args:
        threads: Threads.
        first: Whether the multipliers count as zero.
        offsets: Where each colour starts in `order`, (colours + 1,).
        order: Segments, or segments whose joints are solved, (K,).
        joints: Whether joints are solved.
        after: Segment at the other side of each joint, (S,).
        points: Particles of each segment, (S, 2).
        lengths: Lengths at rest [m], (S,).
        rest: Quaternions at rest, (S, 4).
        softness: Compliances, (S, 6).
        weights: Inverse inertia, (S, 2).
        rates: Damping times over h, (S,).
        begun: C when the substep began, (S, 6).
        x: Positions and inverse mass, (N, 4).
        frames: Frames, (S, 4).
        multipliers: Multipliers, (S, 6).
        scale_h: 1 / h^2.
    """
    for colour in range(len(offsets) - 1):
        low, high = offsets[colour], offsets[colour + 1]
        for t in numba.prange(threads):
            for k in range(low + (high - low) * t // threads, low + (high - low) * (t + 1) // threads):
                s = order[k]
                if joints:
                    solve_joint(s, after[s], rest, softness, weights, rates, begun, frames, multipliers, scale_h, first)
                else:
                    solve_segment(s, points, lengths, softness, weights, rates, begun, x, frames, multipliers, scale_h,
                                  first)  # fmt: skip


@steady
def solve_segment(s, points, lengths, softness, weights, rates, begun, x, frames, multipliers, scale_h, first):
    """Stretch and shear of one segment."""
    i, j, q = points[s, 0], points[s, 1], quaternion_at(frames, s)
    c = stretch(point_at(x, i), point_at(x, j), q)
    gamma = np.float64(rates[s])
    wi, wj, weight = np.float64(x[i, 3]), np.float64(x[j, 3]), weight_at(weights, s)
    arm = cross_rows(c)
    matrix = times_transposed(scaled_columns(arm, weight), arm)
    value = (c[0], c[1], c[2] - lengths[s])
    change = solve_three(matrix, wi + wj, value, s, 0, softness, begun, multipliers, gamma, scale_h, first)
    f = rotate(q, change)
    for k in range(3):
        x[i, k] -= wi * f[k]
        x[j, k] += wj * f[k]
    turn_frame(frames, s, q, weight, cross(change, c))


@steady
def solve_joint(s, n, rest, softness, weights, rates, begun, frames, multipliers, scale_h, first):
    """Bend and twist of one joint."""
    q0, q1, r = quaternion_at(frames, s), quaternion_at(frames, n), quaternion_at(rest, s)
    p = joint(q0, q1, r)
    w, v = p[0], (p[1], p[2], p[3])
    weight0, weight1 = weight_at(weights, s), weight_at(weights, n)
    left, right = joint_rows(-w, v), joint_rows(w, v)
    matrix = sum_rows(
        times_transposed(scaled_columns(left, weight0), left), times_transposed(scaled_columns(right, weight1), right)
    )
    gamma = np.float64(rates[s])
    none = ZERO * w
    change = solve_three(matrix, none, bend(p, r), s, 3, softness, begun, multipliers, gamma, scale_h, first)
    across, along = cross(change, v), scale(change, w)
    turn_frame(frames, s, q0, weight0, sub(across, along))
    turn_frame(frames, n, q1, weight1, add(across, along))


@steady
def solve_three(matrix, w, value, s, at, softness, begun, multipliers, gamma, scale_h, first):
    """Change of the multipliers of three rows of matrix + w, and their new values."""
    share = scale_h / (ONE + gamma)
    soft = (share * softness[s, at], share * softness[s, at + 1], share * softness[s, at + 2])
    old = (np.float64(multipliers[s, at]), np.float64(multipliers[s, at + 1]), np.float64(multipliers[s, at + 2]))
    old = scale(old, ZERO if first else ONE)
    right = (
        -(value[0] + gamma * (value[0] - begun[s, at])) / (ONE + gamma) - soft[0] * old[0],
        -(value[1] + gamma * (value[1] - begun[s, at + 1])) / (ONE + gamma) - soft[1] * old[1],
        -(value[2] + gamma * (value[2] - begun[s, at + 2])) / (ONE + gamma) - soft[2] * old[2],
    )
    change = times(inverse(plus_diagonal(matrix, w, soft)), right)
    for k in range(3):
        multipliers[s, at + k] = old[k] + change[k]
    return change


@steady
def turn_frame(frames, s, q, weight, torque):
    """Turn a free frame by its inverse inertia times a torque in its own axes."""
    if weight[2] > ZERO:
        turn = (weight[0] * torque[0], weight[1] * torque[1], weight[2] * torque[2])
        frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3] = turned(q, turn)
