"""Spread a folded cloth."""

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.gym.task import Task
from shinari.scene.materials import ClothMaterial
from shinari.shapes.plane import Plane

SIDE, COUNT, THICKNESS = 0.3, 13, 0.01
SPEED, SHIFT, SPREAD = 0.4, 0.03, 0.92
CELL = SIDE / (COUNT - 1)


class SpreadCloth(Task):
    """Spread a square cloth of 30 cm, which lies folded on a table, with two hands that hold two of its corners.

    At the start the half with the hands lies on the other one, and the cloth up to 3 cm beside the middle. The action
    is the velocity of each hand, at most 0.4 m/s along each axis. The cloth is spread where it covers 92 % of its area.

    Observations: from the middle of the edge that lies on the table to each hand; velocity of each hand; middle of the
    cloth; height of its highest particle; the part that is covered [m, m/s].
    """

    actions, observations = 6, 17
    every, horizon = 3, 100
    settings = {"dt": 1 / 60, "substeps": 10}  # noqa: RUF012  a constant
    camera = ((0.7, 0.7, 0.9), (0.0, 0.03, 0.0))

    def build(self) -> Scene:
        """A flat cloth on a table; an episode begins with it folded."""
        scene = Scene()
        material = ClothMaterial(density=0.3, thickness=THICKNESS, friction=0.5, bend_stiffness=1e-4)
        mesh = grid(shape=(COUNT, COUNT), size=(SIDE, SIDE))
        self.cloth = scene.add_cloth(
            mesh, material=material, position=(0, 0.5 * THICKNESS, 0), self_collision="particles"
        )
        scene.add_collider(Plane(), friction=0.5)
        self.flat = scene.positions.copy()
        self.hands = np.array([self.cloth.nearest((side, 0, 0.5 * SIDE)) for side in (-0.5 * SIDE, 0.5 * SIDE)])
        self.edge = np.flatnonzero(self.flat[:, 2] < -0.5 * SIDE + 0.5 * CELL)
        self.cloth.pin(self.hands)
        return scene

    def settle(self, simulation: Simulation) -> None:
        """Fold the cloth: the hands take their edge along a half circle."""
        x = simulation.positions(self.cloth)
        for angle in np.linspace(0.0, np.pi, 120):
            x[self.hands, 1:] = 0.5 * SIDE * np.sin(angle) + 1.5 * THICKNESS, 0.5 * SIDE * np.cos(angle)
            simulation.step()
        simulation.step(60)

    def prepare(self) -> None:
        """Velocities of the hands."""
        self.velocity = np.zeros((len(self.worlds), 2, 3))

    def start(self, world: int, random: np.random.Generator) -> None:
        """The cloth lies beside the middle."""
        self.velocity[world] = 0.0
        self.worlds.positions(self.cloth)[world] += random.uniform(-SHIFT, SHIFT, 3) * (1, 0, 1)

    def act(self, actions: np.ndarray) -> None:
        """Move the hands; they do not go into the table."""
        self.velocity[...] = SPEED * actions.reshape(-1, 2, 3)
        x = self.worlds.positions(self.cloth)
        x[:, self.hands] += self.worlds.settings.dt * self.velocity
        x[:, self.hands, 1] = np.maximum(x[:, self.hands, 1], 0.5 * THICKNESS)

    def covered(self) -> np.ndarray:
        """Part of its area that the cloth covers, (W,): cells of the size of its mesh, seen from above."""
        x = self.worlds.positions(self.cloth)
        cells = np.round(x[..., (0, 2)] / CELL).astype(np.int64)
        numbers = np.sort(1000 * cells[..., 0] + cells[..., 1], axis=1)
        return (1 + (np.diff(numbers, axis=1) != 0).sum(axis=1)) / COUNT**2

    def observe(self) -> np.ndarray:
        """Hands and cloth."""
        x = self.worlds.positions(self.cloth)
        edge = x[:, self.edge].mean(axis=1)
        hands = (x[:, self.hands] - edge[:, None]).reshape(-1, 6)
        middle, top = x.mean(axis=1) - edge, x[..., 1].max(axis=1)
        return np.concatenate(
            [hands, self.velocity.reshape(-1, 6), middle, np.stack([top, self.covered()], axis=1)], axis=1
        )

    def reward(self) -> np.ndarray:
        """The part that is covered, less one."""
        return self.covered() - 1.0

    def succeeded(self) -> np.ndarray:
        """It is spread."""
        return self.covered() >= SPREAD

    def script(self) -> np.ndarray:
        """Take the hands along half circles back over the fold, in three seconds, and a little farther."""
        x = self.worlds.positions(self.cloth)
        t = np.minimum((self.elapsed + 1) * self.every * self.worlds.settings.dt / 3.0, 1.0) * np.pi
        path = np.stack([0.0 * t, 0.4 * SIDE * np.sin(t) + 0.005, -0.51 * SIDE * np.cos(t)], axis=1)
        wanted = path[:, None] + self.flat[self.hands] * (1, 0, 0)
        return ((wanted - x[:, self.hands]) / (self.every * self.worlds.settings.dt * SPEED)).reshape(-1, 6)
