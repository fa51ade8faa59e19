"""How kernels change coefficients and parameters of single rows, whether a block is solved in SIMD batches or not.

Without batches the parameters of row r stand one after another; in a batch they are WIDTH apart, and the last row of a
colour may fill several lanes. Both are flat arrays here, with a first cell for each row and a stride.
"""

import numpy as np

from shinari.compute import Field, Record, function, real
from shinari.model.model import ConstraintBlock, Model
from shinari.model.state import State
from shinari.systems.rows.batches import WIDTH, Batches


class Cells(Record):
    """Where the values of each row stand, M rows."""

    coefficient = Field(np.int64, doc="first cell of its coefficient")
    parameters = Field(np.int64, doc="first cell of its parameters")
    lanes = Field(np.int64, doc="how many lanes it fills")


class Coefficients(Record):
    """Coefficients of a block, flat: compliance, or stiffness per iteration with pbd."""

    value = Field(real)


class Parameters(Record):
    """Parameters of a block, flat."""

    value = Field(real)


class Multipliers(Record):
    """Multipliers of a block, flat."""

    value = Field(real)


class Layout(Record):
    """One row: how coefficient and parameters are laid out."""

    sides = Field(np.int64, doc="columns of the coefficient")
    stride = Field(np.int64, doc="cells from one column to the next")
    released_coefficient = Field(real, doc="coefficient of a row without force")


class Broken(Record):
    """Rows of a block that have been released, M rows."""

    flag = Field(np.bool_)


class RowAccess:
    """Records of one block.

    Attributes:
        cells: Where the values of each row stand.
        coefficients: Compliance, or stiffness per iteration with pbd.
        parameters: Parameters.
        layout: Their layout.
    """

    def __init__(
        self,
        rows: int,
        coefficient: np.ndarray,
        parameters: np.ndarray,
        columns: tuple[int, int],
        released_coefficient: float,
        batches: Batches | None,
    ) -> None:
        precision, (sides, width) = coefficient.dtype.type, columns
        self.coefficients = Coefficients(precision, value=coefficient.reshape(-1))
        self.parameters = Parameters(precision, value=parameters.reshape(-1))
        self.cells, self.layout = Cells.zeros(rows, precision), Layout.zeros(1, precision)
        self.layout.sides[0], self.layout.released_coefficient[0] = sides, released_coefficient
        number = np.arange(rows)
        if batches is None:
            self.layout.stride[0], self.cells.lanes[...] = 1, 1
            self.cells.coefficient[...], self.cells.parameters[...] = sides * number, width * number
        else:
            flat = batches.rows.reshape(-1)
            first = np.unique(flat, return_index=True)[1]
            batch, lane = np.divmod(first, WIDTH)
            self.layout.stride[0], self.cells.lanes[...] = WIDTH, np.bincount(flat, minlength=rows)
            self.cells.coefficient[...] = batch * sides * WIDTH + lane
            self.cells.parameters[...] = batch * width * WIDTH + lane


@function
def release_row(r, broken, cells, coefficients, layout):
    """Take a row out of play for good: infinitely soft, or of no stiffness."""
    broken.flag[r] = True
    for side in range(layout.sides[0]):
        for lane in range(cells.lanes[r]):
            coefficients.value[cells.coefficient[r] + side * layout.stride[0] + lane] = layout.released_coefficient[0]


@function
def parameter(r, column, cells, parameters, layout):
    """A parameter of a row."""
    return parameters.value[cells.parameters[r] + column * layout.stride[0]]


@function
def set_parameter(r, column, value, cells, parameters, layout):
    """Change a parameter of a row."""
    for lane in range(cells.lanes[r]):
        parameters.value[cells.parameters[r] + column * layout.stride[0] + lane] = value


def parameters_now(model: Model, state: State, block: ConstraintBlock) -> np.ndarray:
    """Parameters of a block as they are now, (M, width): a copy where systems change some of them."""
    changing = [system for system in model.systems if system.changes_parameters(model, block)]
    if not changing:
        return block.parameters
    parameters = block.parameters.copy()
    for system in changing:
        system.update_parameters(model, state, block, parameters)
    return parameters
