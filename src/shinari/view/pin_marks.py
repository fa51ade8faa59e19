"""The balls that mark what is pinned."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.api.simulation import Simulation
from shinari.io.results import Frame
from shinari.view.drawings import add_balls

FEW = 12
"""Up to so many have their full size; more are small, so that they do not hide what they hold."""
SMALL = 0.3
COLOR = (200, 40, 40)


class PinMarks:
    """Balls at the pinned particles, one node for all.

    Args:
        scene: The scene of a viser server.
        register: Told of the node whenever it is made anew, and of the particles of the scene that its balls mark,
            (n,) int.
    """

    def __init__(self, scene: Any, register: Callable[[Any, np.ndarray], None]) -> None:
        self._scene, self._register = scene, register
        self._node: Any = None
        self._places = np.zeros((0, 3), np.float32)
        self._pinned: np.ndarray = np.zeros(0, np.int64)
        self._shown: np.ndarray = np.zeros(0, np.int64)

    def look(self, simulation: Simulation) -> None:
        """Take note of what is pinned; in the thread of the runner."""
        self._pinned = np.flatnonzero(simulation.model.masses == 0.0)

    def forget(self) -> None:
        """Take them away: another scene comes."""
        self._pinned = self._shown = np.zeros(0, np.int64)
        self._remove()

    def draw(self, frame: Frame, radius: float) -> None:
        """Move the balls, of a radius [m], to where the pins are in a frame."""
        # a frame of the scene before has other particles
        pinned = self._pinned[self._pinned < len(frame.positions)]
        places = np.asarray(frame.positions[pinned], np.float32)
        same = np.array_equal(pinned, self._shown)
        if same and np.array_equal(places, self._places):
            return
        self._places, self._shown = places, pinned
        if same and self._node is not None:
            self._node.batched_positions = places
            return
        self._remove()
        if len(places):
            radius *= 1.0 if len(places) <= FEW else SMALL
            self._node = add_balls(self._scene, "/pins", radius, places, COLOR, cast_shadow=False)
            self._register(self._node, pinned)

    def _remove(self) -> None:
        if self._node is not None:
            self._node.remove()
            self._node = None
