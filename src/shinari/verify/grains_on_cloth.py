"""Grains on a sheet that is far lighter: none passes, they come to rest, and press with their weight."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.materials import ClothMaterial
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small

_RADIUS, _SIZE, _SIDE = 0.015, 0.6, 8
_G = 9.81
# The load swings on the sheet with a period of about 0.4 s.
_WINDOW = 30
# Part of the largest kinetic energy below which it rests.
_REST = 1e-4
# Steps after which grains beneath the sheet are counted: none comes back up.
_LOOK = 10


def _beneath(grains: np.ndarray, sheet: np.ndarray) -> int:
    """Grains that are beneath the sheet by more than a diameter, where they are not beside it."""
    count = 0
    for x in grains[(np.abs(grains[:, [0, 2]]) < 0.48 * _SIZE).all(axis=1)]:
        nearest = np.square(sheet[:, [0, 2]] - x[[0, 2]]).sum(axis=1).argmin()
        count += sheet[nearest, 1] > x[1] + 2.0 * _RADIUS
    return count


@check(
    "a load on a sheet", "grains of up to 10,000 times the mass of a particle rest on it, and press with their weight"
)
def load(precision: str) -> Iterator[Measurement]:
    """128 grains of 15 mm on a sheet of 0.3 kg/m^2 that is held at its edges."""
    for density, cells, substeps in (2650.0, 30, 10), (8500.0, 30, 10), (8000.0, 45, 20), (85e3, 30, 20):
        scene = Scene()
        vertices, faces = grid(size=(_SIZE, _SIZE), shape=(cells + 1, cells + 1))
        cloth = scene.add_cloth((vertices, faces), material=ClothMaterial(density=0.3))
        cloth.pin(np.flatnonzero(np.abs(vertices[:, [0, 2]]).max(axis=1) > 0.4999 * _SIZE))
        side = 2.2 * _RADIUS * (np.arange(_SIDE) - 0.5 * (_SIDE - 1))
        layers = np.meshgrid(side, [0.01 + _RADIUS, 0.01 + 3.2 * _RADIUS], side, indexing="ij")
        points = np.stack(layers, axis=-1).reshape(-1, 3)
        grains = scene.add_grains(points, radius=_RADIUS, material=GrainMaterial(density=density))
        sim = small(scene, precision, substeps=substeps)
        ratio = scene.particle_objects[1].masses.max() / np.median(scene.particle_objects[0].masses)
        masses = scene.particle_objects[1].masses
        case, kinetic, force, momenta, passed = f"ratio {ratio:.0f}, {cells} cells, {substeps} substeps", [], [], [], 0
        for step in range(8 * _WINDOW):
            sim.step()
            kinetic.append(sim.energy().kinetic)
            force.append(float(sim.forces(grains)[1]))
            momenta.append(float(masses @ sim.velocities(grains)[:, 1].astype(float)))
            if step % _LOOK == _LOOK - 1:
                passed = max(passed, _beneath(sim.positions(grains), sim.positions(cloth)))
        yield at_most(f"grains that pass, {case}", 0.0, float(passed), theory="paths are certified")
        swings = np.maximum(np.reshape(kinetic, (-1, _WINDOW)).max(axis=1), _REST * max(kinetic))
        yield at_most(
            f"largest kinetic energy of half a second over that of the one before, {case}",
            1.0,
            float((swings[1:6] / swings[:5]).max()),
            theory="it has landed in the first half second, and swings on the sheet from then on, until it rests",
        )
        yield at_most(
            f"kinetic energy after 4 s over the largest, {case}", 0.01, kinetic[-1] / max(kinetic), theory="it rests"
        )
        change = (momenta[-1] - momenta[-2 * _WINDOW - 1]) * 60.0 / (2 * _WINDOW)
        yield equal(
            f"force on the load in the fourth second over its weight and the change of its momentum, {case}",
            1.0,
            float(np.mean(force[-2 * _WINDOW :])) / (_G * float(masses.sum()) + change),
            relative=0.01,
            theory="balance of momentum; what still overlaps comes out without a force",
        )
