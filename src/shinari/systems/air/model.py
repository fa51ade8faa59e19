"""Model of the drag of the air on cloths."""

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.air.system import Air


class AirModel(SystemModel):
    """Triangles in the air; they stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[Air]":
        """The triangles of a simulation."""
        if bound.model.air is None:
            return []
        return [Air(bound.scene, bound.model, bound.state, bound.settings, bound.particles, bound.clock)]
