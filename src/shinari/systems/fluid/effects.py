"""What acts on fluids beside the pressure, and when.

Forces move the particles at the start of a substep, where they have come by their velocities: what a force presses into
a fluid is then undone by the pressure of the same substep and leaves no velocity, and oscillations that the substep
does not resolve are damped. What changes velocities comes at the end: weight, confinement and drag, then what smooths.
The weight of the air does not oscillate, and a velocity takes it more exactly than a position does.
"""

from typing import TYPE_CHECKING

from shinari.compute import Program, kernel, real
from shinari.systems.fluid.adhesion import Adhesion
from shinari.systems.fluid.air import Buoyancy, Drag
from shinari.systems.fluid.effect import Effect
from shinari.systems.fluid.gather import move
from shinari.systems.fluid.records import FluidParticles
from shinari.systems.fluid.tensile import Tensile
from shinari.systems.fluid.tension import Tension
from shinari.systems.fluid.viscosity import Viscosity, Xsph
from shinari.systems.fluid.vorticity import Vorticity

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.system import Fluid


# By the field of the material that asks for them, in their order.
FORCES = {"surface_tension": Tension, "adhesion": Adhesion}
EFFECTS = {"ambient_density": Buoyancy, "vorticity": Vorticity, "air_drag": Drag, "viscosity": Viscosity, "xsph": Xsph}


@kernel
def clear_velocity(i, fluid: FluidParticles, zero: real):
    """Forces begin with no velocity."""
    fluid.v[i] = zero, zero, zero


@kernel
def follow_velocity(i, fluid: FluidParticles, h: real):
    """Displacement by a velocity in a substep."""
    v = fluid.v[i]
    fluid.displacement[i] = h * v[0], h * v[1], h * v[2]


class Forces(Effect):
    """Moves the particles by what forces add to their velocities in a substep."""

    def __init__(self, forces: list[Effect], h: float) -> None:
        self._forces, self._h = forces, h

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the positions."""
        p.launch(clear_velocity, fluid.rows, 0.0, count=fluid.count)
        for force in self._forces:
            force.record(p, fluid)
        p.launch(follow_velocity, fluid.rows, self._h, count=fluid.count)
        p.launch(move, fluid.rows, fluid.particles, count=fluid.count)


def forces_of(fluids: "FluidModel", h: float, real: type) -> list[Effect]:
    """What moves the particles at the start of a substep; h: substep [s]."""
    forces: list[Effect] = [force(fluids, h, real) for field, force in FORCES.items() if _asked(fluids, field)]
    pushes: list[Effect] = [Forces(forces, h)] if forces else []
    return pushes + ([Tensile(fluids, real)] if _asked(fluids, "tensile_correction") else [])


def effects_of(fluids: "FluidModel", h: float, real: type, windy: bool) -> list[Effect]:
    """What changes velocities at the end of a substep.

    Args:
        fluids: The fluids.
        h: Substep [s].
        real: Type of the arrays.
        windy: Whether the scene has air; without it there is no drag.
    """
    asked = {field: effect for field, effect in EFFECTS.items() if _asked(fluids, field)}
    return [effect(fluids, h, real) for effect in asked.values() if windy or effect is not Drag]


def _asked(fluids: "FluidModel", field: str) -> bool:
    return any(getattr(material, field) > 0.0 for material in fluids.materials)
