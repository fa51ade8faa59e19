"""Model of contacts of triangles and edges."""

from shinari.model.model import Model
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.surface_contact.build import participants
from shinari.systems.surface_contact.start_overlaps import warn_of_overlaps
from shinari.systems.surface_contact.system import SurfaceContacts


class SurfaceContactModel(SystemModel):
    """Contacts of surfaces; what has torn since is left out when they are bound."""

    rebound = True

    def bind(self, bound: BoundSystems) -> "list[SurfaceContacts]":
        """The contacts of a simulation."""
        who = participants(bound.scene, bound.model, bound.state)
        return [] if who is None else [SurfaceContacts(bound, who)]

    def warn(self, scene: Contents, model: Model) -> None:
        """Warn of surfaces that overlap or intersect where they were put."""
        warn_of_overlaps(scene, model)
