"""The coarse levels at work: solve the coarsest first, then let each finer level follow; see `solver.levels`."""

from typing import Annotated, Any

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, kernel, real
from shinari.compute.once import once
from shinari.constraints.distance import DISTANCE
from shinari.constraints.seam import SEAM
from shinari.maths.vec3 import add, scale, sub
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.solver.levels import PARENTS, WHOLE, Level, build_levels
from shinari.systems.rows.closing import LENGTHS, Threads
from shinari.systems.rows.projection import Variant, projection, rows_record

# One pass in two substeps: the strain of a hanging 256 x 256 sheet is the same within a tenth as with one in each.
EVERY = 2
WEIGHT_UNIT = np.float32(1.0 / WHOLE)


class Coarse(Record):
    """Particles of a coarse level."""

    member = Field(np.uint32, doc="particle of the finer level")
    displacement = Field(real, 3, unit="m", doc="position before the sweep, then the displacement by it")


class Gate(Record):
    """One row: whether the levels are solved in this substep."""

    open = Field(np.int64)


class HierarchyModel(SystemModel):
    """Coarse levels, if the settings ask for them."""

    def bind(self, bound: BoundSystems) -> "list[Hierarchy]":
        """The levels of a simulation."""
        if not bound.settings.hierarchy:
            return []
        lengths = bound.state.system_arrays.get(LENGTHS, np.zeros((0, 1), bound.model.real))
        threads = Threads(bound.model.real, length=lengths)
        return [Hierarchy(bound.scene, bound.model, bound.particles, bound.settings, bound.clock, threads)]


class Hierarchy(System):
    """Coarse levels of the distance rows of one simulation.

    Seams are rows without length of the levels, which rest until all are closed: what is sewn around something has to
    stretch meanwhile, and levels that allow no stretch would throw it about.
    """

    order = 61
    can_rest = True
    on_device = True

    def __init__(
        self, scene: Contents, model: Model, particles: Particles, settings: Settings, clock: Clock, threads: Threads
    ) -> None:
        self._fine, self._clock, self._threads = particles, clock, threads
        self._gate = Gate.zeros(1)
        self._levels: list[_Solver] = []
        block = model.blocks.get(DISTANCE.name)
        inverse_masses = model.inverse_masses
        if block is None or not inverse_masses.any():
            return
        pulls = np.isfinite(block.coefficient[:, 0]) if settings.method == "xpbd" else block.coefficient[:, 0] > 0.0
        # what can let go or flow must not be held by a level that cannot
        for item in (*model.breakables, *model.tearable_rows, *model.plastic_rows):
            if item.block == DISTANCE.name:
                pulls[item.rows] = False
        positions = np.empty((model.particle_count, 3))
        positions[model.slots] = scene.positions
        rows, lengths = block.indices[pulls], block.parameters[pulls, 0]
        coefficient = block.coefficient[pulls, 0].astype(np.float64)
        if SEAM.name in model.blocks and len(rows):
            sewn = model.blocks[SEAM.name].indices
            rows, lengths = np.concatenate([rows, sewn]), np.concatenate([lengths, np.zeros(len(sewn))])
            coefficient = np.concatenate([coefficient, np.full(len(sewn), np.median(coefficient))])
        levels = build_levels(positions, inverse_masses, rows, lengths, coefficient)
        # generalised inverse mass of a row between two particles
        weight = 2.0 * float(inverse_masses.mean())
        self._levels = [_Solver(level, weight, model.real, settings) for level in levels]

    def record_predict(self, p: Program) -> None:
        """Solve the coarse levels once and move the particles along, in every second substep."""
        if not self._levels:
            return
        p.serial(open_gate, self._gate, self._clock, self._threads)
        with p.when((self._gate.open, 0)):
            finer = [self._fine, *(level.particles for level in self._levels)]
            for level, above in zip(self._levels, finer, strict=False):
                p.launch(inject, level.coarse, level.particles, above, count=len(level.coarse))
            for level, above in reversed(list(zip(self._levels, finer, strict=False))):
                level.record_sweep(p)
                p.launch(displace, level.coarse, level.particles, count=len(level.coarse))
                p.launch(follow(level.links_type), above, level.links, level.coarse, count=len(above), grain=1024)


class _Solver:
    """Records of one level and its sweep."""

    def __init__(self, level: Level, weight: float, precision: type, settings: Settings) -> None:
        xpbd = settings.method == "xpbd"
        self.particles = Particles.zeros(len(level.members), precision)
        self.particles.x[:, 3] = level.inverse_masses
        self.coarse = Coarse.zeros(len(level.members), precision)
        self.coarse.member[...] = level.members
        self.links_type = links_record(level.parents.dtype.type)
        self.links = self.links_type(precision, parent=level.parents, part=level.integer_weights)
        # A fine row solves the part alpha~ / (w + alpha~) of its load by itself in one visit, and what the coarse rows
        # carry on top would stiffen the cloth: they take over the part w / (w + alpha~) that the sweep leaves.
        share = 1.0 + level.coefficient / (settings.substep**2 * weight) if xpbd else 1.0
        self._rows = rows_record(2, 1, 2, 1, False).zeros(len(level.indices), precision)
        self._rows.points[...] = level.indices
        self._rows.parameters[...] = level.rest_lengths
        self._rows.coefficient[:, 0] = level.coefficient * (level.dilution * share if xpbd else 1.0)
        self._rows.coefficient[:, 1] = np.inf if xpbd else 0.0
        self._kernel = projection(DISTANCE, Variant(settings.method, two_sided=True, damped=False, gathers=False))
        self._scale = 1.0 / settings.substep**2 if xpbd else 1.0
        self._offsets = level.offsets

    def record_sweep(self, p: Program) -> None:
        """Solve every row of the level once."""
        p.launch(self._kernel, self._rows, self.particles, self._scale, 0.0, colours=self._offsets)


@once
def links_record(index: type) -> type[Record]:
    """Record of the parents of finer particles; indices are of 16 or of 32 bits."""
    return type("Links", (Record,), {"parent": Field(index, PARENTS), "part": Field(np.uint16, PARENTS)})


@kernel
def open_gate(_, gate: Gate, clock: Clock, threads: Threads):
    """Let every second substep pass, once all seams are closed."""
    gate.open[0] = clock.substep[0] % EVERY == 0
    for k in range(len(threads)):
        if threads.length[k, 0] > np.float32(0.0):
            gate.open[0] = 0
            return


@kernel
def inject(c, coarse: Coarse, level: Particles, finer: Particles):
    """Take the position of a coarse particle from the finer level."""
    x = finer.x[coarse.member[c]]
    level.x[c] = x[0], x[1], x[2], level.x[c, 3]
    coarse.displacement[c] = x[0], x[1], x[2]


@kernel
def displace(c, coarse: Coarse, level: Particles):
    """Replace the position before the sweep by the displacement."""
    coarse.displacement[c] = sub(level.x[c], coarse.displacement[c])


@once
def follow(links_type: type[Record]) -> Kernel:
    """Kernel that moves a finer particle by the weighted displacement of its four parents."""

    @kernel
    def follow_parents(i, finer: Particles, links: Annotated[Any, links_type], coarse: Coarse):
        p, q, r, s = links.parent[i]
        m = links.part[i]
        a, b, c, d = (
            WEIGHT_UNIT * np.float32(m[0]),
            WEIGHT_UNIT * np.float32(m[1]),
            WEIGHT_UNIT * np.float32(m[2]),
            WEIGHT_UNIT * np.float32(m[3]),
        )
        moved = coarse.displacement
        by = add(add(scale(moved[p], a), scale(moved[q], b)), add(scale(moved[r], c), scale(moved[s], d)))
        x = finer.x[i]
        finer.x[i] = x[0] + by[0], x[1] + by[1], x[2] + by[2], x[3]

    return follow_parents
