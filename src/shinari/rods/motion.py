"""Frames between the constraints: predicted before them, and their spins derived after.

A free frame of a round section, with inertia A across and B along its third axis d, is a symmetric top. Its motion is
known in closed form (Landau and Lifshitz, Mechanics, section 33): with the angular momentum L = A w + (B - A) (w . d) d

    w = L / A + n d,   n = (1 - B / A) (w . d),       q(t) = exp(t L / A) q(0) exp(t n e3)

so momentum and energy of what nothing acts on are kept, however fast it spins. As with positions, spins change by the
turn from the predicted frame to the one that the constraints leave, over h.
"""

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import exponential, multiply, normalised, rotate, turn_between
from shinari.maths.vec3 import ONE, ZERO, add, dot, scale, sub
from shinari.rods.strain import bend, joint, stretch


@numba.njit(parallel=True, cache=True, **STEADY)
def predict(frames, spins, targets, driven, weights, predicted, h):
    """Turn the frames by their spins; clamped ones towards where they were put.

    Args:
        frames: Frames, (S, 4), turned in place.
        spins: Angular velocities in world axes [rad/s], (S, 3).
        targets: Where clamped frames arrive when their motion ends, (S, 4).
        driven: Whether clamped frames arrive now.
        weights: Inverse inertia, (S, 2); zero where clamped.
        predicted: Filled with the frames before the constraints, (S, 4).
        h: Substep [s].
    """
    for s in numba.prange(len(frames)):
        turn_one(s, frames, spins, targets, driven, weights, predicted, h)


@steady
def turn_one(s, frames, spins, targets, driven, weights, predicted, h):
    """Predict one frame."""
    q = normalised((frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3]))
    w = (spins[s, 0], spins[s, 1], spins[s, 2])
    if weights[s, 1] > ZERO:
        up = axis(q)
        own = (ONE - weights[s, 0] / weights[s, 1]) * dot(w, up)
        steady = sub(w, scale(up, own))
        q = multiply(exponential(scale(steady, h)), multiply(q, exponential((ZERO * h, ZERO * h, own * h))))
        q = normalised(q)
        spins[s, 0], spins[s, 1], spins[s, 2] = add(steady, scale(axis(q), own))
    elif driven:
        q = (targets[s, 0], targets[s, 1], targets[s, 2], targets[s, 3])
    else:
        q = normalised(multiply(exponential(scale(w, h)), q))
    frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3] = q
    predicted[s, 0], predicted[s, 1], predicted[s, 2], predicted[s, 3] = q


@steady
def axis(q):
    """Third axis of a frame in the world."""
    return rotate(q, (ZERO * q[0], ZERO * q[0], ONE + ZERO * q[0]))


@numba.njit(parallel=True, cache=True, **STEADY)
def finish(frames, spins, weights, predicted, decay, inverse_h):
    """Add what the constraints turned to the spins, and damp those of free frames.

    Args:
        frames: Frames after the constraints, (S, 4).
        spins: Angular velocities [rad/s], (S, 3), updated in place.
        weights: Inverse inertia, (S, 2).
        predicted: Frames before the constraints, (S, 4).
        decay: Factor of global damping.
        inverse_h: 1 / h [1/s].
    """
    for s in numba.prange(len(frames)):
        if weights[s, 1] > ZERO:
            spin_one(s, frames, spins, predicted, decay, inverse_h)


@steady
def spin_one(s, frames, spins, predicted, decay, inverse_h):
    """Update one spin."""
    before = (predicted[s, 0], predicted[s, 1], predicted[s, 2], predicted[s, 3])
    v = turn_between(before, (frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3]))
    for k in range(3):
        spins[s, k] = (spins[s, k] + v[k] * inverse_h) * decay


@numba.njit(parallel=True, cache=True, **STEADY)
def begin(points, after, lengths, rest, x, velocities, frames, begun, h):
    """C of every row before positions were predicted; frames have not been predicted yet.

    Args:
        points: Particles of each segment, (S, 2).
        after: Segment at the other side of each joint, or the segment itself where there is none, (S,).
        lengths: Lengths at rest [m], (S,).
        rest: Quaternions at rest, (S, 4).
        x: Predicted positions and inverse mass, (N, 4).
        velocities: Velocities [m/s], (N, 3).
        frames: Frames, (S, 4).
        begun: Filled with C, (S, 6).
        h: Substep [s].
    """
    for s in numba.prange(len(points)):
        begin_one(s, points, after, lengths, rest, x, velocities, frames, begun, h)


@steady
def begin_one(s, points, after, lengths, rest, x, velocities, frames, begun, h):
    """C of one segment and its joint."""
    i, j, n = points[s, 0], points[s, 1], after[s]
    xi = (x[i, 0] - h * velocities[i, 0], x[i, 1] - h * velocities[i, 1], x[i, 2] - h * velocities[i, 2])
    xj = (x[j, 0] - h * velocities[j, 0], x[j, 1] - h * velocities[j, 1], x[j, 2] - h * velocities[j, 2])
    q0 = (frames[s, 0], frames[s, 1], frames[s, 2], frames[s, 3])
    q1 = (frames[n, 0], frames[n, 1], frames[n, 2], frames[n, 3])
    r = (rest[s, 0], rest[s, 1], rest[s, 2], rest[s, 3])
    begun[s, 0], begun[s, 1], begun[s, 2] = stretch(xi, xj, q0)
    begun[s, 2] -= lengths[s]
    begun[s, 3], begun[s, 4], begun[s, 5] = bend(joint(q0, q1, r), r)
