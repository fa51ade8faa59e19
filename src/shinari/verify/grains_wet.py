"""Wet grains: a bridge, the strength of a heap, walls that stand, and what is kept."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.grain_material import GrainMaterial
from shinari.shapes.plane import Plane
from shinari.systems.grains.bridges import RUPTURE, contact_force
from shinari.verify.grains import RADIUS, settled
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.scenes import small

_G = 9.81
_BRIDGE = "Willett, Adams, Johnson and Seville 2000: F = F0 / (1 + 1.05 s + 2.5 s^2)"
_RUMPF = "Rumpf 1962: sigma = 0.6 x 6 F / (pi d^2)"
_WALL = "Mohr-Coulomb: a vertical wall stands up to h = 4 c tan(45 deg + phi/2) / (rho g), c = sigma tan(phi)"
# Angle of repose of the friction below, see "angle of repose".
_FRICTION, _PHI = 0.35, math.radians(32.0)


@check("a liquid bridge breaks", _BRIDGE)
def bridge(precision: str) -> Iterator[Measurement]:
    """A grain hangs from another one that is held."""
    strength = 500.0
    for one, other in ((0.005, 0.005), (0.004, 0.008)):
        force = contact_force(strength, 2.0 * one * other / (one + other))
        for part in (0.9, 0.98, 1.02, 1.1):
            scene = Scene()
            density = part * force / _G / (4.0 / 3.0 * math.pi * other**3)
            wet = GrainMaterial(density=density, cohesion=strength)
            scene.add_grains([[0.0, 0.0, 0.0]], radius=one, material=wet)
            hanging = scene.add_grains([[0.0, -one - other, 0.0]], radius=other, material=wet)
            scene.pin(0)
            sim = small(scene, precision, substeps=8)
            sim.step(60)
            gap = -one - other - float(sim.positions(hanging)[0, 1])
            name = f"radii {one:g} and {other:g} m, weight {part:g} of the force: gap [m]"
            if part < 1.0:
                yield equal(name, 0.0, gap, absolute=1e-6, theory="the contact carries the rest of the force")
            else:
                yield at_least(name, 1.0, gap, theory="it falls")
    # held at a gap each: the force on the lower one
    for stretch in (0.25, 0.5, 0.9, 1.1):
        scene, radius = Scene(gravity=(0, 0, 0)), 0.005
        gap = stretch * RUPTURE * radius
        points = [[0.0, 0.0, 0.0], [0.0, -2.0 * radius - gap, 0.0]]
        free = scene.add_grains(points, radius=radius, material=GrainMaterial(cohesion=strength))
        scene.pin(0)
        sim = small(scene, precision, dt=1e-4, substeps=1)
        sim.step()
        s = gap / radius / math.sqrt(0.03)
        expected = contact_force(strength, radius) / (1.0 + 1.05 * s + 2.5 * s * s) if stretch < 1.0 else 0.0
        mass = 2650.0 * 4.0 / 3.0 * math.pi * radius**3
        force = float(sim.state.velocities[sim.model.slots[free.particles.start + 1], 1]) * mass / 1e-4
        yield equal(f"gap {stretch:g} of that at which it breaks: force [N]", expected, force,
                    absolute=1e-3 * contact_force(strength, radius), theory="single precision of the gap")  # fmt: skip


def _fraction(x: np.ndarray) -> float:
    """Part of the box around grains that they fill."""
    return len(x) * 4.0 / 3.0 * math.pi * RADIUS**3 / float(np.prod(np.ptp(x, axis=0) + 2.0 * RADIUS))


@check("tensile strength of wet sand", _RUMPF, precisions=("float32",))
def tension(precision: str) -> Iterator[Measurement]:
    """A block hangs from its upper layers, and its weight grows until it breaks."""
    width = 16 * RADIUS
    points = settled(width, 1.2 * width, 0.1)
    points = points[points[:, 1] < width]
    held = points[:, 1] > width - 4 * RADIUS
    for strength in (200.0, 800.0):
        scene = Scene(gravity=(0, 0, 0))
        material = GrainMaterial(friction=_FRICTION, cohesion=strength)
        sand = scene.add_grains(points, radius=RADIUS, material=material)
        sim = small(scene, precision, substeps=8)
        # bridges draw the block together
        sim.step(30)
        sim.pin(sand, np.flatnonzero(held))
        area = float(np.prod(np.ptp(sim.positions(sand)[:, [0, 2]], axis=0) + 2.0 * RADIUS))
        mass = 2650.0 * 4.0 / 3.0 * math.pi * RADIUS**3 * int((~held).sum())
        start, part = float(sim.positions(sand)[~held, 1].mean()), 0.2
        while start - float(sim.positions(sand)[~held, 1].mean()) < 2.0 * RADIUS and part < 4.0:
            part *= 1.03
            sim.change(gravity=(0.0, -part * strength * area / mass, 0.0))
            sim.step(2)
        yield equal(f"{strength:g} Pa, {len(points)} grains: weight per area over the strength at which it breaks", 1.0,
                    part, relative=0.5, theory="a mean packing, all contacts of a plane break at once")  # fmt: skip


@check("walls of wet sand stand", _WALL, precisions=("float32",))
def walls(precision: str) -> Iterator[Measurement]:
    """Blocks with four vertical faces on a rough floor: their mean height after a second over that at the start.

    Grains that do not turn have a larger angle of internal friction than of repose, and the strength of a heap is known
    to half of it, so walls stand from a third to a half of the strength on.
    """
    width = 20 * RADIUS
    points = settled(width, 1.2 * width, 0.1)
    points = points[points[:, 1] < width]
    height, density = float(points[:, 1].max()) + RADIUS, 2650.0 * _fraction(points)
    for name, part in (("dry", 0.0), ("a quarter of the strength needed", 0.25), ("the strength needed", 1.0)):
        cohesion = part * height * density * _G / (4.0 * math.tan(0.25 * math.pi + 0.5 * _PHI))
        strength = cohesion / math.tan(_PHI)
        scene = Scene()
        scene.add_collider(Plane(), friction=0.6)
        sand = scene.add_grains(points, radius=RADIUS, material=GrainMaterial(friction=_FRICTION, cohesion=strength))
        sim = small(scene, precision, substeps=8)
        sim.step(60)
        x = sim.positions(sand).astype(float)
        left = float(x[:, 1].mean() / points[:, 1].mean())
        wide = float(np.percentile(np.abs(x[:, [0, 2]]), 98) / np.percentile(np.abs(points[:, [0, 2]]), 98))
        if part < 1.0:
            yield at_most(f"{name}, {strength:.0f} Pa: height over that at the start", 0.75, left, theory="it slumps")
            continue
        yield at_least(f"{name}, {strength:.0f} Pa: height over that at the start", 0.88, left,
                       theory="it stands; bridges draw a loose packing together")  # fmt: skip
        yield equal(f"{name}: width over that at the start", 1.0, wide, absolute=0.1, theory="it stands")


@check("wet grains keep their momentum", "bridges pull both grains alike")
def momentum(precision: str) -> Iterator[Measurement]:
    """Two clusters of unequal grains meet off their middles and stick."""
    scene, rng = Scene(gravity=(0, 0, 0)), np.random.default_rng(3)
    cells = np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * 2.35 * RADIUS
    for number, (x, v) in enumerate((((-0.06, 0.01, 0.0), 0.2), ((0.0, 0.0, 0.0), -0.1))):
        points = cells + x + rng.uniform(-0.1, 0.1, cells.shape) * RADIUS
        material = GrainMaterial(cohesion=(600.0, 900.0)[number])
        scene.add_grains(points, radius=RADIUS, spread=0.1, velocity=(v, 0.0, 0.0), material=material)
    sim = small(scene, precision, substeps=8)
    before, size = sim.momentum(), 0.0
    energy = sim.energy().kinetic
    for obj, v in zip(scene.particle_objects, (0.2, 0.1), strict=True):
        size += v * float(obj.masses.sum())
    sim.step(45)
    yield equal("change over that of a cluster", 0.0, float(np.linalg.norm(sim.momentum() - before)) / size,
                absolute=1e-12 if precision == "float64" else 2e-5, theory="rounding of 360 substeps")  # fmt: skip
    x = np.array(sim.state.positions, float)
    spread = float(np.linalg.norm(x - x.mean(axis=0), axis=1).max())
    yield at_most("largest distance from the middle [m]", 0.12, spread, theory="they stay together")
    yield at_most("kinetic energy over that at the start", 1.0, sim.energy().kinetic / energy, theory="a soft impact")
