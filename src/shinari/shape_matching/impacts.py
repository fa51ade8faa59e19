"""Rigid lumps against colliders: what a contact does to the velocity of the whole.

A collider pushes single particles. Each has a small part of the mass, and matching hands its momentum on over several
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

from shinari.contact.collide import into, law_of, out_of, place
from shinari.contact.family import Touches
from shinari.maths.function import STEADY, steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.shape_matching.kernels import ONE, THIN, ZERO
from shinari.shape_matching.part import SHARE, ShapeMatching

if TYPE_CHECKING:
    from shinari.contact.solids import Solids
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.state import State

SWEEPS = 16
# Approaches up to so many times the speed that gravity gives in a substep do not bounce.
SLOW = 2.0
# Columns of a body: centre, velocity, angular velocity, mass, moments xx yy zz yz zx xy of its inertia.
BODY = 16


class Impacts:
    """The velocities of rigid lumps that touch colliders, as a family of contacts; it has no contacts of its own."""

    def __init__(
        self, lumps: ShapeMatching, model: "Model", state: "State", settings: "Settings", solids: "Solids"
    ) -> None:
        self._lumps, self._model, self._state, self._settings, self._solids = lumps, model, state, settings, solids
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

    def project(self, threads: int, first: bool) -> float:
        """Nothing: positions are the business of the colliders and of matching."""
        return 0.0

    def settle(self, threads: int) -> None:
        """Nothing to undo."""

    def bounce(self, threads: int) -> None:
        """Bring the velocities of the lumps to what their contacts ask for."""
        near = self._solids.particle_contacts
        touching = contacts_of(near.items, near.offsets, near.solids, near.memory, self._lump_of)
        if len(touching) == 0:
            return
        self._measure(self._after, threads)
        model, state, solids, real = self._model, self._state, self._solids, self._model.real
        self._changes[...] = 0.0
        solve(
            touching[np.argsort(touching[:, 0], kind="stable")], near.memory, near.impulses, self._before, self._after,
            self._changes, state.x, model.owners, model.surfaces, model.groups, solids.surfaces, solids.before,
            solids.after, real(self._settings.substep), self._slow,
        )  # fmt: skip
        shift(self._parts(threads), self._lumps.particles, self._lumps.lumps, state.x, state.v, self._after,
              self._changes)  # fmt: skip

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
    contacts, memory, impulses, before, now, changes, x, owners, mine, groups, theirs, poses_before, poses_after, h,
    slow,
):  # fmt: skip
    """Find the changes of velocity and angular velocity of the lumps, (L, 6), and record the impulses.

    Args:
        contacts: Lump, particle, solid and row of each contact, lump after lump, (K, 4).
        memory: What contacts remember of the substep; see `shinari.contact.collide`.
        impulses: Sum of the impulses of each contact [N s], (M, 3).
        before: Bodies at the start of the substep, (L, BODY).
        now: Bodies at its end.
        changes: Zeros; filled.
        x: Positions and inverse mass, (N, 4).
        owners: Thing of each particle, (N,).
        mine: Surface of each thing, (T, 4).
        groups: Group of each particle, (N,).
        theirs: Surface of each solid, (K, 4).
        poses_before: Poses of the solids at the start of the substep, (G, K, 12).
        poses_after: At its end.
        h: Substep [s].
        slow: Speed of approach up to which nothing bounces [m/s].
    """
    count = len(contacts)
    # normal, arm, what the normal speed is to be, speed of the solid, push so far [N s], friction so far [N s]
    rows = np.zeros((count, 17))
    for k in range(count):
        prepare_row(
            k, contacts, memory, before, now, x, owners, mine, groups, theirs, poses_before, poses_after, h, slow, rows
        )
    for _ in range(SWEEPS):
        for k in range(count):
            solve_row(contacts[k, 0], k, now, changes, rows)
    for k in range(count):
        m, n = contacts[k, 3], (rows[k, 0], rows[k, 1], rows[k, 2])
        mass_over_h = ONE / (np.float64(x[contacts[k, 1], 3]) * h)
        push = rows[k, 10] - mass_over_h * memory[m, 0]
        for c in range(3):
            impulses[m, c] += push * n[c] + rows[k, 11 + c] - mass_over_h * memory[m, 1 + c]


@steady
def prepare_row(
    k, contacts, memory, before, now, x, owners, mine, groups, theirs, poses_before, poses_after, h, slow, rows
):
    """Write what a contact asks for."""
    g, i, solid, m = contacts[k, 0], contacts[k, 1], contacts[k, 2], contacts[k, 3]
    group = groups[i]
    law = law_of(mine, theirs, owners[i], solid)
    here = place(x, i)
    carried = scale(sub(here, out_of(poses_before[group, solid], into(poses_after[group, solid], here))), ONE / h)
    n = (np.float64(memory[m, 4]), np.float64(memory[m, 5]), np.float64(memory[m, 6]))
    speed = dot(
        n,
        sub(velocity_at(before, g, (here[0] - before[g, 0], here[1] - before[g, 1], here[2] - before[g, 2])), carried),
    )
    wanted = -law[2] * speed if speed < -slow else max(speed, ZERO)
    mass_over_h = ONE / (np.float64(x[i, 3]) * h)
    for c in range(3):
        rows[k, c] = n[c]
        rows[k, 3 + c] = np.float64(here[c]) - now[g, c]
        rows[k, 7 + c] = carried[c]
        rows[k, 11 + c] = mass_over_h * memory[m, 1 + c]
    rows[k, 6], rows[k, 10] = wanted, mass_over_h * memory[m, 0]
    rows[k, 14], rows[k, 15] = law[0], law[1]
    rows[k, 16] = ONE if law[3] > 0.0 else ZERO


@steady
def velocity_at(bodies, g, r):
    """Velocity of a body at an arm from its centre."""
    w = (bodies[g, 6], bodies[g, 7], bodies[g, 8])
    return add((bodies[g, 3], bodies[g, 4], bodies[g, 5]), cross(w, r))


@steady
def give(g, r, push, now, changes):
    """Let an impulse act at an arm of a body."""
    turn, _ = solve_symmetric(
        (now[g, 10], now[g, 11], now[g, 12]), (now[g, 13], now[g, 14], now[g, 15]), cross(r, push)
    )
    for c in range(3):
        changes[g, c] += push[c] / now[g, 9]
        changes[g, 3 + c] += turn[c]


@steady
def slip_at(g, k, r, now, changes, rows):
    """Velocity of a body relative to the solid at a contact."""
    change = add((changes[g, 0], changes[g, 1], changes[g, 2]), cross((changes[g, 3], changes[g, 4], changes[g, 5]), r))
    return sub(add(velocity_at(now, g, r), change), (rows[k, 7], rows[k, 8], rows[k, 9]))


@steady
def give_way(g, r, n, now):
    """Change of the speed of a body along n at an arm, for each unit of impulse there."""
    arm = cross(r, n)
    turn, _ = solve_symmetric((now[g, 10], now[g, 11], now[g, 12]), (now[g, 13], now[g, 14], now[g, 15]), arm)
    return ONE / now[g, 9] + dot(arm, turn)


@steady
def solve_row(g, k, now, changes, rows):
    """Solve a contact once: along the normal, then friction. Soft contacts have no say."""
    n, r = (rows[k, 0], rows[k, 1], rows[k, 2]), (rows[k, 3], rows[k, 4], rows[k, 5])
    soft = rows[k, 16] > ZERO
    old = rows[k, 10]
    missing = (rows[k, 6] - dot(n, slip_at(g, k, r, now, changes, rows))) / give_way(g, r, n, now)
    push = old if soft else max(old + missing, ZERO)
    give(g, r, scale(n, push - old), now, changes)
    rows[k, 10] = push
    slip = slip_at(g, k, r, now, changes, rows)
    slip = sub(slip, scale(n, dot(n, slip)))
    speed = norm(slip)
    along = scale(slip, ONE / speed if speed > ZERO else ZERO)
    held = (rows[k, 11], rows[k, 12], rows[k, 13])
    wanted = sub(held, scale(along, speed / give_way(g, r, along, now)))
    size = norm(wanted)
    share = ONE if size <= rows[k, 15] * push else (rows[k, 14] * push / size if size > ZERO else ZERO)
    share = min(share, ONE)
    hold = held if soft else scale(wanted, share)
    give(g, r, sub(hold, held), now, changes)
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
