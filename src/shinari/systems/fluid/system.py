"""The fluids of one simulation: the order of a density solve."""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from shinari.collision.broad.grid import Grid, Points
from shinari.collision.broad.neighbours import NeighbourSearch
from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.model.particles import Clock, Origins, Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.fluid.effects import effects_of, forces_of
from shinari.systems.fluid.gather import (
    arrange,
    check_distance,
    copy_positions,
    count_detection,
    place_points,
    publish,
    read_velocities,
    write_velocities,
)
from shinari.systems.fluid.model import ACTIVE, DENSITIES, PRESSURES, FluidModel
from shinari.systems.fluid.pressure import clear_solve, densities, displacements, stiffnesses
from shinari.systems.fluid.records import FluidParticles, Members, Neighbours, Offsets, Phases, Solve
from shinari.systems.fluid.search import Search
from shinari.systems.fluid.sums import Sums
from shinari.systems.rigid.model import frames_of
from shinari.systems.surface_contact.system import SurfaceContacts

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings
    from shinari.model.state import State
    from shinari.systems.fluid.boundary_points import PointBoundary

# Stiffness added to each particle, as part of that in the middle of a fluid at rest: a lone pair does not fly apart.
SOFTENED = 0.1
# An iteration of the solver goes on while the fluid is compressed, see `search.TOLERATED`, up to so many times: what a
# substep leaves compressed flies apart in a later one.
MOST_ITERATIONS = 8
# Room around the support in which neighbours are looked for, as part of it: lists last until a particle has gone half.
MARGIN = 0.1


class Boundary(Protocol):
    """Solids that a fluid lies against."""

    def begin(self) -> None:
        """A step begins: forget the lists and impulses of the step before."""
        ...

    def check(self) -> None:
        """Raise an error where what was recorded has stopped."""
        ...

    def record_find(self, p: Program) -> None:
        """A substep begins: list what is near which particle, where particles or solids have gone too far since."""
        ...

    def record_gather(self, p: Program, first: bool) -> None:
        """Add the solids where they are now to densities and gradients; `first`: to the stiffness, too."""
        ...

    def record_response(self, p: Program) -> None:
        """The direction stands in the last column of x: add the sum of F w F of its loads F to `Solve.response`."""
        ...

    def record_impulses(self, p: Program, searched: bool) -> None:
        """The multipliers have changed by the last column of x: give the solids the opposite of what particles get.

        `searched` says that `record_response` came before, with the change over `Solve.length`.
        """
        ...

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step."""
        ...


class Fluid(System):
    """The fluids of one simulation.

    Attributes:
        model: What never changes.
        h: Substep [s].
        rows: The active particles in the order of the grid.
        members: All particles.
        offsets: Where the neighbours of each active particle start.
        neighbours: Their neighbours.
        solve: Where the solver is.
        particles: Particles of the solver.
        origins: Origins that positions are relative to.
        clock: Where the step is.
        origin_index: Index of the origin of the fluids.
        boundaries: Solids, in the order in which they are asked.
        grains: That of them which has the grains.
        forces: What moves the particles at the start of a substep, beside the pressure.
        effects: What changes velocities at the end of a substep.
    """

    order = 50
    on_device = True
    advice = "its time grows with particles x iterations; a larger spacing is faster"

    def __init__(
        self,
        fluids: FluidModel,
        model: "Model",
        state: "State",
        settings: "Settings",
        particles: Particles,
        origins: Origins,
        clock: Clock,
    ) -> None:
        self.model, self.scene_model, self.state, self.settings = fluids, model, state, settings
        self.particles, self.origins, self.clock = particles, origins, clock
        real, count = model.real, len(fluids.particles)
        smoothing = fluids.smoothing
        self.h = settings.substep
        self.origin_index = int(model.origin_index[fluids.particles[0]]) if count else 0
        self.inverse2 = 1.0 / smoothing.support**2
        mean = smoothing.spacing**3 * np.array([m.rest_density for m in fluids.materials]).mean()
        least = SOFTENED * smoothing.gradient_sum * (1.0 / mean)
        # multiplier to energy per volume [Pa / (kg m^2)]; compressed by c the density sum grows by c times the moment
        unit, moment = 1.0 / (smoothing.spacing**3 * self.h**2), smoothing.moment
        self.pressure_scale = unit * moment
        self.rows: FluidParticles = FluidParticles.zeros(count, real)
        self._share_memory()
        self._some_wait = fluids.come_and_go
        self.members = Members(
            real,
            without=() if self._some_wait else ("active",),
            particle=fluids.particles,
            phase=fluids.phases,
            pressure=state.system_arrays[PRESSURES],
            density=state.system_arrays[DENSITIES],
            active=np.zeros(count if self._some_wait else 0, np.uint32),
        )
        self.phases: Phases = Phases.zeros(len(fluids.materials), real)
        self.phases.floor[...] = [-np.inf if m.cohesive else 0.0 for m in fluids.materials]
        self.phases.scaled_compliance[...] = [m.compressibility * unit * moment**2 for m in fluids.materials]
        self.solve: Solve = Solve.zeros(1)
        self.sums = Sums(count, self.solve)
        self.reach = smoothing.support * (1.0 + (MARGIN if settings.substeps > 1 else 0.0))
        self._grid = self._sharing_grid()
        self._lists = NeighbourSearch(self._grid)
        self._lists.set_reach(self.reach)
        self.offsets, self.neighbours = self._lists.offsets, self._lists.neighbours
        self.search = Search(self.rows, self.phases, self.solve, self.sums, least, smoothing.spacing)
        self.forces = forces_of(fluids, self.h, real)
        self.effects = effects_of(fluids, self.h, real, model.wind is not None)
        self.boundaries: list[Boundary] = []
        self.grains: PointBoundary | None = None

    def connect(self, bound: BoundSystems) -> None:
        """Find the solids that the fluids lie against; what was recorded is forgotten."""
        from shinari.systems.fluid.boundary_points import bind_points
        from shinari.systems.fluid.sheets import Sheets
        from shinari.systems.fluid.walls import Walls

        solids, frames, surfaces = bound.find(ColliderContacts), frames_of(bound), bound.find(SurfaceContacts)
        self.boundaries = []
        if solids is not None or frames is not None:
            self.boundaries.append(Walls(bound.scene, self, solids, frames))
        points = bind_points(bound.scene, bound.model, self, solids, frames)
        self.grains = next((boundary for boundary in points if boundary.has_grains), None)
        self.boundaries += points
        if surfaces is not None and len(surfaces.who.triangles):
            self.boundaries.append(Sheets(self, surfaces))
        self._measures: Program | None = None

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step."""
        return ContactImpulses.joined([boundary.contact_impulses() for boundary in self.boundaries])

    @property
    def origin(self) -> np.ndarray:
        """Origin of the fluids [m], (3,)."""
        return self.state.origins[self.origin_index]

    @property
    def spare(self) -> np.ndarray:
        """Memory of four numbers for each particle that a solve uses from its first to its last iteration, (P, 4)."""
        return self._solution[: 4 * len(self.rows)].reshape(-1, 4)

    def detection_offsets(self) -> Offsets:
        """Offsets of the particles in the same memory, for lists that are made before a solve."""
        return Offsets(start=self._solution.view(np.int32)[: len(self.rows) + 1])

    @property
    def count(self) -> tuple[np.ndarray, int]:
        """Where the number of active particles stands."""
        return self.solve.count, 0

    @property
    def records(self) -> tuple[FluidParticles, Neighbours, Offsets]:
        """What kernels read that sum over neighbours."""
        return self.rows, self.neighbours, self.offsets

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins at a time [s]; its substeps have these ends [s]."""
        self.solve.stale[0] = 1
        self.solve.moving[0] = len(ends) > 0
        active = np.flatnonzero(self.state.system_arrays[ACTIVE])
        if self._some_wait:
            self.members.active[: len(active)] = active
        self.sums.divide(len(active))
        for boundary in self.boundaries:
            boundary.begin()
        for effect in (*self.forces, *self.effects):
            effect.begin(self, ends)

    # ---- phases ----

    def record_project(self, p: Program, first: bool) -> None:
        """An iteration of all density constraints, or more where it is needed."""
        if first:
            self._record_distances(p)
            self._record_lists(p)
            self._record_stiffness(p)
            for force in self.forces:
                force.record(p, self)
        else:
            p.launch(copy_positions, self.rows, self.particles, count=self.count)
        with p.repeat(MOST_ITERATIONS, until=(self.solve.done, 0)):
            self._record_iteration(p)

    def record_velocities(self, p: Program) -> None:
        """Keep pressures and densities; let viscosity and the like change the velocities."""
        p.launch(publish, self.rows, self.members, self.pressure_scale, count=self.count)
        if self.effects:
            p.launch(read_velocities, self.rows, self.particles, count=self.count)
            for effect in self.effects:
                effect.record(p, self)
            p.launch(write_velocities, self.rows, self.particles, count=self.count)

    def _share_memory(self) -> None:
        """Let columns that are never in use at the same time have the same memory."""
        rows, count = self.rows, len(self.rows)
        # positions change while velocities do not, and the other way round
        rows.bind(displacement=rows.v)
        self._solution = np.zeros(4 * (count + 1), rows.precision)
        names = "stiffness", "step", "direction", "multiplier"
        rows.bind(**{name: self._solution[k * count : (k + 1) * count] for k, name in enumerate(names)})

    def _sharing_grid(self) -> Grid:
        """A grid in the memory of columns that begin anew after a detection.

        Where particles were is compared with where they are in later substeps of a step, if there are any.
        """
        rows, count = self.rows, len(self.rows)
        grid = Grid(Points(rows.precision, at=rows.x))
        grid.ordered.bind(index=rows.member, entry=rows.particle, w=rows.density)
        words = rows.gradient.reshape(-1).view(np.uint32)
        grid.moved.bind(entry=rows.particle, moved_entry=words[:count], moved_index=words[count : 2 * count])
        if self.settings.substeps == 1:
            grid.ordered.bind(x=rows.stiffness, y=rows.step, z=rows.direction)
        return grid

    def _record_stiffness(self, p: Program) -> None:
        """A solve begins: the diagonal of its matrix, densities, and no multipliers yet."""
        smoothing = self.model.smoothing
        p.launch(clear_solve, self.rows, 0.0, count=self.count)
        for boundary in self.boundaries:
            boundary.record_gather(p, True)
        scales = self.inverse2, smoothing.slope_scale, smoothing.weight_scale
        p.launch(stiffnesses(smoothing.kernel_id), *self.records, *scales, count=self.count)
        self.search.record_begin(p)
        p.copy(int(len(self.forces) > 0), (self.solve.moved, 0))

    def _record_iteration(self, p: Program) -> None:
        """One iteration."""
        with p.when((self.solve.moved, 0)):
            self._record_density(p)
        p.copy(1, (self.solve.moved, 0))
        self.search.record_direction(p)
        self._record_displacement(p)
        for boundary in self.boundaries:
            boundary.record_response(p)
        self.search.record_advance(p, self.particles)
        for boundary in self.boundaries:
            boundary.record_impulses(p, True)

    def _record_density(self, p: Program) -> None:
        """Densities and the gradients of solids where the particles are."""
        smoothing = self.model.smoothing
        scales = self.inverse2, smoothing.weight_scale
        p.launch(densities(smoothing.kernel_id), *self.records, *scales, count=self.count)
        for boundary in self.boundaries:
            boundary.record_gather(p, False)

    def _record_displacement(self, p: Program) -> None:
        smoothing = self.model.smoothing
        scales = self.inverse2, smoothing.slope_scale
        p.launch(displacements(smoothing.kernel_id), *self.records, *scales, count=self.count)

    def _record_distances(self, p: Program) -> None:
        """A substep begins: take the positions of the solver, and see whether a particle has gone too far.

        In the only substep of a step all lists are made anew.
        """
        if self.settings.substeps == 1:
            return
        p.launch(copy_positions, self.rows, self.particles, count=self.count)
        allowed = (0.5 * MARGIN * self.model.smoothing.support) ** 2
        p.launch(check_distance, self.rows, self._grid.ordered, self.solve, allowed, count=self.count)

    def _record_lists(self, p: Program) -> None:
        """Bring the active particles into the order of the grid and list their neighbours, if that is needed."""
        with p.when((self.solve.stale, 0)):
            some_wait = int(self._some_wait)
            p.launch(place_points, self.members, self.particles, self._grid.points, some_wait, count=self.count)
            self._grid.record_build(p, self.count)
            self._lists.record_find(p)
            records = self.rows, self.members, self.particles, self._grid.ordered
            p.launch(arrange, *records, some_wait, count=self.count)
            p.serial(count_detection, self.solve)
        for boundary in self.boundaries:
            boundary.record_find(p)

    def _record_densities(self, p: Program) -> None:
        self._record_lists(p)
        self._record_density(p)

    def check(self) -> None:
        """Raise an error if the particles could not be brought into the order of a grid.

        Raises:
            ShinariError: They are spread over more cells than can be numbered.
        """
        self._grid.check()
        for boundary in self.boundaries:
            boundary.check()

    def measured(self, threads: int) -> np.ndarray:
        """Relative densities where the particles are before the first step, (P,); the state stays as it is."""
        self.begin(0.0, np.zeros(0))
        if self._measures is None:
            self._measures = Program()
            self._record_densities(self._measures)
        if not self._measures.run(threads):
            self.check()
        result = np.zeros(len(self.model.particles))
        count = self.solve.count[0]
        result[self.rows.member[:count]] = self.rows.density[:count]
        return result
