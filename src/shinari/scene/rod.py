"""The record of a rod beside its points, and its handle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shinari import check
from shinari.scene.handle import Handle


@dataclass(frozen=True)
class Rod:
    """Frames of a rod.

    Attributes:
        frames: Frame of each segment, unit quaternions w x y z, third axis along the segment, (S, 4).
        rest: Rotation at rest from the frame of each segment to the next, in the axes of the former, (J, 4).
        closed: Whether it is a ring: its last segment leads back to the first point, J = S; else J = S - 1.
    """

    frames: np.ndarray
    rest: np.ndarray
    closed: bool


@dataclass(frozen=True, eq=False, repr=False)
class RodHandle(Handle):
    """A rod: points, and a frame for each segment between them.

    Attributes:
        segments: Its segments among those of all rods, a range.
    """

    described: ClassVar[str] = "a rod"
    segments: range

    @property
    def frames(self) -> np.ndarray:
        """Frames in the scene as described, unit quaternions w x y z, (S, 4), a copy."""
        rod = next(obj.rod for obj in self._scene.particle_objects if obj.name == self.name)
        assert rod is not None
        return rod.frames.copy()

    def clamp(self, segments: Any) -> None:
        """Fix the frames of segments: they then follow values written to `Simulation.frames`.

        A clamp holds the direction of a segment and its twist, not its points; pin one of them for that. What it holds
        is the middle of the segment: a cantilever bends from there on.

        Args:
            segments: Segments within this rod, 0 to S - 1, (K,) or one.

        Raises:
            SceneError: A segment is out of range.
        """
        local = check.indices(self.name, "clamp", segments, len(self.segments))
        self._scene.clamped.update((local + self.segments.start).tolist())
        self._scene.revision += 1
