"""Loads of particles on cloth: how many sweeps they ask for, and a warning when a sheet cannot carry them.

A substep h with one sweep leaves a sheet with a strain, since the pull of a row comes from what it is too long:

    S1 = 1.5 g h^2 N L / (m A^(1/2))        L: mass of the load      m, N, A: mass, free particles, area of the sheet

and the weight of a grain moves the particles beneath it, which the sheet takes back in the next substep, by

    D1 = M g h^2 / (n m_p r)                M, r: mass and radius of the grain      m_p: mass of a particle
                                            n: particles on its cross section, at least the three of a triangle

in its radii. K sweeps over rows and contacts leave S1 / K and D1 / K, and so does a sheet that is K times as heavy.
Measured for 128 grains of 15 and 45 mm on a sheet of 0.6 m that is held at its edges, M / m_p of 39 to 10,000, 15 to
170 cells and 5 to 20 substeps: the factor 1.5 holds within a fifth. With a strain of 0.25 left a load comes to rest; at
0.7 it does, too, but as it lands particles are thrown about at up to 25 m/s; at 1.3 at 100 m/s, and grains pass.

Mass counts for more than sweeps, since sheet and load take turns once a pass. The weight of a layer of particles, which
fill cubes of their size, moves the sheet, in that size, by

    D = g h^2 rho / m                       rho: density of the load      m: mass of the sheet per area

and a sheet that is held throws the load back. Measured for 10 to 32 cm of fluid on sheets of 0.5 m of 10 to 50 cells,
held at their edges or corners, D of 0.002 to 100: by up to 1,500 m/s with D of 0.03 to 0.5 as they are. So a sheet
moves as if it were as heavy as D of `JOLT` needs, within the same part of its load: then no particle is faster by 5 m/s
than a fall explains, until that part leaves a D of 0.04. Soft bodies, lumps, ropes, rods and loose particles of 500 and
3000 kg/m^3 on such sheets, 5 and 20 substeps, are at 6 m/s at most in place of 2 to 250.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from shinari.errors import ContactWarning, warn
from shinari.geometry.topology import face_normals_areas
from shinari.model.model import Model
from shinari.model.system_model import BoundSystems
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.objects import ParticleObject
from shinari.scene.soft_material import SoftMaterial
from shinari.systems.surface_contact.build import Participants

# Strain that the sweeps leave, and displacement beneath a grain in its radii.
STRAIN, DENT = 0.1, 0.02
# Loads that a sheet may carry that is not held anywhere: it may be draped over something.
POURED = "grains", "fluid"
# Sweeps that a sheet takes as it is; then it is heavier by up to a part of the load; then come sweeps again.
SWEEPS, SHARE, MOST_SWEEPS = 2.0, 0.3, 40.0
# Displacement of a sheet by the weight of a layer of particles in a substep, in their size.
JOLT = 0.002
# Part of a sheet that a load has to cover for that; what covers less is told by the dent of a particle.
COVERS = 0.1
# Time over which a load that has left is forgotten, over that of a fall by the side of the sheet (L / g)^(1/2).
MEMORY = 0.5
# A load that asks for so many times more than all this is told.
CARRIED = 0.5
# Least number of particles that carry a grain.
CARRIERS = 3.0


@dataclass(frozen=True)
class Carrier:
    """A cloth that may carry particles of other objects.

    Attributes:
        number: Its number.
        mass: Mass of its free particles [kg].
        load: Mass of all grains that may touch it, and, where it is held, of what is above or beneath it [kg].
        strain: Sweeps for the strain by a load of its own mass.
        dent: Sweeps for the heaviest particle.
        jolt: How much heavier it moves for the weight of a layer of its loads.
        share: Part of its load by which it may be heavier; 0 where it is not held.
        least: Sweeps as its load goes down, at least; one where bodies hold it, whose attachments are not swept.
        memory: Time over which a load that has left is forgotten [s].
        heaviest: Number of the object with the heaviest particle.
        ratio: Mass of that one over that of a particle of the sheet.
    """

    number: int
    mass: float
    load: float
    strain: float
    dent: float
    jolt: float
    share: float
    memory: float
    heaviest: int
    ratio: float
    least: float = SWEEPS


def sheet_sweeps(fall: float, count: int, area: float) -> float:
    """Sweeps for the strain of a sheet by a load of its own mass; `fall`: g h^2 [m], area [m^2]."""
    return 1.5 * fall * count / (math.sqrt(area) * STRAIN)


def sheet_area(sheet: ParticleObject) -> float:
    """Area of a sheet [m^2]; 0 of what is no sheet."""
    return 0.0 if sheet.faces is None else float(face_normals_areas(sheet.positions, sheet.faces)[1].sum())


def load_memory(area: float, g: float) -> float:
    """Time over which a load that has left a sheet of an area [m^2] is forgotten [s]."""
    return MEMORY * math.sqrt(math.sqrt(area) / g) if g > 0.0 else 0.0


def carriers(bound: BoundSystems, who: Participants, loads: np.ndarray, sheets: np.ndarray) -> list[Carrier]:
    """The cloths of a scene that may carry something.

    Args:
        bound: The simulation.
        who: What can be in contact.
        loads: Which objects a cloth may carry, (T,) bool.
        sheets: Which are cloth, (T,) bool.
    """
    objects, found = bound.scene.particle_objects, []
    held, by_bodies = _held(bound)
    for number in np.flatnonzero(sheets).tolist():
        members = who.members[number]
        if members is None or who.loose[number] or objects[number].faces is None:
            continue
        masses = _masses(bound.model, members)
        others = [k for k in np.flatnonzero(loads).tolist() if who.members[k] is not None and objects[k].radii.any()]
        others = [k for k in others if who.may_collide(k, number) and (held[number] or objects[k].kind in POURED)]
        if len(masses) > 0 and others:
            carrier = _carrier(bound, number, masses, others, who.edge_length, held[number])
            found.append(replace(carrier, least=1.0) if by_bodies[number] else carrier)
    return found


def _held(bound: BoundSystems) -> tuple[np.ndarray, np.ndarray]:
    """Objects that are pinned somewhere or attached to something, (O,) bool, and those that are to a rigid body."""
    model = bound.model
    held = np.zeros(len(bound.scene.particle_objects), bool)
    by_bodies = held.copy()
    for rows in bound.scene.body_rows:
        by_bodies[model.owners[model.slots[rows.particles]]] = True
    held[model.owners[model.held]] = True
    for block in model.blocks.values():
        owners = model.owners[block.indices]
        held[owners[(owners != owners[:, :1]).any(axis=1)]] = True
    return held | by_bodies, by_bodies


def _carrier(
    bound: BoundSystems, number: int, masses: np.ndarray, others: list[int], edge: float, held: bool
) -> Carrier:
    """What a cloth needs: masses of its free particles [kg], numbers of what it may carry, a typical edge [m]."""
    objects, g = bound.scene.particle_objects, float(np.linalg.norm(bound.model.gravity))
    fall = g * bound.settings.substep**2
    sheet, heaviest = objects[number], max(others, key=lambda k: float(objects[k].masses.max()))
    weight, light = float(objects[heaviest].masses.max()), float(np.median(masses))
    radius, mass = 0.5 * _size(objects[heaviest]), float(masses.sum())
    beneath = max(CARRIERS, math.pi * (radius / edge) ** 2)
    area = sheet_area(sheet)
    return Carrier(
        number=number,
        mass=mass,
        load=sum(float(objects[k].masses.sum()) for k in others if _counts(bound, objects[k], sheet, held)),
        strain=sheet_sweeps(fall, len(masses), area),
        dent=weight / light * fall / (beneath * radius * DENT),
        jolt=fall * max(_layer(objects[k], area) for k in others) * area / (mass * JOLT) if held else 0.0,
        share=SHARE if held else 0.0,
        memory=load_memory(area, g),
        heaviest=heaviest,
        ratio=weight / light,
    )


def warn_of_heavy_loads(bound: BoundSystems, found: list[Carrier]) -> None:
    """Warn of the heaviest load that a cloth will not carry.

    Warns:
        ContactWarning: There is one; the message names both objects, and says how many substeps are enough.
    """
    worst, loaded = CARRIED, None
    for each in found:
        load = each.load / each.mass
        missing = max(each.strain * load, each.dent, each.jolt) / (MOST_SWEEPS * (1.0 + SHARE * load))
        if load > 0.0 and missing > worst:
            worst, loaded = missing, each
    if loaded is not None:
        objects = bound.scene.particle_objects
        enough = math.ceil(bound.settings.substeps * math.sqrt(worst / CARRIED))
        one, other = objects[loaded.heaviest].name, objects[loaded.number].name
        warn(
            f"the load of {one!r} on {other!r} is {loaded.load / loaded.mass:.3g} times its mass, and one particle "
            f"{loaded.ratio:.3g} times as heavy as one of {other!r}: the sheet will stretch far; "
            f"take {enough} substeps, or a heavier or coarser {other!r}",
            ContactWarning,
        )


def one_above_other(points: np.ndarray, others: np.ndarray, gravity: np.ndarray) -> bool:
    """Whether the bounds of points (N, 3) and others (M, 3) overlap along both axes across gravity."""
    level = np.argsort(np.abs(gravity))[:2]
    begins, ends = (points.min(axis=0), others.min(axis=0)), (points.max(axis=0), others.max(axis=0))
    return bool((np.maximum(*begins) <= np.minimum(*ends))[level].all())


def _counts(bound: BoundSystems, load: ParticleObject, sheet: ParticleObject, held: bool) -> bool:
    """Whether a load may be too heavy: grains are poured from anywhere, other objects may stay beside the sheet."""
    above = one_above_other(load.positions, sheet.positions, bound.model.gravity)
    return load.kind == "grains" or (held and above)


def _density(load: ParticleObject) -> float:
    """Density of a load [kg/m^3], of particles that fill cubes of their diameter."""
    if isinstance(load.material, FluidMaterial):
        return load.material.rest_density
    if isinstance(load.material, SoftMaterial):
        return load.material.density
    return float(load.masses.max() / (2.0 * load.radii.max()) ** 3)


def _layer(load: ParticleObject, area: float) -> float:
    """Density of a load in a layer over a sheet of an area, as far as it covers it [kg/m^3]; 0 where that is little."""
    covers = float(load.masses.sum()) / (_density(load) * _size(load) * area)
    return _density(load) * min(covers, 1.0) if covers >= COVERS else 0.0


def _size(load: ParticleObject) -> float:
    """Size of the heaviest particle of a load [m]."""
    return float(load.masses.max() / _density(load)) ** (1.0 / 3.0)


def _masses(model: Model, members: np.ndarray) -> np.ndarray:
    """Masses of the free ones among some particles [kg], (K,)."""
    inverse = model.inverse_masses[members].astype(np.float64)
    return 1.0 / inverse[inverse > 0.0]
