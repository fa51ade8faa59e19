"""Frames between the constraints: predicted before them, and their spins derived after.

A free frame of a round section, with inertia A across and B along its third axis d, is a symmetric top. Its motion is
known in closed form (Landau and Lifshitz, Mechanics, section 33): with the angular momentum L = A w + (B - A) (w . d) d

    w = L / A + n d,   n = (1 - B / A) (w . d),       q(t) = exp(t L / A) q(0) exp(t n e3)

so momentum and energy of what nothing acts on are kept, however fast it spins. As with positions, spins change by the
turn from the predicted frame to the one that the constraints leave, over h.
"""

import numpy as np

from shinari.compute import convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import exponential, multiply, normalised, rotate, tangent_rotation_between
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Clock, Particles
from shinari.systems.rods.direct import quaternion_at
from shinari.systems.rods.records import Frames, Segments
from shinari.systems.rods.strain import bend, joint, stretch

HALF, TWO = np.float32(0.5), np.float32(2.0)
# Twice the tangent of half of the largest turn of a step of the direct solver, `MOST_TURN`, and rounding. That tangent
# keeps the momentum; of several steps in a row it would be a speed that there was not. Where it is exceeded a frame
# keeps a spin of a radian in a substep at most: a rod that slips by a turn in a joint would drive frames on and on.
LARGEST_STEP = np.float32(0.303)

# A frame that is slower is at rest [rad/s]: in single precision a rod on the ground shakes by 1e-4.
SLOW_TURN = np.float32(1e-3)


@kernel(fastmath=STEADY)
def predict_frame(s, segments: Segments, frames: Frames, clock: Clock, last: np.int64, h: real):
    """Turn a free frame by its spin, a clamped one towards where it was put; there it arrives in the last substep."""
    q, w = normalised(frames.q[s]), frames.spin[s]
    across, along = segments.inverse_inertia[s]
    if along > ZERO:
        own = convert(ONE - across / along, h) * dot(w, axis(q))
        steady_spin = sub(w, scale(axis(q), own))
        q = multiply(exponential(scale(steady_spin, h)), multiply(q, exponential((ZERO * h, ZERO * h, own * h))))
        q = normalised(q)
        frames.spin[s] = add(steady_spin, scale(axis(q), own))
    elif clock.substep[0] == last:
        q = frames.target[s]
    else:
        q = normalised(multiply(exponential(scale(w, h)), q))
    frames.q[s] = q
    frames.predicted[s] = q


@steady
def axis(q):
    """Third axis of a frame in the world."""
    return rotate(q, (ZERO * q[0], ZERO * q[0], ONE + ZERO * q[0]))


@kernel(fastmath=STEADY)
def update_spin(s, segments: Segments, frames: Frames, decay: real, inverse_h: real):
    """Add what the constraints turned to the spin of a free frame, and damp it by the factor `decay`."""
    if segments.inverse_inertia[s, 1] > ZERO:
        v, w = tangent_rotation_between(frames.predicted[s], frames.q[s]), frames.spin[s]
        length = norm(v)
        far = length > LARGEST_STEP
        if far:
            v = scale(v, TWO * np.arctan(HALF * length) / length)
        w = add(w, scale(v, inverse_h))
        most = inverse_h / norm(w) if far else ONE + length
        frames.spin[s] = scale(w, min(most, ONE + ZERO * length) * decay)
    else:
        frames.shown[s] = frames.q[s]


@kernel(fastmath=STEADY)
def find_turning(s, frames: Frames, clock: Clock):
    """Tell the clock of a frame that turns."""
    w = frames.spin[s]
    if not dot(w, w) <= SLOW_TURN * SLOW_TURN:
        clock.moving[0] = 1


@kernel(fastmath=STEADY)
def measure_start(s, segments: Segments, frames: Frames, particles: Particles, h: real):
    """C of a segment and its joint before positions were predicted; frames have not been predicted yet."""
    i, j = segments.points[s]
    q0, q1, rest = frames.q[s], frames.q[segments.after[s]], segments.rest[s]
    c = stretch(
        position_before(particles.x[i], particles.v[i], h), position_before(particles.x[j], particles.v[j], h), q0
    )
    turn = bend(joint(quaternion_at(q0), quaternion_at(q1), rest), segments.turn[s])
    frames.start[s] = c[0], c[1], c[2] - segments.length[s], turn[0], turn[1], turn[2]


@steady
def position_before(x, v, h):
    """Position from which a particle was predicted."""
    return x[0] - h * v[0], x[1] - h * v[1], x[2] - h * v[2]
