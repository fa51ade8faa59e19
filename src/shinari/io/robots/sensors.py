"""Sensors of a compiled robot, read from the simulation that runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.drives import Actuator
from shinari.io.robots.geometry import primitive, relative
from shinari.io.robots.mechanism import Mechanism
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.running import running
from shinari.scene.tendon import TendonHandle
from shinari.shapes.base import Shape
from shinari.shapes.kernels.encode import signed_distance

OF_JOINTS = ("jointpos", "jointvel", "jointactuatorfrc")
OF_TENDONS = ("tendonpos", "tendonvel", "tendonactuatorfrc")
OF_ACTUATORS = ("actuatorpos", "actuatorvel", "actuatorfrc")
OF_FRAMES = ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "gyro",
             "velocimeter")  # fmt: skip
AS_IN_FILES = {"jointactfrc": "jointactuatorfrc", "tendonactfrc": "tendonactuatorfrc"}
OF_LOADS = ("force", "torque")
AXES = ("framexaxis", "frameyaxis", "framezaxis")
IN_OWN_AXES = ("gyro", "velocimeter")


@dataclass(frozen=True)
class Sensor:
    """A sensor of an MJCF.

    Attributes:
        name: Its name.
        kind: Its kind as in the file, `"gyro"`; see `read`.
        of: The joint, tendon or body that it measures, or that its actuators act on.
        position: Where it is in the axes of the body [m], (3,).
        rotation: How its axes are turned in those of the body, a unit quaternion w x y z, (4,).
        actuators: Actuators whose force it measures.
        joint: Of a force or torque the joint that carries its body.
        area: Of a touch its shape, in its own axes.
    """

    name: str
    kind: str
    of: JointHandle | BodyHandle | TendonHandle
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    actuators: Sequence[Actuator] = ()
    joint: JointHandle | None = None
    area: Shape | None = None

    def read(self) -> np.ndarray:
        """What it measures now, in the world of the scene, (n,): one number of joints, tendons, actuators and touch.

        `jointpos`, `tendonpos`, `actuatorpos` [rad or m] and their rates `jointvel`, `tendonvel`, `actuatorvel`; forces
        of actuators `actuatorfrc` and `tendonactuatorfrc`, without their gear, and `jointactuatorfrc` on the joint [N m
        or N]. Of a frame `framepos` its place [m], `framequat` its rotation w x y z, `framexaxis` and so on its axes,
        `framelinvel` and `frameangvel` its velocity [m/s] and angular velocity [rad/s]; in its own axes `gyro` the
        angular velocity, `velocimeter` the velocity, `force` [N] and `torque` about it [N m] what the joints that
        carry its body exerted on that in the last substep. `touch`: normal forces of contacts of its body within its
        shape [N].

        Raises:
            SceneError: There is no simulation.
        """
        simulation = running(self.of._scene, f"sensor {self.name!r}")
        if not isinstance(self.of, BodyHandle):
            return np.array([self._coordinate()])
        pose = simulation.pose(self.of)
        place, turn = pose.position + pose.matrix @ self.position, quaternion_product(pose.rotation, self.rotation)
        axes = rotation_matrix(turn)
        if self.kind == "framepos":
            return place
        if self.kind == "framequat":
            return turn
        if self.kind in AXES:
            return axes[:, AXES.index(self.kind)].copy()
        if self.kind == "touch":
            return np.array([self._touch(simulation.contacts(), place, axes)])
        if self.joint is not None:
            load = simulation.forces(self.joint)
            moment = load.torque + np.cross(self.joint.anchor - place, load.force)
            return -axes.T @ (load.force if self.kind == "force" else moment)
        arm = pose.matrix @ (self.position - self.of._scene.bodies[self.of.index].centre)
        state = simulation.state
        spin = state.body_angular_velocities[self.of.index]
        velocity = state.body_velocities[self.of.index] + np.cross(spin, arm)
        found = spin if self.kind in ("frameangvel", "gyro") else velocity
        return axes.T @ found if self.kind in IN_OWN_AXES else np.array(found)

    def _coordinate(self) -> float:
        """A length or angle, its rate, or the force of actuators."""
        of, gear = self.of, self.actuators[0].gear if self.kind in OF_ACTUATORS else 1.0
        assert not isinstance(of, BodyHandle)
        length = of.angle if isinstance(of, JointHandle) else of.length
        if self.kind.endswith("pos"):
            return gear * length
        if self.kind.endswith("vel"):
            return gear * of.velocity
        forces = [actuator.force(length, of.velocity) for actuator in self.actuators]
        if self.kind != "jointactuatorfrc":
            return sum(forces)
        return sum(actuator.gear * force for actuator, force in zip(self.actuators, forces, strict=True))

    def _touch(self, contacts: Any, place: np.ndarray, axes: np.ndarray) -> float:
        """Sum of the normal forces within its shape [N]."""
        assert self.area is not None
        own = (contacts.first == self.of.name) | (contacts.second == self.of.name)
        if not own.any():
            return 0.0
        within = signed_distance(self.area, (contacts.positions[own] - place) @ axes) <= 0.0
        return float(np.abs((contacts.forces[own] * contacts.normals[own]).sum(axis=1))[within].sum())


class SensorReader:
    """Makes the sensors of a robot from its description.

    Args:
        m: The robot.
        bodies: Its bodies by number.
        joints: Its joints by name.
        tendons: Its tendons by their names in the file.
        actuators: Its actuators.
        carriers: The joint that carries each body, by number.
    """

    def __init__(
        self,
        m: Mechanism,
        bodies: Mapping[int, BodyHandle],
        joints: Mapping[str, JointHandle],
        tendons: Mapping[str, TendonHandle],
        actuators: Sequence[Actuator],
        carriers: Mapping[int, JointHandle],
    ) -> None:
        self._m, self._bodies, self._joints, self._tendons = m, bodies, joints, tendons
        self._actuators, self._carriers = actuators, carriers
        self._kinds = require("mujoco", "robot").mjtSensor

    def sensors(self) -> dict[str, Sensor]:
        """Sensors by name; those of other kinds are listed as skipped."""
        model, result = self._m.model, {}
        for index in range(int(model.nsensor)):
            kind = self._kinds(int(model.sensor_type[index])).name.removeprefix("mjSENS_").lower()
            kind = AS_IN_FILES.get(kind) or kind
            name = model.sensor(index).name or f"sensor_{index + 1}"
            found = self._sensor(name, kind, index)
            if found is None:
                self._m.skipped.append(f"sensor {name!r}: {kind} of this object is not read")
            else:
                result[name] = found
        return result

    def _sensor(self, name: str, kind: str, index: int) -> Sensor | None:
        m, model = self._m, self._m.model
        target = int(model.sensor_objid[index])
        if kind in OF_JOINTS:
            label = m.joint_name(target)
            own = [a for a in self._actuators if not a.on_tendon and a.target == label]
            # tendons would add their forces by their moment arms
            by_tendons = kind == "jointactuatorfrc" and any(a.on_tendon for a in self._actuators)
            known = label in self._joints and not by_tendons
            return Sensor(name, kind, self._joints[label], actuators=own) if known else None
        if kind in OF_TENDONS:
            label = model.tendon(target).name or f"tendon_{target + 1}"
            own = [a for a in self._actuators if a.on_tendon and a.target == label]
            return Sensor(name, kind, self._tendons[label], actuators=own) if label in self._tendons else None
        if kind in OF_ACTUATORS:
            return self._of_actuator(name, kind, model.actuator(target).name or f"actuator_{target + 1}")
        return self._of_frame(name, kind, index)

    def _of_actuator(self, name: str, kind: str, label: str) -> Sensor | None:
        actuator = next((a for a in self._actuators if a.name == label), None)
        if actuator is None:
            return None
        of = (self._tendons if actuator.on_tendon else self._joints).get(actuator.target)
        return None if of is None else Sensor(name, kind, of, actuators=[actuator])

    def _of_frame(self, name: str, kind: str, index: int) -> Sensor | None:
        m, model, objects = self._m, self._m.model, require("mujoco", "robot").mjtObj
        target, of = int(model.sensor_objid[index]), int(model.sensor_objtype[index])
        sites = {int(objects.mjOBJ_SITE): (model.site_bodyid, m.data.site_xpos, m.data.site_xmat)}
        bodies = {int(objects.mjOBJ_XBODY): (m.data.xpos, m.data.xmat),
                  int(objects.mjOBJ_BODY): (m.data.xipos, m.data.ximat)}  # fmt: skip
        if of in sites:
            owners, places, axes = sites[of]
            body = int(owners[target])
        elif of in bodies:
            (places, axes), body = bodies[of], target
        else:
            return None
        carrier = 0 if body in m.flexes.points else m.carrier(body)
        known = kind in OF_FRAMES or kind in OF_LOADS or kind == "touch"
        if not known or carrier not in self._bodies or int(model.sensor_refid[index]) >= 0:
            return None
        if kind in OF_LOADS and body not in self._carriers:
            return None
        turn = np.zeros(4)
        require("mujoco", "robot").mju_mat2Quat(turn, np.array(axes[target]).ravel())
        area = None
        if kind == "touch":
            area, inner = primitive(int(model.site_type[target]), np.array(model.site_size[target], np.float64))
            turn = turn if inner is None else quaternion_product(turn, inner)
        pose = np.array(m.data.xpos[carrier]), np.array(m.data.xquat[carrier])
        joint = self._carriers[body] if kind in OF_LOADS else None
        where = relative(pose, np.array(places[target]), turn)
        return Sensor(name, kind, self._bodies[carrier], *where, joint=joint, area=area)
