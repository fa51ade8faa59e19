"""Push sand over a line."""

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.gym.task import Task
from shinari.scene.grain_material import GrainMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane

RADIUS, HEAP = 0.01, (4, 5, 4)
BLADE = (0.02, 0.08, 0.16)
SPEED, LINE, DONE, HOME = 0.3, 0.12, 0.9, -0.2


class PushSand(Task):
    """Push a heap of sand over a line with a blade of 16 cm.

    The blade stands on the ground; the action is its velocity, at most 0.3 m/s along each axis. The heap is drawn
    within 8 cm to both sides. The task is done where 90 % of the grains are beyond the line, 12 cm from where the heap
    was.

    Observations: place and velocity of the blade; mean place of the grains, and how far they are spread along both
    axes; the part that is beyond the line; mean place of the grains that are not [m, m/s].
    """

    actions, observations = 2, 11
    every, horizon = 4, 100
    settings = {"dt": 1 / 60, "substeps": 6}  # noqa: RUF012  a constant
    camera = ((0.1, 0.75, 0.75), (0.0, 0.0, 0.0))

    def build(self) -> Scene:
        """A heap and a blade."""
        scene = Scene()
        scene.add_collider(Plane(), friction=0.5)
        heap = Box((2 * RADIUS * HEAP[0], 2 * RADIUS * HEAP[1], 2 * RADIUS * HEAP[2]))
        place = (0.0, RADIUS * HEAP[1], 0.0)
        sand = GrainMaterial(density=1500, friction=0.3)
        self.sand = scene.add_grains(heap, radius=RADIUS, spread=0.2, position=place, material=sand)
        scene.add_rigid_body(Box(BLADE), position=(HOME, 0.5 * BLADE[1] + 0.002, 0.0), kinematic=True, friction=0.3)
        return scene

    def settle(self, simulation: Simulation) -> None:
        """The heap comes to rest."""
        simulation.step(60)

    def prepare(self) -> None:
        """Whether the script pushes."""
        self.pushes = np.zeros(len(self.worlds), bool)

    def start(self, world: int, random: np.random.Generator) -> None:
        """Move the heap aside."""
        self.pushes[world] = False
        self.worlds.positions(self.sand)[world, :, 2] += random.uniform(-0.08, 0.08)

    def act(self, actions: np.ndarray) -> None:
        """Move the blades."""
        self.worlds.state.body_velocities[:, 0, ::2] = SPEED * actions

    def _over(self) -> np.ndarray:
        """Grains beyond the line, (W, N) bool."""
        return self.worlds.positions(self.sand)[..., 0] > LINE

    def _left(self) -> np.ndarray:
        """Mean place of the grains that are not beyond the line, (W, 2)."""
        x, short = self.worlds.positions(self.sand)[..., ::2], ~self._over()
        return (x * short[..., None]).sum(axis=1) / np.maximum(short.sum(axis=1), 1)[:, None]

    def observe(self) -> np.ndarray:
        """Blade and sand."""
        x, state = self.worlds.positions(self.sand)[..., ::2], self.worlds.state
        blade = state.body_positions[:, 0, ::2], state.body_velocities[:, 0, ::2]
        over = self._over().mean(axis=1, keepdims=True)
        return np.concatenate([*blade, x.mean(axis=1), x.std(axis=1), over, self._left()], axis=1)

    def reward(self) -> np.ndarray:
        """The part beyond the line, less one."""
        return self._over().mean(axis=1) - 1.0

    def succeeded(self) -> np.ndarray:
        """Nearly all sand is there."""
        return self._over().mean(axis=1) >= DONE

    def script(self) -> np.ndarray:
        """Go behind the sand that is left, push it over the line, and come back for the rest."""
        blade = self.worlds.state.body_positions[:, 0, ::2]
        aside = self._left()[:, 1] - blade[:, 1]
        behind = blade[:, 0] < HOME + 0.02
        self.pushes = np.where(behind, np.abs(aside) < 0.01, self.pushes & (blade[:, 0] < LINE + 0.03))
        forward = np.where(self.pushes, 1.0, 10.0 * (HOME - blade[:, 0]))
        across = np.where(self.pushes | ~behind, 0.0, 10.0 * aside)
        return np.clip(np.stack([forward, across], axis=1), -1.0, 1.0)
