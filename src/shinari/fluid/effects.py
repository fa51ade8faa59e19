"""What changes the velocities of fluids, in the order in which it does: forces first, then what smooths."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from shinari.fluid.adhesion import Adhesion
from shinari.fluid.air import Buoyancy, Drag
from shinari.fluid.tension import Tension
from shinari.fluid.viscosity import Viscosity, Xsph
from shinari.fluid.vorticity import Vorticity

if TYPE_CHECKING:
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

# By the field of the material that asks for them.
EFFECTS = {
    "ambient_density": Buoyancy,
    "surface_tension": Tension,
    "adhesion": Adhesion,
    "vorticity": Vorticity,
    "air_drag": Drag,
    "viscosity": Viscosity,
    "xsph": Xsph,
}


def effects_of(fluids: "FluidModel", h: float, real: type, windy: bool) -> list[Callable[["Fluid", int], None]]:
    """The effects that the materials of a scene ask for.

    Args:
        fluids: The fluids.
        h: Substep [s].
        real: Type of the arrays.
        windy: Whether the scene has air; without it there is no drag.
    """
    return [
        effect(fluids, h, real)
        for field, effect in EFFECTS.items()
        if any(getattr(material, field) > 0.0 for material in fluids.materials) and (windy or effect is not Drag)
    ]
