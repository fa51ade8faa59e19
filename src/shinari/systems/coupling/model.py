"""Contacts of particles with rigid bodies, as a system of the model."""

from typing import TYPE_CHECKING

from shinari.model.system_model import Binding, SystemModel
from shinari.systems.rigid.model import frames_of

if TYPE_CHECKING:
    from shinari.systems.coupling.body_particles import BodyParticles


class CouplingModel(SystemModel):
    """Contacts of particles with rigid bodies. Particles that are attached to a body are never in contact with it."""

    rebound = True

    def bind(self, work: Binding) -> "list[BodyParticles]":
        """The contacts of a simulation; loaded only for a scene with bodies."""
        frames = frames_of(work)
        if frames is None or work.model.particle_count == 0 or not any(body.pieces for body in work.scene.bodies):
            return []
        from shinari.systems.coupling.attachments import Attachments
        from shinari.systems.coupling.body_particles import BodyParticles

        attachments = work.find(Attachments)
        held = None if attachments is None else attachments.held
        records = work.particles, work.groups
        return [BodyParticles(work.scene, work.model, work.state, work.settings, *records, frames, held)]
