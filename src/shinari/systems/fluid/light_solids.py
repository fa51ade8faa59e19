"""Fluids on soft bodies: a warning where a substep is too long for them.

A substep solves the fluid and then what it touches, and neither knows what the other will give way by. The weight of a
layer of fluid moves a soft body of the same thickness by g h^2 times the ratio of their densities, in spacings by

    D = g h^2 rho_f / (rho_s s)            s: spacing of the fluid

Measured for 16 cm of fluid on a body of 10 cm in a tank, spacings of 2 to 5 cm, edges of 2.5 to 5 cm, Young's moduli of
20 and 200 kPa, densities of 2000 to 100 kg/m^3 under 1000, 2 to 40 substeps, in sizes four times larger and smaller,
and with a body that is narrower than the tank: with D up to 0.002 the body moves as with many substeps, at 0.3 to
2 m/s; from 0.0036 on it is at times shaken at 2 to 30 m/s, and from 0.015 on nearly always.

Cloth carries fluids by further sweeps and as if it were heavier: `shinari.systems.surface_contact.heavy_loads`.
"""

import math

import numpy as np

from shinari.errors import FluidWarning, warn
from shinari.model.system_model import BoundSystems
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.soft_material import SoftMaterial
from shinari.systems.surface_contact.heavy_loads import one_above_other

# Displacement that is told, and the one up to which a soft body is calm, in spacings.
SHAKEN, CALM = 0.0035, 0.002


def warn_of_light_solids(bound: BoundSystems) -> None:
    """Warn of the soft body that is shaken most by a fluid above or below it.

    Warns:
        FluidWarning: There is one; the message names both, and says how many substeps are enough.
    """
    objects, held = bound.scene.particle_objects, bound.model.held
    fall = float(np.linalg.norm(bound.model.gravity)) * bound.settings.substep**2
    moved, names = SHAKEN, ("", "")
    for fluid in objects:
        for number, solid in enumerate(objects):
            one, sampling, other = fluid.material, fluid.sampling, solid.material
            if (
                isinstance(one, FluidMaterial)
                and sampling is not None
                and isinstance(other, SoftMaterial)
                and (solid.masses > 0.0).any()
                and not held[bound.model.owners == number].all()
                and {fluid.name, solid.name} not in bound.scene.ignored
                and one_above_other(fluid.positions, solid.positions, bound.model.gravity)
            ):
                share = fall * one.rest_density / (other.density * sampling.spacing)
                if share > moved:
                    moved, names = share, (fluid.name, solid.name)
    if moved > SHAKEN:
        fluid_name, name = names
        substeps = math.ceil(bound.settings.substeps * math.sqrt(moved / CALM))
        warn(
            f"fluid {fluid_name!r} shakes the soft body {name!r} where it lies on it: its weight moves the soft body "
            f"by {moved:.2g} spacings in a substep; take {substeps} substeps, a larger spacing or a denser {name!r}",
            FluidWarning,
        )
