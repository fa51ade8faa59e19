"""Model of groups of particles that rows join, have stress without a load, and are held at one place at most."""

from dataclasses import dataclass

import numpy as np

from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.coupling.attachments import BROKEN


@dataclass(frozen=True)
class FreeGroupsModel(SystemModel):
    """Free groups.

    Attributes:
        particles: Particles of all groups in solver order, group after group, (P,) uint32.
        chunks: First particle, last one (exclusive), group, and a particle of the group, by chunk, (C, 4) int64.
        held: Particles that a place or a body holds, (H,) uint32.
        enclosing: Whether a group contains a closed mesh whose volume is kept.
    """

    particles: np.ndarray
    chunks: np.ndarray
    held: np.ndarray
    enclosing: bool

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.chunks[-1, 2]) + 1

    def of_particles(self, model: Model) -> np.ndarray:
        """Group of each particle, -1: none, (N,) int64."""
        groups = np.full(model.particle_count, -1)
        groups[self.particles] = np.repeat(self.chunks[:, 2], self.chunks[:, 1] - self.chunks[:, 0])
        return groups

    def pivots(self, model: Model, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Which groups have all of their rows and hang on one particle at most, (G,), and on which, -1: none, (G,)."""
        groups, whole, pivots = self.of_particles(model), np.ones(self.count + 1, bool), np.full(self.count + 1, -1)
        held = np.unique(np.concatenate([self.held, model.slots[model.masses == 0.0]]).astype(np.int64))
        # the last entry is that of particles without a group
        pivots[groups[held]] = held
        whole[np.bincount(groups[held] + 1, minlength=self.count + 1)[[*range(1, self.count + 1), 0]] > 1] = False
        for name, broken in state.broken.items():
            whole[groups[model.blocks[name].indices[broken, 0]]] = False
        if state.system_arrays.get(BROKEN, np.zeros(1)).any():
            whole[groups[self.held]] = False
        return whole[:-1], pivots[:-1]

    def bind(self, bound: BoundSystems) -> list[System]:
        """The groups of one simulation."""
        from shinari.systems.free_groups.system import GroupSpins, SpinEnd, SpinStart

        spins = GroupSpins(self, bound)
        return [SpinStart(spins), SpinEnd(spins)]
