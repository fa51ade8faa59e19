"""Which objects have room at rest: none of their elements is nearer to another one than both keep.

Neighbours in a sheet keep the distance that they have at rest where it is less. Where it is less nowhere, the search
does not ask which elements are neighbours.
"""

import numpy as np

from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.geometry.overlaps import BoxPairs
from shinari.maths.vec3 import norm
from shinari.systems.surface_contact.elements import ElementPairs, Elements
from shinari.systems.surface_contact.pair_points import points_of, separation
from shinari.systems.surface_contact.records import ContactParticles, Objects, Side

# Boxes are larger than the distance to keep by this part of it: rounding does not lose a pair.
WIDER = 1.001


def find_room(pairs: list[ElementPairs], contact_particles: ContactParticles, objects: Objects) -> None:
    """Mark the objects that have room; those with seams have none."""
    vertex = contact_particles.vertex
    objects.has_room[...] = True
    objects.has_room[contact_particles.object_index[vertex != np.arange(len(vertex))]] = False
    p = Program()
    for each in dict.fromkeys(table for both in pairs for table in (both.first, both.second)):
        _set_rest_boxes(each, contact_particles)
        each.tree.record_refit(p)
    for both in pairs:
        overlaps, _ = both.every
        overlaps.record(p, len(both.first))
        sides = overlaps.pairs, both.first.side, both.second.side
        p.launch(mark_crowded, *sides, contact_particles, objects, both.first.edges, count=overlaps.total, grain=1024)
    p.run(1)


def _set_rest_boxes(elements: Elements, contact_particles: ContactParticles) -> None:
    """Boxes of the elements at rest with their radii."""
    points, boxes = elements.side.points, elements.tree.boxes
    x, radii = contact_particles.rest[points], WIDER * contact_particles.radius[points][..., None]
    boxes.low[...], boxes.high[...] = (x - radii).min(axis=1), (x + radii).max(axis=1)


@kernel(fastmath=STEADY)
def mark_crowded(
    r, pairs: BoxPairs, first: Side, second: Side, contact_particles: ContactParticles, objects: Objects, edges: bool
):
    """Mark the object of two elements that are nearer to each other at rest than they keep; all write the same."""
    p, q = pairs.boxes[r]
    i0, i1, i2, i3 = points_of(np.int64(p), np.int64(q), first, second, edges)
    j = i2 if edges else i1
    a = np.int64(contact_particles.object_index[i0])
    gap = contact_particles.radius[i0] + contact_particles.radius[j]
    if (
        contact_particles.object_index[j] == a
        and not norm(separation(edges, contact_particles.rest, i0, i1, i2, i3)) >= gap
    ):
        objects.has_room[a] = False
