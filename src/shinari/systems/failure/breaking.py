"""Rows that break above a force.

The force of a row is |lambda| / h^2. A row that breaks becomes infinitely soft and stays so.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.model.model import Breakable
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rows.row_access import (
    Broken,
    Cells,
    Coefficients,
    Layout,
    Multipliers,
    release_row,
)
from shinari.systems.rows.system import BlockSolver, block_solvers


class Chosen(Record):
    """Rows of a block that can break."""

    row = Field(np.uint32)


class Changed(Record):
    """Whether rows have been released since the last step; Python resets it."""

    flag = Field(np.int64)


@kernel
def break_row(
    k,
    chosen: Chosen,
    multipliers: Multipliers,
    broken: Broken,
    cells: Cells,
    coefficients: Coefficients,
    layout: Layout,
    changed: Changed,
    equations: int,
    limit: real,
):
    """Release a row whose multiplier is above `limit`."""
    r = np.int64(chosen.row[k])
    square = multipliers.value[equations * r] * multipliers.value[equations * r]
    for a in range(1, equations):
        square += multipliers.value[equations * r + a] * multipliers.value[equations * r + a]
    if np.sqrt(square) > limit:
        release_row(r, broken, cells, coefficients, layout)
        changed.flag[0] = 1


class BreakingModel(SystemModel):
    """Rows that break; they stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[Breaking]":
        """The rows of a simulation."""
        breakables = bound.model.breakables
        return [Breaking(breakables, block_solvers(bound), bound.settings)] if breakables else []


class Breaking(System):
    """Rows of one simulation that break."""

    order = 80
    can_rest = True
    on_device = True

    def __init__(self, breakables: tuple[Breakable, ...], solvers: dict[str, BlockSolver], settings: Settings) -> None:
        self._changed = Changed.zeros(1)
        self._settings = settings
        self._rows = [
            (item, solvers[item.block], Chosen(row=item.rows.astype(np.uint32)))  #
            for item in breakables
        ]

    def take_released(self) -> bool:
        """Whether a row has been released since this was last asked."""
        released = bool(self._changed.flag[0])
        self._changed.flag[0] = 0
        return released

    def record_finish(self, p: Program) -> None:
        """Release rows whose force is above their limit."""
        for item, solver, chosen in self._rows:
            access = solver.access
            records = chosen, solver.multipliers, solver.broken, access.cells, access.coefficients, access.layout
            limit = item.force * self._settings.substep**2
            p.launch(break_row, *records, self._changed, solver.block.type.rows, limit, count=len(chosen))
