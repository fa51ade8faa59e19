"""Base class of effects on fluids beside the pressure."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, real

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.system import Fluid


class Coefficients(Record):
    """A number of each fluid."""

    value = Field(real)


def coefficients(values: np.ndarray, precision: type) -> Coefficients:
    """A number of each fluid as a record."""
    return Coefficients(precision, value=np.ascontiguousarray(values, precision))


class Effect:
    """A change of positions or velocities of the particles of a fluid.

    Every class below this one that has a `field` is an effect, at whatever depth. One that is derived from another
    effect and has the same field replaces it; a base class that effects share has no field.

    Attributes:
        field: Name of a number in `FluidMaterial`. The effect takes part if that is above zero in one of the fluids of
            the scene; zero, a negative number and False mean none.
        phase: `"force"`: adds to the velocities that move the particles at the start of a substep; `"position"`:
            changes the positions after that; `"velocity"`: changes the velocities at the end.
        order: Place among the effects of its phase.
        of_air: Whether there is none without wind.
        of_grains: Whether there is none without grains.
    """

    field: str
    phase: str
    order: int
    of_air = of_grains = False

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        """Bind the effect to fluids; h is the substep [s], real the type of the arrays."""

    def begin(self, fluid: "Fluid", ends: np.ndarray) -> None:
        """A step begins whose substeps have these ends [s]; called once a step, whatever the phase of the effect."""

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Record the change of `fluid.rows`."""
        raise NotImplementedError
