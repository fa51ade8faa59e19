"""Rows of one constraint type, bound to the arrays of one simulation."""

from dataclasses import replace

import numpy as np

from shinari.compute import Program, Record
from shinari.compute.colouring import incidence
from shinari.compute.once import cached_property
from shinari.compute.scan import Offsets
from shinari.model.model import ConstraintBlock, Model
from shinari.model.particles import Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.rows.batches import Batches
from shinari.systems.rows.jacobi import Corners, gather_corrections, relaxation_weights
from shinari.systems.rows.projection import (
    Corrections,
    Relaxation,
    Variant,
    batches_record,
    multipliers_record,
    projection,
    rows_record,
)
from shinari.systems.rows.row_access import Broken, Multipliers, RowAccess, parameters_now

# Batches below which a part is not worth sharing with another thread.
GRAIN = 8


def block_solvers(bound: BoundSystems) -> "dict[str, BlockSolver]":
    """The systems of constraint rows by the name of their type."""
    return {solver.block.type.name: solver for solver in bound.all_bound(BlockSolver)}


class BlockSolver(System):
    """Projects all rows of a block once.

    Attributes:
        block: The block.
        origin_index: Index of the origin of each row, for rows that hold places.
    """

    order = 40
    can_rest = True
    on_device = True
    advice = "its time grows with rows x substeps x iterations; fewer substeps, or a coarser mesh, are faster"

    def __init__(
        self, block: ConstraintBlock, model: Model, state: State, settings: Settings, particles: Particles
    ) -> None:
        self.block, self._particles = block, particles
        self._model, self._state = model, state
        parameters = parameters_now(model, state, block)
        self._parameters = parameters.copy() if block.type.places else parameters
        self.origin_index = model.origin_index[block.indices[:, 0] if block.type.places else []]
        self._released_coefficient = np.inf if settings.method == "xpbd" else 0.0
        self._coefficient = block.coefficient
        if block.type.name in state.broken:
            self._coefficient = block.coefficient.copy()
            self._coefficient[state.broken[block.type.name]] = self._released_coefficient
        damped, gathers = len(block.damping) > 0, settings.sweep != "gauss-seidel"
        # a thread of a GPU solves one row
        batched = block.type.lanes and not gathers and settings.device == "cpu"
        sides = block.coefficient.shape[1]
        self._variant = Variant(settings.method, sides == 2, damped, gathers, batched=batched)
        self._scalars = (1.0 if settings.method == "pbd" else 1.0 / settings.substep**2, settings.substep)
        self._batches = Batches(block.indices, block.offsets) if batched else None
        multipliers = state.multipliers[block.type.name]
        self._records = self._bind(sides, damped, multipliers, model.real)
        self._jacobi = self._bind_jacobi(model, settings) if gathers else ()
        self.follow_origins()

    def _bind(self, sides: int, damped: bool, multipliers: np.ndarray, precision: type) -> tuple[Record, ...]:
        block, batches = self.block, self._batches
        tables: dict[str, np.ndarray] = {"coefficient": self._coefficient}
        tables |= {"parameters": self._parameters} if block.type.width else {}
        tables |= {"damping": block.damping} if damped else {}
        if batches is None:
            kind = rows_record(block.type.points, block.type.width, sides, block.type.rows, damped)
            return (kind(precision, points=block.indices, multiplier=multipliers, **tables),)
        arranged = {name: batches.arranged(table) for name, table in tables.items()}
        self._arranged = arranged
        kind = batches_record(block.type.points, block.type.width, sides, damped)
        rows = kind(precision, rows=batches.rows, points=batches.indices, **arranged)
        return rows, multipliers_record(block.type.rows)(precision, multiplier=multipliers)

    def _bind_jacobi(self, model: Model, settings: Settings) -> tuple[Record, ...]:
        offsets, entries = incidence(self.block.indices, model.particle_count)
        averaged = settings.sweep == "jacobi-averaged"
        weights = relaxation_weights(np.diff(offsets), averaged, settings.relaxation, model.real)
        self._corners = Corners(model.real, correction=entries.astype(np.uint32))
        self._offsets = Offsets(model.real, start=offsets.astype(np.int32))
        return Corrections.zeros(self.block.indices.size, model.real), Relaxation(model.real, weight=weights)

    def leave(self, rows: np.ndarray) -> None:
        """Leave rows, (K,), to another system: they exert no force here. Not for rows that are solved in batches."""
        assert self._batches is None
        self._coefficient = self._coefficient.copy()
        self._coefficient[rows] = self._released_coefficient
        self._records[0].bind(coefficient=self._coefficient)

    def record_project(self, p: Program, first: bool) -> None:
        """Solve every row once; `first` in the first iteration of a substep."""
        kernel = projection(self.block.type, replace(self._variant, first=first))
        arguments = (*self._records, self._particles, *self._jacobi, *self._scalars)
        if self._jacobi:
            p.launch(kernel, *arguments, count=self.block.row_count)
            relaxed = (*self._jacobi, self._particles)
            p.launch(gather_corrections, self._corners, self._offsets, *relaxed, count=len(self._particles))
        elif self._batches is not None:
            p.launch(kernel, *arguments, colours=self._batches.offsets, grain=GRAIN)
        else:
            p.launch(kernel, *arguments, colours=self.block.offsets)

    @cached_property
    def access(self) -> RowAccess:
        """How kernels change single rows."""
        coefficient, parameters = self._coefficient, self._parameters
        if self._batches is not None:
            coefficient, parameters = self._arranged["coefficient"], self._arranged["parameters"]
        columns = self._coefficient.shape[1], self.block.type.width
        return RowAccess(
            self.block.row_count, coefficient, parameters, columns, self._released_coefficient, self._batches
        )

    @cached_property
    def multipliers(self) -> Multipliers:
        """Multipliers, flat."""
        values = self._state.multipliers[self.block.type.name]
        return Multipliers(values.dtype.type, value=values.reshape(-1))

    @cached_property
    def broken(self) -> Broken:
        """Rows that have been released."""
        return Broken(flag=self._state.broken[self.block.type.name])

    def follow_origins(self) -> None:
        """Bring the parameters that are places to the origins as they are now."""
        if not self.block.type.places:
            return
        for columns in self.block.type.place_columns:
            moved = (self._state.origins - self._model.origins)[self.origin_index]
            self._parameters[:, columns] = self.block.parameters[:, columns] - moved
        if self._batches is not None:
            self._arranged["parameters"][...] = self._batches.arranged(self._parameters)
