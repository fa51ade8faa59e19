"""Handles of joints: what they are, where they are now, and how to drive them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shinari.geometry.motion import rotation_matrix
from shinari.scene.body import WORLD, Joint
from shinari.scene.motors import Motor
from shinari.scene.running import running, simulation_of

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


@dataclass(frozen=True, eq=False, repr=False)
class JointHandle:
    """A joint of a scene.

    What changes while the scene runs is that of the last simulation that was built of it; `sim.joint`, `sim.drive` and
    `sim.forces` ask another. Angles and speeds are those of the free direction of a hinge [rad] or slider [m].

    Attributes:
        name: Name in messages and results.
        index: Its place among the joints.
    """

    described: ClassVar[str] = "a joint"
    _scene: "Contents"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: joint {self.index}>"

    @property
    def kind(self) -> str:
        """Kind of the joint, `"hinge"`."""
        return self._joint.kind

    @property
    def anchor(self) -> np.ndarray:
        """Where it is on its first body [m], (3,): now, or as described as long as there is no simulation."""
        position, rotation = self._pose(self._joint.first)
        return position + rotation_matrix(rotation) @ self._joint.places[0]

    @property
    def axis(self) -> np.ndarray:
        """Direction of its axis in the world, (3,): now, or as described as long as there is no simulation."""
        rotation = self._pose(self._joint.first)[1]
        return rotation_matrix(rotation) @ rotation_matrix(self._joint.frames[0])[:, 0]

    @property
    def limits(self) -> tuple[float, float]:
        """Least and largest angle [rad] or travel [m]; infinite where there is none."""
        joint = self._joint
        found = joint.twist if joint.kind == "hinge" else joint.travel
        return (-np.inf, np.inf) if found is None else (float(found[0]), float(found[1]))

    @property
    def max_force(self) -> float:
        """Largest moment [N m] or force [N] of its motors."""
        return self._joint.max_force

    @property
    def max_speed(self) -> float:
        """Largest speed that its motors aim at [rad/s or m/s]."""
        return self._joint.max_speed

    @property
    def angle(self) -> float:
        """Angle of a hinge [rad], travel of a slider [m], length of a distance [m]; `start` without a simulation."""
        if simulation_of(self._scene) is None:
            return self._joint.start
        state = running(self._scene, self._label).joint(self)
        return state.travel if self._slides else state.angle

    @property
    def velocity(self) -> float:
        """Rate of change of the angle [rad/s] or travel [m/s]; 0 without a simulation."""
        if simulation_of(self._scene) is None:
            return 0.0
        state = running(self._scene, self._label).joint(self)
        return state.travel_speed if self._slides else state.speed

    @property
    def load(self) -> float:
        """Moment about the axis [N m], or force along it [N], on the first body in the last substep.

        That of motor, spring, friction, damping, rotor and limits together.

        Raises:
            SceneError: There is no simulation.
        """
        load = running(self._scene, self._label).joint_load(self)
        return -float(self.axis @ (load.force if self._slides else load.torque))

    @property
    def motor(self) -> Motor | None:
        """What drives it now, or as described as long as there is no simulation."""
        simulation = simulation_of(self._scene)
        return None if simulation is None else simulation.bodies.motor(self)

    def drive(self, motor: Motor | float | None) -> None:
        """Drive it: `Simulation.drive` of the last simulation that was built of the scene.

        Args:
            motor: A motor, in place of the one that it has; a number: another target for that one; None: no motor.

        Raises:
            SceneError: There is no simulation, the joint is no hinge or slider, or a target is out of its limits.
        """
        running(self._scene, self._label).drive(self, motor)

    @property
    def _joint(self) -> Joint:
        return self._scene.joints[self.index]

    @property
    def _slides(self) -> bool:
        return self._joint.kind in ("slider", "distance")

    @property
    def _label(self) -> str:
        return f"joint {self.name!r}"

    def _pose(self, body: int) -> tuple[np.ndarray, np.ndarray]:
        """Position and rotation of a body now, or as described."""
        if body == WORLD:
            return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        simulation, found = simulation_of(self._scene), self._scene.bodies[body]
        if simulation is None:
            return found.position, found.rotation
        return simulation.pose(found.name)
