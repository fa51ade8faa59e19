"""Rows that tear or flow under less than the load that their strain stands for, and a warning of it.

Rows are judged by how far they are stretched. A sweep leaves a row as soft as if it had a compliance of about
3 h (h + b) / m more, with the mass m of its particles, the substep h and the damping time b, so under a load it reaches
its strain at this part of what its own compliance stands for, after k iterations:

    1 / (1 + 3 h (h + b) / (k t^2)),    t^2 = compliance x m of a row,  density x edge^2 / E of a tetrahedron

and t is the time of a wave from one particle to the next. Measured with weights that grow within 6 s, on strips of 5
x 11 and 9 x 21 vertices, ropes of 20 and 50 segments and bars of tetrahedra, 5 to 80 substeps, 1 to 4 iterations,
with and without damping: within 0.1 of this part, or above it. It does not fall below 0.12.

An object that is pulled to a length, and not by a load, tears and flows at its strain.
"""

import math
from collections.abc import Iterable

import numpy as np

from shinari.errors import FailureWarning, warn
from shinari.model.model import ConstraintBlock
from shinari.model.system_model import BoundSystems
from shinari.scene.objects import ParticleObject
from shinari.scene.soft_material import SoftMaterial

# Compliance that a sweep leaves, in h (h + b) / m.
SWEPT = 3.0
# Part of the load below which it is told, one that is near to the whole, and the least that is found.
TOLD, ENOUGH, LEAST = 0.5, 0.9, 0.12


def warn_of_early_failure(bound: BoundSystems, rows: Iterable[tuple[str, np.ndarray]], asked: str) -> None:
    """Warn of each object with rows that reach a strain under less than half of the load that it stands for.

    Args:
        bound: The simulation.
        rows: Names of blocks, and rows of them that are judged by the strain, (K,).
        asked: Name of the strain: `tear_strain` or `yield_strain`.

    Warns:
        FailureWarning: There are such; the message names the object, and says how many substeps are enough.
    """
    if bound.settings.method != "xpbd":
        return
    shortest: dict[int, float] = {}
    for name, which in rows:
        block = bound.model.blocks[name]
        owner = int(bound.model.owners[block.indices[which[0], 0]])
        square = _square_time(bound, block, which, bound.scene.particle_objects[owner])
        shortest[owner] = min(square, shortest.get(owner, math.inf))
    for owner, square in shortest.items():
        _warn_of_one(bound, bound.scene.particle_objects[owner], square, asked)


def _square_time(bound: BoundSystems, block: ConstraintBlock, rows: np.ndarray, obj: ParticleObject) -> float:
    """Square of the time of a wave through one element [s^2]; infinity where all particles are pinned."""
    material = obj.material
    if isinstance(material, SoftMaterial):
        inverse = block.parameters[rows, :9].reshape(-1, 3, 3).astype(np.float64)
        edges = np.abs(np.linalg.det(inverse)) ** (-1.0 / 3.0)
        return material.density * float(np.median(edges)) ** 2 / material.youngs_modulus
    inverse_mass = 0.5 * bound.model.inverse_masses[block.indices[rows]].astype(np.float64).sum(axis=1)
    free = inverse_mass > 0.0
    compliance = block.compliance[rows, 0].astype(np.float64)
    return float(np.median(compliance[free] / inverse_mass[free])) if free.any() else math.inf


def _warn_of_one(bound: BoundSystems, obj: ParticleObject, square: float, asked: str) -> None:
    settings, damping = bound.settings, float(getattr(obj.material, "damping", 0.0))
    does, kind = "tears" if asked == "tear_strain" else "flows", "soft body" if obj.kind == "soft" else obj.kind
    label = f"{kind} {obj.name!r}"
    if square == 0.0:
        warn(
            f"{label}: {asked} stands for no load, since its stretch_compliance is 0: under one it {does} where the "
            f"sweeps leave it stretched, which depends on the substeps; give it a stretch_compliance above 0",
            FailureWarning,
        )
        return
    square *= settings.iterations
    part = 1.0 / (1.0 + SWEPT * settings.substep * (settings.substep + damping) / square)
    if part < TOLD:
        swept = square * (1.0 / ENOUGH - 1.0) / SWEPT
        enough = math.ceil(settings.dt / (0.5 * (math.sqrt(damping**2 + 4.0 * swept) - damping)))
        warn(
            f"{label} {does} under about {100.0 * max(part, LEAST):.0f} % of the load that its {asked} stands for: it "
            f"is too stiff and light for {settings.substeps} substeps; take {enough} of them, or a coarser, heavier or "
            f"more compliant {kind}{' with less damping' if damping > 0.0 else ''}",
            FailureWarning,
        )
