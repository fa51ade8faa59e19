"""Seams that close: the length of the thread between two points falls to zero.

In a substep h it falls by L0 h / T, L0 its length at the start and T the closing time, and stops at zero; T = 0 closes
at once. The lengths are part of the state, so that a simulation that goes on from a file closes as the other would.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.constraints.seam import SEAM
from shinari.model.model import ConstraintBlock, Model
from shinari.model.particles import Clock
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rows.row_access import Cells, Layout, Parameters, set_parameter

if TYPE_CHECKING:
    from shinari.systems.rows.system import BlockSolver

LENGTHS = "seams/lengths"
"""Name of the array of the state that holds the lengths."""
ZERO = np.float32(0.0)


class Threads(Record):
    """Threads of all seams in the order in which they were added, M rows."""

    length = Field(real, 1, unit="m", doc="length that is left", saved=True)


class Rates(Record):
    """How threads shorten, in solver order, M rows."""

    place = Field(np.uint32, doc="row of `Threads`")
    shorter = Field(real, unit="m", doc="by so much in a substep")


@kernel
def shorten_thread(r, rates: Rates, threads: Threads, cells: Cells, parameters: Parameters, layout: Layout):
    """Shorten the thread of row r for a substep."""
    k = np.int64(rates.place[r])
    length = max(threads.length[k, 0] - rates.shorter[r], ZERO)
    threads.length[k, 0] = length
    set_parameter(r, 0, length, cells, parameters, layout)


@kernel
def find_open(k, threads: Threads, clock: Clock):
    """Tell the clock of a thread that is not gone: it may be slack, so that nothing moves yet."""
    if threads.length[k, 0] > ZERO:
        clock.moving[0] = 1


class ClosingModel(SystemModel):
    """Rows of seams; they stand in the model."""

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Lengths of the threads in the order in which rows were added, (M, 1)."""
        block = model.blocks.get(SEAM.name)
        if block is None:
            return {}
        lengths = np.empty((block.row_count, 1), model.real)
        lengths[block.added_index] = block.parameters[:, :1]
        return {LENGTHS: lengths}

    def changes_parameters(self, model: Model, block: ConstraintBlock) -> bool:
        """Whether these are seams."""
        return block.type.name == SEAM.name

    def update_parameters(self, model: Model, state: State, block: ConstraintBlock, values: np.ndarray) -> None:
        """Write the lengths as they are now."""
        values[:, :1] = state.system_arrays[LENGTHS][block.added_index]

    def bind(self, bound: BoundSystems) -> "list[Closing]":
        """The seams of a simulation."""
        from shinari.systems.rows.system import block_solvers

        solver = block_solvers(bound).get(SEAM.name)
        if solver is None:
            return []
        return [Closing(solver, bound.state.system_arrays[LENGTHS], bound.settings.substep, bound.clock)]


class Closing(System):
    """Seams of one simulation."""

    order = 60
    can_rest = True
    on_device = True
    # contacts push the two sides of a seam apart where one of them touches and the other does not
    repeated = True

    def __init__(self, solver: "BlockSolver", lengths: np.ndarray, h: float, clock: Clock) -> None:
        block, precision = solver.block, lengths.dtype.type
        start, closing_time = block.parameters[:, 0].astype(np.float64), block.parameters[:, 1].astype(np.float64)
        shorter = np.divide(h * start, closing_time, out=start.copy(), where=closing_time > 0.0)
        self._threads, self._solver, self._clock = Threads(precision, length=lengths), solver, clock
        self._rates = Rates(precision, place=block.added_index, shorter=shorter.astype(precision))

    def tell_moving(self, p: Program) -> None:
        """Tell the clock whether a seam is still closing."""
        p.launch(find_open, self._threads, self._clock, count=len(self._threads))

    def record_predict(self, p: Program) -> None:
        """Shorten all threads for a substep."""
        access = self._solver.access
        records = self._rates, self._threads, access.cells, access.parameters, access.layout
        p.launch(shorten_thread, *records, count=len(self._rates))

    def record_between(self, p: Program) -> None:
        """Hold the seams again after a pass over the contacts."""
        self._solver.record_project(p, False)
