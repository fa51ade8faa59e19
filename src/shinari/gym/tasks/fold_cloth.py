"""Fold a cloth in half."""

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.gym.task import Task
from shinari.scene.materials import ClothMaterial
from shinari.shapes.plane import Plane

SIDE, COUNT, THICKNESS = 0.3, 13, 0.01
SPEED, FOLDED, LOW, SHIFT = 0.4, 0.04, 0.04, 0.02


class FoldCloth(Task):
    """Fold a square cloth of 30 cm on a table in half, with two hands that hold two of its corners.

    The action is the velocity of both hands, at most 0.4 m/s along each axis: across the fold, upwards, along it. The
    cloth is folded where the particles of one half are less than 4 cm beside their mirror images in the mean, and the
    hands lower than 4 cm. At the start the cloth lies up to 2 cm beside the middle.

    Observations: from the hands to the corners that they go to; height of the hands; their velocity; mean place of four
    parts of the cloth, from the corners; what is left to the fold [m, m/s].
    """

    actions, observations = 3, 20
    every, horizon = 3, 120
    settings = {"dt": 1 / 60, "substeps": 10}  # noqa: RUF012  a constant
    camera = ((0.7, 0.55, 0.9), (0.0, 0.03, 0.0))

    def build(self) -> Scene:
        """A cloth on a table."""
        scene = Scene()
        material = ClothMaterial(density=0.3, thickness=THICKNESS, friction=0.5, bend_stiffness=1e-4)
        mesh = grid(shape=(COUNT, COUNT), size=(SIDE, SIDE))
        self.cloth = scene.add_cloth(
            mesh, material=material, position=(0, 0.5 * THICKNESS, 0), self_collision="particles"
        )
        scene.add_collider(Plane(), friction=0.5, name="table")
        x = scene.positions
        self.hands = np.array([self.cloth.nearest((side, 0, 0.5 * SIDE)) for side in (-0.5 * SIDE, 0.5 * SIDE)])
        self.goals = np.array([self.cloth.nearest((side, 0, -0.5 * SIDE)) for side in (-0.5 * SIDE, 0.5 * SIDE)])
        self.cloth.pin(self.hands)
        self.front = np.flatnonzero(x[:, 2] > 0.5 * SIDE / COUNT)
        self.mirrored = np.array([self.cloth.nearest(x[k] * (1, 1, -1)) for k in self.front])
        self.parts = [np.flatnonzero((x[:, 0] * a > 0) & (x[:, 2] * b > 0)) for a in (-1, 1) for b in (-1, 1)]
        return scene

    def prepare(self) -> None:
        """Velocities of the hands."""
        self.velocity = np.zeros((len(self.worlds), 3))

    def start(self, world: int, random: np.random.Generator) -> None:
        """The cloth lies beside the middle."""
        self.velocity[world] = 0.0
        self.worlds.positions(self.cloth)[world] += random.uniform(-SHIFT, SHIFT, 3) * (1, 0, 1)

    def act(self, actions: np.ndarray) -> None:
        """Move the hands; they do not go into the table."""
        self.velocity[...] = SPEED * actions
        x = self.worlds.positions(self.cloth)
        x[:, self.hands] += (self.worlds.settings.dt * self.velocity)[:, None]
        x[:, self.hands, 1] = np.maximum(x[:, self.hands, 1], 0.5 * THICKNESS)

    def _left(self) -> np.ndarray:
        """Mean distance of the front half from its mirror image, seen from above [m], (W,)."""
        x = self.worlds.positions(self.cloth)
        return np.linalg.norm((x[:, self.front] - x[:, self.mirrored])[..., (0, 2)], axis=2).mean(axis=1)

    def observe(self) -> np.ndarray:
        """Hands, corners and parts of the cloth."""
        x = self.worlds.positions(self.cloth)
        hand, goal = x[:, self.hands].mean(axis=1), x[:, self.goals].mean(axis=1)
        parts = [x[:, part].mean(axis=1) - goal for part in self.parts]
        return np.concatenate([goal - hand, hand[:, 1:2], self.velocity, *parts, self._left()[:, None]], axis=1)

    def reward(self) -> np.ndarray:
        """How much is folded, from -1 to 0."""
        return -self._left() / SIDE

    def succeeded(self) -> np.ndarray:
        """Both halves lie on each other."""
        hands = self.worlds.positions(self.cloth)[:, self.hands, 1].max(axis=1)
        return (self._left() < FOLDED) & (hands < LOW)

    def script(self) -> np.ndarray:
        """Take the hands along a half circle over the fold, in four seconds."""
        x = self.worlds.positions(self.cloth)
        hand, goal = x[:, self.hands].mean(axis=1), x[:, self.goals].mean(axis=1)
        t = np.minimum((self.elapsed + 1) * self.every * self.worlds.settings.dt / 4.0, 1.0) * np.pi
        wanted = goal + np.stack([0.0 * t, 0.45 * SIDE * np.sin(t) + 0.02, 0.5 * SIDE * (1 + np.cos(t))], axis=1)
        return (wanted - hand) / (self.every * self.worlds.settings.dt * SPEED)
