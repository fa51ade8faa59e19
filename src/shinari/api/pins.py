"""Pin and unpin particles while a simulation runs.

A pinned particle has no inverse mass. In the state that is the last column of `State.x`, so that copies of the state
and checkpoints carry the pins; in the model it is the mass, and with it all choices that depend on mobility:
the order in which rows are swept, which objects may collide, which particles lead the clusters of a lump. Positions,
velocities and rest values stay, so the simulation goes on, bit by bit, as one of a scene with these pins that was given
this state.
"""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari import check
from shinari.errors import ContactWarning, SceneError
from shinari.scene.contents import sharing
from shinari.scene.handle import Handle
from shinari.solver.recolour import move_rows, recoloured
from shinari.solver.run import Run

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings
    from shinari.scene.contents import Contents


class Pins:
    """Pinning and unpinning."""

    def __init__(self, run: Run) -> None:
        self._run = run

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
        self._hold(np.where(chosen, True, self._run.model.masses == 0.0))

    def unpin(self, handle: Handle | str, indices: Any) -> None:
        """Let particles go that are pinned, here or in the scene; the others stay free.

        A released particle keeps the velocity of its motion. Springs of a `"pin"` map, of values between 0 and 1, stay.

        Args:
            handle: The object.
            indices: Indices within the object, 0 to N - 1, (K,) or one.

        Raises:
            SceneError: As `pin`; or a particle was given no mass that it could have.
        """
        chosen = self._chosen("unpin", handle, indices)
        massless = np.flatnonzero(chosen & (_masses(self._run.scene) == 0.0))
        if len(massless):
            name, members = next(
                (name, members) for name, members in self._run.model.object_ranges if massless[0] in members
            )
            raise SceneError(
                f"{name}: unpin: particle {massless[0] - members.start} is fixed by mass 0 and has no other"
            )
        self._hold(np.where(chosen, False, self._run.model.masses == 0.0))

    def pinned(self, handle: Handle | str) -> np.ndarray:
        """Indices within an object of the particles that are pinned now, or fixed by mass 0, (K,) int64.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return np.flatnonzero(self._run.model.masses[self._run.particles_of(handle)] == 0.0)

    def model_as_described(self) -> "Model":
        """The model with the pins of the scene, whatever was pinned since."""
        fixed = _masses(self._run.scene) == 0.0
        fixed[list(self._run.scene.pinned)] = True
        if np.array_equal(fixed, self._run.model.masses == 0.0):
            return self._run.model
        return repinned(self._run.described, self._run.model, self._run.settings, fixed)[0]

    def _chosen(self, verb: str, handle: Handle | str, indices: Any) -> np.ndarray:
        """Which particles as added are meant, (N,) bool."""
        members, obj = self._run.particles_of(handle), self._run.scene.particle_objects[self._run.object_index(handle)]
        local = check.indices(obj.name, verb, indices, members.stop - members.start)
        if getattr(obj.material, "tethers", False):
            raise SceneError(
                f"{obj.name}: {verb}: its tethers are measured from its pins; pin in the scene and build a new "
                f"Simulation, or leave out tethers"
            )
        if obj.emitter is not None or (obj.kind == "fluid" and self._run.scene.sinks):
            raise SceneError(f"{obj.name}: {verb}: particles of emitters and sinks cannot be fixed")
        chosen = np.zeros(self._run.model.particle_count, bool)
        chosen[members.start + local] = True
        return chosen

    def _hold(self, fixed: np.ndarray) -> None:
        """Fix these particles as added, (N,) bool, and no others."""
        self._run.stepping.refuse_within("pin")
        before, state, slots = self._run.model.masses > 0.0, self._run.state, self._run.model.slots
        if np.array_equal(fixed, ~before):
            return
        model, orders = repinned(self._run.described, self._run.model, self._run.settings, fixed)
        if not {name for system in model.systems for name in system.start(model)} <= state.system_arrays.keys():
            raise SceneError("unpin: the scene had no possible contacts when it was built; build a new Simulation")
        move_rows(state, orders)
        state.x[:, 3] = model.inverse_masses
        stopped = fixed & before
        state.v[slots[stopped]] = 0.0
        state.velocities[stopped] = 0.0
        self._run.take_model(model)
        self._run.bind()
        self._run.wake()

    def follow_state(self) -> None:
        """Bring the model to the pins of a state that was taken over; its rows stand as they do with these pins."""
        model, state = self._run.model, self._run.state
        held = state.x[:, 3] == 0.0
        # what is not there has no inverse mass either
        absent = np.flatnonzero(np.isin(model.slots, model.inactive(state)))
        fixed = held[model.slots]
        fixed[absent] = np.isin(absent, list(self._run.scene.pinned))
        if not np.array_equal(fixed, model.masses == 0.0):
            self._run.take_model(repinned(self._run.described, model, self._run.settings, fixed)[0])


def repinned(
    scene: "Contents", model: "Model", settings: "Settings", fixed: np.ndarray
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
    scene = sharing(scene)
    scene.pinned = set(np.flatnonzero(fixed).tolist())
    with warnings.catch_warnings():
        # what overlaps at the start was said when the scene was built
        warnings.simplefilter("ignore", ContactWarning)
        systems = [system.with_pins(scene, changed) for system in model.systems]
    return replace(changed, systems=tuple(systems)), orders


def _masses(scene: "Contents") -> np.ndarray:
    """Masses of all particles as added, pinned or not [kg], (N,)."""
    return np.concatenate([np.zeros(0), *(obj.masses for obj in scene.particle_objects)])
