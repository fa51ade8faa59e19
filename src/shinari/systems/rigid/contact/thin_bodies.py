"""Bodies that gravity moves by much of their thickness in a substep: their contacts are those of another pose."""

import math
from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import ContactWarning, warn_of_several
from shinari.model.settings import Settings

if TYPE_CHECKING:
    from shinari.systems.rigid.model import RigidModel

MOST_FALL = 0.1
"""Part of its least extent by which gravity may move a body in a substep. Random heaps of thinner ones jam, up to a
quarter of their thickness deep in each other and in the ground; see docs/decisions/rigid.md."""


def warn_of_thin_bodies(rigid: "RigidModel", gravity: np.ndarray, settings: Settings) -> None:
    """Warn of bodies that are too thin for the substep.

    Warns:
        ContactWarning: There are some; the message says how many substeps are enough.
    """
    arrays, fall = rigid.collision_shapes.arrays, float(np.linalg.norm(gravity)) * settings.substep**2
    if len(arrays) < 2:
        return
    extents = (arrays.high - arrays.low).min(axis=1)
    found = []
    for k, body in enumerate(rigid.bodies):
        own = extents[arrays.frame == k]
        if body.kinematic or body.motion is not None or len(own) == 0 or fall <= MOST_FALL * own.min():
            continue
        part = fall / float(own.min())
        enough = math.ceil(settings.substeps * math.sqrt(part / MOST_FALL))
        text = f"{body.name!r}: gravity moves it by {part:.2g} of its thickness in a substep"
        found.append((part, f"{text}: contacts will be deep and jam; take {enough} substeps"))
    warn_of_several(found, ContactWarning)
