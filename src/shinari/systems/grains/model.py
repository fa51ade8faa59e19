"""Contacts between particles of which some are grains, as a system of the model."""

from dataclasses import dataclass

import numpy as np

from shinari.model.model import Model
from shinari.model.spins import spins_of
from shinari.model.system_model import BoundSystems
from shinari.systems.particle_contact.model import PairModel
from shinari.systems.particle_contact.system import Pairs

# Names in the state of the pairs of the last step that push, (K, 2), and of their multipliers and friction, (K, 4),
# of grains that turn also their rolling friction, (K, 7).
PAIRS, PUSHES = "grains/pairs", "grains/pushes"


@dataclass(frozen=True)
class GrainModel(PairModel):
    """Contacts between balls of which some are grains: their forces last from step to step.

    Attributes:
        turn: Whether some of the grains turn.
    """

    turn: bool = False
    growing = (PAIRS, PUSHES)

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Pairs that push, and their forces."""
        if self.members is None:
            return {}
        width = 7 if self.turn else 4
        return {PAIRS: np.zeros((0, 2), np.uint32), PUSHES: np.zeros((0, width), model.real)}

    def bind(self, bound: BoundSystems) -> list[Pairs]:
        """The contacts of a simulation; loaded only for a scene with grains."""
        from shinari.systems.grains.system import GrainPairs

        if self.members is None:
            return []
        records = bound.model, bound.settings, bound.particles, bound.origins, bound.clock, self.members
        spins = spins_of(bound.scene, bound.model, bound.state)
        if spins is None:
            return [GrainPairs(*records, bound.state)]
        from shinari.systems.grains.turning import TurningPairs

        return [TurningPairs(*records, bound.state, spins)]
