"""Scenes that several checks of fluids share, and what is read from them."""

from typing import Any

import numpy as np

from shinari.scene.handle import ColliderHandle, Handle
from shinari.scene.scene import Scene
from shinari.scene.shapes import Box
from shinari.simulation import Simulation

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


def level(sim: Simulation, fluid: Handle, bottom: float = 0.0) -> float:
    """Height of a fluid at rest above the bottom [m]: twice that of its centre."""
    return 2.0 * float(np.array(sim.positions(fluid), float)[:, 1].mean() - bottom)


def speed(sim: Simulation) -> float:
    """Root of the mean square of the speeds of all particles [m/s]."""
    return float(np.sqrt((np.array(sim.state.velocities, float) ** 2).sum(axis=1).mean()))


def still(scene: Scene, precision: str, seconds: float, steps: dict[str, Any]) -> Simulation:
    """A simulation on one thread after a time in which its fluid has come to rest.

    Half of the momentum is taken away every twentieth of a second until three quarters of the time are over: what a
    tank that is filled by a lattice sloshes is none of the business of a check of statics.
    """
    sim = Simulation(scene, precision=precision, threads=1, **steps)
    while sim.time < 0.75 * seconds:
        sim.step(max(1, round(0.05 / steps["dt"])))
        sim.state.velocities *= 0.5
    sim.step(round(0.25 * seconds / steps["dt"]))
    return sim
