"""Rows between particles and places on bodies, solved one after the other by one thread.

    held at the place      C = x - p                (three rows, solved together)
    kept at a distance     C = |x - p| - L          p = X + R a, the place a on the body at X, turned by R

XPBD (Macklin et al. 2016, eq. 18) with the inverse mass of the particle and that of the body at the place. A push P on
the particle acts as -P on the body, at an arm that makes the two moments cancel exactly, see
`shinari.rigid.coupling.response`: for what is held the place of the particle at the start of the substep. What is kept
at a distance is pushed along the line that both ends had at the start, as SHAKE does (Ryckaert, Ciccotti and Berendsen
1977), so that both moments are those of one line; Newton steps bring the distance there.

Rows are solved in order and then back again. Of one sweep alone the eigenvalues may be complex, since many rows share a
body, and z^2 = s (2 z - 1), which a substep does to an error with the eigenvalue s of a sweep, then has solutions
beyond the unit circle: a light body with ten heavy particles welded to it gained energy without end. There and back the
sweep is symmetric in the norm of the masses, s lies between 0 and 1, and |z|^2 = s.
"""

import numba
import numpy as np

from shinari.contact.solid.collide import place, start_of
from shinari.maths.function import STEADY, steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import ONE, ZERO, norm
from shinari.rigid.contact.vectors import add, cross, direction_and_length, dot, scale, sub
from shinari.rigid.coupling.response import begin_turns, finish_turns, give_back, yielding
from shinari.rigid.motion import quaternion, symmetric_times, vector

# Newton steps of a row that keeps a distance: its line turns little in a substep.
NEWTON = 3


@steady
def apply(x, i, push, fx, fq, fx0, inverse_mass, inverse_inertia, impulses, torques, moved, b, arm, rate):
    """Push a particle, and the body the other way."""
    w = x[i, 3]
    if w > ZERO:
        x[i, 0] += w * push[0]
        x[i, 1] += w * push[1]
        x[i, 2] += w * push[2]
    still = (ZERO * push[0], ZERO * push[0], ZERO * push[0])
    give_back(fx, fq, fx0, inverse_mass, inverse_inertia, impulses, torques, moved, b, arm, push, still, rate)


@steady
def hold_push(error, w, inverse_mass, inverse_inertia, b, arm, soft, multiplier):
    """Push that brings the three rows C + alpha lambda / h^2 to zero: (w + B + alpha / h^2) P = -(C + ...)."""
    one, zero = ONE + ZERO * w, ZERO * w
    x = cross(symmetric_times(inverse_inertia, b, cross(arm, (one, zero, zero))), arm)
    y = cross(symmetric_times(inverse_inertia, b, cross(arm, (zero, one, zero))), arm)
    z = cross(symmetric_times(inverse_inertia, b, cross(arm, (zero, zero, one))), arm)
    own = w + inverse_mass[b] + soft
    wanted = sub(scale(multiplier, -soft), error)
    push, least = solve_symmetric((x[0] + own, y[1] + own, z[2] + own), (y[2], x[2], x[1]), wanted)
    good = least > ZERO
    return push[0] if good else zero, push[1] if good else zero, push[2] if good else zero


@numba.njit(cache=True, **STEADY)
def solve_attachments(
    particles, bodies, places, lengths, compliances, broken, multipliers, x, predicted, velocities, groups, origins, fx,
    fq, fx0, fq0, inverse_mass, inverse_inertia, moments, fw, frame_impulses, before, moved, torques, first, h
):  # fmt: skip
    """Solve all attachments once.

    Args:
        particles: Particle of each, (M,).
        bodies: Its body, (M,).
        places: Place in the axes of the body's frame [m], (M, 3).
        lengths: Distance to keep [m], (M,); 0: held there.
        compliances: Compliance [m/N], (M,).
        broken: Which have let go, (M,).
        multipliers: Push on the particle in this substep [kg m], (M, 3); changed.
        x: Positions and inverse mass, (N, 4); changed.
        predicted: Predicted positions, (N, 3).
        velocities: Velocities of the prediction, (N, 3).
        groups: Group of each particle, (N,).
        origins: Origins of the groups, (G, 3) float64.
        fx: Origins of the frames; changed.
        fq: Quaternions of the frames; changed.
        fx0: Origins at the start of the substep.
        fq0: Quaternions at the start of the substep.
        inverse_mass: Of the frames, (F,).
        inverse_inertia: Of the frames, (F, 6).
        moments: Of the frames, (F, 3).
        fw: Angular velocities at the start of the substep, (F, 3).
        frame_impulses: What the frames received in this step, (F, 6).
        before: Scratch, (F, 4).
        moved: Scratch, (F, 2).
        torques: Scratch, (F, 3).
        first: Whether it is the first iteration of the substep.
        h: Substep [s].
    """
    rate = ONE / h
    begin_turns(before, fq, torques, moved)
    count = len(particles)
    for turn in range(2 * count):
        # there and back: see above
        m = turn if turn < count else 2 * count - 1 - turn
        i, b = np.int64(particles[m]), bodies[m]
        w = np.float64(x[i, 3])
        if first and turn < count:
            multipliers[m, 0] = multipliers[m, 1] = multipliers[m, 2] = ZERO
        if broken[m] or not w + inverse_mass[b] > ZERO:
            continue
        origin, local = vector(origins, groups[i]), vector(places, m)
        soft = compliances[m] * rate * rate
        start = add(origin, start_of(x, predicted, velocities, h, i))
        if lengths[m] <= ZERO:
            arm = sub(start, vector(fx0, b))
            there = add(vector(fx, b), rotate(quaternion(fq, b), local))
            push = hold_push(sub(add(origin, place(x, i)), there), w, inverse_mass, inverse_inertia, b, arm, soft,
                             vector(multipliers, m))  # fmt: skip
            apply(x, i, push, fx, fq, fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, b, arm, rate)
            for c in range(3):
                multipliers[m, c] += push[c]
            continue
        arm = rotate(quaternion(fq0, b), local)
        line, _ = direction_and_length(sub(start, add(vector(fx0, b), arm)))
        give = w + yielding(inverse_mass, inverse_inertia, b, arm, line)
        for _ in range(NEWTON):
            there = add(vector(fx, b), rotate(quaternion(fq, b), local))
            now, length = direction_and_length(sub(add(origin, place(x, i)), there))
            slope = dot(now, line)
            if not slope > ZERO:
                break
            pull = dot(line, vector(multipliers, m))
            size = -(length - lengths[m] + soft * pull) / (slope * give + soft)
            push = scale(line, size)
            apply(x, i, push, fx, fq, fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, b, arm, rate)
            for c in range(3):
                multipliers[m, c] += push[c]
    finish_turns(before, fq, fq0, moments, fw, torques, h)


@numba.njit(cache=True, **STEADY)
def let_go(broken, multipliers, limits, h):
    """Rows whose force is above their limit let go; whether any did."""
    any_broke = False
    for m in range(len(broken)):
        if not broken[m] and norm(vector(multipliers, m)) > limits[m] * h * h:
            broken[m] = True
            any_broke = True
    return any_broke
