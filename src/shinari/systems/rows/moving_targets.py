"""Targets of attachments that move."""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel
from shinari.geometry.motion import NO_ROTATION, poses_at
from shinari.model.model import MovingTarget
from shinari.model.particles import Clock, Origins
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rows.row_access import (
    Cells,
    Layout,
    Parameters,
    set_parameter,
)
from shinari.systems.rows.system import BlockSolver, block_solvers


class Driven(Record):
    """Rows of a block whose target moves."""

    row = Field(np.uint32)
    origin_index = Field(np.uint16)


class Targets(Record):
    """Where the target is, one row for each substep."""

    position = Field(np.float64, 3, unit="m", doc="in the world")


@kernel(mixed=True)
def drive_row(
    k,
    driven: Driven,
    targets: Targets,
    origins: Origins,
    clock: Clock,
    cells: Cells,
    parameters: Parameters,
    layout: Layout,
    column: int,
):
    """Put three parameters of a row, from a column on, to the target of this substep."""
    substep, origin_index = clock.substep[0], driven.origin_index[k]
    for axis in range(3):
        local = targets.position[substep, axis] - origins.position[origin_index, axis]
        value = convert(local, layout.released_coefficient[0])
        set_parameter(driven.row[k], column + axis, value, cells, parameters, layout)


class MovingTargetsModel(SystemModel):
    """Rows with a target that moves; they stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[MovingTargets]":
        """The rows of a simulation."""
        moving_targets = bound.model.moving_targets
        return (
            [MovingTargets(moving_targets, block_solvers(bound), bound.origins, bound.clock, bound.settings)]
            if moving_targets
            else []
        )


class MovingTargets(System):
    """Targets that move in one simulation."""

    order = 60
    on_device = True

    def __init__(
        self,
        moving_targets: tuple[MovingTarget, ...],
        solvers: dict[str, BlockSolver],
        origins: Origins,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._origins, self._clock = origins, clock
        self._moving_targets = []
        for driver in moving_targets:
            solver = solvers[driver.block]
            driven = Driven(
                row=driver.rows.astype(np.uint32), origin_index=solver.origin_index[driver.rows].astype(np.uint16)
            )
            self._moving_targets.append((driver, solver, driven, Targets.zeros(settings.substeps)))

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Tabulate the targets at the ends of the substeps [s]."""
        for driver, _, _, targets in self._moving_targets:
            targets.position[: len(ends)] = poses_at(driver.motion, ends, NO_ROTATION, "attach: second")[0]

    def record_predict(self, p: Program) -> None:
        """Move the targets to where they are at the end of the substep."""
        for _, solver, driven, targets in self._moving_targets:
            access = solver.access
            records = driven, targets, self._origins, self._clock, access.cells, access.parameters, access.layout
            for columns in solver.block.type.place_columns:
                p.launch(drive_row, *records, columns.start, count=len(driven))
