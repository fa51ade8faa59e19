"""Scenes that several checks share."""

from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import Handle


def small(scene: Scene, precision: str, **settings: Any) -> Simulation:
    """A simulation on one thread, which is the fastest for a few particles. It never rests: the solver is measured."""
    settings.setdefault("sleep", False)
    return Simulation(scene, precision=precision, threads=1, **settings)


def hanging_chain(
    scene: Scene, masses: Any, *, length: float, direction: tuple[float, float, float] = (0.0, -1.0, 0.0), **row: Any
) -> Handle:
    """A chain of particles at their rest lengths that hangs from a fixed one.

    Args:
        scene: Where to add it.
        masses: Masses from the top down, without the fixed one [kg], (N,).
        length: Rest length of each row [m].
        direction: Unit vector along which it is laid out from the fixed end.
        **row: Compliance and damping of its distance rows.

    Returns:
        Its particles, the fixed one first.
    """
    n = len(masses)
    points = np.arange(n + 1)[:, None] * length * np.asarray(direction)
    chain = scene.add_particles(points, mass=np.concatenate([[0.0], masses]))
    start = chain.particles.start
    rows = start + np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    scene.add_constraint("distance", rows, **row)
    return chain
