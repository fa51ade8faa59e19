"""Contacts of light particles with heavy bodies: which two are solved together, and which last.

See `shinari.systems.coupling.between` for what is solved.
"""

from shinari.collision.law import combined_surface, tangential
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, dot, scale
from shinari.shapes.box import BOX
from shinari.systems.colliders.element_points import vertices
from shinari.systems.colliders.supports import BODY, is_on_body
from shinari.systems.coupling.between import HEAVY
from shinari.systems.coupling.records import BodyShapeTable
from shinari.systems.coupling.response import apply_reaction
from shinari.systems.rigid.frames import Frames

# What is pressed takes the body beneath it for a support below this part of the inverse mass of a particle, for both
# bodies.
CARRIES = 5e-3
# No contact on the other side.
NOTHING = (-1, -1, (0.0, 0.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0))


@steady
def record_impulse(contacts, m, multiplier, rate):
    """Add an impulse to those of the step."""
    contacts.impulse[m] = add(contacts.impulse[m], scale(multiplier, rate))


@steady
def whole_push(contacts, m):
    """What a contact has pushed so far in the substep, with friction [kg m]."""
    return add(scale(contacts.normal[m], contacts.multiplier[m]), contacts.friction_multiplier[m])


@steady
def opposite_contact(contacts, m, count):
    """The contact of the same item that pushes most, besides contact m; -1 if none does."""
    found, most = -1, ZERO
    for step in (-1, 1):
        k = m + step
        while 0 <= k < count and contacts.item[k] == contacts.item[m]:
            if contacts.multiplier[k] > most:
                found, most = k, contacts.multiplier[k]
            k += step
    return found


@steady
def push_opposite(contacts, frames, body_sweeps, opposite, push, rate):
    """Push the body on the other side of an item against what it gives to that, and remember it."""
    k, (b, arm) = opposite[0][0], opposite[1]
    n = contacts.normal[k]
    contacts.multiplier[k] = max(contacts.multiplier[k] + dot(n, push), 0.0)
    contacts.friction_multiplier[k] = add(contacts.friction_multiplier[k], tangential(push, n))
    record_impulse(contacts, k, push, rate)
    apply_reaction(frames, body_sweeps, b, arm, push, scale(push, ZERO), rate)


@steady
def opposite_of(contacts, m, count, body_shapes, frames, contact_particles, i):
    """What pushes particle i besides contact m, if both bodies are heavy for its object.

    Not where one presses on elements of it, unless that is a box: it lies on the other one, or soon will.
    """
    k = opposite_contact(contacts, m, count)
    if k < 0:
        return NOTHING
    here, there = contacts.body_shape[m], contacts.body_shape[k]
    first, second = body_shapes.frame[here], body_shapes.frame[there]
    upper = there if contact_particles.solid[i] == BODY - here else here
    lies = contact_particles.pressed[i] and body_shapes.kind[upper] != BOX
    if (
        lies
        or first == second
        or frames.inverse_mass[first] + frames.inverse_mass[second] >= HEAVY * contact_particles.average[i]
    ):
        return NOTHING
    law = combined_surface(contact_particles.surface[i], body_shapes.surface[there])
    return k, there, law, contacts.multiplier[k], whole_push(contacts, k)


@steady
def note_pinch(m, contacts, items, contact_particles, count, body_shapes, frames, body_sweeps):
    """Note that two heavy bodies push the particle of contact m, if they do."""
    i = vertices(items.points[contacts.item[m]])
    if i[0] == i[1]:
        opposite = opposite_of(contacts, m, count, body_shapes, frames, contact_particles, i[0])
        if opposite[0] >= 0:
            body_sweeps.pinches[body_shapes.frame[opposite[1]]] = True


@steady
def lies_on(i, b, contact_particles, body_shapes):
    """Whether a particle lies on body b."""
    return is_on_body(contact_particles, i) and body_shapes.frame[BODY - contact_particles.solid[i]] == b


@steady
def leaves_support(i, k, contact_particles, body_shapes, frames):
    """Whether piece k meets an item as if that lay on no body: its body is light, or beneath the item.

    A heavy box does so, too, where it meets vertices: with its faces, which are then solved with both bodies at once.
    So does a box at a joint wherever it meets anything: what holds a finger is not in how far its body yields.
    """
    b, average = body_shapes.frame[k], contact_particles.average[i[0]]
    light = frames.inverse_mass[b] >= CARRIES * average
    at_vertex = i[0] == i[1] and frames.inverse_mass[b] < HEAVY * average
    flat = body_shapes.kind[k] == BOX and (at_vertex or body_shapes.jointed[k])
    on = lies_on(i[0], b, contact_particles, body_shapes) or lies_on(i[1], b, contact_particles, body_shapes)
    return light or flat or on or lies_on(i[2], b, contact_particles, body_shapes)


def any_presses(body_shapes: BodyShapeTable, frames: Frames, average: float) -> bool:
    """Whether a piece may press on what lies on a body; `average`: the largest of the particles [1/kg]."""
    heavy = frames.inverse_mass[body_shapes.frame] < CARRIES * average
    return bool((heavy & ~((body_shapes.kind == BOX) & body_shapes.jointed)).any())


@steady
def forgets(m, contacts, items, contact_particles, body_shapes, frames, body_sweeps):
    """Whether an element is at a body that presses on particles between it and another: then its pushes do not last.

    Particles carry the load. Pushes of the element that go on at its last deepest point, or are taken back where it is
    not any more, would throw them.
    """
    i, k = vertices(items.points[contacts.item[m]]), contacts.body_shape[m]
    pinches = i[0] != i[1] and body_sweeps.pinches[body_shapes.frame[k]]
    flat = body_shapes.kind[k] == BOX
    return pinches and (flat or leaves_support(i, k, contact_particles, body_shapes, frames))
