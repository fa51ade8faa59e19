"""Pin and unpin particles while a simulation runs.

A pinned particle has no inverse mass. In the state that is the last column of `State.x`, so that copies of the state
and checkpoints carry the pins; in the model it is the mass, and with it all choices that depend on mobility:
the order in which rows are swept, which objects may collide, which particles lead the clusters of a lump. Positions,
velocities and rest values stay, so the simulation goes on, bit by bit, as one of a scene with these pins that was given
this state.
"""

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.build.clusters import build_lumps
from shinari.build.recolour import move_rows, recoloured
from shinari.contact.particle.pair_members import pair_members
from shinari.diagnostics import Diagnostics
from shinari.errors import ContactWarning, SceneError
from shinari.fluid.waiting import waiting
from shinari.scene import check
from shinari.scene.handle import Handle
from shinari.shape_matching.part import ShapeMatching

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.state import State


class Pins:
    """Pinning and unpinning."""

    scene: "Scene"
    described: "Scene"
    state: "State"
    model: "Model"
    settings: "Settings"
    _diagnostics: Diagnostics
    _range: Callable[..., slice]
    _group_index: Callable[..., int]
    _bind: Callable[[], None]

    def pin(self, handle: Handle | str, indices: Any) -> None:
        """Fix particles where they are; they then follow values written to the state.

        The result is that of a scene in which they were pinned from the start. Checkpoints and copies of the state
        keep the pins.

        Args:
            handle: The object.
            indices: Indices within the object, 0 to N - 1, (K,) or one.

        Raises:
            SceneError: It is no object with particles of this scene, an index is out of range, the object has tethers,
                which depend on the pins, or its particles come and go.
        """
        chosen = self._chosen("pin", handle, indices)
        self._hold(np.where(chosen, True, self.model.masses == 0.0))

    def unpin(self, handle: Handle | str, indices: Any) -> None:
        """Let particles go that are pinned, here or in the scene; the others stay free.

        A released particle keeps the velocity of its motion.

        Args:
            handle: The object.
            indices: Indices within the object, 0 to N - 1, (K,) or one.

        Raises:
            SceneError: As `pin`; or a particle was given no mass that it could have.
        """
        chosen = self._chosen("unpin", handle, indices)
        massless = np.flatnonzero(chosen & (_masses(self.scene) == 0.0))
        if len(massless):
            name, members = next((name, members) for name, members in self.model.things if massless[0] in members)
            raise SceneError(
                f"{name}: unpin: particle {massless[0] - members.start} is fixed by mass 0 and has no other"
            )
        self._hold(np.where(chosen, False, self.model.masses == 0.0))

    def pinned(self, handle: Handle | str) -> np.ndarray:
        """Indices within an object of the particles that are pinned now, or fixed by mass 0, (K,) int64.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return np.flatnonzero(self.model.masses[self._range(handle)] == 0.0)

    def model_as_described(self) -> "Model":
        """The model with the pins of the scene, whatever was pinned since."""
        fixed = _masses(self.scene) == 0.0
        fixed[list(self.scene.pinned)] = True
        if np.array_equal(fixed, self.model.masses == 0.0):
            return self.model
        return repinned(self.described, self.model, self.settings, fixed)[0]

    def _chosen(self, verb: str, handle: Handle | str, indices: Any) -> np.ndarray:
        """Which particles as added are meant, (N,) bool."""
        members, group = self._range(handle), self.scene.groups[self._group_index(handle)]
        local = check.indices(group.name, verb, indices, members.stop - members.start)
        if getattr(group.material, "tethers", False):
            raise SceneError(
                f"{group.name}: {verb}: its tethers are measured from its pins; pin in the scene and build a new "
                f"Simulation, or leave out tethers"
            )
        if group.emitter is not None or (group.kind == "fluid" and self.scene.sinks):
            raise SceneError(f"{group.name}: {verb}: particles of emitters and sinks cannot be fixed")
        chosen = np.zeros(self.model.particle_count, bool)
        chosen[members.start + local] = True
        return chosen

    def _hold(self, fixed: np.ndarray) -> None:
        """Fix these particles as added, (N,) bool, and no others."""
        before, state, slots = self.model.masses > 0.0, self.state, self.model.slots
        if np.array_equal(fixed, ~before):
            return
        model, orders = repinned(self.described, self.model, self.settings, fixed)
        if model.members is not None and not model.members.start(model.real).keys() <= state.parts.keys():
            raise SceneError("unpin: the scene had no possible contacts when it was built; build a new Simulation")
        move_rows(state, orders)
        state.x[:, 3] = model.inverse_masses
        stopped = fixed & before
        state.v[slots[stopped]] = 0.0
        state.velocities[stopped] = 0.0
        self._take_model(model)
        self._bind()

    def _follow_pins(self) -> None:
        """Bring the model to the pins of a state that was taken over; its rows stand as they do with these pins."""
        model, state = self.model, self.state
        held = state.x[:, 3] == 0.0
        # what is not there has no inverse mass either
        absent = np.flatnonzero(np.isin(model.slots, waiting(model, state)))
        fixed = held[model.slots]
        fixed[absent] = np.isin(absent, list(self.scene.pinned))
        if not np.array_equal(fixed, model.masses == 0.0):
            self._take_model(repinned(self.described, model, self.settings, fixed)[0])

    def _take_model(self, model: "Model") -> None:
        self.model = model
        self._diagnostics = Diagnostics(model, self.settings)


def repinned(
    scene: "Scene", model: "Model", settings: "Settings", fixed: np.ndarray
) -> tuple["Model", dict[str, np.ndarray]]:
    """The model of a scene with other particles fixed, as if it had been built so.

    Args:
        scene: The scene; its own pins do not matter.
        model: Its model.
        settings: Settings.
        fixed: Which particles are fixed, as added, (N,) bool.

    Returns:
        The model, and for each block whose rows have moved the old row at each new place.
    """
    changed, orders = recoloured(model, scene, np.where(fixed, 0.0, _masses(scene)), settings.sweep)
    scene = copy(scene)
    scene.pinned = set(np.flatnonzero(fixed).tolist())
    parts = tuple(
        build_lumps(scene, model.slots, model.real) if isinstance(part, ShapeMatching) else part for part in model.parts
    )
    with warnings.catch_warnings():
        # what overlaps at the start was said when the scene was built
        warnings.simplefilter("ignore", ContactWarning)
        members = pair_members(scene, changed) if model.particle_count else None
    return replace(changed, parts=tuple(part for part in parts if part is not None), members=members), orders


def _masses(scene: "Scene") -> np.ndarray:
    """Masses of all particles as added, pinned or not [kg], (N,)."""
    return np.concatenate([np.zeros(0), *(group.masses for group in scene.groups)])
