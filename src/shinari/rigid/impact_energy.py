"""Energy of impacts: an impact with a restitution of at most 1 never increases the kinetic energy.

Newton's law of restitution does not imply this by itself. It demands a speed at each point, and where several points
bounce at once, such as those of a body between opposite walls, the speeds contradict each other; so do the places to
which the bounces lead. The energy is therefore limited, for all bodies that contacts and joints connect:

    T(t) = T(v + t dv) = T0 + 2 b t + c t^2,    T(t) <= max(T_free, T0),    0 <= t <= 1

with the velocities v that follow from the positions, the correction dv of the restitution, and the kinetic energy
T_free of the velocities at which the substep was predicted. A common factor t of all impulses keeps the momentum.
Where immovable frames hold a component and T0 itself is above T_free, v is scaled down before.

Energy is measured relative to the immovable frames that a component touches. It is not limited where these move
differently or turn, where a spring or a motor acts, or where particles press on a body: there it may increase.
"""

import math

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import dot, scale, sub
from shinari.rigid.line_search import APART
from shinari.rigid.motion import momentum_of, quaternion, vector

# States of a component: it touches no immovable frame, or frames that all move alike, or it is not limited.
FREE, HELD, UNLIMITED = 0, 1, 2
# Part of the leap of a bounce by which a point may miss it.
MISSED = 0.05


@numba.njit(cache=True, **STEADY)
def classify_components(
    count, first, frames, status, law, active, node_of, component_of, v, w, impulses, reference, states
):
    """Find the velocity of the immovable frames that each component touches, (C, 3), and its state, (C,).

    `active` (J,) says which joints can store or supply energy.
    """
    for e in range(first + count):
        p = e - first
        if p >= 0 and status[p] == APART:
            continue
        supplies = active[e] if p < 0 else law[p, 3] > 0.0
        for side in range(2):
            i, other = frames[e, side], frames[e, 1 - side]
            if node_of[i] < 0:
                continue
            c = component_of[node_of[i]]
            if supplies:
                states[c] = UNLIMITED
            for k in range(6):
                if impulses[i, k] != 0.0:
                    states[c] = UNLIMITED
            if node_of[other] >= 0 or states[c] == UNLIMITED:
                continue
            speed, spin = vector(v, other), vector(w, other)
            if dot(spin, spin) > 0.0 or (states[c] == HELD and speed != vector(reference, c)):
                states[c] = UNLIMITED
                continue
            states[c] = HELD
            for k in range(3):
                reference[c, k] = speed[k]


@steady
def kinetic(i, v, w, q, inverse_mass, moments, reference):
    """Kinetic energy of a body relative to a velocity [J]."""
    speed, spin = sub(vector(v, i), reference), vector(w, i)
    return 0.5 * (dot(speed, speed) / inverse_mass[i] + dot(spin, momentum_of(quaternion(q, i), moments, i, spin)))


@numba.njit(cache=True, **STEADY)
def kinetic_energies(nodes, starts, v, w, q, inverse_mass, moments, reference, energies):
    """Write the kinetic energy of each component relative to its reference [J], (C,)."""
    for c in range(len(starts) - 1):
        energies[c] = 0.0
        for j in range(starts[c], starts[c + 1]):
            energies[c] += kinetic(nodes[j], v, w, q, inverse_mass, moments, vector(reference, c))


@numba.njit(cache=True, **STEADY)
def mark_missed(count, first, leap, gaps, status, homes, missed):
    """Mark the components in which a point that bounces does not get where its bounce leads, (C,)."""
    for p in range(count):
        home = homes[first + p]
        if home >= 0 and status[p] != APART and leap[p] > 0.0 and gaps[p] < -MISSED * leap[p]:
            missed[home] = True


@numba.njit(cache=True, **STEADY)
def drop_leaps(count, first, chosen, homes, wanted, leap):
    """Let the points of chosen components (C,) end on the surface, not where their bounces lead."""
    for p in range(count):
        home = homes[first + p]
        if home >= 0 and chosen[home]:
            wanted[p] -= leap[p]
            leap[p] = 0.0


@numba.njit(cache=True, **STEADY)
def limit_velocities(nodes, starts, chosen, states, limits, v, w, q, inverse_mass, moments, reference):
    """Scale the velocities of chosen components (C,) that press on immovable frames down to their limits [J].

    A body that a position solve turns far gains energy at the same angular momentum, and so does one that it pushes
    out of an overlap.
    """
    for c in range(len(starts) - 1):
        if not chosen[c] or states[c] != HELD:
            continue
        energy = 0.0
        for j in range(starts[c], starts[c + 1]):
            energy += kinetic(nodes[j], v, w, q, inverse_mass, moments, vector(reference, c))
        if energy <= limits[c]:
            continue
        share = math.sqrt(limits[c] / energy)
        for j in range(starts[c], starts[c + 1]):
            i = nodes[j]
            for k in range(3):
                v[i, k] = reference[c, k] + share * (v[i, k] - reference[c, k])
                w[i, k] *= share


@numba.njit(cache=True, **STEADY)
def limit_bounces(nodes, starts, states, limits, v, w, q, inverse_mass, moments, reference, moved, h, parts):
    """Find the part t of the corrections `moved` / h that each component may take, (C,), and scale them (F, 6)."""
    for c in range(len(starts) - 1):
        parts[c] = 1.0
        if states[c] == UNLIMITED:
            continue
        before = slope = rise = 0.0
        for j in range(starts[c], starts[c + 1]):
            i = nodes[j]
            speed = sub(vector(v, i), vector(reference, c))
            change, turn = scale(vector(moved, i), 1.0 / h), (moved[i, 3] / h, moved[i, 4] / h, moved[i, 5] / h)
            momentum = momentum_of(quaternion(q, i), moments, i, turn)
            before += kinetic(i, v, w, q, inverse_mass, moments, vector(reference, c))
            slope += 0.5 * (dot(speed, change) / inverse_mass[i] + dot(vector(w, i), momentum))
            rise += 0.5 * (dot(change, change) / inverse_mass[i] + dot(turn, momentum))
        room = max(limits[c] - before, 0.0)
        # the positive root of rise t^2 + 2 slope t = room
        if rise > 0.0 and rise + 2.0 * slope > room:
            root = math.sqrt(slope * slope + rise * room)
            parts[c] = room / (root + slope) if slope > 0.0 else (root - slope) / rise
            for j in range(starts[c], starts[c + 1]):
                for k in range(6):
                    moved[nodes[j], k] *= parts[c]


@numba.njit(cache=True, **STEADY)
def scale_impulses(count, first, parts, homes, force, motion):
    """Scale the impulses of the points by the part of each component, (C,), for their friction."""
    for p in range(count):
        home = homes[first + p]
        if home >= 0 and parts[home] < 1.0:
            for k in range(6):
                force[first + p, k] *= parts[home]
                motion[first + p, k] *= parts[home]
