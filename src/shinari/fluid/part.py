"""The fluids of one simulation: the order of a density solve."""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from shinari.contact.broad.neighbours import NeighbourLists
from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.fluid.effects import effects_of, pushes_of
from shinari.fluid.model import ACTIVE, DENSITIES, PRESSURES, FluidModel
from shinari.fluid.moves import bring, farthest, move, take
from shinari.fluid.pressure import densities, displacements, stiffnesses
from shinari.fluid.search import Rows, Search

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.state import State

# Particles for which it is worth waking one more thread.
SHARE = 1000
# Stiffness added to each particle, as part of that in the middle of a fluid at rest: a lone pair does not fly apart.
SOFTENED = 0.1
# An iteration of the solver goes on while particles are compressed by more than this on average, up to so many times:
# what a substep leaves compressed flies apart in a later one.
TOLERATED, MOST_ITERATIONS = 0.01, 8
# Room around the support in which neighbours are looked for, as part of it: lists last until a particle has gone half.
MARGIN = 0.1


class Boundary(Protocol):
    """Solids that a fluid lies against; all arrays are in the order of `Fluid`, see there."""

    def find(self, fluid: "Fluid", threads: int) -> None:
        """A substep begins, or the order of the particles has changed: find which particles are near."""
        ...

    def gather(self, fluid: "Fluid", threads: int) -> None:
        """Add to `fluid.sums`, `fluid.pulls` and `fluid.stiffness` what the solids contribute where things are now."""
        ...

    def answer(self, fluid: "Fluid", threads: int) -> float:
        """The direction of the multipliers stands in `fluid.x[:, 3]`, and not yet how far to go along it.

        Returns:
            How far the solids give way to it, the sum of push w push [kg m^2]: the step counts with it.
        """
        ...

    def push(self, fluid: "Fluid", threads: int) -> None:
        """The multipliers have changed by `fluid.x[:, 3]`: give the solids the opposite push of what particles get."""
        ...

    def touches(self) -> Touches:
        """The contacts that pushed in the last step."""
        ...


class Fluid:
    """The fluids of one simulation. Arrays are in the order of the grid, which changes with each detection.

    Attributes:
        model: What never changes.
        order: Fluid particle (0 to P - 1) at each place, (n,): those that are there.
        x: Positions relative to the origin of the fluids' group [m], and the last change of the multiplier, (n, 4).
        v: Velocities [m/s], (n, 3), while velocities are changed.
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours: places.
        sums: Relative densities, (n,).
        pulls: Gradient of C_i in x_i by solids [1/m], (n, 3).
        stiffness: Sum of w |grad C|^2, (n,).
        totals: Multipliers of the substep [kg m^2], (n,).
        group: Group of the fluids.
        reach: Distance up to which neighbours are listed [m].
        moving: Whether a step has begun: `predicted` is known.
        boundaries: Solids, in the order in which they are asked.
        pushes: What else moves the particles at the start of a substep, called in the same way as `effects`.
        effects: What changes velocities, in the order in which it is called with this and the number of threads.
    """

    def __init__(
        self, fluids: FluidModel, model: "Model", state: "State", settings: "Settings", predicted: np.ndarray
    ) -> None:
        self.model, self.scene_model, self.state, self.settings = fluids, model, state, settings
        self.predicted = predicted
        real = model.real
        smoothing = fluids.smoothing
        self.h = settings.substep
        self.group = int(model.groups[fluids.particles[0]]) if len(fluids.particles) else 0
        self.inverse2 = real(1.0 / smoothing.support**2)
        self.weight_scale, self.slope_scale = real(smoothing.weight_scale), real(smoothing.slope_scale)
        self._all_inverse_masses = model.inverse_masses[fluids.particles].astype(real)
        mean = smoothing.spacing**3 * np.array([m.rest_density for m in fluids.materials]).mean()
        self._least = real(SOFTENED * smoothing.gradient_sum * (1.0 / mean))
        self.pressure_scale = 1.0 / (smoothing.spacing**3 * self.h**2)
        """Multiplier to energy per volume [Pa / (kg m^2)]."""
        self.boundaries: list[Boundary] = []
        self.moving = False
        self.pushes = pushes_of(fluids, self.h, real)
        self.effects = effects_of(fluids, self.h, real, model.wind is not None)
        self._search = Search()
        self._lists, self._frame, self._buffers = NeighbourLists(), -1, {}
        self._floors = np.array([-np.inf if m.cohesive else 0.0 for m in fluids.materials], real)
        # compressed by c the density sum grows by c times the moment, and p dV is L dC
        moment = smoothing.moment
        self._softness = np.array([m.compressibility for m in fluids.materials]) * self.pressure_scale * moment**2
        self.pressure_scale *= moment
        self._softness = self._softness.astype(real)

    @property
    def origin(self) -> np.ndarray:
        """Origin of the group of the fluids [m], (3,)."""
        return self.state.origins[self.group]

    @property
    def step_length(self) -> float:
        """How far the last iteration went along the direction of its search."""
        return self._search.length

    def predict(self, h: float) -> None:
        """Nothing of its own moves."""

    def project(self, threads: int, first: bool) -> None:
        """An iteration of all density constraints, or more where it is needed."""
        threads = self.threads(threads)
        if first:
            self._begin(threads)
            self._stiffen(threads)
            for push in self.pushes:
                push(self, threads)
        else:
            bring(threads, self.particles, self.state.x, self.x)
        for _ in range(MOST_ITERATIONS):
            if self._iterate(threads) <= TOLERATED:
                break

    def _stiffen(self, threads: int) -> None:
        """A solve begins: the diagonal of its matrix, and no multipliers yet."""
        self.pulls[:], self.stiffness[:], self.totals[:] = 0.0, 0.0, 0.0
        for boundary in self.boundaries:
            boundary.gather(self, threads)
        stiffnesses(
            threads, self.model.smoothing.kernel, self.inverse2, self.slope_scale, self.x, self.inverse_masses,
            self.offsets, self.indices, self.pulls, self.stiffness,
        )  # fmt: skip
        self._search.begin(self._array("steps", len(self.x)), self._array("directions", len(self.x)))

    def _iterate(self, threads: int) -> float:
        """One iteration; returns the mean compression that it found."""
        self._weigh(threads)
        rows = Rows(self.model.smoothing.spacing, self._least, self.stiffness, self.softness, self.floors)
        excess = self._search.turn(threads, rows, self.x, self.sums, self.totals)
        displacements(
            threads, self.model.smoothing.kernel, self.inverse2, self.slope_scale, self.x, self.inverse_masses,
            self.offsets, self.indices, self.pulls, self.ways,
        )  # fmt: skip
        give = sum(boundary.answer(self, threads) for boundary in self.boundaries)
        self._search.advance(threads, rows, give, self.x, self.ways, self.inverse_masses, self.totals)
        for boundary in self.boundaries:
            boundary.push(self, threads)
        move(threads, self.particles, self.ways, self.x, self.state.x)
        return excess

    def _weigh(self, threads: int) -> None:
        """Densities and the gradients of solids where the particles are."""
        self.pulls[:] = 0.0
        densities(
            threads, self.model.smoothing.kernel, self.inverse2, self.weight_scale, self.x, self.offsets, self.indices,
            self.sums,
        )  # fmt: skip
        for boundary in self.boundaries:
            boundary.gather(self, threads)

    def finish(self, threads: int) -> None:
        """Keep pressures and densities; let viscosity and the like change the velocities."""
        parts, order = self.state.parts, self.order
        parts[PRESSURES][order] = self.totals * self.x.dtype.type(self.pressure_scale)
        parts[DENSITIES][order] = self.sums
        if self.effects:
            threads = self.threads(threads)
            bring(threads, self.particles, self.state.x, self.x)
            np.take(self.state.v, self.particles, axis=0, out=self.v, mode="clip")
            for effect in self.effects:
                effect(self, threads)
            self.state.v[self.particles] = self.v

    def measured(self, threads: int) -> np.ndarray:
        """Relative densities where the particles are before the first step, (P,); the state stays as it is."""
        threads = self.threads(threads)
        self._detect(threads)
        for boundary in self.boundaries:
            boundary.find(self, threads)
        self.stiffness[:] = 0.0
        self._weigh(threads)
        result = np.zeros(len(self.model.particles))
        result[self.order] = self.sums
        return result

    def threads(self, threads: int) -> int:
        """Threads worth waking."""
        return max(1, min(threads, len(self.model.particles) // SHARE))

    def _begin(self, threads: int) -> None:
        """A substep begins: bring the particles, in a new order if they have moved too far."""
        if self._frame == self.state.frame:
            bring(threads, self.particles, self.state.x, self.x)
            if farthest(self.x, self._found_at) > (0.5 * MARGIN * self.model.smoothing.support) ** 2:
                self._detect(threads)
        else:
            self._frame = self.state.frame
            self._detect(threads)
        self.moving = True
        for boundary in self.boundaries:
            boundary.find(self, threads)

    def _detect(self, threads: int) -> None:
        """Bring the particles that are there into the order of the grid, and list their neighbours."""
        fluids, state = self.model, self.state
        there = np.flatnonzero(state.parts[ACTIVE])
        x = self._array("given", len(there), 4)
        take(threads, fluids.particles[there], state.x, x)
        self.reach = fluids.smoothing.support * (1.0 + (MARGIN if self.settings.substeps > 1 else 0.0))
        self.offsets, self.indices = self._lists.find(x, self.reach, threads)
        count = len(there)
        self.order = there[self._lists.grid.order[:count]]
        self.particles = fluids.particles[self.order]
        self.phases = fluids.phases[self.order]
        self.x, self.v = self._array("x", count, 4), self._array("v", count, 3)
        self.pulls, self.ways = self._array("pulls", count, 3), self._array("ways", count, 3)
        self.sums, self.stiffness, self.totals = (self._array(name, count) for name in ("sums", "stiffness", "totals"))
        self.inverse_masses = self._all_inverse_masses[self.order]
        self.floors, self.softness = self._floors[self.phases], self._softness[self.phases]
        bring(threads, self.particles, state.x, self.x)
        self._found_at = self._array("found_at", count, 3)
        self._found_at[:] = self.x[:, :3]

    def _array(self, name: str, rows: int, *columns: int) -> np.ndarray:
        self._buffers[name] = grown(self._buffers.get(name), rows, self.scene_model.real, *columns)
        return self._buffers[name][:rows]
