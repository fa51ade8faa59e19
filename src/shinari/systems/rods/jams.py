"""Rods that would jam where they are wound on themselves, and a warning of it.

Contacts alternate with the rows of a rod: a point of mass m that is pressed with a force F is stretched away from its
neighbours by F h^2 / m in each substep. Strands of a radius r that are wound around each other bend by 1 / (2 r) at
most, and press with E I / (8 r^3) = pi E r / 32 per length. With m = rho pi r^2 l the strain by a substep is

    X = E h^2 / (32 k rho r l),       l: length of a segment      k: iterations

Measured with rods of 0.6 m, a radius of 4 mm, E = 0.2 to 2 MPa, 48 and 64 segments, 5 and 6 turns, in which the ends
approach by 0.24 m:

    X                     0.07   0.12   0.13   0.22   0.29   1.1   4.6
    longest segment [%]      7      3      9      5     20    61    81

At 4.6 a rod had 18 times the energy that it has at 0.07, at 1.1 8 times, at 0.29 1.7 times, at 0.13 1.1 times. What is
not wound that tightly stretches less, so only rods with two clamped frames are told, into which turns can be put. The
outermost fibres of strands that are wound so are stretched by half: only what is as soft as rubber can be.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import ContactWarning, warn_of_several
from shinari.model.system_model import BoundSystems
from shinari.scene.rod_material import RodMaterial

if TYPE_CHECKING:
    from shinari.systems.rods.model import RodModel

# Strain of a substep from which on it is told, and one that is small enough.
TOLD, ENOUGH = 0.5, 0.12
# Young's modulus [Pa] up to which a material is as soft as rubber.
SOFT = 1e8


def warn_of_jams(bound: BoundSystems, rods: "RodModel") -> None:
    """Warn of rods with self-contact that would jam if they were wound on themselves by their ends.

    Warns:
        ContactWarning: There are such; the message names the rod, and says how many substeps are enough.
    """
    settings, found = bound.settings, []
    objects = [obj for obj in bound.scene.particle_objects if obj.rod is not None]
    for obj, (begin, end) in zip(objects, rods.bounds, strict=True):
        material = obj.material
        wound = obj.self_collision is not None and rods.clamped[begin:end].sum() >= 2
        if not wound or not isinstance(material, RodMaterial) or material.youngs_modulus > SOFT:
            continue
        length = float(np.median(rods.lengths[begin:end]))
        strain = material.youngs_modulus * settings.substep**2
        strain /= 32.0 * settings.iterations * material.density * material.radius * length
        if strain > TOLD:
            enough = math.ceil(settings.substeps * math.sqrt(strain / ENOUGH))
            found.append((strain, f"rod {obj.name!r} wants {enough} substeps in place of {settings.substeps}"))
    warn_of_several(
        found,
        ContactWarning,
        "with fewer, turns at its clamped ends that wind it tightly on itself jam it, stretched, with many times its "
        "energy; fewer segments want fewer substeps",
    )
