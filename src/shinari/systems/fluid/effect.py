"""What effects on fluids beside the pressure have in common."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, real

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid


class Coefficients(Record):
    """A number of each fluid."""

    value = Field(real)


def coefficients(values: np.ndarray, precision: type) -> Coefficients:
    """A number of each fluid as a record."""
    return Coefficients(precision, value=np.ascontiguousarray(values, precision))


class Effect:
    """Something that changes positions or velocities of the particles of a fluid."""

    def begin(self, fluid: "Fluid", ends: np.ndarray) -> None:
        """A step begins whose substeps have these ends [s]."""

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Record the change of `fluid.rows`."""
        raise NotImplementedError
