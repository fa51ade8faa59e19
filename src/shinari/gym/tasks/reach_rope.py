"""Reach a place with the free end of a rope."""

import numpy as np

from shinari.api.scene import Scene
from shinari.gym.task import Task
from shinari.scene.materials import RopeMaterial

LENGTH, POINTS = 0.6, 16
SPEED, REACH, HELD, TRAVEL_TIME = 0.8, 0.03, 5, 3.0


class ReachRope(Task):
    """Bring the free end of a hanging rope to a place and hold it there for a quarter of a second.

    A hand holds the upper end; the action is its velocity, at most 0.8 m/s along each axis. The place is drawn within
    40 cm; it is reached where the free end is within 3 cm of it in five actions in a row.

    Observations: from the hand to the free end and its velocity; from the free end to the place; the velocity of the
    hand; from the hand to the middle of the rope [m, m/s].
    """

    actions, observations = 3, 15
    every, horizon = 3, 120
    settings = {"dt": 1 / 60, "substeps": 8}  # noqa: RUF012  a constant
    camera = ((0.5, 0.6, 2.4), (0.0, 0.35, 0.0))

    def build(self) -> Scene:
        """A rope that hangs from a particle."""
        scene = Scene(damping=0.5)
        points = np.zeros((POINTS, 3))
        points[:, 1] = np.linspace(LENGTH, 0.0, POINTS)
        self.rope = scene.add_rope(points, material=RopeMaterial(radius=0.006))
        self.rope.pin([0])
        return scene

    def prepare(self) -> None:
        """Places to reach, velocities of the hands, and for how many actions the end was there."""
        count = len(self.worlds)
        self.goal, self.velocity = np.zeros((count, 3)), np.zeros((count, 3))
        self.held = np.zeros(count, np.int64)

    def start(self, world: int, random: np.random.Generator) -> None:
        """Draw a place."""
        self.goal[world] = random.uniform(-0.4, 0.4, 3)
        self.velocity[world], self.held[world] = 0.0, 0

    def act(self, actions: np.ndarray) -> None:
        """Move the hands."""
        self.velocity[...] = SPEED * actions
        self.worlds.positions(self.rope)[:, 0] += self.worlds.settings.dt * self.velocity

    def _seen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hand, free end and its velocity."""
        x = self.worlds.positions(self.rope)
        return x[:, 0], x[:, -1], self.worlds.velocities(self.rope)[:, -1]

    def observe(self) -> np.ndarray:
        """Hand, free end, place and middle."""
        hand, end, speed = self._seen()
        middle = self.worlds.positions(self.rope)[:, POINTS // 2] - hand
        return np.concatenate([end - hand, speed, self.goal - end, self.velocity, middle], axis=1)

    def conclude(self) -> None:
        """Count for how long the end has been at its place."""
        self.held = np.where(self._away() < REACH, self.held + 1, 0)

    def _away(self) -> np.ndarray:
        """Distance of the free end from its place [m], (W,)."""
        return np.linalg.norm(self.goal - self._seen()[1], axis=1)

    def reward(self) -> np.ndarray:
        """How near the end is; more where it is there."""
        away = self._away()
        return np.where(away < REACH, 1.0, -away)

    def succeeded(self) -> np.ndarray:
        """It was held there."""
        return self.held >= HELD

    def script(self) -> np.ndarray:
        """Take the hand to where the rope hangs at its place, in three seconds with least jerk: it hardly swings."""
        hand, _, _ = self._seen()
        t = np.minimum((self.elapsed + 1) * self.every * self.worlds.settings.dt / TRAVEL_TIME, 1.0)[:, None]
        goes_to = (0.0, LENGTH, 0.0) + self.goal * (10.0 - 15.0 * t + 6.0 * t * t) * t**3
        return (goes_to - hand) / (self.every * self.worlds.settings.dt * SPEED)
