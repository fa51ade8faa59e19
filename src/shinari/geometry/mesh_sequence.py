"""A mesh that changes its shape in time: the same triangles, other places of the vertices."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.topology import check_mesh

MOST_TRIANGLES = 200_000
"""Triangles of a mesh that moves: its contacts are found anew in each step."""
MOST_NUMBERS = 2**28
"""Coordinates of all frames: two gigabytes."""


@dataclass(frozen=True, eq=False)
class MeshSequence:
    """A mesh with the same triangles at several times; between them vertices move on straight lines.

    Attributes:
        times: Increasing times [s], (K,).
        positions: Vertices at each time [m], (K, V, 3); before the first and after the last time they stay.
        faces: Triangles, (F, 3), counter-clockwise seen from outside.

    Raises:
        SceneError: Times do not increase, a frame has another shape, the triangles are no mesh, or it is too large.
    """

    times: Any
    positions: Any
    faces: Any

    def __post_init__(self) -> None:
        label = "MeshSequence"
        times = check.array(label, "times", self.times, (None,))
        if len(times) == 0 or (np.diff(times) <= 0.0).any():
            raise SceneError(f"{label}: times: must be increasing and not empty")
        shape = check.shaped(label, "positions", self.positions).shape
        if len(shape) == 3 and np.prod(shape, dtype=float) > MOST_NUMBERS:
            raise SceneError(
                f"{label}: positions: {shape[0]} frames of {shape[1]} vertices are more than {MOST_NUMBERS} numbers; "
                f"take fewer frames, which are joined by straight lines, or a coarser mesh"
            )
        positions = check.array(label, "positions", self.positions, (len(times), None, 3))
        given = check.shaped(label, "faces", self.faces).shape
        count = given[0] if given else 0
        if count > MOST_TRIANGLES:
            raise SceneError(
                f"{label}: faces: {count} triangles are more than {MOST_TRIANGLES}, of which contacts can be found in "
                f"each step; give a coarser mesh of the body"
            )
        _, faces = check_mesh(positions[0], self.faces, f"{label}: frame 0")
        for name, value in (("times", times), ("positions", positions), ("faces", faces)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        _, vertices, _ = self.positions.shape
        return f"MeshSequence({len(self.times)} frames, {vertices} vertices, {len(self.faces)} faces)"

    def __call__(self, time: float) -> np.ndarray:
        """Vertices at a time [s], (V, 3) [m]."""
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, len(self.times) - 1))
        if k == len(self.times) - 1 or time <= self.times[0]:
            return self.positions[k].copy()
        part = (time - self.times[k]) / (self.times[k + 1] - self.times[k])
        return (1.0 - part) * self.positions[k] + part * self.positions[k + 1]
