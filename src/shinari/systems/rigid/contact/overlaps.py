"""Bodies that start inside each other or inside a collider: a scene that was probably not meant so."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute.program import run_recorded
from shinari.errors import ContactWarning, warn
from shinari.systems.rigid.contact.pairs import SLOT_GAP
from shinari.systems.rigid.contact.table import BodyContacts
from shinari.systems.rigid.integration import as_frame

if TYPE_CHECKING:
    from shinari.systems.rigid.model import RigidModel

ALLOWED = 0.01
"""Part of the size of the smaller shape by which two may overlap: stacks are often put together by rounded numbers."""


def warn_of_body_overlaps(rigid: "RigidModel") -> None:
    """Warn of each two bodies, or a body and a collider, that overlap where they were put.

    Warns:
        ContactWarning: They overlap by more than 1 % of the size of the smaller; once for each two.
    """
    frames = rigid.frames()
    for k, body in enumerate(rigid.bodies):
        frames.x0[k], frames.q0[k] = as_frame(body.position, body.rotation, body.centre, body.axes)
    for k, collider in enumerate(rigid.colliders):
        frames.x0[rigid.world + 1 + k], frames.q0[rigid.world + 1 + k] = collider.position, collider.rotation
    contacts = BodyContacts(rigid.collision_shapes, frames, 1.0, 1.0, 0.0)
    run_recorded(contacts.record_find)
    for (first, second), depth in _depths(contacts, rigid).items():
        one = rigid.bodies[first].name
        collider = second > rigid.world
        name = (
            f"collider {rigid.colliders[second - rigid.world - 1].name!r}"
            if collider
            else f"{rigid.bodies[second].name!r}"
        )
        warn(
            f"{one!r} and {name} overlap at the start, by {depth:.3g} m; they are pushed apart at depenetration_speed",
            ContactWarning,
        )


def _depths(contacts: BodyContacts, rigid: "RigidModel") -> dict[tuple[int, int], float]:
    """Overlap [m] of the frames that overlap too much."""
    arrays, pairs = rigid.collision_shapes.arrays, contacts.pairs
    depths: dict[tuple[int, int], float] = {}
    for p in np.flatnonzero(pairs.count[: contacts.pair_count]):
        a, b = pairs.collision_shapes[p]
        depth = -float(pairs.slots[p, : pairs.count[p], SLOT_GAP].min())
        if depth > ALLOWED * min(arrays.size[a], arrays.size[b]):
            two = (int(arrays.frame[a]), int(arrays.frame[b]))
            depths[two] = max(depth, depths.get(two, 0.0))
    return depths
