"""Grains: heaps, columns that collapse, and what has to stay as it is."""

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.collision.broad.pairs import PairFinder
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.handle import Handle
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small

RADIUS = 0.005
_COLLAPSE = "Lube, Huppert, Sparks and Hallworth 2004, Axisymmetric collapses of granular columns, eq. 4.1"
_REPOSE = "tan of the angle of a cone: twice the height of its centre of mass over its mean radius"
# How many substeps a step of 1/60 s has, and while a column is poured: 60 layers that land at 4 stay compressed.
SUBSTEPS, _POURED = 4, 8


@cache
def settled(width: float, height: float, mu: float) -> np.ndarray:
    """Centres of grains that have been poured into a box of that width [m], (N, 3); equal radii, floor at 0."""
    scene = Scene()
    material = GrainMaterial(friction=mu)
    sand = scene.add_grains(
        Box((width, 2.2 * height, width)), radius=RADIUS, position=(0.0, 1.1 * height, 0.0), material=material
    )
    scene.add_collider(Box((width, 4.0 * height, width), inside=True), position=(0.0, 2.0 * height, 0.0), friction=0.0)
    sim = small(scene, "float32", substeps=_POURED)
    sim.step(60)
    return sim.positions(sand).astype(np.float64)


def _column(radius: float, height: float) -> np.ndarray:
    """Centres of the grains of a round column, cut out of settled ones, (N, 3)."""
    x = settled(2.0 * radius, height, 0.1)
    return x[(np.hypot(x[:, 0], x[:, 2]) < radius - RADIUS) & (x[:, 1] < height - RADIUS)]


def _released(points: np.ndarray, mu: float, precision: str, seconds: float) -> tuple[Simulation, Handle]:
    """A simulation of a column that was let go on a rough floor, after so long."""
    scene = Scene()
    sand = scene.add_grains(points, radius=RADIUS, material=GrainMaterial(friction=mu))
    scene.add_collider(Box((1.0, 1.0, 1.0), inside=True), position=(0.0, 0.5, 0.0), friction=0.5)
    sim = small(scene, precision, substeps=SUBSTEPS)
    sim.step(round(60 * seconds))
    return sim, sand


def _slope(x: np.ndarray) -> float:
    """Angle of a cone of the same height of the centre of mass and the same mean radius [degrees]."""
    return math.degrees(math.atan(2.0 * (x[:, 1].mean() - RADIUS) / np.hypot(x[:, 0], x[:, 2]).mean()))


@check("angle of repose", f"rises with friction and is flat without; {_REPOSE}")
def repose(precision: str) -> Iterator[Measurement]:
    """Columns as high as wide collapse to heaps."""
    last, before = 0.0, 0.0
    points = _column(14 * RADIUS, 15 * RADIUS)
    for mu in (0.0, 0.2, 0.4, 0.6, 0.8):
        sim, sand = _released(points, mu, precision, 1.5)
        angle = _slope(sim.positions(sand).astype(np.float64))
        if mu == 0.0:
            yield at_most("angle without friction [deg]", 2.0, angle, theory="one layer of grains, on the whole floor")
        else:
            yield at_least(
                f"angle at mu {mu:g}, {angle:.1f} deg, above that at {before:g} [deg]",
                0.0,
                angle - last,
                theory="monotone",
            )
        last, before = angle, mu


@check("a column collapses", f"run-out 1.24 a for a < 1.7, 1.6 sqrt(a) above, 25 %; {_COLLAPSE}")
def collapse(precision: str) -> Iterator[Measurement]:
    """Columns of several heights, friction 0.14: as grains do not roll, it stands for the larger one of sand.

    Low columns are wider: their front has to be many grains away from where it began.
    """
    for wanted, grains in ((0.7, 20), (1.2, 16), (2.5, 14)):
        radius = grains * RADIUS
        points = _column(radius, wanted * radius)
        a = (points[:, 1].max() + RADIUS) / radius
        sim, sand = _released(points, 0.14, precision, 1.5)
        x = sim.positions(sand)
        front = float(np.percentile(np.hypot(x[:, 0], x[:, 2]), 98.0)) + RADIUS
        yield equal(
            f"(front - r0) / r0 of {len(points)} grains, a = {a:.2f}; the front holds 98 % of them",
            1.24 * a if a < 1.7 else 1.6 * math.sqrt(a),
            front / radius - 1.0,
            relative=0.25,
            theory="the requirement; the experiments scatter by 10 %",
        )


@check("a heap stays", "what rests stays where friction is above the slope: 5 s; energy never grows")
def rest(precision: str) -> Iterator[Measurement]:
    """A column falls apart to a heap of grains of mixed sizes, which is then left alone."""
    scene = Scene()
    material = GrainMaterial(friction=0.4)
    shape = Box((0.16, 0.12, 0.16))
    sand = scene.add_grains(shape, radius=RADIUS, spread=0.5, position=(0.0, 0.06, 0.0), material=material)
    scene.add_collider(Plane(), friction=0.5)
    sim = small(scene, precision, substeps=SUBSTEPS)
    energies = [sim.energy().total]
    for _ in range(150):
        sim.step()
        energies.append(sim.energy().total)
    drop = energies[0] - energies[-1]
    yield at_most(
        "largest rise of the energy in a step, over all that was lost",
        0.001,
        float(np.diff(energies).max()) / drop,
        theory="what overlaps comes out without speed, but lifts what is above",
    )
    x = sim.positions(sand).astype(np.float64)
    sim.step(300)
    moved = np.linalg.norm(sim.positions(sand) - x, axis=1)
    name = f"of {len(x)} grains in 5 s, in radii"
    yield at_most(f"mean way {name}", 0.01, float(moved.mean()) / RADIUS, theory="no creep")
    yield at_most(
        f"99th percentile of the ways {name}", 0.1, float(np.percentile(moved, 99)) / RADIUS, theory="no creep"
    )
    radii = scene.particle_objects[0].radii
    x = sim.positions(sand).astype(np.float64)
    pairs = PairFinder(radii).find(x, 0.0, 1)
    gaps = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) / radii[pairs].sum(axis=1)
    deepest = 1.0 - float(gaps.min(initial=1.0))
    yield at_most("deepest overlap over the distance, mixed sizes", 0.01, deepest, theory="what rests has converged")


@check("grains keep their momentum", "F_ij = -F_ji: the sum over two clouds that meet stays")
def momentum(precision: str) -> Iterator[Measurement]:
    """Two clouds of grains of a mass ratio of up to 100 meet without gravity."""
    for ratio in (1.0, 100.0):
        scene = Scene(gravity=(0, 0, 0))
        for k, density in enumerate((2650.0, 2650.0 / ratio)):
            scene.add_grains(
                Box((0.06, 0.06, 0.06)),
                radius=RADIUS,
                spread=0.2,
                position=(0.07 * k, 0.01 * k, 0.0),
                velocity=(1.0 - 2.0 * k, 0.0, 0.0),
                material=GrainMaterial(density=density, friction=0.4),
            )
        sim = small(scene, precision, substeps=SUBSTEPS)
        start = sim.momentum()
        kinetic = [sim.energy().kinetic]
        for _ in range(30):
            sim.step()
            kinetic.append(sim.energy().kinetic)
        size = float(sim.model.masses.sum())
        yield at_most(
            f"change of momentum over m v, masses 1:{ratio:g}",
            0.0,
            float(np.linalg.norm(sim.momentum() - start)) / size,
            absolute=1000 * roundoff(precision),
            theory="a thousand roundings of a speed, all to one side",
        )
        yield at_most(
            f"largest rise of the kinetic energy in a step, over all, masses 1:{ratio:g}",
            0.0,
            float(np.diff(kinetic).max()) / kinetic[0],
            absolute=1e-3,
            theory="contacts without bounce only take",
        )


@check("a heavy layer on a light one", "1:100: stands with 40 substeps, or with 8 and masses scaled by height")
def layers(precision: str) -> Iterator[Measurement]:
    """A layer of balls in the hollows of another one, of a hundredth of its density."""
    d = 2.0 * RADIUS
    for substeps, scaling in ((40, 0.0), (8, 600.0)):
        scene = Scene()
        lower = np.array([(i, 0.5, j) for i in range(6) for j in range(6)]) * d
        upper = lower[(lower[:, [0, 2]] < 4.5 * d).all(axis=1)] + np.array([0.5, math.sqrt(0.5), 0.5]) * d
        for points, density in ((lower, 100.0), (upper, 1e4)):
            material = GrainMaterial(density=density, friction=0.35, mass_scaling=scaling)
            layer = scene.add_grains(points, radius=RADIUS, material=material)
        scene.add_collider(Box((6 * d, 40 * d, 6 * d), inside=True), position=(2.5 * d, 20 * d, 2.5 * d), friction=0.8)
        sim = small(scene, precision, substeps=substeps)
        sim.step(120)
        sunk = float((upper[:, 1] - sim.positions(layer)[:, 1]).max()) / d
        yield at_most(
            f"what the upper layer sinks in 2 s, in grains, {substeps} substeps, mass scaling {scaling:g} / m",
            0.02,
            sunk,
            theory="contacts of grains may open by 2 %",
        )
