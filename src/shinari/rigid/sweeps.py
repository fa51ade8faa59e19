"""The bodies' system, solved by sweeps: for heaps whose factor would cost too much.

The same elements as in `direct`, one after the other, each as a small system of its own (Gauss-Seidel on the forces, as
in projected Gauss-Seidel). The forces of the last substep are the first guess, so that a heap at rest needs few sweeps;
what a sweep leaves over is a force that arrives a substep later. For a point of contact the law of `points` is applied
as it stands: no pull, and friction within its cone.
"""

import math

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.rigid.contact.vectors import cross
from shinari.rigid.direct import bar_way, motion_of, move, row_of
from shinari.rigid.line_search import GRIP
from shinari.rigid.motion import symmetric_times, vector
from shinari.rigid.points import weight_along

SWEEPS = 12


@steady
def give(j, i, r, f, t, sign, inverse_mass, inverse_inertia, g, ease):
    """Let a force and a moment act on node j, frame i, at an arm."""
    if j >= 0:
        moment = add(cross(r, f), t)
        turn = symmetric_times(inverse_inertia, i, moment)
        push = sign * ease
        for c in range(3):
            g[j, c] += push * inverse_mass[i] * f[c]
            g[j, 3 + c] += push * turn[c]


@steady
def give_both(e, places, frames, arms, f, t, inverse_mass, inverse_inertia, g, ease):
    """Let a force and a moment act on frame a of an element, and their opposite on b."""
    a, b = frames[e, 0], frames[e, 1]
    give(places[e, 0], a, (arms[e, 0], arms[e, 1], arms[e, 2]), f, t, 1.0, inverse_mass, inverse_inertia, g, ease)
    give(places[e, 1], b, (arms[e, 3], arms[e, 4], arms[e, 5]), f, t, -1.0, inverse_mass, inverse_inertia, g, ease)


@steady
def inverse_times(m0, m1, m2, v):
    """Solution of a 3 x 3 system by Cramer's rule."""
    c12 = cross(m1, m2)
    determinant = dot(m0, c12)
    s = 1.0 / determinant if determinant != 0.0 else 0.0
    # rows m: M y = v, y = (v0 m1 x m2 + v1 m2 x m0 + v2 m0 x m1) / det
    c20, c01 = cross(m2, m0), cross(m0, m1)
    return scale(add(add(scale(c12, v[0]), scale(c20, v[1])), scale(c01, v[2])), s)


@steady
def compliance_column(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Change of the relative motion d by a unit force along n."""
    total = scale(n, inverse_mass[a] + inverse_mass[b])
    if inverse_mass[a] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, a, cross(ra, n)), ra))
    if inverse_mass[b] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, b, cross(rb, n)), rb))
    return total


@steady
def sweep_joint(e, places, frames, arms, force, stiffness, motion, kept, inverse_mass, inverse_inertia, g, ease):
    """Solve a joint: its point, then its turn."""
    a, b = frames[e, 0], frames[e, 1]
    ra, rb = (arms[e, 0], arms[e, 1], arms[e, 2]), (arms[e, 3], arms[e, 4], arms[e, 5])
    none = (0.0, 0.0, 0.0)
    for part in range(2):
        at, k = 3 * part, 6 * part
        motion_of(e, places[e, 0], places[e, 1], arms, g, motion)
        k0, k1, k2 = row_of(stiffness, e, 0, k), row_of(stiffness, e, 1, k), row_of(stiffness, e, 2, k)
        d = (motion[e, at], motion[e, at + 1], motion[e, at + 2])
        old = (kept[e, at], kept[e, at + 1], kept[e, at + 2])
        goal = (force[e, at] - dot(k0, d), force[e, at + 1] - dot(k1, d), force[e, at + 2] - dot(k2, d))
        x, y, z = (ease, 0.0, 0.0), (0.0, ease, 0.0), (0.0, 0.0, ease)
        if part == 0:
            x = compliance_column(a, b, ra, rb, x, inverse_mass, inverse_inertia)
            y = compliance_column(a, b, ra, rb, y, inverse_mass, inverse_inertia)
            z = compliance_column(a, b, ra, rb, z, inverse_mass, inverse_inertia)
        else:
            x = add(symmetric_times(inverse_inertia, a, x), symmetric_times(inverse_inertia, b, x))
            y = add(symmetric_times(inverse_inertia, a, y), symmetric_times(inverse_inertia, b, y))
            z = add(symmetric_times(inverse_inertia, a, z), symmetric_times(inverse_inertia, b, z))
        m0 = (1.0 + dot(k0, x), dot(k0, y), dot(k0, z))
        m1 = (dot(k1, x), 1.0 + dot(k1, y), dot(k1, z))
        m2 = (dot(k2, x), dot(k2, y), 1.0 + dot(k2, z))
        change = inverse_times(m0, m1, m2, sub(goal, old))
        if part == 0:
            give_both(e, places, frames, arms, change, none, inverse_mass, inverse_inertia, g, ease)
        else:
            give_both(e, places, frames, arms, none, change, inverse_mass, inverse_inertia, g, ease)
        for c in range(3):
            kept[e, at + c] = old[c] + change[c]


@steady
def sweep_point(
    e, p, places, frames, arms, motion, kept, normals, law, gaps, slips, stiff, load, inverse_mass, inverse_inertia,
    g, ease
):  # fmt: skip
    """Solve a point of contact: along the normal, then across it."""
    a, b = frames[e, 0], frames[e, 1]
    ra, rb = (arms[e, 0], arms[e, 1], arms[e, 2]), (arms[e, 3], arms[e, 4], arms[e, 5])
    n, k, none = vector(normals, p), stiff[p], (0.0, 0.0, 0.0)
    if k == 0.0:
        return
    motion_of(e, places[e, 0], places[e, 1], arms, g, motion)
    last, old = vector(load, p), vector(kept, e)
    held, had = dot(n, last), dot(n, old)
    soft = 1.0 / max(1.0, k * law[p, 3])
    w = ease * weight_along(a, b, ra, rb, n, inverse_mass, inverse_inertia)
    goal = -soft * k * (gaps[p] + dot(n, vector(motion, e)))
    push = max(had + (goal - had) / (1.0 + soft * k * w), 0.0)
    give_both(e, places, frames, arms, scale(n, push - had), none, inverse_mass, inverse_inertia, g, ease)
    motion_of(e, places[e, 0], places[e, 1], arms, g, motion)
    d = vector(motion, e)
    slip = add(vector(slips, p), sub(d, scale(n, dot(n, d))))
    before = sub(old, scale(n, had))
    wish = sub(sub(sub(last, scale(n, held)), scale(slip, GRIP * k)), before)
    size = math.sqrt(dot(wish, wish))
    w = ease * weight_along(a, b, ra, rb, scale(wish, 1.0 / size), inverse_mass, inverse_inertia) if size > 0.0 else 0.0
    hold = add(before, scale(wish, 1.0 / (1.0 + GRIP * k * w)))
    size = math.sqrt(dot(hold, hold))
    if size > law[p, 1] * push:
        hold = scale(hold, law[p, 0] * push / size)
    give_both(e, places, frames, arms, sub(hold, before), none, inverse_mass, inverse_inertia, g, ease)
    for c in range(3):
        kept[e, c] = push * n[c] + hold[c]


@steady
def sweep_bar(b, i, j, frames, jacobian, force, stiffness, kept, inverse_mass, inverse_inertia, g, ease):
    """Solve a row with a Jacobian of its own."""
    w = 0.0
    for side in range(2):
        f, at = frames[b, side], 6 * side
        turn = symmetric_times(inverse_inertia, f, (jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5]))
        for c in range(3):
            w += inverse_mass[f] * jacobian[b, at + c] * jacobian[b, at + c] + turn[c] * jacobian[b, at + 3 + c]
    goal = force[b] - stiffness[b] * bar_way(b, i, j, jacobian, g)
    change = (goal - kept[b]) / (1.0 + stiffness[b] * ease * w)
    kept[b] += change
    for side in range(2):
        f, at, node = frames[b, side], 6 * side, i if side == 0 else j
        if node >= 0:
            turn = symmetric_times(inverse_inertia, f, (jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5]))
            for c in range(3):
                g[node, c] += ease * change * inverse_mass[f] * jacobian[b, at + c]
                g[node, 3 + c] += ease * change * turn[c]


@numba.njit(cache=True, **STEADY)
def solve_sweeps(
    direct, joints, first_bar, nodes, starts, element_starts, element_order, places, frames, arms, force, stiffness,
    motion, kept, bar_frames, jacobian, bar_force, bar_stiffness, bar_motion, bar_kept, normals, law, gaps, slips,
    stiff, load, push, x, q, inverse_mass, inverse_inertia, moved, g, h
):  # fmt: skip
    """Sweep over all components that are not solved directly, and move them; `kept` (E, 6) holds the forces."""
    ease = h * h
    for c in range(len(direct)):
        if direct[c]:
            continue
        for j in range(starts[c], starts[c + 1]):
            for k in range(6):
                g[j, k] = -moved[nodes[j], k]
        begin, end = element_starts[c], element_starts[c + 1]
        for s in range(begin, end):
            e = element_order[s]
            if e < first_bar:
                f, t = vector(kept, e), (kept[e, 3], kept[e, 4], kept[e, 5])
                give_both(e, places, frames, arms, f, t, inverse_mass, inverse_inertia, g, ease)
            else:
                bar_kept[e - first_bar] = 0.0
        for turn in range(SWEEPS):
            for s in range(begin, end):
                # there and back: what is on top hears of what is below as soon as the other way round
                e = element_order[s if turn % 2 == 0 else begin + end - 1 - s]
                if e < joints:
                    sweep_joint(e, places, frames, arms, force, stiffness, motion, kept, inverse_mass,
                                inverse_inertia, g, ease)  # fmt: skip
                elif e < first_bar:
                    sweep_point(e, e - joints, places, frames, arms, motion, kept, normals, law, gaps, slips, stiff,
                                load, inverse_mass, inverse_inertia, g, ease)  # fmt: skip
                else:
                    sweep_bar(e - first_bar, places[e, 0], places[e, 1], bar_frames, jacobian, bar_force,
                              bar_stiffness, bar_kept, inverse_mass, inverse_inertia, g, ease)  # fmt: skip
        for s in range(begin, end):
            e = element_order[s]
            if e < joints:
                # by its law a joint would take what the sweeps left over for a force
                for k in range(6):
                    force[e, k], motion[e, k] = kept[e, k], 0.0
            elif e < first_bar:
                for k in range(3):
                    push[e - joints, k] = kept[e, k]
            else:
                bar_force[e - first_bar], bar_motion[e - first_bar] = bar_kept[e - first_bar], 0.0
        for j in range(starts[c], starts[c + 1]):
            move(nodes[j], j, x, q, moved, g)
