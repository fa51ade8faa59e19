"""Bodies that start inside each other or inside a collider: a scene that was probably not meant so."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute.program import run_recorded
from shinari.errors import ContactWarning, warn_of_several
from shinari.systems.rigid.contact.table import BodyContacts
from shinari.systems.rigid.integration import as_frame

if TYPE_CHECKING:
    from shinari.systems.rigid.model import RigidModel

ADVICE = "they are pushed apart at depenetration_speed; move them, or let them pass: scene.ignore_contact(a, b)"
ALLOWED = 0.01
"""Part of the size of the smaller shape by which two may overlap: stacks are often put together by rounded numbers."""


def warn_of_body_overlaps(rigid: "RigidModel") -> None:
    """Warn of each two bodies, or a body and a collider, that overlap where they were put.

    Warns:
        ContactWarning: They overlap by more than 1 % of the size of the smaller.
    """
    frames = rigid.frames()
    for k, body in enumerate(rigid.bodies):
        frames.x0[k], frames.q0[k] = as_frame(body.position, body.rotation, body.centre, body.axes)
    for k, collider in enumerate(rigid.colliders):
        frames.x0[rigid.world + 1 + k], frames.q0[rigid.world + 1 + k] = collider.position, collider.rotation
    contacts = BodyContacts(rigid.collision_shapes, frames, 1.0, 1.0, 0.0)
    run_recorded(contacts.record_find)
    found = []
    for (first, second), depth in _depths(contacts, rigid).items():
        one = rigid.bodies[first].name
        collider = second > rigid.world
        name = (
            f"collider {rigid.colliders[second - rigid.world - 1].name!r}"
            if collider
            else f"{rigid.bodies[second].name!r}"
        )
        found.append((depth, f"{one!r} and {name} overlap at the start, by {depth:.3g} m"))
    warn_of_several(found, ContactWarning, ADVICE)


def _depths(contacts: BodyContacts, rigid: "RigidModel") -> dict[tuple[int, int], float]:
    """Overlap [m] of the frames that overlap too much."""
    arrays, pairs = rigid.collision_shapes.arrays, contacts.pairs
    depths: dict[tuple[int, int], float] = {}
    for p in np.flatnonzero(pairs.count[: contacts.pair_count]):
        a, b = pairs.collision_shapes[p]
        depth = -float(pairs.least_gap[p])
        if depth > ALLOWED * min(arrays.size[a], arrays.size[b]):
            two = (int(arrays.frame[a]), int(arrays.frame[b]))
            depths[two] = max(depth, depths.get(two, 0.0))
    return depths
