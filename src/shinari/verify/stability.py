"""Stability by default, over decades of stiffness, mass, iterations and substeps."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import edges, grid
from shinari.scene.materials import ClothMaterial
from shinari.verify.ledger import Measurement, at_most, check, roundoff
from shinari.verify.scenes import small

_STIFFNESSES = (1.0, 1e3, 1e6, 1e9)
_MASSES = (1e-5, 1e-1, 1e3)
_EFFORTS = ((1, 1), (1, 50), (20, 1), (5, 10))


def _sheet(precision: str, stiffness: float, mass: float, iterations: int, substeps: int, noise: float) -> Simulation:
    """A level 12 x 12 sheet of springs, 1 m wide, two corners pinned; all others start off by a noise [m]."""
    vertices, faces = grid(shape=(12, 12))
    scene = Scene()
    sheet = scene.add_particles(vertices, mass=mass)
    scene.add_constraint("distance", edges(faces), compliance=1.0 / stiffness)
    sheet.pin([0, 11])
    sim = small(scene, precision, dt=1 / 60, substeps=substeps, iterations=iterations)
    offsets = np.random.default_rng(3).uniform(-noise, noise, vertices.shape)
    offsets[[0, 11]] = 0.0
    sim.state.positions = vertices + offsets
    return sim


@check("stable over decades", "energy theorem: kinetic and gravitational energy come from the start and from falling")
def decades(precision: str) -> Iterator[Measurement]:
    """Largest kinetic and gravitational energy in a second over the total at the start.

    Energy counts from the lowest place that the sheet can reach. Each line is the worst of four pairs of iterations and
    substeps, at rest and with 1 cm of noise.
    """
    for stiffness in _STIFFNESSES:
        for mass in _MASSES:
            weight = mass * 142 * 9.81
            # straight down from a pin, with twelve springs that carry everything and swing to twice that
            floor = -weight * (1.5 + 24.0 * weight / stiffness)
            worst, at = 0.0, ""
            for iterations, substeps in _EFFORTS:
                for noise in (0.0, 0.01):
                    sim = _sheet(precision, stiffness, mass, iterations, substeps, noise)
                    first = sim.energy().total - floor
                    for _ in range(60):
                        sim.step()
                        energy = sim.energy()
                        now = (energy.kinetic + energy.gravitational - floor) / first
                        if not now <= worst:
                            worst, at = now, f"{iterations} iterations, {substeps} substeps, noise {noise:g} m"
            yield at_most(
                f"energy over that at the start, k {stiffness:g} N/m, m {mass:g} kg, worst at {at}",
                1.0,
                worst,
                absolute=16.0 * roundoff(precision),
                theory="a few roundings of the positions and velocities read",
            )


@check("large sheet at one iteration", "the coloured schedule; rows in mesh order gain energy until they overflow",
       precisions=("float32",))  # fmt: skip
def large_sheet(precision: str) -> Iterator[Measurement]:
    """Kinetic and gravitational energy of a 128 x 128 sheet, ten substeps at one iteration, for five seconds.

    It starts level and at rest, where both are zero; what the unsolved rows store does not count.
    """
    scene = Scene()
    material = ClothMaterial(density=1.0, stretch_compliance=1e-4, bend_stiffness=0.0)
    sheet = scene.add_cloth(grid(shape=(128, 128)), material=material)
    sheet.pin([0, 127])
    sim = Simulation(scene, dt=1 / 60, substeps=10, iterations=1, precision=precision)
    most = -math.inf
    for _ in range(300):
        sim.step()
        most = max(most, _moving(sim))
    yield at_most(
        "largest kinetic and gravitational energy, sheet of 1 kg, k 1e4 N/m [J]",
        0.0,
        most,
        absolute=8.0 * roundoff(precision) * 9.81,
        theory="rounding of positions of 1 m and their velocities, 1 kg",
    )


def _moving(sim: Simulation) -> float:
    """Kinetic and gravitational energy [J]."""
    m, v = sim.model.masses, sim.state.velocities.astype(np.float64)
    # sums, not products of matrices: those wake up threads for each step
    heights = (sim.state.positions * sim.model.gravity).sum(axis=1)
    return float((m * (0.5 * (v * v).sum(axis=1) - heights)).sum())
