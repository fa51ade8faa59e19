"""Mass of what is above each sheet, once a step."""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.model.particles import Origins, Particles
from shinari.model.system_model import BoundSystems
from shinari.systems.surface_contact.upright import Upright, along_axes

# Particles that are weighed together, and such chunks for which it is worth waking one more thread.
CHUNK, CHUNKS = 512, 8


class Weights(Record):
    """Objects of the scene, T rows; those that are sheets are weighed."""

    low = Field(np.float64, 3, unit="m", doc="lowest corner of a sheet along the axes of `Upright`")
    high = Field(np.float64, 3, unit="m", doc="highest corner")
    above = Field(np.float64, unit="kg", doc="mass of the loads above it")


class SheetParticles(Record):
    """Free particles of sheets."""

    particle = Field(np.uint32)
    object_index = Field(np.uint16)


class LoadParticles(Record):
    """Particles of what a sheet may carry."""

    particle = Field(np.uint32)


class ChunkMasses(Record):
    """Masses of the particles of a chunk above a sheet: a row for each chunk and sheet."""

    mass = Field(np.float64, unit="kg")


class SheetNumbers(Record):
    """Numbers of the objects that are sheets, S rows."""

    number = Field(np.int64)


@kernel
def bound_sheets(_, sheets: SheetParticles, weights: Weights, particles: Particles, origins: Origins,
                 upright: Upright):  # fmt: skip
    """Corners of each sheet."""
    for t in range(len(weights)):
        weights.low[t], weights.high[t] = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    for k in range(len(sheets)):
        t, at = sheets.object_index[k], along_axes(sheets.particle[k], particles, origins, upright)
        low, high = weights.low[t], weights.high[t]
        weights.low[t] = min(low[0], at[0]), min(low[1], at[1]), min(low[2], at[2])
        weights.high[t] = max(high[0], at[0]), max(high[1], at[1]), max(high[2], at[2])


@kernel
def weigh_chunk(c, loads: LoadParticles, masses: ChunkMasses, numbers: SheetNumbers, weights: Weights,
                particles: Particles, origins: Origins, upright: Upright):  # fmt: skip
    """Mass of the particles of a chunk above each sheet."""
    for s in range(len(numbers)):
        masses.mass[c * len(numbers) + s] = 0.0
    for k in range(c * CHUNK, min((c + 1) * CHUNK, len(loads))):
        i = loads.particle[k]
        w, at = np.float64(particles.x[i, 3]), along_axes(i, particles, origins, upright)
        if w > 0.0:
            for s in range(len(numbers)):
                low, high = weights.low[numbers.number[s]], weights.high[numbers.number[s]]
                if low[0] <= at[0] <= high[0] and low[1] <= at[1] <= high[1] and low[2] <= at[2]:
                    masses.mass[c * len(numbers) + s] += 1.0 / w


@kernel
def add_chunks(_, masses: ChunkMasses, numbers: SheetNumbers, weights: Weights):
    """Mass above each sheet; chunks are the same whatever the number of threads."""
    for s in range(len(numbers)):
        total = 0.0
        for k in range(s, len(masses), len(numbers)):
            total += masses.mass[k]
        weights.above[numbers.number[s]] = total


class Weighing:
    """Weighs what is above each sheet.

    Args:
        bound: The simulation.
        upright: The axes of gravity.
        loads: Which objects a sheet may carry, (T,) bool.
        sheets: Numbers of the sheets.
        who: Free particles of the sheets.

    Attributes:
        weights: The masses.
    """

    def __init__(
        self, bound: BoundSystems, upright: Upright, loads: np.ndarray, sheets: list[int], who: np.ndarray
    ) -> None:
        model, precision = bound.model, bound.model.real
        carried = np.flatnonzero(loads[model.owners]).astype(np.uint32)
        self.weights: Weights = Weights.zeros(len(loads), precision)
        self._where = self.weights, bound.particles, bound.origins, upright
        self._loads = LoadParticles(precision, particle=carried)
        self._numbers = SheetNumbers(precision, number=np.array(sheets, np.int64))
        self._chunks = -(-len(carried) // CHUNK)
        self._masses: ChunkMasses = ChunkMasses.zeros(self._chunks * len(sheets), precision)
        self._sheets: SheetParticles = SheetParticles.zeros(len(who), precision)
        self._sheets.particle[...], self._sheets.object_index[...] = who, model.owners[who]

    def record(self, p: Program) -> None:
        """Record that all sheets are weighed."""
        p.serial(bound_sheets, self._sheets, *self._where)
        records = self._loads, self._masses, self._numbers, *self._where
        p.launch(weigh_chunk, *records, count=self._chunks, grain=CHUNKS)
        p.serial(add_chunks, self._masses, self._numbers, self.weights)
