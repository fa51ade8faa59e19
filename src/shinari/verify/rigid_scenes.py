"""What the checks of rigid bodies share: scenes, rotations, and how far a joint has come apart.

Bodies are in double precision whatever the precision of the particles, so that checks of bodies alone run in one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.plane import Plane

ONE = ("float64",)


def turn(axis: Any, angle: float) -> tuple[float, float, float, float]:
    """Quaternion w x y z of a rotation by an angle [rad] about an axis of any length."""
    n = np.asarray(axis, float) / np.linalg.norm(axis)
    x, y, z = math.sin(0.5 * angle) * n
    return math.cos(0.5 * angle), float(x), float(y), float(z)


def matrix(q: Any) -> np.ndarray:
    """Rotation matrix of a unit quaternion w x y z, (3, 3)."""
    w, x, y, z = (float(c) for c in q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle of the rotation from one matrix to the other [rad]."""
    r = first.T @ second
    sine = 0.5 * np.linalg.norm([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    return math.atan2(float(sine), 0.5 * (float(np.trace(r)) - 1.0))


def positions(sim: Simulation) -> np.ndarray:
    """Positions of all bodies [m], (B, 3)."""
    return np.array(sim.state.body_positions)


def place(sim: Simulation, body: BodyHandle) -> np.ndarray:
    """Position of the origin of a body [m], (3,)."""
    return np.array(sim.state.body_positions[body.index])


def axes(sim: Simulation, body: BodyHandle) -> np.ndarray:
    """Axes of a body as the columns of a matrix, (3, 3)."""
    return matrix(sim.state.body_rotations[body.index])


def velocity(sim: Simulation, body: BodyHandle) -> np.ndarray:
    """Velocity of the centre of mass of a body [m/s], (3,)."""
    return np.array(sim.state.body_velocities[body.index])


def spin(sim: Simulation, body: BodyHandle) -> np.ndarray:
    """Angular velocity of a body in world axes [rad/s], (3,)."""
    return np.array(sim.state.body_angular_velocities[body.index])


def single(scene: Scene, **settings: Any) -> Simulation:
    """A simulation on one thread, which is the fastest for a few bodies. Nothing sleeps: the solver is measured."""
    settings.setdefault("sleep", False)
    return Simulation(scene, precision="float64", threads=1, **settings)


def floor(scene: Scene, mu: float, restitution: float = 0.0) -> None:
    """The ground at height zero."""
    scene.add_collider(Plane(), friction=mu, restitution=restitution)


def incline(scene: Scene, degrees: float, mu: float) -> tuple[np.ndarray, np.ndarray, tuple]:
    """A plane that falls towards +X: its normal, the way down, and the rotation of what lies on it."""
    t = math.radians(degrees)
    up, down = np.array([math.sin(t), math.cos(t), 0.0]), np.array([math.cos(t), -math.sin(t), 0.0])
    scene.add_collider(Plane(normal=tuple(up)), friction=mu)
    return up, down, turn((0, 0, 1), -t)


def weightless() -> Scene:
    """A scene without gravity."""
    return Scene(gravity=(0, 0, 0))


class Anchor:
    """A point of the world, kept in the axes of the two bodies that meet there.

    Args:
        sim: A simulation at its start.
        first: A body.
        second: Another body; None: the world.
        point: Where they meet at the start [m].
    """

    def __init__(self, sim: Simulation, first: BodyHandle, second: BodyHandle | None, point: Any) -> None:
        self.bodies: tuple[BodyHandle, BodyHandle | None] = first, second
        where = np.asarray(point, float)
        self._start = [self._pose(sim, body) for body in self.bodies]
        self._places = [r.T @ (where - x) for x, r in self._start]

    @staticmethod
    def _pose(sim: Simulation, body: BodyHandle | None) -> tuple[np.ndarray, np.ndarray]:
        return (np.zeros(3), np.eye(3)) if body is None else (place(sim, body), axes(sim, body))

    def gap(self, sim: Simulation) -> np.ndarray:
        """From the point of the second body to that of the first [m], (3,)."""
        first, second = (
            x + r @ p for (x, r), p in zip((self._pose(sim, b) for b in self.bodies), self._places, strict=True)
        )
        return first - second

    def turned(self, sim: Simulation) -> np.ndarray:
        """Rotation of the first body against the second since the start, as a matrix in world axes of the start."""
        (_, a), (_, b) = (self._pose(sim, body) for body in self.bodies)
        (_, a0), (_, b0) = self._start
        return b0 @ b.T @ a @ a0.T


def pyramid(rows: int, edge: float) -> Scene:
    """Cubes in rows, each on two, on the ground; friction 0.6."""
    scene = Scene()
    floor(scene, 0.6)
    for row in range(rows):
        for k in range(rows - row):
            at = edge * (k - 0.5 * (rows - row - 1)), edge * (row + 0.5), 0.0
            scene.add_rigid_body(Box((edge, edge, edge)), position=at, friction=0.6)
    return scene


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes:
        bodies: Its trunk, then its limbs.
        joints: Its joints.
        places: Both bodies of each, and where it holds them.
    """

    bodies: list[BodyHandle]
    joints: list[JointHandle]
    places: list[tuple[BodyHandle, BodyHandle, np.ndarray]]

    def anchors(self, sim: Simulation) -> list[Anchor]:
        """What measures the gaps of its joints, made from a simulation at its start."""
        return [Anchor(sim, *each) for each in self.places]


def figure(scene: Scene, middle: np.ndarray, rotation: np.ndarray) -> Figure:
    """A trunk with four limbs of two parts, whose joints have narrow limits, that turns about its middle."""
    made = Figure([], [], [])

    def part(shape: Any, offset: tuple[float, float, float]) -> BodyHandle:
        made.bodies.append(scene.add_rigid_body(
            shape, position=middle + offset, velocity=np.cross(rotation, offset), angular_velocity=rotation,
            friction=0.6
        ))  # fmt: skip
        return made.bodies[-1]

    def join(kind: str, a: BodyHandle, b: BodyHandle, at: np.ndarray, **options: Any) -> None:
        made.places.append((a, b, at))
        made.joints.append(scene.add_joint(kind, a, b, anchor=at, **options))

    trunk = part(Box((0.3, 0.3, 0.2)), (0.0, 0.0, 0.0))
    for x in (-0.12, 0.12):
        for end in (-1, 1):
            upper, lower = (part(Capsule(0.05, 0.16), (x, y * end, 0.0)) for y in (0.28, 0.54))
            join("ball", upper, trunk, np.add(middle, (x, 0.15 * end, 0.0)), axis=(0, 1, 0), swing_limit=0.8,
                 twist_limits=(-0.3, 0.3))  # fmt: skip
            join("hinge", lower, upper, np.add(middle, (x, 0.41 * end, 0.0)), axis=(1, 0, 0), limits=(-1.5, 0.0))
    return made
