"""Sensors of a compiled robot that see what is around: along a ray, and between shapes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shinari.collision.pair_distances import is_measured, pair_distances
from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.sensors import Frame, Sensor
from shinari.scene.handle import BodyHandle, ColliderHandle
from shinari.scene.running import running
from shinari.shapes.base import Shape

DISTANCE, DIRECTION, ORIGIN, POINT, NORMAL, DEPTH = (1 << k for k in range(6))
"""What a range finder tells, as bits of what the file asks for, in this order."""
OF_PAIRS = ("distance", "normal", "fromto")


@dataclass(frozen=True)
class RangeFinder(Sensor):
    """A ray along the z axis of a frame. `of` is any body of the robot.

    Attributes:
        frame: Where it starts.
        told: What it tells.
        cutoff: Largest size of its numbers [m]; 0: none.
        passed: Bodies and colliders that the ray passes through.
    """

    frame: Frame = field(default_factory=lambda: Frame(None))
    told: int = DISTANCE
    cutoff: float = 0.0
    passed: Sequence[BodyHandle | ColliderHandle] = ()

    def read(self) -> np.ndarray:
        """What it measures now.

        The distance [m], -1 where it meets nothing; or all that the file asks for, one after the other: distance,
        direction, origin [m], the point that was hit [m], the normal there, depth [m]; zeros where nothing was hit.

        Raises:
            SceneError: There is no simulation.
        """
        simulation = running(self.of._scene, f"sensor {self.name!r}")
        place, turn = self.frame.pose(simulation)
        along = rotation_matrix(turn)[:, 2]
        hits = simulation.cast_rays(place, along, ignore=self.passed)
        met = bool(np.isfinite(hits.distances[0]))
        distance = float(hits.distances[0]) if met else -1.0
        nothing = np.zeros(3)
        point, normal = (hits.positions[0], hits.normals[0]) if met else (nothing, nothing)
        values = {
            DISTANCE: [distance],
            DIRECTION: along if met else nothing,
            ORIGIN: place,
            POINT: point,
            NORMAL: normal,
            DEPTH: [distance],
        }
        found = np.concatenate([np.asarray(value) for bit, value in values.items() if self.told & bit])
        return np.clip(found, -self.cutoff, self.cutoff) if self.cutoff > 0.0 else found


@dataclass(frozen=True)
class Solid:
    """A shape where it is carried.

    Attributes:
        shape: The shape.
        frame: Where its axes are.
    """

    shape: Shape
    frame: Frame

    @staticmethod
    def is_known(shape: Shape) -> bool:
        """Whether distances from a shape are measured."""
        return is_measured(shape)


@dataclass(frozen=True)
class PairSensor(Sensor):
    """A distance between shapes. `of` is any body of the robot.

    Attributes:
        first: Shapes of one side.
        second: Shapes of the other.
        cutoff: Largest distance that counts [m].
    """

    first: Sequence[Solid] = ()
    second: Sequence[Solid] = ()
    cutoff: float = 0.0

    def read(self) -> np.ndarray:
        """The least distance of two shapes [m], (1,), at most the cutoff, negative where they overlap.

        Of a `fromto` the nearest points of both sides [m], (6,), of a `normal` the unit vector from the first of them
        to the second, (3,), which is into the first side where they overlap; zeros beyond the cutoff.

        Raises:
            SceneError: There is no simulation.
        """
        simulation = running(self.of._scene, f"sensor {self.name!r}")
        solids = [*self.first, *self.second]
        poses = [solid.frame.pose(simulation) for solid in solids]
        pairs = [(i, j) for i in range(len(self.first)) for j in range(len(self.first), len(solids))]
        distances, ends, normals = pair_distances([solid.shape for solid in solids], poses, pairs)
        k = int(np.argmin(distances))
        if self.kind == "distance":
            return np.array([min(distances[k], self.cutoff)])
        if distances[k] > self.cutoff:
            return np.zeros(3 if self.kind == "normal" else 6)
        return ends[k].ravel() if self.kind == "fromto" else np.copysign(1.0, distances[k]) * normals[k]
