"""Kernels of impacts: rigid lumps as bodies, the list of their contacts, and sweeps over it; see `impacts`."""

import numpy as np

from shinari.collision.law import combined_surface, friction, normal_response, separation_speed, tangential
from shinari.compute import kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.poses import to_local, to_world
from shinari.maths.vec3 import add, cross, direction_and_length, dot, scale, sub
from shinari.model.particles import Particles
from shinari.systems.colliders.records import Colliders, Contacts, Items, Poses
from shinari.systems.colliders.records import Counts as ListCounts
from shinari.systems.particle_contact.records import Control, RowBalls, SortedBalls
from shinari.systems.particle_contact.records import Rows as PairRows
from shinari.systems.shape_matching.impact_records import (
    Changes,
    ContactParticles,
    Counts,
    ImpactRows,
    PairStarts,
    RigidLumps,
    Starts,
)
from shinari.systems.shape_matching.kernels import NONE, ONE, THIN, ZERO, away, double
from shinari.systems.shape_matching.records import LumpChunks, Lumps, Matched
from shinari.systems.shape_matching.spin import inertia_of, moments_of

SWEEPS = 30


@kernel(fastmath=STEADY)
def sum_rigid_lump(k, chunks: LumpChunks, lumps: Lumps, matched: Matched, particles: Particles):
    """Sums over a piece of a rigid lump: mass, m r, m r r^T, m v, m r cross v, with r from the origin."""
    lump = chunks.lump[k]
    if not lumps.rigid[lump]:
        return
    origin = double(particles.x[lumps.origin[lump]])
    mass, first, square, product, momentum, spin = ZERO, NONE, NONE, NONE, NONE, NONE
    for p in range(chunks.begin[k], chunks.end[k]):
        i = matched.particle[p]
        x = particles.x[i]
        m = ONE / np.float64(x[3])
        r, v = away(x, origin), scale(double(particles.v[i]), m)
        mass, first = mass + m, add(first, scale(r, m))
        square = square[0] + m * r[0] * r[0], square[1] + m * r[1] * r[1], square[2] + m * r[2] * r[2]
        product = product[0] + m * r[1] * r[2], product[1] + m * r[2] * r[0], product[2] + m * r[0] * r[1]
        momentum, spin = add(momentum, v), add(spin, cross(r, v))
    chunks.mass[k], chunks.first[k] = mass, first
    chunks.second[k] = square[0], square[1], square[2], product[0], product[1], product[2]
    chunks.momentum[k], chunks.spin[k] = momentum, spin


@kernel(fastmath=STEADY)
def find_rigid_lump(
    g,
    chunks: LumpChunks,
    lumps: Lumps,
    particles: Particles,
    rigid_lumps: RigidLumps,
    kick_x: np.float64,
    kick_y: np.float64,
    kick_z: np.float64,
):
    """A rigid lump as a body, with a change of velocity on top."""
    if not lumps.rigid[g]:
        return
    begin, end = lumps.chunks[g]
    mass, c, square, product = moments_of(chunks, begin, end)
    momentum, spin = chunks.momentum[begin], chunks.spin[begin]
    for k in range(begin + 1, end):
        momentum, spin = add(momentum, chunks.momentum[k]), add(spin, chunks.spin[k])
    v = scale(momentum, ONE / mass)
    least = THIN * (square[0] + square[1] + square[2]) + THIN * THIN * mass
    diagonal, off = inertia_of(square, product, least)
    turn, _ = solve_symmetric(diagonal, off, sub(spin, scale(cross(c, v), mass)))
    rigid_lumps.centre[g] = add(double(particles.x[lumps.origin[g]]), c)
    rigid_lumps.velocity[g], rigid_lumps.spin[g] = add(v, (kick_x, kick_y, kick_z)), turn
    rigid_lumps.mass[g], rigid_lumps.diagonal[g], rigid_lumps.off[g] = mass, diagonal, off


@kernel(fastmath=STEADY)
def count_collider_impacts(
    _,
    items: Items,
    contacts: Contacts,
    listed: ListCounts,
    contact_particles: ContactParticles,
    starts: Starts,
    counts: Counts,
):
    """Count the contacts with colliders that push each rigid lump; find where those of each start."""
    for g in range(len(starts)):
        starts.at[g] = 0
    for n in range(listed.items[0]):
        lump = contact_particles.lump[items.item[n]]
        if lump >= 0:
            for m in range(items.first[n], items.end[n]):
                if contacts.normal_correction[m] > 0.0:
                    starts.at[lump] += 1
    total = 0
    for g in range(len(starts)):
        before = total
        total += starts.at[g]
        starts.at[g] = before
    counts.colliders[0] = total
    counts.all[0] = total + counts.pairs[0]


@kernel(fastmath=STEADY)
def list_collider_impacts(
    _,
    items: Items,
    contacts: Contacts,
    listed: ListCounts,
    contact_particles: ContactParticles,
    starts: Starts,
    rows: ImpactRows,
):
    """List the contacts with colliders that push rigid lumps, lump after lump."""
    for n in range(listed.items[0]):
        particle = np.int64(items.item[n])
        lump = contact_particles.lump[particle]
        if lump >= 0:
            for m in range(items.first[n], items.end[n]):
                if contacts.normal_correction[m] > 0.0:
                    k = starts.at[lump]
                    rows.lumps[k], rows.particles[k], rows.contact[k] = (lump, -1), (particle, -1), m
                    starts.at[lump] = k + 1


@kernel
def keep_impulse(m, pairs: PairRows, started: PairStarts):
    """Keep the impulse of a row as a substep begins."""
    started.impulse[m] = pairs.impulse[m]


@kernel
def compare_detections(_, control: Control, counts: Counts):
    """See whether rows have been found anew within the substep: they have what they pushed since."""
    counts.others[0] = control.detections[0] != counts.detections[0] or control.rows[0] != counts.rows[0]


@kernel
def clear_impulse(m, started: PairStarts, zero: real):
    """A row that was found within the substep began with nothing."""
    started.impulse[m] = zero, zero, zero


@steady
def particles_of(m, row_balls, balls):
    """The particles of a row."""
    i, j = row_balls.points[m]
    return np.int64(balls.particle[i]), np.int64(balls.particle[j])


@steady
def has_impulse(m, i, j, pairs, started, points):
    """Whether a contact of two particles of rigid lumps has pushed in this substep."""
    push = dot(sub(pairs.impulse[m], started.impulse[m]), pairs.normal[m])
    return points.lump[i] >= 0 and points.lump[j] >= 0 and push > 0.0


@kernel(fastmath=STEADY)
def count_pair_impacts(
    _, row_balls: RowBalls, balls: SortedBalls, pairs: PairRows, started: PairStarts, control: Control,
    contact_particles: ContactParticles, counts: Counts,
):  # fmt: skip
    """Count the contacts of two rigid lumps that push."""
    total = 0
    for m in range(control.rows[0]):
        i, j = particles_of(m, row_balls, balls)
        if has_impulse(m, i, j, pairs, started, contact_particles):
            total += 1
    counts.pairs[0] = total
    counts.all[0] = total + counts.colliders[0]


@kernel(fastmath=STEADY)
def list_pair_impacts(
    _, row_balls: RowBalls, balls: SortedBalls, pairs: PairRows, started: PairStarts, control: Control,
    contact_particles: ContactParticles, counts: Counts, rows: ImpactRows,
):  # fmt: skip
    """List the contacts of two rigid lumps that push, after those with colliders."""
    k = counts.colliders[0]
    for m in range(control.rows[0]):
        i, j = particles_of(m, row_balls, balls)
        if has_impulse(m, i, j, pairs, started, contact_particles):
            rows.lumps[k], rows.particles[k], rows.contact[k] = (
                (contact_particles.lump[i], contact_particles.lump[j]),
                (i, j),
                m,
            )
            k += 1


@kernel(fastmath=STEADY)
def prepare_collider_impact(
    k,
    rows: ImpactRows,
    contacts: Contacts,
    before: RigidLumps,
    now: RigidLumps,
    contact_particles: ContactParticles,
    particles: Particles,
    colliders: Colliders,
    poses: Poses,
    h: np.float64,
    slow: np.float64,
):
    """Write what a contact with a collider asks for."""
    g, i, m = rows.lumps[k, 0], rows.particles[k, 0], rows.contact[k]
    collider = np.int64(contacts.solid[m])
    law, x = combined_surface(contact_particles.law[i], colliders.surface[collider]), particles.x[i]
    here, pose = (x[0], x[1], x[2]), np.int64(particles.origin_index[i]) * len(colliders) + collider
    carried = scale(sub(here, to_world(poses.before[pose], to_local(poses.after[pose], here))), ONE / h)
    n = double(contacts.normal[m])
    speed = dot(n, sub(velocity_at(before, g, away(here, before.centre[g])), carried))
    mass_over_h = ONE / (np.float64(x[3]) * h)
    rows.normal[k], rows.arm[k], rows.far[k], rows.carried[k] = n, away(here, now.centre[g]), NONE, carried
    rows.speed[k] = max(separation_speed(law[2], speed, slow), speed)
    rows.normal_impulse[k] = mass_over_h * contacts.normal_correction[m]
    rows.friction_impulse[k] = scale(contacts.friction_correction[m], mass_over_h)
    rows.friction[k], rows.soft[k] = (law[0], law[1]), law[3] > 0.0


@kernel(fastmath=STEADY)
def prepare_pair_impact(
    at,
    rows: ImpactRows,
    counts: Counts,
    pairs: PairRows,
    started: PairStarts,
    before: RigidLumps,
    now: RigidLumps,
    contact_particles: ContactParticles,
    particles: Particles,
    slow: np.float64,
):
    """Write what a contact of two lumps asks for; it acts on both where the surfaces of the balls meet."""
    k = counts.colliders[0] + at
    g, other = rows.lumps[k]
    i, j = rows.particles[k]
    m = rows.contact[k]
    n = double(pairs.normal[m])
    here = add(double(particles.x[i]), scale(n, -np.float64(contact_particles.radius[i])))
    there = add(double(particles.x[j]), scale(n, np.float64(contact_particles.radius[j])))
    first = velocity_at(before, g, away(here, before.centre[g]))
    speed = dot(n, sub(first, velocity_at(before, other, away(there, before.centre[other]))))
    pushed = sub(pairs.impulse[m], started.impulse[m])
    push = dot(n, pushed)
    arm, far = away(here, now.centre[g]), away(there, now.centre[other])
    rows.normal[k], rows.arm[k], rows.far[k], rows.carried[k] = n, arm, far, NONE
    law = combined_surface(contact_particles.law[i], contact_particles.law[j])
    rows.speed[k] = max(separation_speed(law[2], speed, slow), speed)
    rows.normal_impulse[k], rows.friction_impulse[k] = push, sub(pushed, scale(n, push))
    rows.friction[k] = law[0], law[1]
    # lumps at rest on each other carry their weights from particle to particle; sweeps that end early would shake them
    fast = sub(velocity_at(now, g, arm), velocity_at(now, other, far))
    quiet = abs(speed) <= slow and abs(dot(n, fast)) <= slow
    rows.soft[k] = quiet or law[3] > 0.0


@steady
def velocity_at(rigid_lumps, g, r):
    """Velocity of a body at an arm from its centre."""
    return add(rigid_lumps.velocity[g], cross(rigid_lumps.spin[g], r))


@steady
def turn_of(g, moment, now):
    """Change of the angular velocity of a body by an angular impulse."""
    turn, _ = solve_symmetric(now.diagonal[g], now.off[g], moment)
    return turn


@steady
def apply_impulse(g, r, impulse, sign, now, changes):
    """Let an impulse, or its opposite, act at an arm of a body."""
    turn = turn_of(g, cross(r, impulse), now)
    changes.velocity[g] = add(changes.velocity[g], scale(impulse, sign / now.mass[g]))
    changes.spin[g] = add(changes.spin[g], scale(turn, sign))


@steady
def changed_velocity(g, r, now, changes):
    """Velocity of a body at an arm, with its change so far."""
    return add(velocity_at(now, g, r), velocity_at(changes, g, r))


@kernel(fastmath=STEADY)
def sweep_impacts(_, rows: ImpactRows, now: RigidLumps, changes: Changes, counts: Counts):
    """Find the changes of the velocities of the bodies by sweeps over all contacts."""
    for g in range(len(changes)):
        changes.velocity[g], changes.spin[g] = NONE, NONE
    for _sweep in range(SWEEPS):
        for k in range(counts.all[0]):
            solve_row(k, rows, now, changes)


@steady
def solve_row(k, rows, now, changes):
    """Solve a contact once: along the normal, then friction. Soft contacts keep their impulses."""
    g, other = rows.lumps[k]
    n, r, far = rows.normal[k], rows.arm[k], rows.far[k]
    soft, old, held = rows.soft[k], rows.normal_impulse[k], rows.friction_impulse[k]
    slip = slip_at(g, other, k, r, far, now, changes, rows)
    missing = rows.speed[k] - dot(n, slip)
    change = normal_response(missing, missing, old, ZERO, inverse_mass(g, other, r, far, n, now), -old)
    push = old if soft else old + change
    apply_both(g, other, r, far, scale(n, push - old), now, changes)
    rows.normal_impulse[k] = push
    slip = slip_at(g, other, k, r, far, now, changes, rows)
    along, speed = direction_and_length(tangential(slip, n))
    wanted = sub(held, scale(along, speed / inverse_mass(g, other, r, far, along, now)))
    hold = held if soft else friction(wanted, push, rows.friction[k])
    apply_both(g, other, r, far, sub(hold, held), now, changes)
    rows.friction_impulse[k] = hold


@steady
def slip_at(g, other, k, r, far, now, changes, rows):
    """Velocity of a body relative to the other, or to the collider."""
    carried = changed_velocity(other, far, now, changes) if other >= 0 else rows.carried[k]
    return sub(changed_velocity(g, r, now, changes), carried)


@steady
def inverse_mass(g, other, r, far, n, now):
    """Change of the relative speed along n for each unit of impulse: the inverse of the effective mass."""
    arm = cross(r, n)
    total = ONE / now.mass[g] + dot(arm, turn_of(g, arm, now))
    if other >= 0:
        arm = cross(far, n)
        total += ONE / now.mass[other] + dot(arm, turn_of(other, arm, now))
    return total


@steady
def apply_both(g, other, r, far, impulse, now, changes):
    """Let an impulse act on a body, and its opposite on the other if there is one."""
    apply_impulse(g, r, impulse, ONE, now, changes)
    if other >= 0:
        apply_impulse(other, far, impulse, -ONE, now, changes)


@kernel(fastmath=STEADY)
def write_collider_impulse(k, rows: ImpactRows, contacts: Contacts, particles: Particles, h: np.float64):
    """Record the impulse of a contact with a collider."""
    m = rows.contact[k]
    mass_over_h = ONE / (np.float64(particles.x[rows.particles[k, 0], 3]) * h)
    push = scale(rows.normal[k], rows.normal_impulse[k] - mass_over_h * contacts.normal_correction[m])
    hold = sub(rows.friction_impulse[k], scale(contacts.friction_correction[m], mass_over_h))
    contacts.impulse[m] = add(contacts.impulse[m], add(push, hold))


@kernel(fastmath=STEADY)
def write_pair_impulse(at, rows: ImpactRows, counts: Counts, pairs: PairRows, started: PairStarts):
    """Record the impulse of a contact of two lumps."""
    k = counts.colliders[0] + at
    m = rows.contact[k]
    pairs.impulse[m] = add(
        started.impulse[m], add(scale(rows.normal[k], rows.normal_impulse[k]), rows.friction_impulse[k])
    )


@kernel(fastmath=STEADY)
def apply_change(p, matched: Matched, rigid_lumps: RigidLumps, changes: Changes, particles: Particles):
    """Change the velocity of a particle by the rigid change of its lump."""
    i, g = matched.particle[p], matched.lump[p]
    change = velocity_at(changes, g, away(particles.x[i], rigid_lumps.centre[g]))
    particles.v[i] = add(particles.v[i], change)
