"""Contacts of particles with rigid bodies, as a system of the model."""

from typing import TYPE_CHECKING

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rigid.model import frames_of

if TYPE_CHECKING:
    from shinari.systems.coupling.system import BodyParticles


class CouplingModel(SystemModel):
    """Contacts of particles with rigid bodies. Particles that are attached to a body are never in contact with it."""

    rebound = True

    def bind(self, bound: BoundSystems) -> "list[BodyParticles]":
        """The contacts of a simulation; loaded only for a scene with bodies."""
        frames = frames_of(bound)
        if frames is None or bound.model.particle_count == 0 or not any(body.pieces for body in bound.scene.bodies):
            return []
        from shinari.systems.coupling.attachments import Attachments
        from shinari.systems.coupling.system import BodyParticles

        attachments = bound.find(Attachments)
        held = None if attachments is None else attachments.held
        records = bound.particles, bound.origins
        return [BodyParticles(bound.scene, bound.model, bound.state, bound.settings, *records, frames, held)]
