"""Contacts of particles with rigid bodies, as a system of the model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rigid.model import frames_of

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.systems.coupling.system import BodyParticles


# Names in the state of what pushed in the last substep: list, item and piece of each contact, (K, 3), its push and
# friction, (K, 4), its normal and the weights of its point, (K, 6); and of how far and by what angles joints and
# contacts of bodies moved each body in it, (B, 6).
CONTACTS, PUSHES, PLACES, RESPONSES = (f"coupling/{name}" for name in ("contacts", "pushes", "places", "responses"))


@dataclass(frozen=True)
class CouplingModel(SystemModel):
    """Contacts of particles with rigid bodies. Particles that are attached to a body are never in contact with it.

    Attributes:
        bodies: Bodies of the scene; 0 where none has a shape.
    """

    bodies: int
    rebound = True
    growing = (CONTACTS, PUSHES, PLACES)
    multipliers = (PUSHES, RESPONSES)

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Nothing has pushed yet."""
        if self.bodies == 0 or model.particle_count == 0:
            return {}
        return {
            CONTACTS: np.zeros((0, 3), np.int64),
            PUSHES: np.zeros((0, 4)),
            PLACES: np.zeros((0, 7)),
            RESPONSES: np.zeros((self.bodies, 6)),
        }

    def bind(self, bound: BoundSystems) -> "list[BodyParticles]":
        """The contacts of a simulation; loaded only for a scene with bodies."""
        frames = frames_of(bound)
        if frames is None or bound.model.particle_count == 0 or self.bodies == 0:
            return []
        from shinari.systems.colliders.system import ColliderContacts
        from shinari.systems.coupling.attachments import Attachments
        from shinari.systems.coupling.system import BodyParticles

        attachments = bound.find(Attachments)
        held = None if attachments is None else attachments.held
        records = bound.particles, bound.origins
        colliders = bound.find(ColliderContacts)
        supports = None if colliders is None else colliders.supports
        return [BodyParticles(bound.scene, bound.model, bound.state, bound.settings, *records, frames, held, supports)]
