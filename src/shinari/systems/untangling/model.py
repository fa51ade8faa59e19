"""Model of untangling: surfaces that intersect are pulled apart."""

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.surface_contact.system import SurfaceContacts
from shinari.systems.untangling.system import Untangling


class UntanglingModel(SystemModel):
    """Surfaces that may intersect; triangles that have torn since are left out when they are bound."""

    rebound = True

    def bind(self, bound: BoundSystems) -> "list[Untangling]":
        """The untangling of a simulation."""
        contacts = bound.find(SurfaceContacts)
        if contacts is None or not len(contacts.who.triangles):
            return []
        return [Untangling(bound, contacts)]
