"""Triangles and segments against balls at rest, in closed form.

The point of an element that is nearest to the centre is the deepest one: no search is needed, and the axes of the ball
do not matter. An element that ends farther from the ball than it went in the substep has not gone through, so that its
start is of no interest either, but for the one point that touches.
"""

from shinari.geometry.proximity import nearest_weights
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector_back
from shinari.maths.vec3 import ONE, ZERO, dot, norm, sub
from shinari.shapes.sphere import distance
from shinari.systems.colliders.collide import contact_change, place, record, remember
from shinari.systems.colliders.element_bounds import are_above, leave, planar_gaps
from shinari.systems.colliders.element_points import (
    AT_VERTEX,
    ROUNDS,
    SMALL,
    blend,
    displacement_at,
    inverse_mass_at,
    largest_of,
    move_vertices,
    radii_of,
    vertex_weights,
)


@steady
def keep_off_ball(m, i, pose, s, law, limits, contacts, contact_particles, particles, clock):
    """Keep the deepest point of an element out of a ball at rest; as `project_element`.

    Args:
        m: The contact.
        i: Particles of the element.
        pose: Pose of the ball.
        s: Its numbers.
        law: Friction, static friction, restitution and compliance of the pair.
        limits: Substep [s], and how far what was inside comes out at most [m].
        contacts: Contacts.
        contact_particles: Particles as the contacts see them.
        particles: Particles.
        clock: Clock.

    Returns:
        Whether that is done. It is not where the element ends nearer to the ball than its longest path.
    """
    h, escape = limits
    rate, centre, radii, x = ONE / h, origin(pose), radii_of(contact_particles, i), particles.x
    nothing = ZERO * h
    for again in range(ROUNDS):
        ends = sub(place(x, i[0]), centre), sub(place(x, i[1]), centre), sub(place(x, i[2]), centre)
        b = nearest_weights((nothing, nothing, nothing), ends[0], ends[1], ends[2])
        point = blend(b, ends[0], ends[1], ends[2])
        value, n = distance(point, s)
        if value <= largest_of(contact_particles.displacement, i):
            return False
        height, old = dot(n, point) - value, contacts.normal_correction[m]
        gaps = planar_gaps((n[0], n[1], n[2], height), ends, radii)
        near = old > ZERO or not are_above(gaps)
        if again == 0:
            axis = rotate_vector_back(pose, n)
            contacts.plane[m], contacts.bounds[m] = (axis[0], axis[1], axis[2], height), (-ONE, -ONE, -ONE)
            contacts.weights[m] = b
            leave(contacts, m, contact_particles.path, i, gaps, near)
        share = vertex_weights(b, i)
        w = inverse_mass_at(x, i, share)
        # what touches at a vertex is left to the vertex
        if not near or w <= ZERO or max(share[0], max(share[1], share[2])) > AT_VERTEX:
            break
        contacts.weights[m] = b
        displacement = displacement_at(particles, i, share, h)
        reach = share[0] * radii[0] + share[1] * radii[1] + share[2] * radii[2]
        gap, length = value - reach, norm(displacement)
        if gap >= length or (gap >= ZERO and old <= ZERO):
            break
        start, _ = distance(sub(point, displacement), s)
        before = max(-gap if length == ZERO else reach - start, ZERO)
        correction, silent, normal_correction, hold = contact_change(
            n, (-gap, before), displacement, w, law, (old, contacts.friction_correction[m]), (rate * rate, escape)
        )
        remember(contacts, m, normal_correction, hold, n, max(gap - dot(n, displacement), ZERO))
        record(contacts.impulse, m, sub(correction, silent), rate / w)
        move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate)
        if norm(correction) <= SMALL * reach:
            break
    return True
