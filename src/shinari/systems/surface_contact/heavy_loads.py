"""Loads of grains that a cloth cannot carry at the substeps that are taken: a warning when a simulation is built.

Constraints and contacts are solved in turns. In a substep the weight of a ball moves the particles of the sheet beneath
it by

    d = M g h^2 / (n m)        M, m: mass of the ball and of a particle of the sheet
                               n: particles on the cross section of the ball, at least three, those of a triangle

and the sheet takes that back in the next one. Measured for 128 balls of 15 and 45 mm on a sheet that is held at its
edges, M / m of 78 to 942 and 6 to 40 substeps: with d up to 0.06 radii none passes, and they rest after 2 s at 0.05; at
0.1 none passes, but the sheet is stretched as they land; with 0.14 and more they pass or are thrown off.
"""

import math

import numpy as np

from shinari.errors import ContactWarning, warn
from shinari.model.model import Model
from shinari.model.system_model import BoundSystems
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.loose import MANY, loose_pairs

# Displacement of the sheet by the weight of a ball in a substep, in radii of the ball, above which there is a warning.
CARRIED = 0.08
# Least number of particles that carry a ball.
CARRIERS = 3.0


def warn_of_heavy_loads(bound: BoundSystems, who: Participants) -> None:
    """Warn of the heaviest load of grains that a cloth will not carry; single balls rest at fewer substeps.

    Warns:
        ContactWarning: There is one; the message names both, and says how many substeps are enough.
    """
    model, objects, h = bound.model, bound.scene.particle_objects, bound.settings.substep
    pairs = loose_pairs(who)
    pairs = [
        (first, second)
        for first, second in (pairs if len(pairs) <= MANY else ())
        if objects[first].kind == "grains" and objects[second].kind == "cloth"
    ]
    worst, both = CARRIED, None
    for first, second in pairs:
        ball, weight = _extreme(model, who, first, heaviest=True)
        thread, light = _extreme(model, who, second, heaviest=False)
        if ball >= 0 and thread >= 0:
            carriers = max(CARRIERS, math.pi * (float(model.radii[ball]) / who.edge_length) ** 2)
            moved = weight / (carriers * light) * float(np.linalg.norm(model.gravity)) * h**2
            part = moved / float(model.radii[ball])
            if part > worst:
                worst, both = part, (first, second, weight / light)
    if both is not None:
        first, second, ratio = both
        enough = math.ceil(bound.settings.substeps * math.sqrt(worst / CARRIED))
        one, other = objects[first].name, objects[second].name
        warn(
            f"a grain of {one!r} is {ratio:.3g} times as heavy as one of {other!r}: its weight moves the sheet by "
            f"{worst:.2g} of its radius in a substep, and it may pass; take {enough} substeps, or a heavier or coarser "
            f"{other!r}",
            ContactWarning,
        )


def _extreme(model: Model, who: Participants, number: int, heaviest: bool) -> tuple[int, float]:
    """Heaviest free particle of an object, or a typical one, and its mass [kg]; -1 where none can move."""
    members = who.members[number]
    assert members is not None, "pairs are those of objects that take part"
    free = members[model.inverse_masses[members] > 0.0]
    if len(free) == 0:
        return -1, 0.0
    order = np.argsort(model.inverse_masses[free], kind="stable")
    at = free[order[0 if heaviest else len(order) // 2]]
    return int(at), 1.0 / float(model.inverse_masses[at])
