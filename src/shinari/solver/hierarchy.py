"""The coarse levels at work: solve the coarsest first, then let each finer level follow; see `build.hierarchy`."""

import numba
import numpy as np

from shinari.build.hierarchy import WHOLE, Level, build_levels
from shinari.constraints.distance import DISTANCE
from shinari.maths.function import FLAGS, function
from shinari.model import Model
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.solver.lift import Variant, projection
from shinari.state import State

# One pass in two substeps: the strain of a hanging 256 x 256 sheet is the same within a tenth as with one in each.
EVERY = 2
PART = np.float32(1.0 / WHOLE)
# Fewer particles than this are not worth waking the other threads for.
SERIAL = 2048


class Hierarchy:
    """Coarse levels of the distance rows of one simulation."""

    def __init__(self, scene: Scene, model: Model, state: State, settings: Settings) -> None:
        self._fine = state.x
        self._levels: list[_Solver] = []
        block = model.blocks.get(DISTANCE.name)
        inverse_masses = model.inverse_masses
        if block is None or not inverse_masses.any():
            return
        pulls = np.isfinite(block.softness[:, 0]) if settings.method == "xpbd" else block.softness[:, 0] > 0.0
        # what can let go or flow must not be held by a level that cannot
        for item in (*model.breakables, *model.tearings, *model.flowings):
            if item.block == DISTANCE.name:
                pulls[item.rows] = False
        positions = np.empty((model.particle_count, 3))
        positions[model.slots] = scene.positions
        levels = build_levels(
            positions,
            inverse_masses,
            block.indices[pulls],
            block.parameters[pulls, 0],
            block.softness[pulls, 0].astype(np.float64),
        )
        # generalised inverse mass of a row between two particles
        weight = 2.0 * float(inverse_masses.mean())
        self._levels = [_Solver(level, weight, model.real, settings) for level in levels]

    def project(self, threads: int, substep: int) -> None:
        """Solve the coarse levels once and move the particles along, in every second substep."""
        if substep % EVERY or not self._levels:
            return
        finer = self._fine
        for level in self._levels:
            inject(level.members, finer, level.x, level.moved)
            finer = level.x
        for k in reversed(range(len(self._levels))):
            level = self._levels[k]
            level.solve(threads)
            displace(level.x, level.moved)
            finer = self._levels[k - 1].x if k else self._fine
            if len(finer) < SERIAL:
                follow(finer, level.parents, level.parts, level.moved)
            else:
                follow_parallel(finer, level.parents, level.parts, level.moved)


class _Solver:
    """Arrays of one level and its sweep."""

    def __init__(self, level: Level, weight: float, real: type, settings: Settings) -> None:
        xpbd = settings.method == "xpbd"
        self.members = level.members
        self.parents = level.parents
        self.parts = level.parts
        self.x = np.zeros((len(level.members), 4), real)
        self.x[:, 3] = level.inverse_masses
        # positions before the sweep, and after it the displacement by it
        self.moved = np.zeros((len(level.members), 3), real)
        softness = np.empty((len(level.indices), 2), real)
        # A fine row solves the part alpha~ / (w + alpha~) of its load by itself in one visit, and what the coarse rows
        # carry on top would stiffen the cloth: they take over the part w / (w + alpha~) that the sweep leaves.
        share = 1.0 + level.softness / (settings.substep**2 * weight) if xpbd else 1.0
        softness[:, 0] = level.softness * (level.dilution * share if xpbd else 1.0)
        softness[:, 1] = np.inf if xpbd else 0.0
        kernel = projection(DISTANCE, Variant(settings.method, two_sided=True, damped=False, gathers=False))
        scale = real(1.0 / settings.substep**2 if xpbd else 1.0)
        multipliers = np.zeros(len(level.indices), real)
        rest = level.rest_lengths.astype(real)
        arguments = (level.offsets, level.indices, rest, softness, multipliers, self.x, scale)
        self.solve = lambda threads: kernel(threads, *arguments)


@numba.njit(cache=True, **FLAGS)
def inject(members, finer, x, start):
    """Take the positions of a level from the finer one."""
    for c in range(len(members)):
        i = members[c]
        for k in range(3):
            x[c, k] = finer[i, k]
            start[c, k] = finer[i, k]


@numba.njit(cache=True, **FLAGS)
def displace(x, moved):
    """Replace the positions before the sweep by the displacement."""
    for c in range(len(x)):
        for k in range(3):
            moved[c, k] = x[c, k] - moved[c, k]


@function
def shift(i, finer, parents, parts, moved):
    """Move one finer particle by the weighted displacement of its four parents."""
    i = np.uint64(i)
    p, q, r, s = parents[i, 0], parents[i, 1], parents[i, 2], parents[i, 3]
    a, b = PART * np.float32(parts[i, 0]), PART * np.float32(parts[i, 1])
    c, d = PART * np.float32(parts[i, 2]), PART * np.float32(parts[i, 3])
    finer[i, 0] += a * moved[p, 0] + b * moved[q, 0] + c * moved[r, 0] + d * moved[s, 0]
    finer[i, 1] += a * moved[p, 1] + b * moved[q, 1] + c * moved[r, 1] + d * moved[s, 1]
    finer[i, 2] += a * moved[p, 2] + b * moved[q, 2] + c * moved[r, 2] + d * moved[s, 2]


@numba.njit(cache=True, **FLAGS)
def follow(finer, parents, parts, moved):
    """Move the finer particles by the weighted displacements of their parents."""
    for i in range(len(finer)):
        shift(i, finer, parents, parts, moved)


@numba.njit(parallel=True, cache=True, **FLAGS)
def follow_parallel(finer, parents, parts, moved):
    """`follow` on all threads."""
    for i in numba.prange(len(finer)):
        shift(i, finer, parents, parts, moved)
