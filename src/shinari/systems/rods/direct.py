"""All rows of a rod solved at once: one Newton step in linear time.

Deul, Kugelstadt, Weiler and Bender 2018, Direct Position-Based Solver for Stiff Rods. The rows of all segments and
joints of a rod satisfy their equations C + alpha~ lambda = 0 together, to first order, when

    (G W G^T + alpha~) d lambda = -C - alpha~ lambda,    d(x, q) = W G^T d lambda

Ordered as segment 0, joint 0, segment 1, joint 1, ... a block of three couples to the next two on each side, so that
L D L^T takes one pass. Frames of thin rods weigh next to nothing and their rows lose many digits in the factors: this
is computed in double precision, whatever that of the simulation.

A ring couples its last segment and joint to the first ones. The rest of it is factorised as that of an open rod; the
last two blocks follow from their Schur complement (a bordered band matrix).

Each rod is one item: rods run on all threads, each of them on one.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotated_body_axes
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.model.particles import Particles
from shinari.systems.rods.blocks import (
    Blocks,
    factorise,
    flat,
    rows_of,
    scaled_columns,
    substitute,
    times_transposed,
    upper,
)
from shinari.systems.rods.records import Frames, Rods, Segments
from shinari.systems.rods.strain import bend, cross_rows, joint, joint_rows, rotation_of, stretch, symmetric_part

# What is solved is linear in the turns. Where frames turn far in one step [rad], more steps follow, up to so many: with
# one alone a rod that falls freely in steps of 1/60 s gained several times its energy. A step that would turn a frame
# by more than `MOST_TURN` is shortened: rods that are released far from their rest curvature flew apart.
FAR, MOST_STEPS = np.float32(0.2), 100
MOST_TURN = np.float64(0.3)
NONE, WHOLE = np.float64(0.0), np.float64(1.0)


class Strains(Record):
    """Strains of segments and joints at the start of a Newton step, S rows."""

    stretch = Field(np.float64, 3, unit="m", doc="c of the segment")
    joint = Field(np.float64, 5, doc="w, v and k of the joint; zero where there is none")


class Borders(Record):
    """Couplings of the last two blocks of rings to all others, 6 K rows: column a of block k is row a K + k."""

    coupling = Field(np.float64, 3)
    column = Field(np.float64, 3, doc="the coupling, then T^-1 of it")


@kernel(fastmath=STEADY)
def solve_rod(
    r,
    rods: Rods,
    segments: Segments,
    frames: Frames,
    particles: Particles,
    strains: Strains,
    blocks: Blocks,
    scale_h: np.float64,
    first: np.int64,
):
    """Newton steps of an open rod: one, and more while they turn frames far."""
    begin, end = rods.begin[r], rods.end[r]
    fresh = first
    for _ in range(MOST_STEPS):
        measure(begin, end, segments, frames, particles, strains, blocks, scale_h, fresh)
        assemble(begin, end, segments, particles, strains, blocks, scale_h)
        factorise(blocks, 2 * begin, 2 * end)
        substitute(blocks, blocks.change, 0, 2 * begin, 2 * end)
        largest = apply_changes(begin, end, segments, frames, particles, strains, blocks, fresh)
        fresh = 0
        if largest < FAR * FAR:
            break


@kernel(fastmath=STEADY)
def solve_ring(
    r,
    rods: Rods,
    segments: Segments,
    frames: Frames,
    particles: Particles,
    strains: Strains,
    blocks: Blocks,
    borders: Borders,
    scale_h: np.float64,
    first: np.int64,
):
    """Newton steps of a ring."""
    begin, end = rods.begin[r], rods.end[r]
    start, stop = 2 * begin, 2 * end - 2
    fresh = first
    for _ in range(MOST_STEPS):
        measure(begin, end, segments, frames, particles, strains, blocks, scale_h, fresh)
        assemble(begin, end, segments, particles, strains, blocks, scale_h)
        border_columns(begin, end, segments, particles, strains, blocks, borders)
        factorise(blocks, start, stop)
        substitute(blocks, blocks.change, 0, start, stop)
        for a in range(6):
            substitute(blocks, borders.column, a * len(blocks), start, stop)
        close_ring(start, stop, blocks, borders)
        largest = apply_changes(begin, end, segments, frames, particles, strains, blocks, fresh)
        fresh = 0
        if largest < FAR * FAR:
            break


@steady
def quaternion_at(q):
    """A frame in double precision and of length one to its digits."""
    w, a, b, c = np.float64(q[0]), np.float64(q[1]), np.float64(q[2]), np.float64(q[3])
    # one step of Newton's method: a length that is off by rounding
    n = np.float64(1.5) - np.float64(0.5) * (w * w + a * a + b * b + c * c)
    return n * w, n * a, n * b, n * c


@steady
def point_at(x):
    """A position in double precision."""
    return np.float64(x[0]), np.float64(x[1]), np.float64(x[2])


@shared(fastmath=STEADY)
def measure(
    begin: int,
    end: int,
    segments: Segments,
    frames: Frames,
    particles: Particles,
    strains: Strains,
    blocks: Blocks,
    scale_h: np.float64,
    first: int,
):
    """Strains and the right hand side -(C + gamma (C - C_n)) / (1 + gamma) - alpha~ lambda, gamma the damping."""
    q0 = quaternion_at(frames.q[begin])
    for s in range(begin, end):
        after = s + 1 if s + 1 < end else begin
        q1 = quaternion_at(frames.q[after])
        i, j = segments.points[s]
        c = stretch(point_at(particles.x[i]), point_at(particles.x[j]), q0)
        rest = segments.rest[s]
        p = joint(q0, q1, rest)
        # without a joint p is zero, and with it all that its rows act on
        on = WHOLE if segments.after[s] != s else NONE
        turn = scale(bend(p, segments.turn[s]), on)
        strains.stretch[s] = c
        strains.joint[s] = on * p[0], on * p[1], on * p[2], on * p[3], on * p[4]
        gamma, before = segments.rate[s], frames.start[s]
        share = ONE / (ONE + gamma)
        value = c[0], c[1], c[2] - segments.length[s]
        straight = add(value, scale(sub(value, (before[0], before[1], before[2])), gamma))
        bent = add(turn, scale(sub(turn, (before[3], before[4], before[5])), gamma))
        straight, bent = scale(straight, -share), scale(bent, -on * share)
        if not first:
            a, m = scale_h * share, segments.compliance[s]
            old = frames.multiplier[s]
            straight = sub(straight, (a * m[0] * old[0], a * m[1] * old[1], a * m[2] * old[2]))
            bent = sub(bent, (a * m[3] * old[3], a * m[4] * old[4], a * m[5] * old[5]))
        blocks.change[2 * s], blocks.change[2 * s + 1] = straight, bent
        q0 = q1


@shared(fastmath=STEADY)
def assemble(
    begin: int,
    end: int,
    segments: Segments,
    particles: Particles,
    strains: Strains,
    blocks: Blocks,
    scale_h: np.float64,
):
    """The band matrix G W G^T + alpha~ / (1 + gamma), with the couplings that do not go around a ring."""
    for s in range(begin, end):
        inner = s + 1 < end
        after = s + 1 if inner else begin
        i, j = segments.points[s]
        c0, p = strains.stretch[s], strains.joint[s]
        j0, j1 = three_of(segments.inverse_inertia[s]), three_of(segments.inverse_inertia[after])
        share = scale_h / (ONE + segments.rate[s])
        w0, w1 = np.float64(particles.x[i, 3]), np.float64(particles.x[j, 3])
        arm, left, right = cross_rows(c0), joint_rows(p, -ONE), joint_rows(p, ONE)
        arm_j, left_j, right_j = scaled_columns(arm, j0), scaled_columns(left, j0), scaled_columns(right, j1)
        a = segments.compliance[s]
        straight, bent = scale((a[0], a[1], a[2]), share), scale((a[3], a[4], a[5]), share)
        blocks.diagonal[2 * s] = upper(plus_diagonal(times_transposed(arm_j, arm), w0 + w1, straight))
        both = sum_rows(times_transposed(left_j, left), times_transposed(right_j, right))
        blocks.diagonal[2 * s + 1] = upper(plus_diagonal(both, NONE, bent))
        blocks.next[2 * s] = flat(times_transposed(left_j, arm))
        if inner:
            turn = rotation_of(p, -ONE)
            blocks.second[2 * s] = flat((scale(turn[0], -w1), scale(turn[1], -w1), scale(turn[2], -w1)))
            arm1 = scaled_columns(cross_rows(strains.stretch[after]), j1)
            blocks.next[2 * s + 1] = flat(times_transposed(arm1, right))
            left1 = joint_rows(strains.joint[after], -ONE)
            blocks.second[2 * s + 1] = flat(times_transposed(scaled_columns(left1, j1), right))


@steady
def three_of(inertia):
    """Inverse inertia of a frame about its three axes."""
    return inertia[0], inertia[0], inertia[1]


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


@shared(fastmath=STEADY)
def border_columns(
    begin: int, end: int, segments: Segments, particles: Particles, strains: Strains, blocks: Blocks, borders: Borders
):
    """The couplings of the last segment and joint of a ring to all others, as columns of the band."""
    last, size = end - 1, len(blocks)
    for a in range(6):
        for k in range(2 * begin, 2 * last):
            borders.column[a * size + k] = NONE, NONE, NONE
    p, p0 = strains.joint[last], strains.joint[begin]
    j0 = three_of(segments.inverse_inertia[begin])
    shared_weight = np.float64(particles.x[segments.points[begin, 0], 3])
    turn = rotation_of(p, ONE)
    right_j = scaled_columns(joint_rows(p, ONE), j0)
    left0 = joint_rows(p0, -ONE)
    across = scale(turn[0], -shared_weight), scale(turn[1], -shared_weight), scale(turn[2], -shared_weight)
    put_rows(borders, 0, 2 * begin, size, across)
    put_rows(borders, 3, 2 * begin, size, times_transposed(right_j, cross_rows(strains.stretch[begin])))
    put_rows(borders, 3, 2 * begin + 1, size, times_transposed(right_j, left0))
    put_rows(borders, 0, 2 * last - 2, size, rows_of(blocks.second[2 * last - 2]))
    put_rows(borders, 0, 2 * last - 1, size, rows_of(blocks.next[2 * last - 1]))
    put_rows(borders, 3, 2 * last - 1, size, rows_of(blocks.second[2 * last - 1]))
    for a in range(6):
        for k in range(2 * begin, 2 * last):
            borders.coupling[a * size + k] = borders.column[a * size + k]


@steady
def put_rows(borders, a, k, size, m):
    """Write three rows of the border where they couple to block k."""
    borders.column[a * size + k] = m[0]
    borders.column[(a + 1) * size + k] = m[1]
    borders.column[(a + 2) * size + k] = m[2]


@shared(fastmath=STEADY)
def close_ring(start: int, stop: int, blocks: Blocks, borders: Borders):
    """Solve for the last segment and joint of a ring, which border the band T of the others, and correct those.

    With P the couplings (K, 6) of the last two blocks to the band and B those two, the Schur complement is
    B - P^T T^-1 P; the columns hold T^-1 of the right hand side and of P.
    """
    schur, right = scratch((6, 6), NONE), scratch(6, NONE)
    size = len(blocks)
    for a in range(6):
        right[a] = blocks.change[stop + a // 3, a % 3]
        for b in range(6):
            row, column = max(a, b), min(a, b)
            if row // 3 == column // 3:
                low, high = column % 3, row % 3
                schur[a, b] = blocks.diagonal[stop + row // 3, low * 3 - low * (low + 1) // 2 + high]
            else:
                schur[a, b] = blocks.next[stop, (row - 3) * 3 + column]
    for a in range(6):
        for k in range(start, stop):
            coupling = borders.coupling[a * size + k]
            right[a] -= dot(coupling, blocks.change[k])
            for b in range(6):
                schur[a, b] -= dot(coupling, borders.column[b * size + k])
    eliminate(schur, right)
    for b in range(6):
        blocks.change[stop + b // 3, b % 3] = right[b]
        for k in range(start, stop):
            blocks.change[k] = sub(blocks.change[k], scale(borders.column[b * size + k], right[b]))


@steady
def eliminate(matrix, right):
    """Solve a symmetric positive definite system of six in place, by Gauss."""
    for k in range(6):
        for i in range(k + 1, 6):
            factor = matrix[i, k] / matrix[k, k]
            right[i] -= factor * right[k]
            for j in range(k + 1, 6):
                matrix[i, j] -= factor * matrix[k, j]
    for k in range(5, -1, -1):
        for j in range(k + 1, 6):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]


@shared(fastmath=STEADY)
def apply_changes(
    begin: int,
    end: int,
    segments: Segments,
    frames: Frames,
    particles: Particles,
    strains: Strains,
    blocks: Blocks,
    first: int,
) -> float:
    """Add d lambda to the multipliers and move points and frames by W G^T d lambda, all gradients those at the start.

    All of d lambda is made smaller where it would turn a frame by more than `MOST_TURN`.

    Returns:
        The square of the largest turn.
    """
    largest = largest_turn(begin, end, segments, strains, blocks)
    if largest > MOST_TURN * MOST_TURN:
        part, largest = MOST_TURN / np.sqrt(largest), MOST_TURN * MOST_TURN
        for k in range(2 * begin, 2 * end):
            blocks.change[k] = scale(blocks.change[k], part)
    # the torque of the joint before the first segment: in a ring, the last one; without a joint p is zero
    before = joint_torque(strains, blocks, end - 1)
    for s in range(begin, end):
        q = quaternion_at(frames.q[s])
        force, moment = blocks.change[2 * s], blocks.change[2 * s + 1]
        f = rotate(q, force)
        i, j = segments.points[s]
        x, y = particles.x[i], particles.x[j]
        particles.x[i] = moved(x, f, -x[3])
        particles.x[j] = moved(y, f, y[3])
        turn = turn_of(s, segments, strains, blocks, before)
        before = joint_torque(strains, blocks, s)
        if segments.inverse_inertia[s, 1] > ZERO:
            frames.q[s] = rotated_body_axes(q, turn)
        old = frames.multiplier[s]
        kept = ZERO if first else ONE
        frames.multiplier[s] = (
            kept * old[0] + force[0],
            kept * old[1] + force[1],
            kept * old[2] + force[2],
            kept * old[3] + moment[0],
            kept * old[4] + moment[1],
            kept * old[5] + moment[2],
        )
    return largest


@steady
def turn_of(s, segments, strains, blocks, before):
    """Turn of a frame by its segment and the joints at its ends, in its own axes; zero where it is held."""
    force, moment, p = blocks.change[2 * s], blocks.change[2 * s + 1], strains.joint[s]
    of_joint = sub(cross(moment, (p[1], p[2], p[3])), symmetric_part(p, moment))
    torque, (a, b) = add(add(cross(force, strains.stretch[s]), of_joint), before), segments.inverse_inertia[s]
    return a * torque[0], a * torque[1], b * torque[2]


@steady
def largest_turn(begin, end, segments, strains, blocks):
    """Square of the largest turn of a frame that the changes of the multipliers ask for."""
    largest, before = NONE, joint_torque(strains, blocks, end - 1)
    for s in range(begin, end):
        turn = turn_of(s, segments, strains, blocks, before)
        before = joint_torque(strains, blocks, s)
        largest = max(largest, dot(turn, turn))
    return largest


@steady
def moved(x, f, w):
    """A position after the displacement w f, rounded once."""
    return x[0] + w * f[0], x[1] + w * f[1], x[2] + w * f[2], x[3]


@steady
def joint_torque(strains, blocks, s):
    """Torque of joint s on the frame after it: (S + [v])^T d lambda."""
    p, moment = strains.joint[s], blocks.change[2 * s + 1]
    return add(symmetric_part(p, moment), cross(moment, (p[1], p[2], p[3])))
