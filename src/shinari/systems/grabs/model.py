"""Model of grabs."""

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.grabs.system import GrabSystem
from shinari.systems.rigid.model import frames_of


class GrabModel(SystemModel):
    """Grabs come and go while a scene runs."""

    def bind(self, bound: BoundSystems) -> "list[GrabSystem]":
        """The grabs of a simulation."""
        records = bound.particles, bound.origins, bound.clock
        return [GrabSystem(bound.grabs, bound.state, bound.settings, *records, frames_of(bound))]
