"""Particles and elements that touched bodies, once the velocities of a substep are known: restitution, and no approach.

What heavy objects on both sides of a light one leave of an overlap goes out without velocity in the next substep. The
velocity that brought it in has to go too, or it would stay for ever: what touches a rigid surface and still approaches
it is stopped by an impulse that both share.
"""

from shinari.collision.law import SLOW_SUBSTEPS, combined_surface, recoil
from shinari.collision.narrow.fields import Four
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place
from shinari.systems.colliders.element_points import (
    add_share,
    blend,
    inverse_mass_at,
    vertex_weights,
    vertices,
)
from shinari.systems.coupling.heavy_pairs import record_impulse
from shinari.systems.coupling.records import (
    BodyShapeTable,
    BodySweeps,
    ContactParticles,
    Contacts,
    Counts,
    Gravity,
    Items,
)
from shinari.systems.coupling.response import effective_inverse_mass, start_velocity
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import spin_of


@steady
def apply_impulse(frames, b, arm, impulse):
    """Change the velocities of a body by an impulse at an arm."""
    if frames.inverse_mass[b] > ZERO:
        moment = cross(arm, impulse)
        frames.v[b] = add(frames.v[b], scale(impulse, frames.inverse_mass[b]))
        frames.w[b] = add(frames.w[b], spin_of(frames.q[b], frames.moments, b, moment))
        for c in range(3):
            frames.impulses[b, c] += impulse[0] if c == 0 else (impulse[1] if c == 1 else impulse[2])
            frames.impulses[b, 3 + c] += moment[0] if c == 0 else (moment[1] if c == 1 else moment[2])


@shared(fastmath=STEADY)
def rebound(
    frames: Frames,
    body_sweeps: BodySweeps,
    b: int,
    arm: Vector,
    n: Vector,
    gap: float,
    w: float,
    start: Vector,
    now: Vector,
    law: Four,
    gravity: Vector,
    h: float,
) -> Vector:
    """Impulse on a point by restitution, or that stops it; (0, 0, 0) where it leaves.

    Both fall, so the point approaches by gravity only as far as one of the two is not pushed by it.

    Args:
        frames: The frames.
        body_sweeps: Their velocities at the start of the substep.
        b: The frame.
        arm: From its origin to the point [m].
        n: Normal.
        gap: Gap at the start of the substep [m].
        w: Inverse mass of the point [1/kg].
        start: Its velocity at the start of the substep [m/s].
        now: Its velocity [m/s].
        law: Friction, static friction, restitution and compliance of the pair.
        gravity: Acceleration [m/s^2].
        h: Substep [s].
    """
    one, other = 1.0 if w > ZERO else 0.0, frames.gravity_scale[b]
    approach = sub(start, start_velocity(body_sweeps, b, arm))
    speed = sub(now, add(frames.v[b], cross(frames.w[b], arm)))
    change = (0.0, 0.0, 0.0)
    if law[2] > ZERO:
        slow = SLOW_SUBSTEPS * norm(gravity) * h
        change = recoil(n, gap, approach, speed, law, scale(gravity, one - other), slow, h)
    rest = max(-dot(n, add(speed, change)), 0.0)
    change = add(change, scale(n, rest))
    along, size = direction_and_length(change)
    give = w + effective_inverse_mass(frames, b, arm, along)
    return scale(along, size / give if give > ZERO else 0.0)


@kernel(fastmath=STEADY)
def bounce_items(
    _,
    counts: Counts,
    contacts: Contacts,
    items: Items,
    contact_particles: ContactParticles,
    particles: Particles,
    origins: Origins,
    body_shapes: BodyShapeTable,
    frames: Frames,
    body_sweeps: BodySweeps,
    gravity: Gravity,
    h: float,
):
    """Restitution of listed items."""
    for m in range(counts.contacts[0]):
        k = contacts.body_shape[m]
        i = vertices(items.points[contacts.item[m]])
        law = combined_surface(contact_particles.surface[i[0]], body_shapes.surface[k])
        if contacts.multiplier[m] <= ZERO or law[3] > ZERO:
            continue
        b, weights = body_shapes.frame[k], contacts.weights[m]
        part = vertex_weights(weights, i)
        w = inverse_mass_at(particles.x, i, part)
        x, before, v = particles.x, contact_particles.start_velocity, particles.v
        point = blend(weights, place(x, i[0]), place(x, i[1]), place(x, i[2]))
        arm = sub(add(origins.position[particles.origin_index[i[0]]], point), frames.x[b])
        start = blend(weights, place(before, i[0]), place(before, i[1]), place(before, i[2]))
        now = blend(weights, place(v, i[0]), place(v, i[1]), place(v, i[2]))
        impulse = rebound(
            frames,
            body_sweeps,
            b,
            arm,
            contacts.normal[m],
            contacts.gap[m],
            w,
            start,
            now,
            law,
            gravity.acceleration[0],
            h,
        )
        add_share(v, i[0], x[i[0], 3] * part[0], impulse)
        add_share(v, i[1], x[i[1], 3] * part[1], impulse)
        add_share(v, i[2], x[i[2], 3] * part[2], impulse)
        apply_impulse(frames, b, arm, scale(impulse, -ONE))
        record_impulse(contacts, m, impulse, 1.0)


@kernel
def note_velocity(i, contact_particles: ContactParticles, particles: Particles):
    """Keep the velocity of a particle at the start of the substep."""
    contact_particles.start_velocity[i] = particles.v[i]


@kernel
def note_motion(b, frames: Frames, body_sweeps: BodySweeps):
    """Keep the velocities of a frame at the start of the substep, in which it has pushed nothing yet."""
    body_sweeps.start_v[b], body_sweeps.start_w[b], body_sweeps.pinches[b] = frames.v[b], frames.w[b], False
