"""A robot in a scene: its parts by name, all of its joints as arrays, and what drives them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.worlds import Worlds
from shinari.errors import SceneError
from shinari.io.robots.drives import Actuator, motor_of
from shinari.io.robots.sensors import Sensor
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.motors import MOTORS, ForceMotor, Motor, Servo, VelocityMotor
from shinari.scene.running import running, simulation_of
from shinari.scene.tendon import TendonHandle

MOVES = ("hinge", "slider")
TARGETS = {VelocityMotor: "speed", Servo: "target", ForceMotor: "force"}


class Parts(dict):
    """Parts of a robot by name.

    Args:
        label: What error messages call them.
        parts: The parts.
    """

    def __init__(self, label: str, parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._label = label

    def __missing__(self, name: Any) -> Any:
        raise SceneError(f"{self._label}: there is no {check.short(name)}; known are {check.names(self, near=name)}")


@dataclass(frozen=True)
class Robot:
    """A robot in a scene, loaded by `load_robot` or put together from bodies and joints of the scene.

    Arrays over its joints have a value for each hinge and slider, in the order of `names`: angles in rad and travels in
    m as the file counts them. They are those of the last simulation that was built of the scene.

    Attributes:
        name: Its name; what belongs to it is called `name/...` in the scene.
        bodies: Its bodies by their names in the file.
        joints: Its joints by their names in the file; a body that is rigidly fixed to another has one as well.
        colliders: What stands in the world of the file, by name.
        skipped: What of the file is not here, in words.
        repaired: What of the file was changed to what it must have meant, in words.
        actuators: Its actuators by name, for `command`.
        poses: Named targets: angles of some joints by name. Of an MJCF its keyframes.
        followers: Of each joint that follows another the name of that, see `Scene.couple_joints`.
        sensors: Its sensors by name; `robot.sensors["gyro"].read()`.
        tendons: Its tendons and couplings of joints by their names in the file.
        flexes: Its flexible parts by their names in the file: cloth, ropes, soft bodies.
    """

    name: str
    bodies: Mapping[str, BodyHandle]
    joints: Mapping[str, JointHandle]
    colliders: Mapping[str, ColliderHandle] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    poses: dict[str, dict[str, float]] = field(default_factory=dict)
    followers: Mapping[str, str] = field(default_factory=dict)
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    tendons: Mapping[str, TendonHandle] = field(default_factory=dict)
    flexes: Mapping[str, Handle] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for field_name in ("bodies", "joints", "colliders", "actuators", "sensors", "tendons", "flexes"):
            parts = Parts(f"robot {self.name!r}: {field_name}", getattr(self, field_name))
            object.__setattr__(self, field_name, parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its hinges and sliders: what arrays over its joints are about."""
        return tuple(name for name, joint in self.joints.items() if joint.kind in MOVES)

    @property
    def angles(self) -> np.ndarray:
        """Angles [rad] and travels [m] now, (J,); those of the start without a simulation."""
        moving = self._moving
        if not moving or simulation_of(moving[0]._scene) is None:
            return np.array([joint.angle for joint in moving])
        return self._simulation.bodies.coordinates(moving)[0]

    @property
    def velocities(self) -> np.ndarray:
        """Their rates of change [rad/s or m/s], (J,)."""
        return self._simulation.bodies.coordinates(self._moving)[1]

    @property
    def loads(self) -> np.ndarray:
        """Moments about the axes [N m], or forces along them [N], in the last substep, (J,); see `JointHandle.load`."""
        return self._simulation.bodies.axial_loads(self._moving)

    @property
    def limits(self) -> np.ndarray:
        """Least and largest angle [rad] or travel [m] of each joint, (J, 2); infinite where there is none."""
        return np.array([joint.limits for joint in self._moving]).reshape(-1, 2)

    def drive(self, targets: Any, motor: Motor | None = None) -> None:
        """Drive several joints at once; either all or, where one is refused, none.

        Args:
            targets: A number for each joint in the order of `names`, (J,); or some by name; or the name of one of its
                `poses`. By name a value may also be a motor, or None for no motor. Joints that follow others are driven
                by name only: else what they follow moves them.
            motor: What drives them to these numbers, in place of the motors that they have: `Servo(0, 100, 10)` takes
                them as angles, `VelocityMotor(0)` as speeds, `ForceMotor()` as moments and forces.

        Raises:
            SceneError: There is no simulation, no such joint or pose, or a value is refused as by
                `Simulation.drive`.
        """
        label = f"robot {self.name!r}"
        if motor is not None and not isinstance(motor, MOTORS):
            raise SceneError(
                f"{label}: motor: expected a VelocityMotor, a Servo or a ForceMotor, got {check.short(motor)}"
            )
        wanted = self._by_name(label, targets)
        if not isinstance(targets, Mapping):
            wanted = {name: value for name, value in wanted.items() if name not in self.followers}
        given = [value if motor is None else _aimed(label, motor, name, value) for name, value in wanted.items()]
        self._simulation.bodies.drive_all([self.joints[name] for name in wanted], given)

    def command(self, commands: Any, worlds: Worlds | None = None, mask: Any = None) -> None:
        """Give commands to its actuators, as MuJoCo takes them; each is bounded by the range in the file.

        Args:
            commands: A number for each actuator in their order, or some by name. One with several inputs, a controller
                or a motor, takes one for each of these, by name a sequence. Of worlds a row of all numbers for each.
            worlds: Worlds of its scene, in place of its last simulation.
            mask: Of these some, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: There is no simulation, no such actuator, or a value is no finite number.
        """
        label = f"robot {self.name!r}"
        if worlds is None:
            self._send(self._simulation, self._numbers(label, commands))
            return
        chosen = check.kind(label, "worlds", worlds, Worlds)._chosen(mask)
        width = sum(actuator.inputs for actuator in self.actuators.values())
        rows = check.array(label, "commands", commands, (len(chosen), width))
        for k, row in zip(chosen.tolist(), rows, strict=True):
            self._send(worlds.world(k), self._numbers(label, row))

    def _send(self, simulation: Any, numbers: dict[str, Any]) -> None:
        """Give checked commands to a simulation."""
        for name, value in numbers.items():
            self.actuators[name].command = self.actuators[name].bounded(value)
        with_law = [a for a in (self.actuators[name] for name in numbers) if a.handle is not None]
        driven, pulled = self._motors(self.names), self._motors(self.tendons, on_tendon=True)
        bodies = simulation.bodies
        bodies.drive_all([self.joints[name] for name in driven], list(driven.values()), bounded=False)
        if with_law:
            bodies.command_tendons([a.handle for a in with_law], [a.command for a in with_law])
        if pulled:
            bodies.drive_tendons([self.tendons[name] for name in pulled], list(pulled.values()))

    def _numbers(self, label: str, commands: Any) -> dict[str, Any]:
        """Checked commands by name: a number, or one for each input of an actuator with several."""
        counts = {name: actuator.inputs for name, actuator in self.actuators.items()}
        if not isinstance(commands, Mapping) and set(counts.values()) - {1}:
            flat = check.array(label, "commands", commands, (sum(counts.values()),))
            ends = np.cumsum(list(counts.values()))
            rows = np.split(flat, ends[:-1])
            commands = {name: row if len(row) != 1 else row[0] for name, row in zip(counts, rows, strict=True)}
        found = {}
        for name, value in _named(label, "commands", commands, list(self.actuators)).items():
            field_name = f"commands: {name}"
            one = counts[name] == 1
            found[name] = (
                check.number(label, field_name, value)
                if one
                else check.array(label, field_name, value, (counts[name],))
            )
        return found

    def _motors(self, names: Iterable[str], on_tendon: bool = False) -> dict[str, Motor]:
        """The motors that the actuators are for some joints or tendons; without those that have no actuator."""
        everything = list(self.actuators.values())
        found = {name: motor_of(everything, name, on_tendon) for name in names}
        return {name: motor for name, motor in found.items() if motor is not None}

    def _by_name(self, label: str, targets: Any) -> dict[str, Any]:
        if isinstance(targets, str):
            if targets not in self.poses:
                raise SceneError(
                    f"{label}: targets: there is no pose {check.short(targets)}; known are {check.names(self.poses)}"
                )
            targets = self.poses[targets]
        return _named(label, "targets", targets, list(self.names))

    @property
    def _moving(self) -> list[JointHandle]:
        return [joint for joint in self.joints.values() if joint.kind in MOVES]

    @property
    def _simulation(self) -> Any:
        handles = [*self.joints.values(), *self.bodies.values()]
        if not handles:
            raise SceneError(f"robot {self.name!r}: has neither joints nor bodies")
        return running(handles[0]._scene, f"robot {self.name!r}")


def _named(label: str, field_name: str, values: Any, names: Sequence[str]) -> dict[str, Any]:
    """Values by name, from those or from an array in the order of the names."""
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise SceneError(
                    f"{label}: {field_name}: there is no {check.short(name)}; known are {check.names(names, near=name)}"
                )
        return dict(values)
    numbers = check.array(label, field_name, values, (len(names),))
    return dict(zip(names, numbers.tolist(), strict=True))


def _aimed(label: str, motor: Motor, name: str, value: Any) -> Motor:
    """A motor with the value as its target."""
    return replace(motor, **{TARGETS[type(motor)]: check.number(label, f"targets: {name}", value)})
