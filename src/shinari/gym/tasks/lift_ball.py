"""Lift a soft ball with a hand of three fingers."""

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.gym.task import Task
from shinari.scene.motors import Servo
from shinari.scene.soft_material import SoftMaterial
from shinari.shapes.box import Box
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.plane import Plane

RADIUS, CELLS = 0.05, 4
FINGER, MOUNTED, PALM = (0.02, 0.11, 0.07), 0.075, 0.15
LIFT, CLOSE, MOST = 0.2, 1.0, 0.45
STIFFNESS, DAMPING, MOMENT = 2.0, 0.1, 0.6
HIGH, HELD, FIRM = 0.06, 8, 0.33


class LiftBall(Task):
    """Grasp a soft ball with three fingers and hold it 6 cm above the ground for half a second.

    The hand moves up and down; its fingers hang on hinges with springs, whose rest angle all have in common. The first
    number of the action is the velocity of the hand, at most 0.2 m/s, the second that of the rest angle, at most
    1 rad/s. At the start the ball lies up to 1 cm beside the middle.

    Observations: height of the palm; rest angle, and angles of the fingers; from the palm to the middle of the ball;
    velocity of the ball; its size along the three axes [m, rad, m/s].
    """

    actions, observations = 2, 14
    every, horizon = 4, 90
    settings = {"dt": 1 / 60, "substeps": 8}  # noqa: RUF012  a constant
    camera = ((0.45, 0.32, 0.55), (0.0, 0.1, 0.0))

    def build(self) -> Scene:
        """A ball on the ground, and the hand above it."""
        scene = Scene()
        scene.add_collider(Plane(), friction=0.8)
        vertices, tetrahedra = lattice((CELLS, CELLS, CELLS), 2.0 * RADIUS / CELLS)
        vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
        # a cube becomes a ball: its shells become spheres
        size = np.abs(vertices).max(axis=1, keepdims=True)
        vertices *= size / np.maximum(np.linalg.norm(vertices, axis=1, keepdims=True), 1e-12)
        material = SoftMaterial(density=300, youngs_modulus=1e5, poissons_ratio=0.4, friction=0.8)
        self.ball = scene.add_soft_body((vertices, tetrahedra), material=material, position=(0, 1.03 * RADIUS, 0))
        palm = scene.add_rigid_body(Cylinder(0.08, 0.02), position=(0, PALM, 0), kinematic=True)
        self.hinges = []
        for angle in (0.0, 2.0 * np.pi / 3.0, 4.0 * np.pi / 3.0):
            out = np.array([np.cos(angle), 0.0, np.sin(angle)])
            anchor = MOUNTED * out + (0.0, PALM - 0.01, 0.0)
            turn = np.array([np.cos(0.5 * angle), 0.0, -np.sin(0.5 * angle), 0.0])
            finger = scene.add_rigid_body(
                Box(FINGER), density=800, position=anchor - (0, 0.5 * FINGER[1], 0), rotation=turn, friction=0.8
            )
            axis = np.cross((0.0, 1.0, 0.0), out)
            motor = Servo(0.0, STIFFNESS, DAMPING, max_force=MOMENT)
            self.hinges.append(
                scene.add_joint("hinge", finger, palm, anchor=anchor, axis=axis, limits=(-0.3, 0.9), motor=motor)
            )
        return scene

    def settle(self, simulation: Simulation) -> None:
        """The ball, which stands on a corner at first, tips over and comes to rest; it is put back into the middle."""
        simulation.step(240)
        x = simulation.positions(self.ball)
        x[:, [0, 2]] -= x[:, [0, 2]].mean(axis=0)

    def prepare(self) -> None:
        """Angles of the fingers, and for how many actions the ball was held up."""
        self.grip = np.zeros(len(self.worlds))
        self.angles, self.held = np.zeros((len(self.worlds), 3)), np.zeros(len(self.worlds), np.int64)
        self.conclude()

    def start(self, world: int, random: np.random.Generator) -> None:
        """The ball lies beside the middle."""
        self.held[world] = 0
        self.worlds.positions(self.ball)[world] += random.uniform(-0.01, 0.01, 3) * (1, 0, 1)
        self.angles[world] = self.grip[world] = 0.0

    def act(self, actions: np.ndarray) -> None:
        """Move the hands; the palm does not go below its height at the start."""
        state, dt = self.worlds.state, self.worlds.settings.dt
        lowest = (PALM - state.body_positions[:, 0, 1]) / dt
        state.body_velocities[:, 0, 1] = np.maximum(LIFT * actions[:, 0], lowest)
        self.grip = np.clip(self.grip + dt * CLOSE * actions[:, 1], 0.0, MOST)
        for hinge in self.hinges:
            self.worlds.drive(hinge, self.grip)

    def conclude(self) -> None:
        """See where the fingers are, and how long the ball has been up."""
        self.angles = self.worlds.joint_coordinates(self.hinges)[0]
        lowest = self.worlds.positions(self.ball)[..., 1].min(axis=1)
        self.held = np.where(lowest > HIGH, self.held + 1, 0)

    def observe(self) -> np.ndarray:
        """Hand and ball."""
        x, palm = self.worlds.positions(self.ball), self.worlds.state.body_positions[:, 0]
        parts = x.mean(axis=1) - palm, self.worlds.velocities(self.ball).mean(axis=1), np.ptp(x, axis=1)
        return np.concatenate([palm[:, 1:2], self.grip[:, None], self.angles, *parts], axis=1)

    def reward(self) -> np.ndarray:
        """Height of the ball, up to one."""
        return np.minimum(self.worlds.positions(self.ball)[..., 1].min(axis=1) / HIGH, 1.0)

    def succeeded(self) -> np.ndarray:
        """It was held up."""
        return self.held >= HELD

    def script(self) -> np.ndarray:
        """Close the fingers until their motors pull with two thirds of what they can, then lift."""
        up = self.elapsed * self.every * self.worlds.settings.dt > 1.0
        high = self.worlds.state.body_positions[:, 0, 1] > PALM + 1.5 * HIGH
        return np.stack([np.where(up & ~high, 0.5, 0.0), np.where(self.grip < FIRM, 1.0, 0.0)], axis=1)
