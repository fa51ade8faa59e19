"""Model of contacts with colliders."""

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.colliders.system import ColliderContacts


class ColliderModel(SystemModel):
    """Contacts of particles with colliders; these stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[ColliderContacts]":
        """The colliders of a simulation."""
        if not bound.model.colliders or bound.model.particle_count == 0:
            return []
        return [ColliderContacts(bound)]
