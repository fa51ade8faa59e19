"""Pour water from a cup into a glass, as much as is asked for."""

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.gym.task import Task
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.motors import VelocityMotor
from shinari.shapes.box import Box
from shinari.shapes.compound import Compound
from shinari.shapes.plane import Plane

SPACING, WALL = 0.02, 0.02
CUP, GLASS = (0.10, 0.16, 0.10), (0.20, 0.14, 0.14)
LIP, GLASS_X = (0.06, 0.42, 0.0), 0.15
FILLED = (5, 6, 5)
SPEED, STEEPEST, NEAR = 1.5, 2.3, 0.1
EXACT, SPILT, UPRIGHT = 0.08, 0.05, 0.1
# Part of the water that still leaves the cup after the script turns it back.
AHEAD = 0.09


def walls(inside: tuple[float, float, float]) -> list[tuple[Box, tuple[float, float, float]]]:
    """Boxes around an open room, with their places from the middle of its floor."""
    x, y, z = inside
    wide, deep = x + 2 * WALL, z + 2 * WALL
    sides = [(Box((WALL, y, deep)), (side * 0.5 * (x + WALL), 0.5 * y, 0.0)) for side in (-1, 1)]
    ends = [(Box((wide, y, WALL)), (0.0, 0.5 * y, side * 0.5 * (z + WALL))) for side in (-1, 1)]
    return [(Box((wide, WALL, deep)), (0.0, -0.5 * WALL, 0.0)), *sides, *ends]


class PourWater(Task):
    """Pour a part of the water of a cup into a glass, and set the cup upright again.

    The cup hangs on a hinge at its lip; the action is the speed of the hinge, at most 1.5 rad/s. The part that is asked
    for is drawn from 30 to 70 %. It is done where the glass has it within 8 % of all water, no more than 5 % is spilt,
    and the cup stands upright. It fails where more is spilt.

    Observations: angle of the cup [rad]; the part that is asked for; the parts in the cup, in the glass, spilt.
    """

    actions, observations = 1, 5
    every, horizon = 4, 120
    settings = {"dt": 1 / 60, "substeps": 4}  # noqa: RUF012  a constant
    camera = ((0.35, 0.5, 1.35), (0.1, 0.24, 0.0))

    def build(self) -> Scene:
        """A cup with water on a hinge, and a glass below it."""
        scene = Scene()
        scene.add_collider(Plane())
        for box, place in walls(GLASS):
            scene.add_collider(box, position=np.add(place, (GLASS_X, WALL, 0.0)))
        middle = (LIP[0] - 0.5 * CUP[0] - 0.5 * WALL, LIP[1] - CUP[1], 0.0)
        pieces = [(box, place) for box, place in walls(CUP)]
        cup = scene.add_rigid_body(Compound(pieces), density=500, position=middle, friction=0.0, name="cup")
        self.hinge = scene.add_joint("hinge", cup, None, anchor=LIP, axis=(0, 0, -1), motor=VelocityMotor(0.0, 1e3))
        block = Box((SPACING * FILLED[0], SPACING * FILLED[1], SPACING * FILLED[2]))
        material = FluidMaterial(rest_density=1000, viscosity=0.5)
        place = np.add(middle, (0.0, 0.5 * SPACING * FILLED[1], 0.0))
        self.water = scene.add_fluid(block, spacing=SPACING, position=place, material=material)
        self.middle = np.array(middle)
        return scene

    def settle(self, simulation: Simulation) -> None:
        """The water comes to rest."""
        simulation.step(30)

    def prepare(self) -> None:
        """Parts that are asked for, and angles of the cups."""
        self.goal, self.angle = np.zeros(len(self.worlds)), np.zeros(len(self.worlds))
        self.conclude()

    def start(self, world: int, random: np.random.Generator) -> None:
        """Ask for a part."""
        self.goal[world] = random.uniform(0.3, 0.7)
        self.conclude()

    def act(self, actions: np.ndarray) -> None:
        """Turn the cups; not beyond upright, nor farther than 130 degrees."""
        slowest, fastest = -self.angle / NEAR, (STEEPEST - self.angle) / NEAR
        self.worlds.drive(self.hinge, np.clip(SPEED * actions[:, 0], slowest.clip(max=0.0), fastest.clip(min=0.0)))

    def conclude(self) -> None:
        """See where the water is."""
        self.angle = self.worlds.joint_coordinates([self.hinge])[0][:, 0]
        x = self.worlds.positions(self.water)
        inside = (np.abs(x[..., 0] - GLASS_X) < 0.5 * GLASS[0]) & (np.abs(x[..., 2]) < 0.5 * GLASS[2])
        caught = inside & (x[..., 1] < WALL + GLASS[1])
        self.caught = caught.mean(axis=1)
        self.spilt = (~caught & (x[..., 1] < WALL + 0.8 * GLASS[1])).mean(axis=1)
        q, origin = self.worlds.state.body_rotations[:, 0], self.worlds.state.body_positions[:, 0]
        local = _to_local(q, x - origin[:, None])
        held = (np.abs(local[..., 0]) < 0.5 * CUP[0]) & (np.abs(local[..., 2]) < 0.5 * CUP[2])
        self.held = (held & (local[..., 1] > -WALL) & (local[..., 1] < CUP[1])).mean(axis=1)

    def observe(self) -> np.ndarray:
        """Angle, and where the water is."""
        return np.stack([self.angle, self.goal, self.held, self.caught, self.spilt], axis=1)

    def reward(self) -> np.ndarray:
        """How near the glass is to what is asked for."""
        return -np.abs(self.caught - self.goal) - self.spilt

    def succeeded(self) -> np.ndarray:
        """It is in the glass, and the cup stands."""
        return (np.abs(self.caught - self.goal) < EXACT) & (self.spilt <= SPILT) & (self.angle < UPRIGHT)

    def failed(self) -> np.ndarray:
        """Too much is spilt."""
        return self.spilt > SPILT

    def script(self) -> np.ndarray:
        """Tilt slowly until as much has left the cup as is asked for; then set it upright."""
        poured = 1.0 - self.held
        rate = np.where(self.angle < 0.7, 1.0, 0.25)
        return np.where(poured < self.goal - AHEAD, rate, -1.0)[:, None]


def _to_local(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Points (W, N, 3) in the axes of bodies with rotations w x y z, (W, 4)."""
    w, axis = q[:, None, :1], -q[:, None, 1:]
    turn = 2.0 * np.cross(np.broadcast_to(axis, x.shape), x)
    return x + w * turn + np.cross(np.broadcast_to(axis, x.shape), turn)
