"""Fluids on soft bodies: a warning where a substep is too long for them.

A substep solves the fluid and then what it touches, and neither knows what the other will give way by. The weight of a
layer of fluid moves a soft body of the same thickness by g h^2 times the ratio of their densities, in spacings by

    D = g h^2 rho_f / (rho_s s)            s: spacing of the fluid

Measured for 16 cm of fluid on a body of 10 cm in a tank, spacings of 2 to 5 cm, edges of 2.5 to 5 cm, Young's moduli of
20 and 200 kPa, densities of 2000 to 100 kg/m^3 under 1000, 2 to 40 substeps, in sizes four times larger and smaller,
and with a body that is narrower than the tank: with D up to 0.002 the body moves as with many substeps, at 0.3 to
2 m/s; from 0.0036 on it is at times shaken at 2 to 30 m/s, and from 0.015 on nearly always.
"""

import math

import numpy as np

from shinari.errors import FluidWarning, warn
from shinari.model.system_model import BoundSystems
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.soft_material import SoftMaterial

# Displacement that is told, and the one up to which a body is calm, in spacings.
SHAKEN, CALM = 0.0035, 0.002


def warn_of_soft_bodies(bound: BoundSystems) -> None:
    """Warn of the soft body that is shaken most by a fluid above or below it.

    Warns:
        FluidWarning: There is one; the message names both, and says how many substeps are enough.
    """
    objects, found = bound.scene.particle_objects, []
    fall = float(np.linalg.norm(bound.model.gravity)) * bound.settings.substep**2
    for fluid in objects:
        for body in objects:
            one, other = fluid.material, body.material
            if (
                isinstance(one, FluidMaterial)
                and isinstance(other, SoftMaterial)
                and fluid.sampling is not None
                and (body.masses > 0.0).any()
                and {fluid.name, body.name} not in bound.scene.ignored
                and _one_above_other(fluid.positions, body.positions, bound.model.gravity)
            ):
                moved = fall * one.rest_density / (other.density * fluid.sampling.spacing)
                found.append((moved, fluid.name, body.name))
    moved, fluid_name, body_name = max(found, default=(0.0, "", ""))
    if moved > SHAKEN:
        enough = math.ceil(bound.settings.substeps * math.sqrt(moved / CALM))
        warn(
            f"fluid {fluid_name!r} shakes the soft body {body_name!r} where it lies on it: its weight moves the body "
            f"by {moved:.2g} spacings in a substep; take {enough} substeps, a larger spacing or a denser {body_name!r}",
            FluidWarning,
        )


def _one_above_other(points: np.ndarray, others: np.ndarray, gravity: np.ndarray) -> bool:
    """Whether the bounds of points (N, 3) and others (M, 3) overlap along both axes across gravity."""
    level = np.argsort(np.abs(gravity))[:2]
    begins, ends = (points.min(axis=0), others.min(axis=0)), (points.max(axis=0), others.max(axis=0))
    return bool((np.maximum(*begins) <= np.minimum(*ends))[level].all())
