"""Emitters and sinks of fluids: plain frozen records."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shinari.geometry.motion import NO_ROTATION, Motion, pose_at, rotation_matrix
from shinari.shapes.base import Shape

# Part of the time between two layers over which the motion of a nozzle is differenced for its velocity.
_SPAN = 1e-3


@dataclass(frozen=True)
class Emitter:
    """A nozzle that lets out a fluid, one layer of particles after the other.

    Layer m leaves at `start + m interval`, so that the layers follow each other at the spacing of the fluid.

    Attributes:
        places: Particles of a layer, from the middle of the nozzle [m], (K, 3).
        position: Middle of the nozzle [m], (3,).
        direction: Unit vector along which the fluid leaves, (3,).
        speed: Speed at which it leaves, relative to the nozzle [m/s].
        interval: Time from one layer to the next [s].
        start: Time at which the first layer leaves [s].
        stop: Time after which none leaves [s]; infinite: never.
        recycle: Whether the oldest particles come out again when all are out.
        motion: Where the nozzle is as a function of time, in place of `position`, and how it is turned; or None.
    """

    places: np.ndarray
    position: np.ndarray
    direction: np.ndarray
    speed: float
    interval: float
    start: float
    stop: float
    recycle: bool
    motion: Motion | None = None

    def layers(self, time: float) -> int:
        """Number of layers that have left until a time [s]; one that is due but for rounding has left."""
        last = min(time, self.stop)
        if last < self.start:
            return 0
        return math.floor((last - self.start) / self.interval + 1e-9) + 1

    def layer(self, time: float, label: str) -> tuple[np.ndarray, np.ndarray]:
        """A layer that leaves at a time [s].

        Args:
            time: The time.
            label: Name of the object, for messages.

        Returns:
            Positions [m], (K, 3), and the velocity of all of them [m/s], (3,).

        Raises:
            SceneError: The motion returns something else than a finite pose.
        """
        if self.motion is None:
            return self.position + self.places, self.speed * self.direction
        span = _SPAN * self.interval
        at, turn = pose_at(self.motion, time, NO_ROTATION, f"{label}: motion")
        ahead, _ = pose_at(self.motion, time + span, NO_ROTATION, f"{label}: motion")
        matrix = rotation_matrix(turn)
        return at + self.places @ matrix.T, self.speed * (matrix @ self.direction) + (ahead - at) / span


@dataclass(frozen=True)
class Sink:
    """A region that takes particles of fluids away.

    Attributes:
        name: Unique name.
        shape: Its shape.
        position: Position of its origin [m], (3,).
        rotation: Unit quaternion w x y z, (4,).
    """

    name: str
    shape: Shape
    position: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class SinkHandle:
    """A sink of a scene.

    Attributes:
        name: Name in messages.
        index: Its place among the sinks.
    """

    described: ClassVar[str] = "a sink"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: sink {self.index}>"
