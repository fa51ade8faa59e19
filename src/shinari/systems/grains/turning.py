"""Contacts between particles where some are grains that turn."""

import numpy as np

from shinari.compute import Program
from shinari.compute.scan import Offsets
from shinari.model.model import Model
from shinari.model.particles import Clock, Origins, Particles
from shinari.model.settings import Settings
from shinari.model.spins import Spins
from shinari.model.state import State
from shinari.systems.grains.rolling import (
    Rolls,
    TurningBalls,
    WarmRolls,
    gather_spins,
    remember_roll,
    scatter_spins,
    start_turning,
    sweep_turning,
    take_roll,
)
from shinari.systems.grains.system import GrainPairs
from shinari.systems.particle_contact.build import MemberTable

SHARE = 512


class TurningPairs(GrainPairs):
    """Contacts with a memory, between balls of which some turn."""

    def __init__(
        self,
        model: Model,
        settings: Settings,
        particles: Particles,
        origins: Origins,
        clock: Clock,
        table: MemberTable,
        state: State,
        spins: Spins,
    ) -> None:
        super().__init__(model, settings, particles, origins, clock, table, state)
        count, real = len(table.particles), model.real
        self._spins, self._turning = spins, TurningBalls.zeros(count, real)
        self._rolls, self._warm_rolls = Rolls.zeros(0, real), WarmRolls.zeros(0, real)

    def _recall(self, pairs: np.ndarray, pushes: np.ndarray) -> None:
        super()._recall(pairs, pushes[:, :4])
        if len(self._warm_rolls) < len(pairs):
            self._warm_rolls.grow(len(pairs) * 3 // 2)
        self._warm_rolls.moment[: len(pairs)] = pushes[:, 4:]

    def _pushes(self, count: int) -> np.ndarray:
        return np.concatenate([super()._pushes(count), self._warm_rolls.moment[:count]], axis=1)

    def _record_remember(self, p: Program, resumes: bool, keeps: bool) -> None:
        super()._record_remember(p, resumes, keeps)
        found, control = self.detection, self.control
        offsets: Offsets = found.memory.offsets
        p.require(self._warm_rolls, (control.warm_start, 0))
        p.launch(remember_roll, found.row_offsets, found.batches.links, found.appended, found.balls,
                 found.rows, self._rolls, offsets, self._warm_rolls, count=(control.balls, 0), grain=SHARE)  # fmt: skip

    def _record_take(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        super()._record_take(p, count)
        found, control = self.detection, self.control
        memory = found.memory
        p.require(self._rolls, (control.rows_read, 0))
        p.launch(take_roll, found.batches.links, self._rolls, found.balls, self._spins, memory.warm_start,
                 memory.ranges, self._warm_rolls, control, count=count, grain=8 * SHARE)  # fmt: skip

    def _record_gather(self, p: Program) -> None:
        super()._record_gather(p)
        records, balls = (self._turning, self.detection.balls, self._spins), (self.control.balls, 0)
        p.launch(gather_spins, *records, self._settings.substep, count=balls, grain=2 * SHARE)

    def _record_scatter(self, p: Program) -> None:
        super()._record_scatter(p)
        records, balls = (self._turning, self.detection.balls, self._spins), (self.control.balls, 0)
        p.launch(scatter_spins, *records, 1.0 / self._settings.substep, count=balls, grain=2 * SHARE)

    def _record_start(self, p: Program, escape: float) -> None:
        found = self.detection
        found.batches.record_sweep(
            p, start_turning, found.row_balls, found.rows, self._rolls, found.balls, self._turning, found.shifts,
            1.0 / self._settings.substep, escape,
        )  # fmt: skip

    def _record_sweep(self, p: Program) -> None:
        found = self.detection
        found.batches.record_sweep(
            p, sweep_turning, found.row_balls, found.rows, self._rolls, found.balls, self._turning, found.shifts,
            1.0 / self._settings.substep, self._lift,
        )  # fmt: skip
