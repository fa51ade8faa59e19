"""Sensors of a compiled robot, read from the simulation that runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.geometry import relative
from shinari.io.robots.mechanism import Mechanism
from shinari.scene.handle import BodyHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.running import running

OF_JOINTS = ("jointpos", "jointvel")
OF_FRAMES = ("framepos", "framequat", "framelinvel", "frameangvel", "gyro", "velocimeter")


@dataclass(frozen=True)
class Sensor:
    """A sensor of an MJCF.

    Attributes:
        name: Its name.
        kind: `"jointpos"`, `"jointvel"`, `"framepos"`, `"framequat"`, `"framelinvel"`, `"frameangvel"`, `"gyro"` or
            `"velocimeter"`, as in the file.
        of: The joint or body that it measures.
        position: Where it is in the axes of the body [m], (3,).
        rotation: How its axes are turned in those of the body, a unit quaternion w x y z, (4,).
    """

    name: str
    kind: str
    of: JointHandle | BodyHandle
    position: np.ndarray
    rotation: np.ndarray

    def read(self) -> np.ndarray:
        """What it measures now, in the world of the scene, (n,): of a joint one number [rad, m, rad/s or m/s].

        Of a frame its place [m], its rotation w x y z, its velocity [m/s] or angular velocity [rad/s]; a gyro tells the
        angular velocity, a velocimeter the velocity, in its own axes.

        Raises:
            SceneError: There is no simulation.
        """
        simulation = running(self.of._scene, f"sensor {self.name!r}")
        if isinstance(self.of, JointHandle):
            return np.array([self.of.angle if self.kind == "jointpos" else self.of.velocity])
        pose, body = simulation.pose(self.of), self.of._scene.bodies[self.of.index]
        turn = quaternion_product(pose.rotation, self.rotation)
        if self.kind == "framequat":
            return turn
        arm = pose.matrix @ (self.position - body.centre)
        if self.kind == "framepos":
            return pose.position + pose.matrix @ self.position
        state = simulation.state
        spin = state.body_angular_velocities[self.of.index]
        velocity = state.body_velocities[self.of.index] + np.cross(spin, arm)
        found = spin if self.kind in ("frameangvel", "gyro") else velocity
        return rotation_matrix(turn).T @ found if self.kind in ("gyro", "velocimeter") else np.array(found)


def sensors_of(m: Mechanism, bodies: Mapping[int, BodyHandle], joints: Mapping[str, JointHandle]) -> dict[str, Sensor]:
    """Sensors by name; those of other kinds are listed as skipped.

    Args:
        m: The robot.
        bodies: Its bodies by number.
        joints: Its joints by name.
    """
    mujoco, model = require("mujoco", "robot"), m.model
    places: dict[int, Callable[[int], tuple[int, Any, Any]]] = {
        int(mujoco.mjtObj.mjOBJ_SITE): lambda i: (int(model.site_bodyid[i]), m.data.site_xpos[i], m.data.site_xmat[i]),
        int(mujoco.mjtObj.mjOBJ_XBODY): lambda i: (i, m.data.xpos[i], m.data.xmat[i]),
        int(mujoco.mjtObj.mjOBJ_BODY): lambda i: (i, m.data.xipos[i], m.data.ximat[i]),
    }
    result = {}
    for index in range(int(model.nsensor)):
        kind = mujoco.mjtSensor(int(model.sensor_type[index])).name.removeprefix("mjSENS_").lower()
        name = model.sensor(index).name or f"sensor_{index + 1}"
        target, type_of = int(model.sensor_objid[index]), int(model.sensor_objtype[index])
        if kind in OF_JOINTS and m.joint_name(target) in joints:
            result[name] = Sensor(name, kind, joints[m.joint_name(target)], np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
            continue
        if kind in OF_FRAMES and type_of in places and int(model.sensor_refid[index]) < 0:
            body, place, axes = places[type_of](target)
            carrier = m.carrier(body)
            if carrier in bodies:
                turn = np.zeros(4)
                mujoco.mju_mat2Quat(turn, np.array(axes).ravel())
                pose = np.array(m.data.xpos[carrier]), np.array(m.data.xquat[carrier])
                result[name] = Sensor(name, kind, bodies[carrier], *relative(pose, np.array(place), turn))
                continue
        m.skipped.append(f"sensor {name!r}: {kind} of this object is not read")
    return result
