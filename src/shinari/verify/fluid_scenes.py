"""Scenes that several checks of fluids share, and what is read from them."""

from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import ColliderHandle, Handle
from shinari.shapes.box import Box

G = 9.81
SPLISH = {"dt": 1.0 / 240.0, "substeps": 1, "iterations": 5}
"""The steps of the benchmark."""
SUBSTEPS = {"dt": 1.0 / 60.0, "substeps": 20, "iterations": 1}
"""The steps that everything else in a scene likes."""


def block(counts: Any, spacing: float, corner: Any = (0.0, 0.0, 0.0)) -> np.ndarray:
    """Points of a cubic lattice in a block [m], (N, 3), half a spacing from its faces."""
    steps = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)
    return (steps + 0.5) * spacing + np.asarray(corner, float)


def sheet(counts: tuple[int, int], spacing: float, corner: Any = (0.0, 0.0)) -> np.ndarray:
    """Points of a square lattice in the plane z = 0 [m], (N, 3), half a spacing from the sides of its rectangle."""
    points = block((*counts, 1), spacing, (*corner, 0.0))
    points[:, 2] = 0.0
    return points


def tank(scene: Scene, size: Any, **options: Any) -> ColliderHandle:
    """A box to fill, with a corner at the origin and edges along the axes [m]."""
    size = np.asarray(size, float)
    return scene.add_collider(Box(tuple(size), inside=True), position=tuple(0.5 * size), **options)


def level(sim: Simulation, fluid: Handle | str, bottom: float = 0.0) -> float:
    """Height of a fluid at rest above the bottom [m]: twice that of its centre."""
    return 2.0 * float(np.array(sim.positions(fluid), float)[:, 1].mean() - bottom)


def speed(sim: Simulation) -> float:
    """Root of the mean square of the speeds of all particles [m/s]."""
    return float(np.sqrt((np.array(sim.state.velocities, float) ** 2).sum(axis=1).mean()))


def still(
    scene: Scene, precision: str, steps: dict[str, Any], *, free: float = 0.0, damped: float = 1.0, rest: float = 0.5
) -> Simulation:
    """A simulation on one thread after a time in which its fluid has come to rest.

    Args:
        scene: The scene.
        precision: Precision.
        steps: Settings of the simulation.
        free: Time at the start in which objects go where they want to [s].
        damped: Time in which half of the momentum is taken away every twentieth of a second [s]: what a tank sloshes
            that is filled by a lattice is none of the business of a check of statics.
        rest: Time after that, free again [s].
    """
    sim = Simulation(scene, precision=precision, threads=1, **steps)
    sim.step(round(free / steps["dt"]))
    for _ in range(round(damped / 0.05)):
        sim.step(round(0.05 / steps["dt"]))
        sim.state.velocities *= 0.5
    sim.step(round(rest / steps["dt"]))
    return sim
