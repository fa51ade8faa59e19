"""Particles and elements that touched bodies, once the velocities of a substep are known: restitution, and no approach.

What heavy things on both sides of a light one leave of an overlap goes out without velocity in the next substep. The
velocity that brought it in has to go too, or it would stay for ever: what touches a rigid surface and still approaches
it is stopped by an impulse that both share.
"""

import numba
import numpy as np

from shinari.contact.solid.collide import law_of, place, recoil, record
from shinari.contact.solid.elements import blend, kick
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ONE, ZERO
from shinari.rigid.contact.vectors import add, cross, direction_and_length, dot, scale, sub
from shinari.rigid.coupling.response import yielding
from shinari.rigid.motion import quaternion, spin_of, vector, velocity_at


@steady
def strike(fq, fv, fw, inverse_mass, moments, frame_impulses, b, arm, impulse):
    """Let an impulse act at an arm of a body."""
    if inverse_mass[b] > ZERO:
        moment = cross(arm, impulse)
        turn = spin_of(quaternion(fq, b), moments, b, moment)
        for c in range(3):
            fv[b, c] += inverse_mass[b] * impulse[c]
            fw[b, c] += turn[c]
            frame_impulses[b, c] += impulse[c]
            frame_impulses[b, 3 + c] += moment[c]


@steady
def rebound(n, gap, w, b, arm, start, now, fv, fw, fv0, fw0, inverse_mass, inverse_inertia, law, gravity, weight, h):
    """Impulse on a point by restitution, or that stops it; (0, 0, 0) where it leaves.

    Both fall, so the point approaches by gravity only as far as one of the two is not pushed by it.
    """
    one = ONE if w > ZERO else ZERO * w
    other = ONE if inverse_mass[b] > ZERO else ZERO * w
    pull = scale(gravity, one - other)
    still = (ZERO * w, ZERO * w, ZERO * w)
    approach = sub(start, velocity_at(fv0, fw0, b, arm))
    speed = sub(now, velocity_at(fv, fw, b, arm))
    change = recoil(n, gap, approach, speed, still, law, pull, weight, h) if law[2] > ZERO else still
    rest = max(-dot(n, add(speed, change)), ZERO)
    change = add(change, scale(n, rest))
    along, speed = direction_and_length(change)
    give = w + yielding(inverse_mass, inverse_inertia, b, arm, along)
    return scale(along, speed / give if give > ZERO else ZERO * speed)


@numba.njit(cache=True, **STEADY)
def bounce_particles(
    items, offsets, solids, memory, impulses, x, velocities, starts, owners, mine, groups, origins, piece_frames,
    theirs, fx, fq, fv, fw, fv0, fw0, inverse_mass, inverse_inertia, moments, frame_impulses, gravity, weight, h
):  # fmt: skip
    """Restitution of listed particles.

    Arguments as of `shinari.rigid.coupling.push.push_particles`; `starts` (N, 3), `fv0` and `fw0` (F, 3) are the
    velocities at the start of the substep.
    """
    pull = (gravity[0], gravity[1], gravity[2])
    for p in range(len(items)):
        i = np.int64(items[p])
        w = np.float64(x[i, 3])
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            b = piece_frames[k]
            law = law_of(mine, theirs, owners[i], k)
            if memory[m, 0] <= ZERO or law[3] > ZERO:
                continue
            n = (memory[m, 4], memory[m, 5], memory[m, 6])
            arm = sub(add(vector(origins, groups[i]), place(x, i)), vector(fx, b))
            impulse = rebound(n, memory[m, 7], w, b, arm, vector(starts, i), vector(velocities, i), fv, fw, fv0, fw0,
                              inverse_mass, inverse_inertia, law, pull, weight, h)  # fmt: skip
            kick(velocities, i, w, impulse)
            strike(fq, fv, fw, inverse_mass, moments, frame_impulses, b, arm, scale(impulse, -ONE))
            record(impulses, m, impulse, ONE)


@numba.njit(cache=True, **STEADY)
def bounce_elements(
    items, offsets, solids, memory, impulses, elements, x, velocities, starts, owners, mine, groups, origins,
    piece_frames, theirs, fx, fq, fv, fw, fv0, fw0, inverse_mass, inverse_inertia, moments, frame_impulses, gravity,
    weight, h
):  # fmt: skip
    """Restitution of listed elements; arguments as of `bounce_particles`."""
    pull = (gravity[0], gravity[1], gravity[2])
    for p in range(len(items)):
        e = np.int64(items[p])
        i0, i1, i2 = np.int64(elements[e, 0]), np.int64(elements[e, 1]), np.int64(elements[e, 2])
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            b = piece_frames[k]
            law = law_of(mine, theirs, owners[i0], k)
            if memory[m, 0] <= ZERO or law[3] > ZERO:
                continue
            weights = (memory[m, 8], memory[m, 9], memory[m, 10])
            b0 = weights[0]
            b1 = weights[1] + weights[2] if i1 == i2 else weights[1]
            b2 = ZERO * weights[2] if i1 == i2 else weights[2]
            w = x[i0, 3] * b0 * b0 + x[i1, 3] * b1 * b1 + x[i2, 3] * b2 * b2
            point = add(vector(origins, groups[i0]), blend(weights, place(x, i0), place(x, i1), place(x, i2)))
            arm = sub(point, vector(fx, b))
            start = blend(weights, vector(starts, i0), vector(starts, i1), vector(starts, i2))
            now = blend(weights, vector(velocities, i0), vector(velocities, i1), vector(velocities, i2))
            n = (memory[m, 4], memory[m, 5], memory[m, 6])
            impulse = rebound(n, memory[m, 7], w, b, arm, start, now, fv, fw, fv0, fw0, inverse_mass, inverse_inertia,
                              law, pull, weight, h)  # fmt: skip
            kick(velocities, i0, x[i0, 3] * b0, impulse)
            kick(velocities, i1, x[i1, 3] * b1, impulse)
            kick(velocities, i2, x[i2, 3] * b2, impulse)
            strike(fq, fv, fw, inverse_mass, moments, frame_impulses, b, arm, scale(impulse, -ONE))
            record(impulses, m, impulse, ONE)
