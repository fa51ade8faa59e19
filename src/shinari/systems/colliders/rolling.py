"""Particles against colliders where some are grains that turn: friction at the surface, and resistance to rolling.

The push along the normal is that of `shinari.systems.colliders.collide`, without friction. Friction F and the turn R
against rolling add up over a substep like the push P, all as displacements, see `shinari.model.spins`:

    |F| <= mu P, along the slip where equal        |R| <= 5/2 mu_r P, along the rolling where equal

A ball that neither slips nor rolls moves only as a whole, w in place of 7/2 w, so that is tried first; where it asks
for too much rolling friction, R is what it may be, and F leaves no slip or is what it may be.
"""

import numpy as np

from shinari.collision.law import combined_surface, friction, tangential
from shinari.compute import Kernel, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back, to_local
from shinari.maths.vec3 import ONE, ZERO, add, cross, norm, scale, sub
from shinari.model.contact_passes import was_moved
from shinari.model.particles import Clock, Particles
from shinari.model.spins import ALONG, GIVES, Spins, bounded
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.systems.colliders.collide import (
    apply_correction,
    place,
    previous_position,
    record,
    remember,
    response,
    slack,
    surface_of,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses
from shinari.systems.colliders.supports import Supports, lie_on, take_push

HALF = np.float32(0.5)


@steady
def turn_of(before, after):
    """Rotation of a solid in a substep as a vector [rad], to first order; both as matrices by rows."""
    a, b = before, after
    # entries of after before^T that are mirrored at its diagonal, subtracted
    x = b[6] * a[3] + b[7] * a[4] + b[8] * a[5] - (b[3] * a[6] + b[4] * a[7] + b[5] * a[8])
    y = b[0] * a[6] + b[1] * a[7] + b[2] * a[8] - (b[6] * a[0] + b[7] * a[1] + b[8] * a[2])
    z = b[3] * a[0] + b[4] * a[1] + b[5] * a[2] - (b[0] * a[3] + b[1] * a[4] + b[2] * a[5])
    return HALF * x, HALF * y, HALF * z


@steady
def roll(n, moved, turned, push, held, resisted, law, rolling):
    """Friction and rolling friction of a ball on a surface.

    Args:
        n: Normal, into the ball.
        moved: Displacement of the ball relative to the surface in the substep so far [m].
        turned: Displacement of its surface by turning relative to the solid so far [m].
        push: Displacement along the normal so far [m].
        held: Displacement by friction so far [m].
        resisted: Turn against rolling so far [m].
        law: Friction and static friction first.
        rolling: Coefficient of rolling friction.

    Returns:
        New friction and new turn against rolling.
    """
    slides, rolls = tangential(moved, n), tangential(turned, n)
    most = GIVES * rolling * push
    # neither slips nor rolls
    hold = friction(sub(held, slides), push, law)
    wanted = sub(add(resisted, scale(cross(n, sub(hold, held)), GIVES)), rolls)
    resist = bounded(wanted, most)
    if norm(wanted) > most:
        # rolls: friction leaves no slip of the surface, if it can
        turned_now = add(rolls, sub(resist, resisted))
        slip = sub(slides, cross(turned_now, n))
        hold = friction(sub(held, scale(slip, ONE / ALONG)), push, law)
        wanted = sub(add(resisted, scale(cross(n, sub(hold, held)), GIVES)), rolls)
        resist = bounded(wanted, most)
    return hold, resist


@once
def project_turning_particles(meshes: bool) -> Kernel:
    """Kernel that keeps a particle out of the colliders near it; see `project_particles` of `collide`."""
    respond_to_solid = response(meshes)

    @kernel(fastmath=STEADY)
    def project_turning_particle(
        p,
        items: Items,
        contacts: Contacts,
        colliders: Colliders,
        poses: Poses,
        fields: MeshFields,
        particles: Particles,
        contact_particles: ContactParticles,
        supports: Supports,
        spins: Spins,
        clock: Clock,
        speed: real,
    ):
        h = clock.substep_length[0]
        rate, none = ONE / h, (ZERO, ZERO, ZERO)
        i = np.int64(items.item[p])
        if clock.local[0] != 0 and not was_moved(clock, contact_particles.moved_in, i):
            return
        w, row = particles.x[i, 3], np.int64(particles.origin_index[i]) * len(colliders)
        turns, radius = spins.turns[i], contact_particles.radius[i]
        for m in range(items.first[p], items.end[p]):
            k = np.int64(contacts.solid[m])
            if clock.first[0] != 0:
                contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, none
                contacts.rolling_correction[m] = none
            if contact_particles.path[i] < contacts.bound[m]:
                continue
            take_push(supports, contacts, m, i, rate / w)
            before, after = poses.before[row + k], poses.after[row + k]
            start = previous_position(particles.x, particles.predicted, particles.v, h, i)
            a, b = to_local(before, start), to_local(after, place(particles.x, i))
            law = combined_surface(surface_of(contact_particles, i), colliders.surface[k])
            smooth = ZERO * law[0], ZERO * law[1], law[2], law[3]
            held, resisted = contacts.friction_correction[m], contacts.rolling_correction[m]
            touches, correction, silent, n, push, hold, gap = respond_to_solid(
                colliders.kind[k], colliders.size[k], fields, a, b, radius, w, smooth if turns else law,
                contacts.normal_correction[m], none if turns else rotate_vector_back(after, held),
                (rate * rate, h * speed),
            )  # fmt: skip
            apart = slack(gap, radius, norm(sub(b, a)))
            contacts.bound[m] = -ONE if colliders.moves[k] or touches else contact_particles.path[i] + apart
            if not touches:
                continue
            n, hold = rotate_vector(after, n), rotate_vector(after, hold)
            correction, silent = rotate_vector(after, correction), rotate_vector(after, silent)
            if turns:
                spin = scale(spins.rate[i], h * radius)
                carried = scale(turn_of(before, after), radius)
                moved = rotate_vector(after, sub(b, a))
                # friction of before acts along the surface of now
                held, resisted = tangential(held, n), tangential(resisted, n)
                hold, resist = roll(n, moved, sub(spin, carried), push, held, resisted, law, spins.rolling[i])
                by = sub(hold, held)
                correction = add(correction, by)
                spin = add(spin, sub(sub(resist, resisted), scale(cross(n, by), GIVES)))
                spins.rate[i] = scale(spin, rate / radius)
                contacts.rolling_correction[m] = resist
            remember(contacts, m, push, hold, n, gap)
            apply_correction(contact_particles, particles, i, ONE, correction, silent, clock, rate)
            record(contacts.impulse, m, sub(correction, silent), rate / w)
            lie_on(supports, i, k, n, particles.x, law, (before, after))

    return project_turning_particle
