"""Rows that break above a force, and targets of attachments that move.

The force of a row is |lambda| / h^2. A row that breaks becomes infinitely soft and stays so.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.geometry.motion import NO_ROTATION, pose_at
from shinari.model.model import Breakable, MovingTarget
from shinari.model.particles import Clock, Groups
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import Binding, SystemModel
from shinari.systems.rows.row_access import (
    Broken,
    Cells,
    Layout,
    Multipliers,
    Parameters,
    Softness,
    release_row,
    set_parameter,
)
from shinari.systems.rows.system import BlockSolver, block_solvers


class Chosen(Record):
    """Rows of a block that can break."""

    row = Field(np.uint32)


class Changed(Record):
    """Whether rows have been released since the last step; Python resets it."""

    flag = Field(np.int64)


class Driven(Record):
    """Rows of a block whose target moves."""

    row = Field(np.uint32)
    group = Field(np.uint16)


class Targets(Record):
    """Where the target is, one row for each substep."""

    position = Field(np.float64, 3, unit="m", doc="in the world")


@kernel
def break_row(
    k,
    chosen: Chosen,
    multipliers: Multipliers,
    broken: Broken,
    cells: Cells,
    softness: Softness,
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
        release_row(r, broken, cells, softness, layout)
        changed.flag[0] = 1


@kernel(mixed=True)
def drive_row(
    k,
    driven: Driven,
    targets: Targets,
    groups: Groups,
    clock: Clock,
    cells: Cells,
    parameters: Parameters,
    layout: Layout,
    column: int,
):
    """Put three parameters of a row, from a column on, to the target of this substep."""
    substep, group = clock.substep[0], driven.group[k]
    for axis in range(3):
        local = targets.position[substep, axis] - groups.origin[group, axis]
        value = convert(local, layout.absent[0])
        set_parameter(driven.row[k], column + axis, value, cells, parameters, layout)


class BreakingModel(SystemModel):
    """Rows that break; they stand in the model."""

    def bind(self, work: Binding) -> "list[Breaking]":
        """The rows of a simulation."""
        breakables = work.model.breakables
        return [Breaking(breakables, block_solvers(work), work.settings)] if breakables else []


class DrivenModel(SystemModel):
    """Rows with a target that moves; they stand in the model."""

    def bind(self, work: Binding) -> "list[MovingTargets]":
        """The rows of a simulation."""
        moving_targets = work.model.moving_targets
        return (
            [MovingTargets(moving_targets, block_solvers(work), work.groups, work.clock, work.settings)]
            if moving_targets
            else []
        )


class Breaking(System):
    """Rows of one simulation that break."""

    order = 80

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
            records = chosen, solver.multipliers, solver.broken, access.cells, access.softness, access.layout
            limit = item.force * self._settings.substep**2
            p.launch(break_row, *records, self._changed, solver.block.type.rows, limit, count=len(chosen))


class MovingTargets(System):
    """Targets that move in one simulation."""

    order = 60

    def __init__(
        self,
        moving_targets: tuple[MovingTarget, ...],
        solvers: dict[str, BlockSolver],
        groups: Groups,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._groups, self._clock = groups, clock
        self._moving_targets = []
        for driver in moving_targets:
            solver = solvers[driver.block]
            driven = Driven(row=driver.rows.astype(np.uint32), group=solver.groups[driver.rows].astype(np.uint16))
            self._moving_targets.append((driver, solver, driven, Targets.zeros(settings.substeps)))

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Tabulate the targets at the ends of the substeps [s]."""
        for driver, _, _, targets in self._moving_targets:
            for k, end in enumerate(ends):
                targets.position[k] = pose_at(driver.motion, end, NO_ROTATION, "attach: second")[0]

    def record_predict(self, p: Program) -> None:
        """Move the targets to where they are at the end of the substep."""
        for _, solver, driven, targets in self._moving_targets:
            access = solver.access
            records = driven, targets, self._groups, self._clock, access.cells, access.parameters, access.layout
            for columns in solver.block.type.place_columns:
                p.launch(drive_row, *records, columns.start, count=len(driven))
