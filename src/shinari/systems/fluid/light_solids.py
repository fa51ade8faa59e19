"""Fluids on soft bodies and on held cloth: a warning where a substep is too long for them.

A substep solves the fluid and then what it touches, and neither knows what the other will give way by. The weight of a
layer of fluid moves a soft body of the same thickness by g h^2 times the ratio of their densities, in spacings by

    D = g h^2 rho_f / (rho_s s)            s: spacing of the fluid

Measured for 16 cm of fluid on a body of 10 cm in a tank, spacings of 2 to 5 cm, edges of 2.5 to 5 cm, Young's moduli of
20 and 200 kPa, densities of 2000 to 100 kg/m^3 under 1000, 2 to 40 substeps, in sizes four times larger and smaller,
and with a body that is narrower than the tank: with D up to 0.002 the body moves as with many substeps, at 0.3 to
2 m/s; from 0.0036 on it is at times shaken at 2 to 30 m/s, and from 0.015 on nearly always.

Cloth of the mass m per area is moved by

    D = g h^2 rho_f / m

and where it is held its rows throw the fluid back. Measured for 10 to 32 cm of fluid that fall by 2 cm on sheets of
0.5 m with cells of 2 to 5 cm, held at their edges, 0.2 to 2 kg/m^2, spacings of 2 to 4 cm, 7 to 80 substeps: with D up
to 0.007 particles are faster than a free fall explains by 5 m/s at most, from 0.012 on by 2 to 68, from 0.03 on by 11
to 260. On cloth that lies on the ground or floats it is 3 m/s at most, with D of 0.14 as well.
"""

import math

import numpy as np

from shinari.errors import FluidWarning, warn
from shinari.model.system_model import BoundSystems
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.materials import ClothMaterial
from shinari.scene.objects import ParticleObject
from shinari.scene.soft_material import SoftMaterial

# Displacement that is told, and the one up to which a soft body or a held cloth is calm, in spacings.
SHAKEN, CALM = 0.0035, 0.002
SHAKEN_CLOTH, CALM_CLOTH = 0.012, 0.006
SOFT_BODY = "soft body"


def warn_of_light_solids(bound: BoundSystems) -> None:
    """Warn of the soft body or held cloth that is shaken most by a fluid above or below it.

    Warns:
        FluidWarning: There is one; the message names both, and says how many substeps are enough.
    """
    objects, held, tied = bound.scene.particle_objects, bound.model.held, _tied(bound)
    fall = float(np.linalg.norm(bound.model.gravity)) * bound.settings.substep**2
    worst, moved, calm, names = 1.0, 0.0, CALM, ("", "", "")
    for fluid in objects:
        for number, solid in enumerate(objects):
            one, sampling = fluid.material, fluid.sampling
            if (
                isinstance(one, FluidMaterial)
                and sampling is not None
                and (solid.masses > 0.0).any()
                and not held[bound.model.owners == number].all()
                and {fluid.name, solid.name} not in bound.scene.ignored
                and _one_above_other(fluid.positions, solid.positions, bound.model.gravity)
            ):
                kind, thickness, most, enough = _lightness(solid, sampling.spacing, bool(tied[number]))
                share = fall * one.rest_density / thickness
                if share / most > worst:
                    worst, moved, calm, names = share / most, share, enough, (fluid.name, kind, solid.name)
    if worst > 1.0:
        fluid_name, kind, name = names
        coarser = "a larger spacing " if kind == SOFT_BODY else ""
        substeps = math.ceil(bound.settings.substeps * math.sqrt(moved / calm))
        warn(
            f"fluid {fluid_name!r} shakes the {kind} {name!r} where it lies on it: its weight moves the {kind} "
            f"by {moved:.2g} spacings in a substep; take {substeps} substeps, {coarser}or a denser {name!r}",
            FluidWarning,
        )


def _tied(bound: BoundSystems) -> np.ndarray:
    """Objects that are pinned somewhere, or attached to a place, a body or another object, (O,) bool."""
    model = bound.model
    tied = np.zeros(len(bound.scene.particle_objects), bool)
    tied[model.owners[model.held]] = True
    for rows in bound.scene.body_rows:
        tied[model.owners[model.slots[rows.particles]]] = True
    for block in model.blocks.values():
        owners = model.owners[block.indices]
        tied[owners[(owners != owners[:, :1]).any(axis=1)]] = True
    return tied


def _lightness(solid: ParticleObject, spacing: float, held: bool) -> tuple[str, float, float, float]:
    """What a solid is, its mass per area of a layer [kg/m^2], and the displacements that shake it and do not."""
    if isinstance(solid.material, SoftMaterial):
        return SOFT_BODY, solid.material.density * spacing, SHAKEN, CALM
    if isinstance(solid.material, ClothMaterial) and held:
        return "cloth", solid.material.density, SHAKEN_CLOTH, CALM_CLOTH
    return "", math.inf, SHAKEN, CALM


def _one_above_other(points: np.ndarray, others: np.ndarray, gravity: np.ndarray) -> bool:
    """Whether the bounds of points (N, 3) and others (M, 3) overlap along both axes across gravity."""
    level = np.argsort(np.abs(gravity))[:2]
    begins, ends = (points.min(axis=0), others.min(axis=0)), (points.max(axis=0), others.max(axis=0))
    return bool((np.maximum(*begins) <= np.minimum(*ends))[level].all())
