"""Which contacts stop an impact: their pushes are no load, and do not go on to the next substep.

It is one where a body comes nearer to what an item lies on, or to the body on the other side of it, by more than
gravity brings it in a substep, or where the item came from farther. How fast bodies come is told by the velocities with
which the substep begins: what joints and contacts are expected to answer is no impact.
"""

from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, reciprocal, scale, sub
from shinari.systems.colliders.collide import place
from shinari.systems.colliders.supports import BODY, is_on_body


@steady
def with_support(contact_particles, i, part, motions):
    """Mean of the motions of what the vertices of a point lie on [m], of those that lie on anything."""
    first = part[0] if contact_particles.solid[i[0]] != 0 else 0.0 * part[0]
    second = part[1] if contact_particles.solid[i[1]] != 0 else 0.0 * part[1]
    third = part[2] if contact_particles.solid[i[2]] != 0 else 0.0 * part[2]
    total = add(add(scale(motions[0], first), scale(motions[1], second)), scale(motions[2], third))
    return scale(total, reciprocal(first + second + third))


@steady
def ground_motion(contact_particles, i, part):
    """Displacement in the substep of what a point lies on [m]."""
    motion = contact_particles.motion
    motions = place(motion, i[0]), place(motion, i[1]), place(motion, i[2])
    return with_support(contact_particles, i, part, motions)


@steady
def carried(frames, body_sweeps, b, point, h):
    """Displacement of a point of a body in the substep at the velocity at its start [m]."""
    spin = cross(body_sweeps.start_w[b], sub(point, frames.x0[b]))
    return scale(add(body_sweeps.start_v[b], spin), h)


@steady
def carried_below(contact_particles, bodies, i, point, h):
    """Displacement in the substep of what particle i lies on; of a body, at the velocity at its start [m]."""
    _, _, body_shapes, frames, body_sweeps = bodies
    motion = place(contact_particles.motion, i)
    if is_on_body(contact_particles, i):
        motion = carried(frames, body_sweeps, body_shapes.frame[BODY - contact_particles.solid[i]], point, h)
    return motion


@steady
def forget_impact(m, n, gap, supported, item, body, records, opposite):
    """Note that the pushes of a contact do not go on if it stops an impact, nor those on the other side of its item.

    Args:
        m: The contact.
        n: Normal.
        gap: Gap at the start of the substep [m].
        supported: Whether the item lies on something.
        item: Vertices of the item, their shares of its point, and what the sweeps know besides.
        body: The body, and the arm of the point.
        records: Contacts, their particles, particles with origins, pieces, frames and bodies in sweeps, and progress.
        opposite: The contact on the other side, and its body and arm.
    """
    contacts, contact_particles, bodies, progress = records
    (i, part, _, _), (b, arm), across, (there, _) = item, body, opposite[0][0], opposite[1]
    _, _, _, frames, body_sweeps = bodies
    h, slow, point = progress.substep[0], progress.slow[0], add(frames.x0[b], arm)
    comes = carried(frames, body_sweeps, b, point, h)
    if supported:
        motions = (
            carried_below(contact_particles, bodies, i[0], point, h),
            carried_below(contact_particles, bodies, i[1], point, h),
            carried_below(contact_particles, bodies, i[2], point, h),
        )
        comes = sub(comes, with_support(contact_particles, i, part, motions))
    elif across >= 0:
        comes = sub(comes, carried(frames, body_sweeps, there, point, h))
        gap = max(gap, contacts.gap[across])
    if (supported or across >= 0) and (gap > slow or dot(n, comes) > slow):
        contacts.settled[m] = False
        if across >= 0:
            contacts.settled[across] = False
