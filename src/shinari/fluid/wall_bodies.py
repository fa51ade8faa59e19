"""What the walls of a fluid do to rigid bodies: the opposite push, at once."""

import numba
import numpy as np

from shinari.contact.solid.collide import place, start_of
from shinari.maths.function import STEADY
from shinari.maths.vec3 import ZERO
from shinari.rigid.contact.vectors import add, cross, dot, scale, sub
from shinari.rigid.coupling.response import begin_turns, finish_turns
from shinari.rigid.motion import symmetric_times, vector


@numba.njit(cache=True, **STEADY)
def push_bodies(
    items, slots, counts, solids, first, piece_frames, pushes, particles, changes, x, predicted, velocities, origin, fx,
    fq, fx0, fq0, inverse_mass, moments, fw, frame_impulses, before, torques, moved, h
):  # fmt: skip
    """Give bodies the opposite of what their walls push the particles by.

    The sums are taken in the order of the particles by one thread: there are few of them beside all particles. The arm
    is that of the particle at the start of the substep, see `shinari.rigid.coupling.response`.

    Args:
        items: Places of particles, (A,).
        slots: Planes that each has room for.
        counts: Planes of each, (A,).
        solids: Solid of each plane, (A slots,).
        first: Solids from here on are pieces of bodies.
        piece_frames: Frame of each piece.
        pushes: Pull of each plane [1/m], (A slots, 3 or more).
        particles: Particle of the solver at each place, (n,).
        changes: Change of the multiplier of each place in the last column, (n, 4).
        x: Positions and inverse masses in the order of the solver, (N, 4).
        predicted: Predicted positions, (N, 3).
        velocities: Velocities of the prediction, (N, 3).
        origin: Origin of the particles [m].
        fx: Origins of the frames, (F, 3); changed.
        fq: Their quaternions, (F, 4); changed.
        fx0: Origins at the start of the substep.
        fq0: Quaternions at the start of the substep.
        inverse_mass: Of the frames, (F,).
        moments: Principal moments, (F, 3).
        fw: Angular velocities at the start of the substep, (F, 3).
        frame_impulses: Impulses and moments over the step, (F, 6); added to.
        before: Scratch, (F, 4).
        torques: Scratch, (F, 3).
        moved: Scratch, (F, 2).
        h: Substep [s].
    """
    begin_turns(before, fq, torques, moved)
    for p in range(len(items)):
        i = np.int64(items[p])
        s = particles[i]
        for e in range(p * slots, p * slots + counts[p]):
            b = piece_frames[np.int64(solids[e]) - first] if solids[e] >= first else -1
            if b < 0 or inverse_mass[b] <= ZERO:
                continue
            push = scale(vector(pushes, e), np.float64(changes[i, 3]))
            arm = sub(add(origin, start_of(x, predicted, velocities, h, s)), vector(fx0, b))
            moment = cross(arm, push)
            for c in range(3):
                fx[b, c] += inverse_mass[b] * push[c]
                frame_impulses[b, c] += push[c] / h
                frame_impulses[b, 3 + c] += moment[c] / h
                torques[b, c] += moment[c] / h
    finish_turns(before, fq, fq0, moments, fw, torques, h)


@numba.njit(cache=True, **STEADY)
def stiffen(
    items, slots, counts, solids, first, piece_frames, pushes, x, origin, fx, inverse_mass, inverse_inertia, touched,
    stiffness
):  # fmt: skip
    """Add to the stiffness of particles how far the bodies at them give way.

    A body is pushed by all of its particles at once. Each of them counts the mass of the body divided by their number
    (mass splitting: Tonge, Benevolenski, Voroshilov 2012), so that together they do not push it too far.

    `touched` (F,) is scratch, `stiffness` (n,) [1/(kg m^2)] is added to; the other arguments are those of
    `push_bodies`, x is `changes` there.
    """
    for b in range(len(touched)):
        touched[b] = ZERO
    for p in range(len(items)):
        for e in range(p * slots, p * slots + counts[p]):
            pull = vector(pushes, e)
            if solids[e] >= first and dot(pull, pull) > ZERO:
                touched[piece_frames[np.int64(solids[e]) - first]] += 1.0
    for p in range(len(items)):
        i = np.int64(items[p])
        for e in range(p * slots, p * slots + counts[p]):
            if solids[e] >= first:
                b = piece_frames[np.int64(solids[e]) - first]
                pull = scale(vector(pushes, e), 1.0)
                moment = cross(sub(add(origin, place(x, i)), vector(fx, b)), pull)
                give = inverse_mass[b] * dot(pull, pull) + dot(moment, symmetric_times(inverse_inertia, b, moment))
                stiffness[i] += touched[b] * give


@numba.njit(cache=True, **STEADY)
def give_of_bodies(
    items, slots, counts, solids, first, piece_frames, pushes, x, origin, fx, inverse_mass, inverse_inertia, sums
):  # fmt: skip
    """How far bodies give way to the multipliers in the last column of x: F W F, summed over their loads F.

    `sums` (F, 6) is scratch; the other arguments are those of `stiffen`.
    """
    for b in range(len(sums)):
        for c in range(6):
            sums[b, c] = ZERO
    for p in range(len(items)):
        i = np.int64(items[p])
        for e in range(p * slots, p * slots + counts[p]):
            if solids[e] >= first:
                b = piece_frames[np.int64(solids[e]) - first]
                push = scale(vector(pushes, e), np.float64(x[i, 3]))
                moment = cross(sub(add(origin, place(x, i)), vector(fx, b)), push)
                for c in range(3):
                    sums[b, c] += push[c]
                    sums[b, 3 + c] += moment[c]
    total = ZERO * origin[0]
    for b in range(len(sums)):
        push, moment = vector(sums, b), (sums[b, 3], sums[b, 4], sums[b, 5])
        total += inverse_mass[b] * dot(push, push) + dot(moment, symmetric_times(inverse_inertia, b, moment))
    return total
