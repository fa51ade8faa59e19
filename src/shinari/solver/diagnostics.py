"""Quantities of a state: energies, momenta, residuals, strains and forces, all computed in float64."""

from dataclasses import dataclass, field

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, pose_at
from shinari.model.model import ConstraintBlock, Model
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.solver.point_values import PointValues, RowValues, rest_column
from shinari.systems.rows.projection import measure
from shinari.systems.rows.row_access import parameters_now


@dataclass(frozen=True)
class Energy:
    """Energies [J], and the work that was done from outside.

    Attributes:
        kinetic: Of all free particles and bodies.
        gravitational: Of all free particles and bodies, zero at the world's origin.
        elastic: Of all that has a compliance and has not broken: constraint rows, rods, volumes, attachments, lumps of
            shape matching (1/2 m w^2 |x - goal|^2), compressible fluids, and springs of joints: those of held rows,
            limits and gears, and servos with a stiffness. A rigid row stores none, nor does a row on the side on which
            it is slack. It is 1/2 C^2 / compliance, and 1/2 force times C for constraint rows that the solver has not
            brought to their solution, see below. Not counted: compliant contacts, the tension of liquids, and, with
            `method="pbd"`, constraint rows, whose stiffness is no energy.
        external_work: Work done on the scene since its start by grabs and by motors of joints: the sum of force times
            displacement; of a servo with a stiffness, which is a spring, the change of its elastic energy where its
            target is moved. `total - external_work` does not grow, up to a per cent of the work where rows are not
            solved, but by what is not counted: pins and bodies that
            are moved by the user or a motion, moving colliders, wind and drag, force fields, emitters and sinks, and
            what a user writes to the state.

    A stiff row at few iterations is not brought to its solution: its extension C is far more than its force times its
    compliance, and 1/2 C^2 / compliance, which can be 1e9 times what the row ever does to the motion, is no energy that
    could be had back. The row acts as a softer spring, which has the force -lambda / h^2 at the extension C and stores
    half of their product. A solved row has C = -compliance lambda / h^2, and both are the same. The force of a damped
    row is not that of its spring alone; such a row counts as not solved where its compliance is less than w h^2, with
    the generalised inverse mass w of its points. Where the state was written to since the last step, and before the
    first, only the positions count.
    """

    kinetic: float
    gravitational: float
    elastic: float
    external_work: float = 0.0

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.kinetic + self.gravitational + self.elastic

    def __str__(self) -> str:
        parts = f"kinetic={self.kinetic:.6g}, gravitational={self.gravitational:.6g}, elastic={self.elastic:.6g}"
        return f"Energy({parts}, total={self.total:.6g}, external_work={self.external_work:.6g}) J"


@dataclass(frozen=True)
class BlockResidual:
    """How far a block is from being solved.

    Attributes:
        mean: Mean of |C + compliance x lambda / h^2| in the unit of C.
        largest: Largest of these.
        mean_strain: Mean of |C| / rest value, 0 where a row is not held or has a rest value of 0; nan for types without
            a rest value.
        largest_strain: Largest of these; nan for types without a rest value.
    """

    mean: float
    largest: float
    mean_strain: float
    largest_strain: float


@dataclass(frozen=True)
class Residual:
    """Residuals of all blocks.

    Attributes:
        blocks: Residual by name of the constraint type.
    """

    blocks: dict[str, BlockResidual] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """Largest residual of all blocks, each in the unit of its C."""
        return max((block.largest for block in self.blocks.values()), default=0.0)

    def __float__(self) -> float:
        return self.largest


@dataclass(frozen=True, eq=False)
class Measured:
    """All that is measured of one moment.

    Attributes:
        strains: Strain at each particle, (N,); see `shinari.solver.point_values`.
        forces: Largest force of a row at each particle [N], (N,).
        energy: Energies [J].
        momentum: Linear momentum [kg m/s], (3,).
        angular_momentum: Angular momentum about the world's origin [kg m^2/s], (3,).
        residual: Largest residual of all blocks, each in the unit of its C.
        mean_strain: Mean strain of all rows that hold and have one; 0 where there are none.
        largest_strain: Largest of these.
    """

    strains: np.ndarray
    forces: np.ndarray
    energy: Energy
    momentum: np.ndarray
    angular_momentum: np.ndarray
    residual: float
    mean_strain: float
    largest_strain: float


class Diagnostics:
    """Answers questions about the states of one model."""

    def __init__(self, model: Model, settings: Settings) -> None:
        self._model = model
        self._h = settings.substep
        self._dt = settings.dt
        self._method = settings.method
        self._free = model.masses > 0.0
        self._points: PointValues | None = None

    def energy(self, state: State) -> Energy:
        """Energies [J]."""
        world = self._world(state)
        return self._energy(state, self._all_rows(state, self._solver_positions(state, world)), world)

    def measure(self, state: State) -> Measured:
        """Everything at once: each row is evaluated one time."""
        world = self._world(state)
        x = self._solver_positions(state, world)
        rows = self._all_rows(state, x)
        strained = [found.strains[found.strained] for found in rows.values() if found.strains is not None]
        strains = np.concatenate([np.zeros(0), *strained])
        blocks = {name: self._block_residual(block, state, rows[name]) for name, block in self._model.blocks.items()}
        return Measured(
            self._point_values.strains(state, rows, x),
            self._point_values.forces(state, rows, self._h),
            self._energy(state, rows, world),
            self.momentum(state),
            self._angular_momentum(state, np.zeros(3), world),
            float(Residual(blocks)),
            float(strains.mean()) if len(strains) else 0.0,
            float(strains.max(initial=0.0)),
        )

    def point_strains(self, state: State) -> np.ndarray:
        """Strain at each particle, (N,)."""
        x = self._solver_positions(state)
        return self._point_values.strains(state, self._all_rows(state, x), x)

    def point_forces(self, state: State) -> np.ndarray:
        """Largest force of a row at each particle [N], (N,)."""
        return self._point_values.forces(state, self._all_rows(state, self._solver_positions(state)), self._h)

    @property
    def _point_values(self) -> PointValues:
        """Made when it is first needed: it sorts the points of all rows."""
        if self._points is None:
            self._points = PointValues(self._model)
        return self._points

    def _energy(self, state: State, rows: dict[str, RowValues], world: np.ndarray) -> Energy:
        m, free = self._masses(state)[self._free], self._free
        x = world[free]
        v = state.velocities[free].astype(np.float64)
        # sums, not products of vectors: those wake threads that wait for each other
        kinetic = 0.5 * float((m * np.einsum("nc,nc->n", v, v)).sum())
        gravitational = -float((m[:, None] * x).sum(axis=0) @ self._model.gravity)
        written = self._written(state)
        elastic = sum(self._elastic(found, state, written) for found in rows.values())
        for system in self._model.systems:
            moving, lifted, stored = system.energy(self._model, state, self._h)
            kinetic, gravitational, elastic = kinetic + moving, gravitational + lifted, elastic + stored
        return Energy(kinetic, gravitational, elastic, state.external_work)

    def _masses(self, state: State) -> np.ndarray:
        """Masses of the particles as added [kg], (N,); 0 for those of fluids that wait in an emitter or are gone."""
        absent = self._model.inactive(state)
        if len(absent) == 0:
            return self._model.masses
        masses = self._model.masses.copy()
        masses[np.argsort(self._model.slots)[absent]] = 0.0
        return masses

    def momentum(self, state: State) -> np.ndarray:
        """Linear momentum [kg m/s], (3,)."""
        moving = (self._model.masses[:, None] * state.velocities).sum(axis=0)
        return sum((system.momentum(state) for system in self._model.systems), moving)

    def angular_momentum(self, state: State, about: np.ndarray) -> np.ndarray:
        """Angular momentum about a point [kg m^2/s], (3,)."""
        return self._angular_momentum(state, about, self._world(state))

    def _angular_momentum(self, state: State, about: np.ndarray, world: np.ndarray) -> np.ndarray:
        x, y, z = (world - about).T
        u, v, w = state.velocities.T.astype(np.float64)
        m = self._model.masses
        with np.errstate(over="ignore", invalid="ignore"):  # of a run that diverges it is not finite
            spin = np.array([(m * part).sum() for part in (y * w - z * v, z * u - x * w, x * v - y * u)])
        return sum((system.angular_momentum(self._model, state, about) for system in self._model.systems), spin)

    def residual(self, state: State) -> Residual:
        """Residuals and strains by block."""
        x, blocks = self._solver_positions(state), self._model.blocks.items()
        return Residual({name: self._block_residual(b, state, self._rows(b, state, x)) for name, b in blocks})

    def forces(self, state: State, kind: str) -> np.ndarray:
        """-lambda / h^2 of all rows of a type, in the order in which they were added, (M,) or (M, rows)."""
        for system in self._model.systems:
            if isinstance(kind, str) and (found := system.forces(kind, state, self._h)) is not None:
                return found
        block = self._block(kind)
        forces = np.empty(state.multipliers[kind].shape)
        forces[block.added_index] = state.multipliers[kind].astype(np.float64) * (-1.0 / self._h**2)
        return forces

    def strains(self, state: State, kind: str) -> np.ndarray:
        """C / rest value of all rows of a type, in the order in which they were added, (M,)."""
        block = self._block(kind)
        column = rest_column(block.type)
        if column is None:
            raise SceneError(f"strains: of: {kind!r} has no rest value to compare with")
        strains = np.empty(block.row_count)
        rows = self._rows(block, state, self._solver_positions(state))
        strains[block.added_index] = rows.values[:, 0] / np.abs(rows.parameters[:, column])
        return strains

    def worst_block(self, state: State) -> str:
        """Name of the block with a row that is no number, or with the largest residual."""
        worst, most = "none", -1.0
        for name, block in self._model.blocks.items():
            # the solver's values, not those published before it failed
            parameters = self._parameters(block, state)
            size = np.abs(self._measured(block, state, parameters, state.x.astype(np.float64))[0]).max()
            if not np.isfinite(size):
                return repr(name)
            if size > most:
                worst, most = repr(name), float(size)
        return worst

    def _block(self, kind: str) -> ConstraintBlock:
        block = self._model.blocks.get(kind) if isinstance(kind, str) else None
        if block is None:
            known = check.names(self._model.blocks, near=kind)
            raise SceneError(
                f"simulation: of: expected a type of which there are rows, got {check.short(kind)}; known are {known}"
            )
        return block

    def _world(self, state: State) -> np.ndarray:
        """Positions as added, with the digits that the solver has, (N, 3) float64."""
        slots = self._model.slots
        solver = state.origins[self._model.origin_index][slots] + state.x[slots, :3]
        seen = state.positions
        return np.where(solver.astype(seen.dtype) == seen, solver, seen)

    def _all_rows(self, state: State, x: np.ndarray) -> dict[str, RowValues]:
        """Values of the rows of each block at positions in solver order."""
        return {name: self._rows(block, state, x) for name, block in self._model.blocks.items()}

    def _rows(self, block: ConstraintBlock, state: State, x: np.ndarray) -> RowValues:
        """Values of the rows of a block at positions in solver order."""
        parameters = self._parameters(block, state)
        values, pulls = self._measured(block, state, parameters, x)
        return RowValues(block, parameters, x, values, pulls, self._compliance(block, values, state))

    def _solver_positions(self, state: State, world: np.ndarray | None = None) -> np.ndarray:
        """Positions that the user sees, as the solver holds them, (N, 4) float64."""
        x = state.x.astype(np.float64)
        world = self._world(state) if world is None else world
        x[self._model.slots, :3] = world - state.origins[self._model.origin_index][self._model.slots]
        return x

    def _parameters(self, block: ConstraintBlock, state: State) -> np.ndarray:
        """Parameters of the rows of a block now, with places relative to their origins, float64."""
        parameters = parameters_now(self._model, state, block).astype(np.float64)
        origin_index = self._model.origin_index[block.indices[:, 0]]
        for columns in block.type.place_columns:
            parameters[:, columns] -= (state.origins - self._model.origins)[origin_index]
            for driver in self._model.moving_targets:
                if driver.block == block.type.name:
                    target = pose_at(driver.motion, state.frame * self._dt, NO_ROTATION)[0]
                    parameters[driver.rows, columns] = target - state.origins[origin_index[driver.rows]]
        return parameters

    def _measured(
        self, block: ConstraintBlock, state: State, parameters: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """C of all rows, (M, rows), and h^2 times the forces at their points, (M, points), in solver order."""
        multipliers = state.multipliers[block.type.name]
        return measure(block.type, block.indices, parameters, x, multipliers)

    def _compliance(self, block: ConstraintBlock, values: np.ndarray, state: State) -> np.ndarray:
        """Compliance of each row for the side on which it is, (M,); infinite where it has broken."""
        compliance = block.compliance.astype(np.float64)
        chosen = compliance[:, 0] if compliance.shape[1] == 1 else np.where(values[:, 0] > 0.0, *compliance.T)
        broken = state.broken.get(block.type.name)
        return chosen if broken is None else np.where(broken, np.inf, chosen)

    def _written(self, state: State) -> np.ndarray:
        """Particles in solver order that a user has moved since the last step, (N,) bool."""
        slots, seen = self._model.slots, state.positions
        solver = state.origins[self._model.origin_index][slots] + state.x[slots, :3]
        moved = np.zeros(len(slots), bool)
        moved[slots] = (solver.astype(seen.dtype) != seen).any(axis=1)
        return moved

    def _elastic(self, rows: RowValues, state: State, written: np.ndarray) -> float:
        """Energy of the rows of a block [J], see `Energy`; `written`: particles that a user has moved, (N,)."""
        if self._method == "pbd":
            return 0.0
        values, compliance, block = rows.values, rows.compliance, rows.block
        soft = compliance > 0.0
        stored = np.divide(np.einsum("mr,mr->m", values, values), compliance, out=np.zeros(len(values)), where=soft)
        multipliers = state.multipliers[block.type.name].astype(np.float64).reshape(values.shape)
        squares = np.einsum("mr,mr->m", multipliers, multipliers)
        # before the first step nothing was solved
        unsolved = soft & (squares > 0.0) & np.logical_not(written[block.indices].any(axis=1))
        if len(block.damping):
            # w lambda^2, from the forces at the points
            weighted = (rows.pulls**2 * state.x[block.indices, 3]).sum(axis=1)
            with np.errstate(invalid="ignore"):  # rows without force: infinity times zero
                unsolved &= (block.damping == 0.0) | (compliance * squares < self._h**2 * weighted)
        acting = np.maximum(-np.einsum("mr,mr->m", values, multipliers) / self._h**2, 0.0)
        return 0.5 * float(np.where(unsolved, np.minimum(stored, acting), stored).sum())

    def _block_residual(self, block: ConstraintBlock, state: State, rows: RowValues) -> BlockResidual:
        values = rows.values
        multipliers = state.multipliers[block.type.name].astype(np.float64).reshape(values.shape)
        acting = np.isfinite(rows.compliance)
        # C + compliance x lambda / h^2, of rows that hold
        soft = np.where(acting, rows.compliance / self._h**2, 0.0) if self._method == "xpbd" else np.zeros(len(values))
        error = np.abs(values + soft[:, None] * multipliers)
        error[~acting] = 0.0
        if rest_column(block.type) is None or rows.strains is None:
            return BlockResidual(float(error.mean()), float(error.max()), np.nan, np.nan)
        strain = np.where(rows.strained, rows.strains, 0.0)
        return BlockResidual(float(error.mean()), float(error.max()), float(strain.mean()), float(strain.max()))
