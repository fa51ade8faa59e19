"""Particles against particles where some of them are grains: what each row did last is its first guess in a substep.

Between steps pairs and multipliers are part of the state, so that a run goes on from a checkpoint with the same bits.
"""

import numpy as np

from shinari.compute import Program
from shinari.errors import SceneError
from shinari.model.model import Model
from shinari.model.particles import Clock, Origins, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.systems.grains.bridges import (
    RUPTURE,
    STRETCH,
    Bridges,
    Cohesions,
    contact_force,
    pull_grains,
    take_bridge,
    warn_of_cohesion,
)
from shinari.systems.grains.model import PAIRS, PUSHES
from shinari.systems.grains.rows import (
    LIFT,
    MOST_SCALING,
    find_exponents,
    join_exponents,
    set_factor,
    start_grains,
    sweep_grains,
)
from shinari.systems.particle_contact.build import MemberTable
from shinari.systems.particle_contact.system import Pairs


class GrainPairs(Pairs):
    """Contacts between particles with a memory."""

    remembers = True
    tolerated = 0.8
    impact = 0.6

    def __init__(
        self,
        model: Model,
        settings: Settings,
        particles: Particles,
        origins: Origins,
        clock: Clock,
        table: MemberTable,
        state: State,
    ) -> None:
        super().__init__(model, settings, particles, origins, clock, table)
        self._state = state
        self._scales = bool((table.scaling > 0.0).any())
        self._up = tuple(-model.gravity / (float(np.linalg.norm(model.gravity)) or 1.0))
        self._written: np.ndarray | None = None
        self._known = np.zeros(1, np.int64)
        self._bridges: Bridges | None = None
        if (table.cohesion > 0.0).any():
            warn_of_cohesion(model, settings, table)
            self._bridges = Bridges.zeros(0, model.real)
            self._cohesions = Cohesions(model.real, strength=table.cohesion.astype(model.real))
            wet = table.cohesion[table.owners] > 0.0
            self._members.reach[...] = table.radii * np.where(wet, 1.0 + 0.5 * RUPTURE, 1.0)

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: what is known of the pairs is in the state."""
        pairs, pushes = self._state.system_arrays[PAIRS], self._state.system_arrays[PUSHES]
        if pairs is not self._written and len(pairs):
            # those of a particle stand together in what a step has written
            order = np.argsort(pairs[:, 0], kind="stable") if not _grouped(pairs[:, 0]) else slice(None)
            pairs, pushes = pairs[order], pushes[order]
        self._recall(pairs, pushes)

    def _recall(self, pairs: np.ndarray, pushes: np.ndarray) -> None:
        """A step begins with these rows, (K, 2), and what they pushed, (K, 4)."""
        warm_start, count = self.detection.memory.warm_start, len(pairs)
        if len(warm_start) < count:
            warm_start.grow(count * 3 // 2)
        warm_start.particles[:count], warm_start.push[:count], warm_start.normal[:count] = pairs, pushes, 0.0
        self._known[0] = count

    def record_begin(self, p: Program) -> None:
        """Record how to find what is known of a pair."""
        super().record_begin(p)
        p.copy((self._known, 0), (self.control.warm_start, 0))
        self.detection.memory.record_index(p)

    def end(self) -> None:
        """A step has ended: the memory goes to the state."""
        warm_start, count = self.detection.memory.warm_start, int(self.control.warm_start[0])
        self._state.system_arrays[PAIRS] = self._written = warm_start.particles[:count].copy()
        self._state.system_arrays[PUSHES] = self._pushes(count)

    def _pushes(self, count: int) -> np.ndarray:
        """What the known rows pushed, (K, 4)."""
        return self.detection.memory.warm_start.push[:count].copy()

    def check(self) -> None:
        """Raise the error that ended a run.

        Raises:
            ShinariError: The balls are spread too far.
            SceneError: Masses that are scaled by height differ by too much.
        """
        super().check()
        if self.control.too_strong[0]:
            raise SceneError(
                f"grains: mass_scaling: over the height of this scene it makes masses differ by exp"
                f"({self.control.spread[0]:.3g}), more than {MOST_SCALING:g}; take less"
            )

    def record_contacts(self, p: Program, first: bool) -> None:
        """Record that every row is solved once; in the first turn of a substep it repeats the last one.

        So what is below can answer: a sweep without that would take the push back, since the lowest grains have nothing
        to stand on yet.
        """
        if not first:
            super().record_contacts(p, first)
            return
        settings = self._settings
        self._record_gather(p)
        with p.when((self.control.rows, 0)):
            self._record_pull(p)
            self._record_start(p, settings.substep * settings.depenetration_speed)
            self._record_scatter(p)

    def record_restitution(self, p: Program) -> None:
        """Record restitution; at the end of a step the rows are remembered."""
        super().record_restitution(p)
        with p.when((self.control.last, 0)):
            self._record_remember(p, resumes=True, keeps=False)

    def _record_find(self, p: Program, resume: bool) -> None:
        super()._record_find(p, resume)
        if self._scales:
            found, control = self.detection, self.control
            records = found.balls, self._objects, self._origins, control
            p.launch(find_exponents, *records, self._chunks, *self._up, count=len(self._chunks), grain=2)
            p.serial(join_exponents, control, self._chunks, float(np.log(MOST_SCALING)))
            p.stop_if((control.too_strong, 0))
            p.launch(set_factor, *records, *self._up, count=(control.balls, 0))

    def _record_take(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        if self._bridges is not None:
            p.require(self._bridges, (self.control.rows_read, 0))
            p.launch(take_bridge, self.detection.batches.links, self._bridges, self.detection.balls, self._members,
                     self._cohesions, self.control, contact_force(1.0, 1.0), STRETCH, count=count)  # fmt: skip

    def _record_renew(self, p: Program) -> None:
        """A substep begins with the multipliers of the last one."""

    def _record_pull(self, p: Program) -> None:
        """Bridges pull, once a substep."""
        if self._bridges is not None:
            found = self.detection
            records = found.row_balls, found.rows, self._bridges, found.balls, found.shifts
            found.batches.record_sweep(p, pull_grains, *records, self._settings.substep)

    def _record_start(self, p: Program, escape: float) -> None:
        """The rows push as in the last substep; overlaps come out, by `escape` [m] at most."""
        found = self.detection
        found.batches.record_sweep(
            p, start_grains, found.row_balls, found.rows, found.balls, found.shifts,
            1.0 / self._settings.substep, escape,
        )  # fmt: skip

    @property
    def _lift(self) -> float:
        """How far what overlaps comes out with velocity in a sweep [m]."""
        return LIFT * float(np.linalg.norm(self._model.gravity)) * self._settings.substep**2

    def _record_sweep(self, p: Program) -> None:
        found = self.detection
        found.batches.record_sweep(
            p, sweep_grains, found.row_balls, found.rows, found.balls, found.shifts,
            1.0 / self._settings.substep, self._lift,
        )  # fmt: skip


def _grouped(particles: np.ndarray) -> bool:
    """Whether equal numbers stand together."""
    begins = np.append(True, particles[1:] != particles[:-1])
    return len(np.unique(particles[begins])) == int(begins.sum())
