"""Rigid bodies that carry points in a fluid: where the points are, how far they give way, and what pushes back.

The arm of a push is that of the particle at the start of the substep, as in `shinari.rigid.coupling.response`: the
angular momentum that a body gets is the exact opposite of what the particle gets.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import ZERO
from shinari.rigid.contact.vectors import add, cross, dot, sub
from shinari.rigid.coupling.response import begin_turns, finish_turns
from shinari.rigid.motion import quaternion, symmetric_times, turned_by, vector


@numba.njit(cache=True, **STEADY)
def place_on_frames(local, frames, fx, fq, origin, at):
    """Where points of frames are, (M, 3), from their places in the axes of the frames (M, 3).

    Args:
        local: Places [m], (M, 3).
        frames: Frame of each, (M,).
        fx: Origins of the frames [m], (F, 3).
        fq: Their quaternions, (F, 4).
        origin: What positions are relative to [m], (3,).
        at: Filled.
    """
    for b in range(len(local)):
        f = frames[b]
        p = sub(add(vector(fx, f), rotate(quaternion(fq, f), vector(local, b))), (origin[0], origin[1], origin[2]))
        at[b, 0], at[b, 1], at[b, 2] = p


@steady
def arm_of(s, f, predicted, velocities, origin, fx0, h):
    """From the origin of a frame to a particle, both at the start of the substep [m]."""
    return (
        origin[0] + (predicted[s, 0] - h * velocities[s, 0]) - fx0[f, 0],
        origin[1] + (predicted[s, 1] - h * velocities[s, 1]) - fx0[f, 1],
        origin[2] + (predicted[s, 2] - h * velocities[s, 2]) - fx0[f, 2],
    )


@numba.njit(cache=True, **STEADY)
def frame_gives(
    gradients, particles, pair_frames, predicted, velocities, origin, fx0, inverse_mass, inverse_inertia, h, gives
):  # fmt: skip
    """How far frames give way to each pair: sqrt(grad w grad), (P,); arguments as of `sums_of_frames`."""
    for m in range(len(gradients)):
        f, push = pair_frames[m], vector(gradients, m)
        moment = cross(arm_of(particles[m], f, predicted, velocities, origin, fx0, h), push)
        square = inverse_mass[f] * dot(push, push) + dot(moment, symmetric_times(inverse_inertia, f, moment))
        gives[m] = np.sqrt(max(square, ZERO))


@numba.njit(cache=True, **STEADY)
def sums_of_frames(pushes, particles, pair_frames, predicted, velocities, origin, fx0, h, sums):
    """Sum of the pushes on the particles of each frame [kg m], and of their moments [kg m^2], (F, 6).

    Args:
        pushes: Push on the particle of each pair [kg m], (P, 3).
        particles: Particle of each pair in solver order, (P,).
        pair_frames: Frame of each pair, (P,).
        predicted: Predicted positions in solver order [m], (N, 3).
        velocities: Velocities of the prediction [m/s], (N, 3).
        origin: What these are relative to [m], (3,).
        fx0: Origins of the frames at the start of the substep [m], (F, 3).
        h: Substep [s].
        sums: Filled.
    """
    for f in range(len(sums)):
        for c in range(6):
            sums[f, c] = ZERO
    for m in range(len(pushes)):
        f = pair_frames[m]
        push = vector(pushes, m)
        moment = cross(arm_of(particles[m], f, predicted, velocities, origin, fx0, h), push)
        for c in range(3):
            sums[f, c] += push[c]
            sums[f, 3 + c] += moment[c]


@numba.njit(cache=True, **STEADY)
def push_frames_back(
    sums, h, fx, fq, fq0, inverse_mass, inverse_inertia, moments, fw, impulses, before, torques, moved
):  # fmt: skip
    """Give frames the opposite of pushes on particles.

    Args:
        sums: Pushes and moments of each, (F, 6).
        h: Substep [s].
        fx: Origins of the frames [m], (F, 3); changed.
        fq: Quaternions, (F, 4); changed.
        fq0: Quaternions at the start of the substep, (F, 4).
        inverse_mass: (F,).
        inverse_inertia: (F, 6).
        moments: Principal moments [kg m^2], (F, 3).
        fw: Angular velocities at the start of the substep, (F, 3).
        impulses: Impulses and their moments in this step, (F, 6); added to.
        before: Scratch, (F, 4).
        torques: Scratch, (F, 3).
        moved: Scratch, (F, 2).
    """
    begin_turns(before, fq, torques, moved)
    for f in range(len(sums)):
        if inverse_mass[f] > ZERO:
            for c in range(3):
                fx[f, c] -= inverse_mass[f] * sums[f, c]
                torques[f, c] = -sums[f, 3 + c] / h
            for c in range(6):
                impulses[f, c] -= sums[f, c] / h
            turned = symmetric_times(inverse_inertia, f, (-sums[f, 3], -sums[f, 4], -sums[f, 5]))
            fq[f, 0], fq[f, 1], fq[f, 2], fq[f, 3] = turned_by(quaternion(fq, f), turned)
    finish_turns(before, fq, fq0, moments, fw, torques, h)
