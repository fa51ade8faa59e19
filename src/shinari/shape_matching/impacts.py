"""Rigid lumps against colliders and each other: what a contact does to the velocity of the whole.

Contacts push single particles. Each has a small part of the mass, and matching hands its momentum on over several
substeps, in which the lump sinks in; the push that brings it out again would act as a spring, and throw it up. So the
velocity of the lump as a rigid body, which follows from its momenta, is brought to what the contacts ask for: at each
touching particle the speed along the normal that it had if it was leaving, else zero, or after an impact e times the
speed of approach; and no slip as long as friction can hold it (Mueller et al. 2020, Detailed Rigid Body Simulation with
Extended Position Based Dynamics, section 3.6). Impulses are found by sweeps over the contacts. They may take back what
a collider has pushed in this substep, and never pull beyond; friction is limited by the whole of the push. What they
give is recorded with the contacts, so that forces are those that act.

The touching point is the centre of the particle, as in all contacts of particles: a ball of radius R filled with
particles of radius r rolls as one of radius R - r.
"""

from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.contact.family import Touches
from shinari.contact.solid.collide import combined, into, law_of, out_of, place
from shinari.maths.function import STEADY, steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.shape_matching.kernels import ONE, THIN, ZERO
from shinari.shape_matching.part import SHARE, ShapeMatching

if TYPE_CHECKING:
    from shinari.contact.particle.particle_pairs import Pairs
    from shinari.contact.solid.solids import Solids
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.state import State

SWEEPS = 30
# Approaches up to so many times the speed that gravity gives in a substep do not bounce.
SLOW = 2.0
# Columns of a body: centre, velocity, angular velocity, mass, moments xx yy zz yz zx xy of its inertia.
BODY = 16


class Impacts:
    """The velocities of rigid lumps that touch something, as a family of contacts; it has no contacts of its own."""

    def __init__(
        self,
        lumps: ShapeMatching,
        model: "Model",
        state: "State",
        settings: "Settings",
        solids: "Solids | None",
        pairs: "Pairs | None",
    ) -> None:
        self._lumps, self._model, self._state, self._settings = lumps, model, state, settings
        self._solids, self._pairs = solids, pairs
        self._firm = lumps.firm
        self._lump_of = np.full(model.particle_count, -1)
        self._lump_of[lumps.particles] = np.where(self._firm[lumps.lumps], lumps.lumps, -1)
        count = len(lumps.held)
        self._sums = np.empty((len(lumps.lump_pieces), BODY))
        self._before, self._after = np.zeros((count, BODY)), np.zeros((count, BODY))
        self._changes = np.zeros((count, 6))
        self._kick = settings.substep * model.gravity
        self._slow = SLOW * float(np.linalg.norm(self._kick))

    def begin(self, time: float) -> None:
        """Nothing is carried from step to step."""

    def prepare(self, end: float, threads: int) -> None:
        """A substep begins: how the lumps move, with the gravity of the substep."""
        self._measure(self._before, threads)
        self._before[:, 3:6] += self._kick
        if self._pairs is not None:
            self._pushed, self._detections = self._pairs.rows()[2].copy(), self._pairs.detections

    def project(self, threads: int, first: bool) -> float:
        """Nothing: positions are the business of the colliders and of matching."""
        return 0.0

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Bring the velocities of the lumps to what their contacts ask for."""
        on_solids, memory, impulses = self._solid_contacts()
        on_lumps, normals, sums, pushed = self._lump_contacts()
        if len(on_solids) + len(on_lumps) == 0:
            return
        self._measure(self._after, threads)
        model, state, solids, real = self._model, self._state, self._solids, self._model.real
        none = np.zeros((0, 4), real), np.zeros((len(model.origins), 0, 12), real)
        surfaces, poses_before, poses_after = (
            (none[0], none[1], none[1]) if solids is None else (solids.surfaces, solids.before, solids.after)
        )
        self._changes[...] = 0.0
        solve(
            on_solids, memory, impulses, on_lumps, normals, sums, pushed, self._before, self._after, self._changes,
            state.x, model.radii, model.owners, model.surfaces, model.groups, surfaces, poses_before, poses_after,
            real(self._settings.substep), self._slow,
        )  # fmt: skip
        shift(self._parts(threads), self._lumps.particles, self._lumps.lumps, state.x, state.v, self._after,
              self._changes)  # fmt: skip

    def _solid_contacts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Contacts with colliders that push, lump after lump, and the arrays that hold them."""
        if self._solids is None:
            return np.zeros((0, 4), np.int64), np.zeros((0, 12), self._model.real), np.zeros((0, 3))
        near = self._solids.particle_contacts
        found = contacts_of(near.items, near.offsets, near.solids, near.memory, self._lump_of)
        return found[np.argsort(found[:, 0], kind="stable")], near.memory, near.impulses

    def _lump_contacts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Contacts of two rigid lumps that push: lumps, particles and row, (K, 5); and the arrays that hold them."""
        if self._pairs is None:
            empty = np.zeros((0, 3), self._model.real)
            return np.zeros((0, 5), np.int64), empty, empty, empty
        particles, normals, impulses = self._pairs.rows()
        # rows that were found anew within the substep have what they pushed since
        same = self._pairs.detections == self._detections and len(self._pushed) == len(impulses)
        pushed = impulses - self._pushed if same else impulses.copy()
        lumps = self._lump_of[particles]
        on = (lumps >= 0).all(axis=1) & (np.einsum("kc,kc->k", pushed, normals) > 0.0)
        rows = np.flatnonzero(on)
        both = [lumps[rows, 0], particles[rows, 0], lumps[rows, 1], particles[rows, 1], rows]
        return np.stack(both, axis=1).astype(np.int64), normals, impulses, pushed

    def touches(self) -> Touches:
        """None that are not those of the colliders."""
        return Touches.none()

    def _measure(self, bodies: np.ndarray, threads: int) -> None:
        lumps, state = self._lumps, self._state
        body_sums(self._parts(threads), lumps.lump_pieces, lumps.firsts, lumps.particles, state.x, state.v, self._firm,
                  self._sums)  # fmt: skip
        bodies_of(lumps.lump_piece_starts, lumps.firsts, lumps.particles, state.x, self._sums, self._firm, bodies)

    def _parts(self, threads: int) -> int:
        return max(1, min(threads, len(self._lumps.particles) // SHARE))


@numba.njit(parallel=True, cache=True, **STEADY)
def body_sums(parts, pieces, starts, particles, x, v, firm, sums):
    """Sums over pieces of rigid lumps: mass, m r, m r r^T, m v, m r cross v, with r from the first particle."""
    count = len(pieces)
    for t in numba.prange(parts):
        for k in range(count * t // parts, count * (t + 1) // parts):
            if firm[pieces[k, 0]]:
                piece_sums(k, particles[starts[pieces[k, 0]]], pieces, particles, x, v, sums)


@steady
def piece_sums(k, origin, pieces, particles, x, v, sums):
    """Sums of piece k."""
    ox, oy, oz = np.float64(x[origin, 0]), np.float64(x[origin, 1]), np.float64(x[origin, 2])
    mass = cx = cy = cz = xx = yy = zz = yz = zx = xy = px = py = pz = lx = ly = lz = ZERO
    for p in range(pieces[k, 1], pieces[k, 2]):
        i = particles[p]
        m = ONE / np.float64(x[i, 3])
        a, b, c = x[i, 0] - ox, x[i, 1] - oy, x[i, 2] - oz
        s, t, u = m * v[i, 0], m * v[i, 1], m * v[i, 2]
        mass, cx, cy, cz = mass + m, cx + m * a, cy + m * b, cz + m * c
        xx, yy, zz = xx + m * a * a, yy + m * b * b, zz + m * c * c
        yz, zx, xy = yz + m * b * c, zx + m * c * a, xy + m * a * b
        px, py, pz = px + s, py + t, pz + u
        lx, ly, lz = lx + (b * u - c * t), ly + (c * s - a * u), lz + (a * t - b * s)
    sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = mass, cx, cy, cz
    sums[k, 4], sums[k, 5], sums[k, 6], sums[k, 7], sums[k, 8], sums[k, 9] = xx, yy, zz, yz, zx, xy
    sums[k, 10], sums[k, 11], sums[k, 12], sums[k, 13], sums[k, 14], sums[k, 15] = px, py, pz, lx, ly, lz


@numba.njit(cache=True, **STEADY)
def bodies_of(piece_starts, starts, particles, x, sums, firm, bodies):
    """Rigid lumps as bodies, (L, BODY): the rigid motion that has their momenta."""
    for g in range(len(firm)):
        if firm[g]:
            body_of(g, particles[starts[g]], piece_starts, x, sums, bodies)


@steady
def body_of(g, origin, piece_starts, x, sums, bodies):
    """One body."""
    first = piece_starts[g]
    for k in range(first + 1, piece_starts[g + 1]):
        for column in range(BODY):
            sums[first, column] += sums[k, column]
    s, mass = ONE / sums[first, 0], sums[first, 0]
    c = (s * sums[first, 1], s * sums[first, 2], s * sums[first, 3])
    v = (s * sums[first, 10], s * sums[first, 11], s * sums[first, 12])
    xx, yy, zz = (
        sums[first, 4] - mass * c[0] * c[0],
        sums[first, 5] - mass * c[1] * c[1],
        sums[first, 6] - mass * c[2] * c[2],
    )
    yz, zx, xy = (
        sums[first, 7] - mass * c[1] * c[2],
        sums[first, 8] - mass * c[2] * c[0],
        sums[first, 9] - mass * c[0] * c[1],
    )
    spin = sub((sums[first, 13], sums[first, 14], sums[first, 15]), scale(cross(c, v), mass))
    least = THIN * (xx + yy + zz) + THIN * THIN * mass
    diagonal, off = (yy + zz + least, zz + xx + least, xx + yy + least), (-yz, -zx, -xy)
    w, _ = solve_symmetric(diagonal, off, spin)
    for k in range(3):
        bodies[g, k] = np.float64(x[origin, k]) + c[k]
        bodies[g, 3 + k], bodies[g, 6 + k] = v[k], w[k]
        bodies[g, 10 + k], bodies[g, 13 + k] = diagonal[k], off[k]
    bodies[g, 9] = mass


@numba.njit(cache=True, **STEADY)
def contacts_of(items, offsets, solids, memory, lump_of):
    """Lump, particle, solid and row of each contact that pushes a rigid lump, (K, 4)."""
    count = 0
    for turn in range(2):
        found = np.empty((count, 4), np.int64)
        count = 0
        for p in range(len(items)):
            lump = lump_of[items[p]]
            if lump >= 0:
                for m in range(offsets[p], offsets[p + 1]):
                    if memory[m, 0] > 0.0:
                        if turn == 1:
                            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = (
                                lump,
                                items[p],
                                solids[m],
                                m,
                            )
                        count += 1
    return found


@numba.njit(cache=True, **STEADY)
def solve(
    on_solids, memory, impulses, on_lumps, normals, sums, pushed, before, now, changes, x, radii, owners, mine, groups,
    theirs, poses_before, poses_after, h, slow
):  # fmt: skip
    """Find the changes of velocity and angular velocity of the lumps, (L, 6), and record the impulses.

    Args:
        on_solids: Lump, particle, solid and row of each contact with a collider, (K, 4).
        memory: What these contacts remember of the substep; see `shinari.contact.solid.collide`.
        impulses: Sum of the impulses of each [N s], (M, 3).
        on_lumps: Lump and particle, the other lump and particle, and row of each contact of two lumps, (K', 5).
        normals: Normals of these rows, (M', 3).
        sums: Sum of the impulses of each on the first [N s], (M', 3).
        pushed: What of it is of this substep [N s], (M', 3).
        before: Bodies at the start of the substep, (L, BODY).
        now: Bodies at its end.
        changes: Zeros; filled.
        x: Positions and inverse mass, (N, 4).
        radii: Radii [m], (N,).
        owners: Thing of each particle, (N,).
        mine: Surface of each thing, (T, 4).
        groups: Group of each particle, (N,).
        theirs: Surface of each solid, (S, 4).
        poses_before: Poses of the solids at the start of the substep, (G, S, 12).
        poses_after: At its end.
        h: Substep [s].
        slow: Speed of approach up to which nothing bounces [m/s].
    """
    first, count = len(on_solids), len(on_solids) + len(on_lumps)
    # normal, arm, what the normal speed is to be, speed of the solid, push so far [N s], friction so far [N s],
    # friction, static friction, whether it is soft, arm of the other lump
    rows = np.zeros((count, 20))
    lumps = np.full((count, 2), -1)
    for k in range(first):
        lumps[k, 0] = on_solids[k, 0]
        solid_row(k, on_solids, memory, before, now, x, owners, mine, groups, theirs, poses_before, poses_after, h,
                  slow, rows)  # fmt: skip
    for k in range(first, count):
        lumps[k, 0], lumps[k, 1] = on_lumps[k - first, 0], on_lumps[k - first, 2]
        lump_row(k, k - first, on_lumps, normals, pushed, before, now, x, radii, owners, mine, slow, rows)
    for _ in range(SWEEPS):
        for k in range(count):
            solve_row(lumps[k, 0], lumps[k, 1], k, now, changes, rows)
    for k in range(first):
        m, n = on_solids[k, 3], (rows[k, 0], rows[k, 1], rows[k, 2])
        mass_over_h = ONE / (np.float64(x[on_solids[k, 1], 3]) * h)
        push = rows[k, 10] - mass_over_h * memory[m, 0]
        for c in range(3):
            impulses[m, c] += push * n[c] + rows[k, 11 + c] - mass_over_h * memory[m, 1 + c]
    for k in range(first, count):
        m = on_lumps[k - first, 4]
        for c in range(3):
            sums[m, c] += rows[k, 10] * rows[k, c] + rows[k, 11 + c] - pushed[m, c]


@steady
def wanted_speed(speed, restitution, slow):
    """Speed along the normal that a contact asks for."""
    return -restitution * speed if speed < -slow else max(speed, ZERO)


@steady
def solid_row(
    k, contacts, memory, before, now, x, owners, mine, groups, theirs, poses_before, poses_after, h, slow, rows
):
    """Write what a contact with a collider asks for."""
    g, i, solid, m = contacts[k, 0], contacts[k, 1], contacts[k, 2], contacts[k, 3]
    group = groups[i]
    law = law_of(mine, theirs, owners[i], solid)
    here = place(x, i)
    carried = scale(sub(here, out_of(poses_before[group, solid], into(poses_after[group, solid], here))), ONE / h)
    n = (np.float64(memory[m, 4]), np.float64(memory[m, 5]), np.float64(memory[m, 6]))
    speed = dot(n, sub(velocity_at(before, g, arm_of(before, g, here)), carried))
    mass_over_h = ONE / (np.float64(x[i, 3]) * h)
    arm = arm_of(now, g, here)
    for c in range(3):
        rows[k, c], rows[k, 3 + c], rows[k, 7 + c] = n[c], arm[c], carried[c]
        rows[k, 11 + c] = mass_over_h * memory[m, 1 + c]
    rows[k, 6], rows[k, 10] = wanted_speed(speed, law[2], slow), mass_over_h * memory[m, 0]
    rows[k, 14], rows[k, 15] = law[0], law[1]
    rows[k, 16] = ONE if law[3] > 0.0 else ZERO


@steady
def lump_row(k, at, contacts, normals, pushed, before, now, x, radii, owners, mine, slow, rows):
    """Write what a contact of two lumps asks for; both feel it where the surfaces of the balls touch."""
    g, i, other, j, m = contacts[at, 0], contacts[at, 1], contacts[at, 2], contacts[at, 3], contacts[at, 4]
    n = (np.float64(normals[m, 0]), np.float64(normals[m, 1]), np.float64(normals[m, 2]))
    here, there = sub(place(x, i), scale(n, np.float64(radii[i]))), add(place(x, j), scale(n, np.float64(radii[j])))
    mine_now = velocity_at(before, g, arm_of(before, g, here))
    speed = dot(n, sub(mine_now, velocity_at(before, other, arm_of(before, other, there))))
    push = n[0] * pushed[m, 0] + n[1] * pushed[m, 1] + n[2] * pushed[m, 2]
    arm, far = arm_of(now, g, here), arm_of(now, other, there)
    for c in range(3):
        rows[k, c], rows[k, 3 + c], rows[k, 17 + c] = n[c], arm[c], far[c]
        rows[k, 11 + c] = pushed[m, c] - push * n[c]
    a, b = owners[i], owners[j]
    rows[k, 6], rows[k, 10] = wanted_speed(speed, max(mine[a, 2], mine[b, 2]), slow), push
    rows[k, 14], rows[k, 15] = combined(mine[a, 0], mine[b, 0]), combined(mine[a, 1], mine[b, 1])
    # lumps at rest on each other carry their weights from particle to particle; sweeps that end early would shake them
    fast = sub(velocity_at(now, g, arm), velocity_at(now, other, far))
    quiet = abs(speed) <= slow and abs(dot(n, fast)) <= slow
    rows[k, 16] = ONE if quiet or mine[a, 3] + mine[b, 3] > 0.0 else ZERO


@steady
def arm_of(bodies, g, point):
    """From the centre of a body to a point."""
    return point[0] - bodies[g, 0], point[1] - bodies[g, 1], point[2] - bodies[g, 2]


@steady
def velocity_at(bodies, g, r):
    """Velocity of a body at an arm from its centre."""
    w = (bodies[g, 6], bodies[g, 7], bodies[g, 8])
    return add((bodies[g, 3], bodies[g, 4], bodies[g, 5]), cross(w, r))


@steady
def turn_of(g, moment, now):
    """Change of the angular velocity of a body by an angular impulse."""
    turn, _ = solve_symmetric((now[g, 10], now[g, 11], now[g, 12]), (now[g, 13], now[g, 14], now[g, 15]), moment)
    return turn


@steady
def give(g, r, push, sign, now, changes):
    """Let an impulse, or its opposite, act at an arm of a body."""
    turn = turn_of(g, cross(r, push), now)
    for c in range(3):
        changes[g, c] += sign * push[c] / now[g, 9]
        changes[g, 3 + c] += sign * turn[c]


@steady
def changed_velocity(g, r, now, changes):
    """Velocity of a body at an arm, with its change so far."""
    change = add((changes[g, 0], changes[g, 1], changes[g, 2]), cross((changes[g, 3], changes[g, 4], changes[g, 5]), r))
    return add(velocity_at(now, g, r), change)


@steady
def slip_at(g, other, k, r, far, now, changes, rows):
    """Velocity of a body relative to what it touches."""
    carried = (rows[k, 7], rows[k, 8], rows[k, 9])
    if other >= 0:
        carried = changed_velocity(other, far, now, changes)
    return sub(changed_velocity(g, r, now, changes), carried)


@steady
def give_way(g, other, r, far, n, now):
    """Change of the relative speed along n for each unit of impulse."""
    arm = cross(r, n)
    total = ONE / now[g, 9] + dot(arm, turn_of(g, arm, now))
    if other >= 0:
        arm = cross(far, n)
        total += ONE / now[other, 9] + dot(arm, turn_of(other, arm, now))
    return total


@steady
def give_both(g, other, r, far, push, now, changes):
    """Let an impulse act on a body, and its opposite on the other if there is one."""
    give(g, r, push, ONE, now, changes)
    if other >= 0:
        give(other, far, push, -ONE, now, changes)


@steady
def solve_row(g, other, k, now, changes, rows):
    """Solve a contact once: along the normal, then friction. Soft contacts have no say."""
    n, r, far = (
        (rows[k, 0], rows[k, 1], rows[k, 2]),
        (rows[k, 3], rows[k, 4], rows[k, 5]),
        (rows[k, 17], rows[k, 18], rows[k, 19]),
    )
    soft = rows[k, 16] > ZERO
    old = rows[k, 10]
    speed = dot(n, slip_at(g, other, k, r, far, now, changes, rows))
    missing = (rows[k, 6] - speed) / give_way(g, other, r, far, n, now)
    push = old if soft else max(old + missing, ZERO)
    give_both(g, other, r, far, scale(n, push - old), now, changes)
    rows[k, 10] = push
    slip = slip_at(g, other, k, r, far, now, changes, rows)
    slip = sub(slip, scale(n, dot(n, slip)))
    speed = norm(slip)
    along = scale(slip, ONE / speed if speed > ZERO else ZERO)
    held = (rows[k, 11], rows[k, 12], rows[k, 13])
    wanted = sub(held, scale(along, speed / give_way(g, other, r, far, along, now)))
    size = norm(wanted)
    share = ONE if size <= rows[k, 15] * push else (rows[k, 14] * push / size if size > ZERO else ZERO)
    share = min(share, ONE)
    hold = held if soft else scale(wanted, share)
    give_both(g, other, r, far, sub(hold, held), now, changes)
    rows[k, 11], rows[k, 12], rows[k, 13] = hold


@numba.njit(parallel=True, cache=True, **STEADY)
def shift(parts, particles, lumps, x, v, bodies, changes):
    """Change the velocity of each particle by the rigid change of its lump."""
    count = len(particles)
    for t in numba.prange(parts):
        for p in range(count * t // parts, count * (t + 1) // parts):
            i, g = particles[p], lumps[p]
            a, b, c = x[i, 0] - bodies[g, 0], x[i, 1] - bodies[g, 1], x[i, 2] - bodies[g, 2]
            v[i, 0] += changes[g, 0] + changes[g, 4] * c - changes[g, 5] * b
            v[i, 1] += changes[g, 1] + changes[g, 5] * a - changes[g, 3] * c
            v[i, 2] += changes[g, 2] + changes[g, 3] * b - changes[g, 4] * a
