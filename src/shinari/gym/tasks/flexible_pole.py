"""Balance a flexible pole on a cart."""

import numpy as np

from shinari.api.scene import Scene
from shinari.gym.task import Task
from shinari.scene.rod_material import RodMaterial

LENGTH, SEGMENTS = 1.0, 20
GAINS = 1.4, 1.1, 4.8, 1.2, -14.0, 2.4
ACCELERATION, TRACK, LOWEST = 10.0, 2.4, 0.8


class FlexiblePole(Task):
    """Balance a pole of 20 segments for five seconds on a cart whose acceleration is the action.

    The pole stands on a hinge and bends, at about 4 Hz. It fails where the cart leaves 2.4 m to each side or the tip
    comes below 0.8 m.

    Observations: place and speed of the cart; how far the tip is ahead of the cart, and its speed; how far the middle
    is ahead of the straight line between them, and its speed [m, m/s].
    """

    actions, observations = 1, 6
    horizon = 250
    settings = {"dt": 1 / 50, "substeps": 4}  # noqa: RUF012  a constant
    camera = ((0.6, 0.9, 3.4), (0.0, 0.5, 0.0))

    def build(self) -> Scene:
        """A pole that stands on a particle."""
        scene = Scene()
        points = np.zeros((SEGMENTS + 1, 3))
        points[:, 1] = np.linspace(0.0, LENGTH, SEGMENTS + 1)
        self.pole = scene.add_rod(points, material=RodMaterial(radius=0.01, density=1000, youngs_modulus=1e8))
        self.pole.pin([0])
        return scene

    def prepare(self) -> None:
        """Place and speed of the carts."""
        self.place, self.speed = np.zeros(len(self.worlds)), np.zeros(len(self.worlds))

    def start(self, world: int, random: np.random.Generator) -> None:
        """The pole begins to fall."""
        self.place[world] = self.speed[world] = 0.0
        heights = np.linspace(0.0, 1.0, SEGMENTS + 1)
        self.worlds.velocities(self.pole)[world, :, 0] = random.uniform(-0.4, 0.4) * heights

    def act(self, actions: np.ndarray) -> None:
        """Accelerate the carts; the pole stays in its plane."""
        dt = self.worlds.settings.dt
        self.speed += dt * ACCELERATION * actions[:, 0]
        self.place += dt * self.speed
        self.worlds.positions(self.pole)[:, 0, 0] = self.place
        self.worlds.positions(self.pole)[:, :, 2] = 0.0
        self.worlds.velocities(self.pole)[:, :, 2] = 0.0

    def observe(self) -> np.ndarray:
        """Cart, tip and middle."""
        x, v = self.worlds.positions(self.pole)[..., 0], self.worlds.velocities(self.pole)[..., 0]
        tip, middle = SEGMENTS, SEGMENTS // 2
        ahead, bend = x[:, tip] - x[:, 0], x[:, middle] - 0.5 * (x[:, 0] + x[:, tip])
        rates = v[:, tip] - self.speed, v[:, middle] - 0.5 * (self.speed + v[:, tip])
        return np.stack([self.place, self.speed, ahead, rates[0], bend, rates[1]], axis=1)

    def reward(self) -> np.ndarray:
        """One for each action, less where the cart is far from the middle."""
        return 1.0 - 0.1 * np.abs(self.place)

    def succeeded(self) -> np.ndarray:
        """It has stood for five seconds."""
        return self.elapsed >= self.horizon

    def failed(self) -> np.ndarray:
        """It has fallen, or the cart has left its track."""
        return (np.abs(self.place) > TRACK) | (self.worlds.positions(self.pole)[:, SEGMENTS, 1] < LOWEST)

    def script(self) -> np.ndarray:
        """Feedback of what is seen, with gains that cross-entropy has found."""
        return np.tanh(self.observe() @ GAINS)[:, None]
