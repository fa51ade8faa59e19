"""Small scenes that several tests of the simulation share."""

import numpy as np
import pytest

import shinari as sn

G = 9.81
SWEEPS = ("gauss-seidel", "jacobi", "jacobi-averaged", "chebyshev")
precisions = pytest.mark.parametrize("precision", ["float32", "float64"])


def pair(gravity: float = -G, above: bool = False, mass: float = 1.0, **options) -> sn.Scene:
    """A particle one metre below (or above) a fixed one, joined by a distance row."""
    scene = sn.Scene(gravity=(0, gravity, 0), damping=8.0)
    scene.add_particles([[0, 0, 0], [0, 1.0 if above else -1.0, 0]], mass=[0.0, mass])
    scene.add_constraint("distance", [[0, 1]], **options)
    return scene


def settled(scene: sn.Scene, steps: int = 420, **options) -> sn.Simulation:
    options = {"precision": "float64", "substeps": 10, "threads": 1, **options}
    sim = sn.Simulation(scene, **options)
    sim.step(steps)
    return sim


def rope(count: int = 8, at: np.ndarray | None = None, **material) -> tuple[sn.Scene, sn.scene.handle.Handle]:
    scene = sn.Scene(damping=4.0)
    points = np.stack([np.zeros(count), -0.25 * np.arange(count), np.zeros(count)], axis=1)
    handle = scene.add_rope(points + (0.0 if at is None else at), material=sn.RopeMaterial(**material))
    handle.pin([0])
    return scene, handle
