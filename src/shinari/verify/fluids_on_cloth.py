"""Fluids on a sheet that is far lighter: none passes, the water comes to rest, and the edges of the sheet bear it."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.handle import RowsHandle
from shinari.scene.materials import ClothMaterial
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small

_G = 9.81
# Sides of the sheet and of the column of water, spacing of the water, and how far it falls [m].
_SHEET, _WIDTH, _SPACING, _DROP = 0.35, 0.25, 0.025, 0.02
# Steps of half a second.
_WINDOW = 30


def _column(cells: int, density: float, layers: int) -> tuple[Scene, RowsHandle]:
    """Water between four walls without friction, above a sheet that is held at its edges; the attachments."""
    scene = Scene()
    vertices, faces = grid(size=(_SHEET, _SHEET), shape=(cells + 1, cells + 1))
    sheet = scene.add_cloth((vertices, faces), material=ClothMaterial(density=density, thickness=0.004), name="sheet")
    edges = np.flatnonzero(np.abs(vertices[:, [0, 2]]).max(axis=1) > 0.4999 * _SHEET)
    held = scene.attach((sheet, edges), vertices[edges])
    for normal in (1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0):
        scene.ignore_contact(sheet, scene.add_collider(Plane(normal, -0.5 * _WIDTH), friction=0.0))
    count = round(_WIDTH / _SPACING)
    across = _SPACING * (np.arange(count) - 0.5 * (count - 1))
    up = _DROP + 0.002 + _SPACING * (np.arange(layers) + 0.5)
    points = np.stack(np.meshgrid(across, up, across, indexing="ij"), axis=-1).reshape(-1, 3)
    scene.add_fluid(points, spacing=_SPACING, name="water")
    return scene, held


def _excess(sim: Simulation, top: float) -> float:
    """How much faster than a fall from the top of the water the fastest particle is [m/s]."""
    state = sim.state
    fall = np.sqrt(2.0 * _G * np.maximum(top - state.positions[:, 1].astype(float), 0.0))
    return float((np.linalg.norm(state.velocities, axis=1) - fall).max())


@check(
    "water on a sheet", "water of up to 2,000 times the mass of a sheet rests on it, and pulls at its edges by weight"
)
def water(precision: str) -> Iterator[Measurement]:
    """20 cm of water fall by 2 cm on a sheet that is held at its edges."""
    for cells, density, substeps in (10, 0.05, 5), (20, 0.2, 10), (8, 1.0, 20):
        scene, held = _column(cells, density, 8)
        sim, masses = small(scene, precision, substeps=substeps), [obj.masses.sum() for obj in scene.particle_objects]
        case = f"{masses[1] / masses[0]:.0f} times its mass, {cells} cells, {substeps} substeps"
        kinetic, pulls, momenta, excess, top = [], [], [], 0.0, float(sim.positions("water")[:, 1].max())
        for _ in range(6 * _WINDOW):
            sim.step()
            kinetic.append(sim.energy().kinetic)
            pulls.append(float(np.abs(sim.forces(held)[:, 1].sum())))
            momenta.append(float(sim.momentum()[1]))
            excess = max(excess, _excess(sim, top))
        sheet, fluid = sim.positions("sheet"), sim.positions("water")
        yield at_most(f"particles that pass, {case}", 0.0, float((fluid[:, 1] < sheet[:, 1].min() - _SPACING).sum()),
                      theory="paths are certified")  # fmt: skip
        yield at_most(f"speed over that of a fall from the top [m/s], {case}", np.sqrt(2.0 * _G * 0.2), excess,
                      theory="the sheet gives back no more than its load gave: a fall by the depth")  # fmt: skip
        yield at_most(f"kinetic energy in the third second over the largest, {case}", 0.1,
                      max(kinetic[-2 * _WINDOW :]) / max(kinetic), theory="it comes to rest")  # fmt: skip
        seconds, weight = 4 * _WINDOW / 60.0, _G * float(sum(masses))
        change = (momenta[-1] - momenta[-4 * _WINDOW - 1]) / seconds
        yield equal(f"pull at the edges in two seconds over weight and change of momentum, {case}", 1.0,
                    float(np.mean(pulls[-4 * _WINDOW :])) / (weight + change), relative=0.01,
                    theory="balance of momentum; what still overlaps comes out without a force")  # fmt: skip
