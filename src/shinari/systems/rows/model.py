"""Model of constraint rows."""

from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rows.system import BlockSolver


class RowsModel(SystemModel):
    """All constraint rows of a scene; the blocks stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[BlockSolver]":
        """A system for each type of constraints."""
        blocks = bound.model.blocks.values()
        return [BlockSolver(block, bound.model, bound.state, bound.settings, bound.particles) for block in blocks]
