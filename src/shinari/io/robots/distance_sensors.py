"""Sensors of a compiled robot that see what is around: along a ray, and between shapes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.collision.pair_distances import is_measured, pair_distances
from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.sensors import Frame, Sensor
from shinari.scene.handle import BodyHandle, ColliderHandle
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
        passed: Bodies and colliders that the ray passes through.
    """

    frame: Frame = field(default_factory=lambda: Frame(None))
    told: int = DISTANCE
    passed: Sequence[BodyHandle | ColliderHandle] = ()

    def _measure(self, simulation: Any) -> np.ndarray:
        """What it measures now.

        The distance [m], -1 where it meets nothing; or all that the file asks for, one after the other: distance,
        direction, origin [m], the point that was hit [m], the normal there, depth [m]; zeros where nothing was hit.
        """
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
        return np.concatenate([np.asarray(value) for bit, value in values.items() if self.told & bit])


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
        reach: Largest distance that counts [m].
    """

    first: Sequence[Solid] = ()
    second: Sequence[Solid] = ()
    reach: float = 0.0

    def _measure(self, simulation: Any) -> np.ndarray:
        """The least distance of two shapes [m], (1,), at most the reach, negative where they overlap.

        Of a `fromto` the nearest points of both sides [m], (6,), of a `normal` the unit vector from the first of them
        to the second, (3,), which is into the first side where they overlap; zeros beyond the reach.
        """
        solids = [*self.first, *self.second]
        poses = [solid.frame.pose(simulation) for solid in solids]
        pairs = [(i, j) for i in range(len(self.first)) for j in range(len(self.first), len(solids))]
        distances, ends, normals = pair_distances([solid.shape for solid in solids], poses, pairs)
        k = int(np.argmin(distances))
        if self.kind == "distance":
            return np.array([min(distances[k], self.reach)])
        if distances[k] > self.reach:
            return np.zeros(3 if self.kind == "normal" else 6)
        return ends[k].ravel() if self.kind == "fromto" else np.copysign(1.0, distances[k]) * normals[k]
