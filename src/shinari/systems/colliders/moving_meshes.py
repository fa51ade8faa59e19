"""Meshes that move as they were told: their vertices are fixed particles that go to their next places in each step.

Between the ends of a step they move evenly, like all fixed particles that a user moves. What touches them is found and
solved as between two sheets (`shinari.systems.surface_contact`), with the velocity of the surface in the friction.
"""

import numpy as np

from shinari.geometry.mesh_sequence import MeshSequence
from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel


class MovingMeshModel(SystemModel):
    """Objects of a scene with a motion of their own; they stand in the scene."""

    def bind(self, bound: BoundSystems) -> "list[MovingMeshes]":
        """Those of a simulation."""
        found, start = [], 0
        for obj in bound.scene.particle_objects:
            if obj.motion is not None:
                found.append((slice(start, start + len(obj.positions)), obj.motion))
            start += len(obj.positions)
        return [MovingMeshes(bound.model, bound.state, found, bound.settings.dt)] if found else []


class MovingMeshes(System):
    """Moving meshes of one simulation."""

    # before the contacts ask where everything goes
    order = 3
    can_rest = True
    on_device = True

    def __init__(self, model: Model, state: State, meshes: list[tuple[slice, MeshSequence]], dt: float) -> None:
        self._model, self._state, self._meshes, self._dt = model, state, meshes, dt
        self._before: list[np.ndarray] = []

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Whether a mesh moves in the step."""
        x = self._state.positions
        return any((x[where] != motion(float(ends[-1])).astype(x.dtype)).any() for where, motion in self._meshes)

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Send all vertices to their places at the end of the step."""
        state, model = self._state, self._model
        self._before = [state.positions[where].copy() for where, _ in self._meshes]
        for where, motion in self._meshes:
            slots = model.slots[where]
            target = motion(float(ends[-1]))
            local = target - state.origins[model.origin_index[slots]]
            state.v[slots] = (local - state.x[slots, :3]) / self._dt
            state.positions[where] = target

    def check(self) -> None:
        """The step failed: the meshes are where they were."""
        for (where, _), positions in zip(self._meshes, self._before, strict=True):
            self._state.positions[where] = positions
