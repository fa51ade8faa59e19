"""Motions that are data: they can be written in a scene file and saved in a checkpoint.

Any function of time serves as a motion too; these two cover scene files.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shinari import check
from shinari.errors import SceneError

Pose = tuple[np.ndarray, np.ndarray]
"""Position (3,) [m] and rotation (4,), a unit quaternion w x y z."""

NO_ROTATION = np.array([1.0, 0.0, 0.0, 0.0])


class Motion(Protocol):
    """A function of time [s] that returns a position, or a position and a rotation."""

    def __call__(self, time: float) -> object:
        """Pose at that time [s]."""
        ...


@dataclass(frozen=True)
class Keyframes:
    """Positions and rotations at given times, linear in between (rotations along the short arc), held outside.

    Attributes:
        times: Increasing times [s], (K,).
        positions: Positions [m], (K, 3).
        rotations: Unit quaternions w x y z, (K, 4); None: no rotation.
    """

    times: np.ndarray
    positions: np.ndarray
    rotations: np.ndarray | None = None

    def __post_init__(self) -> None:
        times = check.array("Keyframes", "times", self.times, (None,))
        if len(times) == 0 or (np.diff(times) <= 0).any():
            raise SceneError("Keyframes: times: must be increasing and not empty")
        object.__setattr__(self, "times", times)
        positions = check.array("Keyframes", "positions", self.positions, (len(times), 3))
        object.__setattr__(self, "positions", positions)
        if self.rotations is not None:
            rotations = check.array("Keyframes", "rotations", self.rotations, (len(times), 4))
            rotations = np.stack([check.unit_quaternion("Keyframes", "rotations", q) for q in rotations])
            object.__setattr__(self, "rotations", rotations)

    def __call__(self, time: float) -> Pose:
        """Pose at that time [s]."""
        return _only(self.poses(np.array([check.number("Keyframes", "time", time)])))

    def poses(self, times: np.ndarray) -> Pose:
        """Positions (T, 3) [m] and rotations (T, 4) at times (T,) [s]."""
        positions = np.stack([np.interp(times, self.times, self.positions[:, k]) for k in range(3)], axis=1)
        if self.rotations is None:
            return positions, np.tile(NO_ROTATION, (len(times), 1))
        first = np.clip(np.searchsorted(self.times, times) - 1, 0, max(len(self.times) - 2, 0))
        second = np.minimum(first + 1, len(self.times) - 1)
        span = self.times[second] - self.times[first]
        parts = np.clip((times - self.times[first]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)
        pairs = zip(self.rotations[first], self.rotations[second], parts, strict=True)
        return positions, np.stack([_slerp(a, b, float(part)) for a, b, part in pairs])


@dataclass(frozen=True)
class Oscillation:
    """Swings along a vector: position = centre + amplitude sin(2 pi frequency time + phase).

    Attributes:
        centre: Middle of the swing [m].
        amplitude: Vector from the middle to the far end [m].
        frequency: Swings per second [Hz].
        phase: Phase at time zero [rad].
    """

    centre: tuple[float, float, float]
    amplitude: tuple[float, float, float]
    frequency: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        for field in ("centre", "amplitude"):
            value = check.vector("Oscillation", field, getattr(self, field))
            object.__setattr__(self, field, tuple(value.tolist()))
        object.__setattr__(self, "frequency", check.number("Oscillation", "frequency", self.frequency, least=0.0))
        object.__setattr__(self, "phase", check.number("Oscillation", "phase", self.phase))

    def __call__(self, time: float) -> Pose:
        """Pose at that time [s]."""
        return _only(self.poses(np.array([check.number("Oscillation", "time", time)])))

    def poses(self, times: np.ndarray) -> Pose:
        """Positions (T, 3) [m] and rotations (T, 4) at times (T,) [s]."""
        swings = np.sin(2.0 * np.pi * self.frequency * times + self.phase)
        positions = np.asarray(self.centre) + swings[:, None] * np.asarray(self.amplitude)
        return positions, np.tile(NO_ROTATION, (len(times), 1))


def _only(poses: Pose) -> Pose:
    """The only one of several poses."""
    return poses[0][0], poses[1][0]


def pose_at(motion: Motion, time: float, rotation: np.ndarray, label: str = "motion") -> Pose:
    """Pose of a motion at a time; one that gives a position alone keeps the rotation. Messages name `label`.

    Raises:
        SceneError: The motion returns something else than numbers of the right shape.
    """
    if type(motion) is Keyframes or type(motion) is Oscillation:
        return _only(poses_at(motion, np.array([time]), rotation, label))
    value = motion(time)
    if isinstance(value, tuple) and len(value) == 2:
        position = check.vector(label, f"position at t = {time:g} s", value[0])
        return position, check.unit_quaternion(label, f"rotation at t = {time:g} s", value[1])
    return check.vector(label, f"position at t = {time:g} s", value), rotation


def poses_at(motion: Motion, times: np.ndarray, rotation: np.ndarray, label: str = "motion") -> Pose:
    """Positions (T, 3) [m] and rotations (T, 4) of a motion at times (T,) [s]; see `pose_at`.

    Raises:
        SceneError: The motion returns something else than numbers of the right shape.
    """
    if type(motion) is Keyframes or type(motion) is Oscillation:
        # data that were checked when they were made: no call and no check for each time
        return motion.poses(times)
    positions, rotations = zip(*(pose_at(motion, float(time), rotation, label) for time in times), strict=True)
    return np.array(positions), np.array(rotations)


def rotation_matrix(rotation: np.ndarray) -> np.ndarray:
    """Matrix of a unit quaternion w x y z, (4,) -> (3, 3), or of many, (K, 4) -> (K, 3, 3)."""
    w, x, y, z = np.asarray(rotation, np.float64).T
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix if matrix.ndim == 2 else matrix.transpose(2, 0, 1)


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product a b of quaternions w x y z, (4,): first the rotation b, then a."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def _slerp(first: np.ndarray, second: np.ndarray, s: float) -> np.ndarray:
    cosine = float(first @ second)
    if cosine < 0.0:
        second, cosine = -second, -cosine
    angle = np.arccos(min(cosine, 1.0))
    if angle < 1e-6:
        result = first + s * (second - first)
    else:
        result = (np.sin((1.0 - s) * angle) * first + np.sin(s * angle) * second) / np.sin(angle)
    return result / np.linalg.norm(result)
