"""Rows of rods one after the other: Gauss-Seidel over segments and joints.

Kugelstadt and Schoemer 2016, algorithm 1: all rows of a segment, and all of a joint, are solved as one block of three.
Two neighbouring segments share a point and two neighbouring joints a frame, so every second one can be solved at the
same time. Frames of thin rods weigh next to nothing beside their points, and a sweep carries little along the rod:
this takes many iterations where the direct solver takes one.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotated_body_axes
from shinari.maths.vec3 import ONE, ZERO, add, cross, scale, sub
from shinari.model.particles import Particles
from shinari.systems.rods.blocks import inverse, scaled_columns, times, times_transposed
from shinari.systems.rods.direct import NONE, moved, plus_diagonal, point_at, quaternion_at, sum_rows, three_of
from shinari.systems.rods.records import Frames, Segments
from shinari.systems.rods.strain import bend, cross_rows, joint, joint_rows, stretch, symmetric_part


class Order(Record):
    """Segments in the order in which they, or their joints, are solved: one colour after the other, K rows."""

    segment = Field(np.int64)


@kernel(fastmath=STEADY)
def solve_segment(
    k, order: Order, segments: Segments, frames: Frames, particles: Particles, scale_h: np.float64, first: np.int64
):
    """Stretch and shear of one segment."""
    s = order.segment[k]
    i, j = segments.points[s]
    x, y, q = particles.x[i], particles.x[j], quaternion_at(frames.q[s])
    c = stretch(point_at(x), point_at(y), q)
    weight, arm = three_of(segments.inverse_inertia[s]), cross_rows(c)
    matrix = times_transposed(scaled_columns(arm, weight), arm)
    value = c[0], c[1], c[2] - segments.length[s]
    a, b, m = segments.compliance[s], frames.start[s], frames.multiplier[s]
    change, new = solve_three(
        plus_diagonal(matrix, np.float64(x[3]) + np.float64(y[3]), (NONE, NONE, NONE)),
        value,
        (a[0], a[1], a[2]),
        (b[0], b[1], b[2]),
        scale((np.float64(m[0]), np.float64(m[1]), np.float64(m[2])), NONE if first else ONE),
        segments.rate[s],
        scale_h,
    )
    frames.multiplier[s, 0], frames.multiplier[s, 1], frames.multiplier[s, 2] = new
    f = rotate(q, change)
    particles.x[i] = moved(x, f, -x[3])
    particles.x[j] = moved(y, f, y[3])
    turn_frame(frames, s, q, weight, cross(change, c))


@kernel(fastmath=STEADY)
def solve_joint(k, order: Order, segments: Segments, frames: Frames, scale_h: np.float64, first: np.int64):
    """Bend and twist of one joint."""
    s = order.segment[k]
    n = segments.after[s]
    q0, q1 = quaternion_at(frames.q[s]), quaternion_at(frames.q[n])
    p = joint(q0, q1, segments.rest[s])
    v = p[1], p[2], p[3]
    weight0, weight1 = three_of(segments.inverse_inertia[s]), three_of(segments.inverse_inertia[n])
    left, right = joint_rows(p, -ONE), joint_rows(p, ONE)
    a, b, m = segments.compliance[s], frames.start[s], frames.multiplier[s]
    change, new = solve_three(
        sum_rows(
            times_transposed(scaled_columns(left, weight0), left),
            times_transposed(scaled_columns(right, weight1), right),
        ),
        bend(p, segments.turn[s]),
        (a[3], a[4], a[5]),
        (b[3], b[4], b[5]),
        scale((np.float64(m[3]), np.float64(m[4]), np.float64(m[5])), NONE if first else ONE),
        segments.rate[s],
        scale_h,
    )
    frames.multiplier[s, 3], frames.multiplier[s, 4], frames.multiplier[s, 5] = new
    across, along = cross(change, v), symmetric_part(p, change)
    turn_frame(frames, s, q0, weight0, sub(across, along))
    turn_frame(frames, n, q1, weight1, add(across, along))


@steady
def solve_three(matrix, value, compliance, start, old, gamma, scale_h):
    """Change of the multipliers of three rows, and their new values."""
    share = ONE / (ONE + gamma)
    soft = scale(compliance, scale_h * share)
    right = (
        -(value[0] + gamma * (value[0] - start[0])) * share - soft[0] * old[0],
        -(value[1] + gamma * (value[1] - start[1])) * share - soft[1] * old[1],
        -(value[2] + gamma * (value[2] - start[2])) * share - soft[2] * old[2],
    )
    change = times(inverse(plus_diagonal(matrix, NONE, soft)), right)
    return change, add(old, change)


@steady
def turn_frame(frames, s, q, weight, torque):
    """Turn a free frame by its inverse inertia times a torque in its own axes."""
    if weight[2] > ZERO:
        frames.q[s] = rotated_body_axes(q, (weight[0] * torque[0], weight[1] * torque[1], weight[2] * torque[2]))
