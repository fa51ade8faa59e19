"""Loads of bodies on cloth and ropes: how many sweeps they ask for, and a warning when these cannot carry them.

The strain that a sweep leaves in a sheet is that of `shinari.systems.surface_contact.heavy_loads`. In a rope of N free
points, mass m and length L, under a mass M, it is 2 T h^2 / m_p over the length of a segment, with T = M g / 2:

    S1 = M g h^2 N^2 / (m L)

And the weight of a body moves the n particles beneath it, which the sheet takes back in the next substep, by

    D1 = M g h^2 / (n m_p)

A sweep leaves a row of two particles as soft as if it had a compliance of 2 h^2 / m_p. What a material asks for is
elastic where it comes near to that; where it is far less, a sheet should give nothing back.

Measured for boxes and balls of 6 to 24 cm on sheets of 0.6 m with edges of 1.5 and 3 cm, held at their edges or
corners, 300 to 50,000 times as heavy as a particle, 5 to 40 substeps: with D1 up to 0.06 edges the fastest particle
reaches 6 m/s as the body lands and 0.1 to 1.7 in the second after; from 0.1 on 1 to 3, from 0.2 on 0.6 to 5, from 0.4
on 3 to 28. A sheet that is asked to be elastic swings by itself.
"""

import math
from dataclasses import dataclass

import numpy as np

from shinari.errors import ContactWarning, warn
from shinari.geometry.topology import edges
from shinari.model.system_model import BoundSystems
from shinari.scene.body import Body
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import ParticleObject
from shinari.systems.coupling.attachments import Attachments
from shinari.systems.surface_contact.heavy_loads import (
    MOST_SWEEPS,
    SHARE,
    STRAIN,
    load_memory,
    sheet_area,
    sheet_sweeps,
)

# Displacement beneath a body, in edges, that is told, and one that is small; least number of particles that carry one.
DENT, CALM, FEWEST = 0.17, 0.06, 3.0
# The same that is left beneath a cloth as it moves as if it were heavier.
STILL = 0.01
# Fewest sweeps while a load goes down, and strain of one sweep above which it takes these.
LEAST, TAUT = 3.0, 1e-3
# A load that asks for so many times more than the most sweeps is told.
CARRIED = 4.0
# Compliance of a sheet over that of one sweep from which on it is elastic.
ELASTIC = 0.1


@dataclass(frozen=True)
class BodyCarrier:
    """A cloth or a rope that bodies may lie on.

    Attributes:
        number: Its number.
        members: Its particles, in solver order.
        mass: Mass of the free ones [kg].
        strain: Sweeps for the strain by a load of its own mass.
        rigid: 1 where it should give nothing back, 0 where it is elastic.
        bodies: Bodies that can lie on it.
        dents: How far each of these moves what is beneath it in a substep, in edges.
        sheet: Whether it is a cloth.
        memory: Time over which a load that has left is forgotten [s].
    """

    number: int
    members: np.ndarray
    mass: float
    strain: float
    rigid: float
    bodies: np.ndarray
    dents: np.ndarray
    sheet: bool
    memory: float

    def heavier(self, masses: np.ndarray) -> float:
        """How much heavier a sheet moves beneath bodies of these masses [kg], 0 where one is not above it."""
        load, dent = float(masses.sum()) / self.mass, float(self.dents[masses > 0.0].max(initial=0.0))
        return min(max(self.strain * load / LEAST, dent / STILL, 1.0), 1.0 + SHARE * load)

    def wanted(self, load: float) -> float:
        """Sweeps that a load [kg] asks for; 1 where it is too light to matter."""
        sweeps = self.strain * load / self.mass
        least = 1.0 + (LEAST - 1.0) * self.rigid
        return min(max(sweeps, least), MOST_SWEEPS) if sweeps * STRAIN > TAUT else 1.0


def body_carriers(bound: BoundSystems) -> list[BodyCarrier]:
    """The cloths and ropes of a scene that are held, and that bodies may lie on.

    One that lies free is carried by something else, and sweeps over it would press it in there.
    """
    scene, model, found, held = bound.scene, bound.model, [], _held(bound)
    fall = float(np.linalg.norm(model.gravity)) * bound.settings.substep**2
    for number, obj in enumerate(scene.particle_objects):
        members = np.flatnonzero(model.owners == number)
        inverse = model.inverse_masses[members].astype(np.float64)
        masses = 1.0 / inverse[inverse > 0.0]
        bodies = [k for k, body in enumerate(scene.bodies)
                  if body.pieces and body.mass > 0.0 and {obj.name, body.name} not in scene.ignored]  # fmt: skip
        if obj.kind in ("cloth", "rope") and len(masses) and bodies and held[members].any():
            edge, light = _edge_length(obj), float(np.median(masses))
            one_sweep = 2.0 * bound.settings.substep**2 / (light * bound.settings.iterations)
            found.append(
                BodyCarrier(
                    number=number,
                    members=members,
                    mass=float(masses.sum()),
                    strain=_strain_sweeps(obj, len(masses), fall),
                    rigid=max(1.0 - _compliance(obj, edge) / (ELASTIC * one_sweep), 0.0),
                    bodies=np.array(bodies),
                    sheet=obj.kind == "cloth",
                    memory=load_memory(sheet_area(obj), float(np.linalg.norm(model.gravity))),
                    dents=np.array([_dent(scene.bodies[k], edge, light, fall, obj.faces is None) for k in bodies]),
                )
            )
    return found


def bodies_above(places: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which bodies at places (B, 3) are above a sheet of points (N, 3); the last axis is upwards; (B,) bool."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (places >= low).all(axis=1) & (places[:, :2] <= high[:2]).all(axis=1)


def warn_of_heavy_bodies(bound: BoundSystems, found: list[BodyCarrier], above: list[np.ndarray]) -> None:
    """Warn of the heaviest load that a cloth or rope beneath it will not carry; `above`: masses [kg] of bodies.

    Warns:
        ContactWarning: There is one; the message names it, and says how many substeps are enough.
    """
    worst, heaviest, load, factor = 1.0, None, 0.0, 1.0
    for each, masses in zip(found, above, strict=True):
        strain = each.strain * masses.sum() / each.mass / (MOST_SWEEPS * CARRIED)
        dent = each.dents[masses > 0.0].max(initial=0.0)
        missing = max(strain, dent / DENT)
        if missing > worst:
            worst, heaviest, load = missing, each, masses.sum() / each.mass
            factor = max(strain, dent / CALM)
    if heaviest is not None:
        enough = math.ceil(bound.settings.substeps * math.sqrt(factor))
        name = bound.scene.particle_objects[heaviest.number].name
        warn(
            f"bodies of {load:.3g} times its mass are above {name!r}, which will stretch or tremble beneath them; "
            f"take {enough} substeps, or a heavier or coarser {name!r}",
            ContactWarning,
        )


def _held(bound: BoundSystems) -> np.ndarray:
    """Which particles are pinned, or attached to a place or a body, (N,) bool."""
    held, attachments = bound.model.held, bound.find(Attachments)
    if attachments is not None:
        held[attachments.held[:, 0]] = True
    return held


def _strain_sweeps(obj: ParticleObject, count: int, fall: float) -> float:
    """Sweeps for the strain of a cloth or a rope of so many free particles by a load of its own mass."""
    if obj.faces is not None:
        return sheet_sweeps(fall, count, sheet_area(obj))
    length = float(np.linalg.norm(np.diff(obj.positions, axis=0), axis=1).sum())
    return fall * count**2 / (length * STRAIN)


def _compliance(obj: ParticleObject, edge: float) -> float:
    """Compliance against stretch of the rows of a cloth or a rope with such edges [m/N]."""
    if isinstance(obj.material, RopeMaterial):
        return obj.material.stretch_compliance * edge
    return obj.material.stretch_compliance if isinstance(obj.material, ClothMaterial) else 0.0


def _edge_length(obj: ParticleObject) -> float:
    """Median length of the edges of a cloth or a rope [m]."""
    lines = np.stack([np.arange(len(obj.positions) - 1), np.arange(1, len(obj.positions))], axis=1)
    lines = lines if obj.faces is None else edges(obj.faces)
    return float(np.median(np.linalg.norm(obj.positions[lines[:, 0]] - obj.positions[lines[:, 1]], axis=1)))


def _dent(body: Body, edge: float, light: float, fall: float, line: bool) -> float:
    """How far a body moves particles of a mass [kg] beneath it in a substep, in edges of a sheet, or of a line."""
    # of the ball with the same moment of inertia
    radius = math.sqrt(2.5 * float(body.moments.mean()) / body.mass)
    beneath = 2.0 * radius / edge if line else math.pi * (radius / edge) ** 2
    return body.mass / light * fall / (max(FEWEST, beneath) * edge)
