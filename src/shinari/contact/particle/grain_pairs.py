"""Particles against particles where some of them are grains: what each row did last is its first guess in a substep.

Between steps pairs and multipliers are part of the state, so that a run goes on from a checkpoint with the same bits.
"""

import numpy as np

from shinari.contact.particle.grain_rows import collect, recall, start_grains, sweep_grains
from shinari.contact.particle.pair_members import PAIRS, PUSHES, Members
from shinari.contact.particle.particle_pairs import Pairs
from shinari.errors import SceneError
from shinari.model import Model
from shinari.settings import Settings
from shinari.state import State

# Masses scaled by height may differ by this factor in a scene: single precision holds it.
MOST_SCALING = 1e12


class GrainPairs(Pairs):
    """Contacts between particles with a memory."""

    def __init__(self, model: Model, state: State, settings: Settings, predicted: np.ndarray, members: Members) -> None:
        super().__init__(model, state, settings, predicted, members)
        self._keeps_pushes = True
        self._scales = bool((members.scaling > 0.0).any())
        self._up = -model.gravity / (float(np.linalg.norm(model.gravity)) or 1.0)
        self._factors = np.ones(0, model.real)

    def begin(self, time: float) -> None:
        """A step begins: what is known of the pairs is in the state."""
        super().begin(time)
        pushes = self._state.parts[PUSHES]
        self._known = self._state.parts[PAIRS], pushes[:, 0], pushes[:, 1:]
        self._holds = self._array("holds", 0, 3)

    def prepare(self, end: float, threads: int) -> None:
        """A substep begins."""
        self._repeated = False
        super().prepare(end, threads)

    def project(self, threads: int, first: bool) -> float:
        """Solve every row once; in the first turn of a substep repeat the last one, so that what is below can answer.

        A sweep without that answer would take the push back: the lowest grains have nothing to stand on yet.
        """
        if self._repeated or self._idle:
            return super().project(threads, first)
        self._repeat(self._threads(threads))
        return 0.0

    def bounce(self, threads: int) -> None:
        """Sum up the impulses, restitution; at the end of a step the memory goes to the state."""
        if self.row_count > 0 and not self._idle:
            rate = self._model.real(1.0 / self._settings.substep)
            collect(self._pushes, self._holds, self._normals, rate, self._impulses)
        super().bounce(threads)
        if self._substep == self._settings.substeps:
            self._remember()
            pairs, pushes, holds = self._known
            self._state.parts[PAIRS] = pairs
            self._state.parts[PUSHES] = np.concatenate([pushes[:, None], holds], axis=1)

    def _remember(self) -> None:
        """Put away what the rows did."""
        if not self._found or self.row_count == 0:
            self._known = np.zeros((0, 2), np.uint32), self._pushes[:0].copy(), self._holds[:0].copy()
            return
        found, pushed = self._detection, np.flatnonzero(self._pushes)
        self._known = found.particles[found.indices[pushed]], self._pushes[pushed], self._holds[pushed]

    def _renew(self) -> None:
        """A substep begins with the multipliers of the last one."""

    def _find(self, ways: np.ndarray, threads: int, resume: bool) -> None:
        if self._found:
            self._remember()
        super()._find(ways, threads, False)
        found, count = self._detection, self.row_count
        self._holds = self._array("holds", count, 3)
        recall(found.indices, found.particles, self._model.particle_count, *self._known, self._pushes, self._holds)
        if self._scales:
            self._scale(found.origin, self._state.origins[found.groups])

    def _scale(self, local: np.ndarray, origins: np.ndarray) -> None:
        """Factors on the inverse masses by height (Macklin et al. 2014, section 5.1)."""
        exponents = self._members.scaling[self._detection.owners] * ((local + origins) @ self._up)
        if not np.ptp(exponents) < np.log(MOST_SCALING):
            raise SceneError(
                f"grains: mass_scaling: over the height of this scene it makes masses differ by exp"
                f"({np.ptp(exponents):.3g}), more than {MOST_SCALING:g}; take less"
            )
        self._factors = np.exp(exponents - 0.5 * (exponents.max() + exponents.min())).astype(self._model.real)

    def _gather(self, drift: np.ndarray, threads: int) -> bool:
        left = super()._gather(drift, threads)
        if self._scales:
            self._bodies[:, 3] *= self._factors
        return left

    def _repeat(self, threads: int) -> None:
        """Push as in the last substep."""
        self._repeated = True
        moved = self._bring(threads)
        found, settings, real = self._detection, self._settings, self._model.real
        escape = real(settings.substep * settings.depenetration_speed)
        start_grains(threads, self._order, self._offsets, found.indices, found.keeps, self._shifts, found.groups,
                     self._bodies, self._pushes, self._holds, escape)  # fmt: skip
        self._scatter(moved, threads)

    def _sweep(self, escape: float, threads: int) -> None:
        found, rate = self._detection, self._model.real(1.0 / self._settings.substep)
        sweep_grains(
            threads, self._order, self._offsets, found.indices, found.keeps, self._shifts, found.groups, found.owners,
            self._model.surfaces, self._bodies, self._pushes, self._holds, self._normals, rate,
        )  # fmt: skip
