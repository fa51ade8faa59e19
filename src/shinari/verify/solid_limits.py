"""Solids at their limits: flat, inside out, at random, and over decades of stiffness."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.scene.soft_material import SoftMaterial
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small
from shinari.verify.solid_scenes import CORNER, DENSITY, EDGE

_EFFORTS = ((1, 1), (1, 10), (1, 50), (10, 1), (10, 50))


def _free(
    precision: str, mesh: tuple[np.ndarray, np.ndarray], model: str, ratio: float, starts: np.ndarray, efforts: tuple,
    damping: float = 2.0,
) -> Simulation:  # fmt: skip
    """A solid of E = 1e5 Pa that is let go somewhere, without gravity, and damped [1/s]."""
    iterations, substeps = efforts
    scene = Scene(gravity=(0.0, 0.0, 0.0), damping=damping)
    material = SoftMaterial(density=DENSITY, youngs_modulus=1e5, poissons_ratio=ratio, model=model, thickness=0.0)
    scene.add_soft_body(mesh, material=material)
    sim = small(scene, precision, dt=1 / 60, substeps=substeps, iterations=iterations)
    sim.state.positions = starts
    return sim


def _strain(sim: Simulation, mesh: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Largest relative change of an edge in each tetrahedron, and of its signed volume, (T,)."""
    rest, tetrahedra = mesh
    now, before = sim.state.positions.astype(np.float64)[tetrahedra], rest[tetrahedra]
    pairs = np.triu_indices(4, 1)
    lengths = [np.linalg.norm(x[:, pairs[0]] - x[:, pairs[1]], axis=2) for x in (now, before)]
    volumes = [np.linalg.det(x[:, 1:] - x[:, :1]) for x in (now, before)]
    return np.maximum(np.abs(lengths[0] / lengths[1] - 1.0).max(axis=1), np.abs(volumes[0] / volumes[1] - 1.0))


def _thousand() -> tuple[np.ndarray, np.ndarray]:
    """A thousand tetrahedra, each on its own."""
    return np.tile(CORNER, (1000, 1)), np.arange(4000).reshape(1000, 4)


@check("a thousand tetrahedra recover", "Macklin and Mueller 2021: recovers from flat, inverted and random states")
def recovery(precision: str) -> Iterator[Measurement]:
    """How many of a thousand separate tetrahedra are not back at rest after two seconds.

    A tetrahedron swings at some 100 / s: a damping of 6 / s leaves it its swings, of which exp(-6) is left.
    """
    mesh = _thousand()
    rng = np.random.default_rng(7)
    random = rng.uniform(0.0, EDGE, (4000, 3))
    nearly = np.tile(CORNER, (1000, 1)) + rng.uniform(-0.03, 0.03, (4000, 3))
    starts = {
        "flat": nearly * [1.0, 1.0, 0.0],
        "inside out": nearly * [1.0, 1.0, -1.0],
        "at random": random,
        "at random, ten times as large": 10.0 * random,
    }
    for model, ratios in (("neo_hookean", (0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.495)), ("corotated", (0.3,))):
        for ratio in ratios:
            for label, start in starts.items():
                for efforts in ((1, 10), (5, 1)):
                    sim = _free(precision, mesh, model, ratio, start, efforts, damping=6.0)
                    sim.step(120)
                    back = _strain(sim, mesh) < 1e-3
                    yield equal(
                        f"not back, {model}, nu {ratio:g}, {label}, {efforts[0]} iterations, {efforts[1]} substeps",
                        0.0,
                        float((~back).sum()),
                        absolute=0.5,
                        theory="every one of a thousand",
                    )


@check("a beam recovers", "Macklin and Mueller 2021: recovers from flat, inverted and random states")
def beam_recovers(precision: str) -> Iterator[Measurement]:
    """Largest strain of a beam six seconds after it was flat, its own mirror image, or all vertices at random."""
    mesh = lattice((5, 2, 2), EDGE)
    rng = np.random.default_rng(3)
    flat = mesh[0] * [1.0, 0.0, 1.0]
    starts = [(ratio, "flat", flat) for ratio in (0.3, 0.45, 0.49)]
    starts += [(ratio, "inside out", mesh[0] * [1.0, -1.0, 1.0]) for ratio in (0.3, 0.45, 0.49, 0.495)]
    random = [rng.uniform(0.0, 1.0, mesh[0].shape) * [0.5, 0.2, 0.2] for _ in range(3)]
    starts += [(ratio, "at random", start) for ratio in (0.3, 0.45, 0.495) for start in random]
    for ratio, label, start in starts:
        for efforts in ((1, 10), (5, 2)):
            sim = _free(precision, mesh, "neo_hookean", ratio, start, efforts)
            sim.step(360)
            yield at_most(
                f"largest strain, nu {ratio:g}, {label}, {efforts[0]} iterations, {efforts[1]} substeps",
                1e-3,
                float(_strain(sim, mesh).max()),
                theory="all swings damped away: a bound of 0.1 %",
            )


@check("stiff and soft solids gain no energy", "energy theorem: kinetic and gravitational energy come from the start")
def decades(precision: str) -> Iterator[Measurement]:
    """Gain of kinetic and gravitational energy over all energy at the start, of a beam that falls from a wall.

    Counted over the work of gravity on the way of a beam's length and the elastic energy at the start; each line is the
    worst of five pairs of iterations and substeps, from rest and with 1 cm of noise.
    """
    vertices, tetrahedra = lattice((4, 2, 2), EDGE)
    for young in (1e3, 1e5, 1e7, 1e9):
        for ratio in (0.3, 0.499):
            worst, at = -np.inf, ""
            for iterations, substeps in _EFFORTS:
                for noise in (0.0, 0.01):
                    scene = Scene()
                    material = SoftMaterial(density=DENSITY, youngs_modulus=young, poissons_ratio=ratio, thickness=0.0)
                    beam = scene.add_soft_body((vertices, tetrahedra), material=material)
                    wall = vertices[:, 0] == 0.0
                    beam.pin(np.flatnonzero(wall))
                    sim = small(scene, precision, dt=1 / 60, substeps=substeps, iterations=iterations)
                    offsets = np.random.default_rng(3).uniform(-noise, noise, vertices.shape)
                    sim.state.positions = vertices + np.where(wall[:, None], 0.0, offsets)
                    gain = _gain(sim, 20 if substeps == 50 else 40)
                    if not gain <= worst:
                        worst, at = gain, f"{iterations} iterations, {substeps} substeps, noise {noise:g} m"
            yield at_most(
                f"gain of energy, E {young:g} Pa, nu {ratio:g}, worst at {at}",
                0.0,
                worst,
                absolute=16.0 * roundoff(precision),
                theory="a few roundings of the positions and velocities read",
            )


def _gain(sim: Simulation, steps: int) -> float:
    """Largest kinetic and gravitational energy beyond all energy at the start, over what there is to gain."""
    first = sim.energy()
    scale = float(sim.model.masses.sum()) * 9.81 * 4 * EDGE + first.elastic
    most = -np.inf
    for _ in range(steps):
        sim.step()
        energy = sim.energy()
        now = (energy.kinetic + energy.gravitational - first.total) / scale
        most = now if not now <= most else most
    return most
