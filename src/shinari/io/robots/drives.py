"""Actuators of a compiled robot as motors of joints."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari.attributes import OwnAttributes
from shinari.io.robots.laws import AT_JOINT, BALL, command_limits, gear_of, law_of_model
from shinari.io.robots.left_out import is_off
from shinari.io.robots.tendons import AT_TENDON, tendon_name
from shinari.io.robots.transmissions import has_levers
from shinari.scene.actuator import ActuatorLaw
from shinari.scene.motors import ForceMotor, Motor, Servo
from shinari.scene.tendon import TendonHandle
from shinari.systems.rigid.tendons.actuation import force_of, law_row

HINGE, SLIDE = 3, 2
FIXED_GAIN, NO_BIAS, AFFINE_BIAS, NO_DYNAMICS = 0, 0, 1, 0


@dataclass
class Actuator(OwnAttributes):
    """An actuator of an MJCF: a force on a joint, along a tendon or on a site.

    The force is gain u + offset - stiffness q - damping q', with the command u and the angle or length q of its target.
    One with a law has a tendon of its own, which has its activation.

    Attributes:
        name: Its name.
        target: The joint, tendon or site that it acts on, by name.
        on_tendon: Whether that is a tendon.
        gain: Force for a command of 1 [N m or N].
        offset: Force for a command of 0.
        stiffness: Stiffness against its target [N m/rad or N/m].
        damping: Damping of its target [N m s/rad or N s/m].
        limits: Least and largest command; of several inputs a pair for each.
        max_force: Largest force on its target.
        command: The command u; of several inputs a tuple.
        law: Of a muscle, a controller or one with dynamics, or on a site, a crank or a ball joint; None: of another.
        gear: Length of the actuator by that of its target.
        handle: Of one with a law the tendon that has it, with its activation.
        number: Its number in the file.
        levers: Whether it acts on a site, through a crank or on a ball joint.
    """

    _label = "actuator"
    name: str
    target: str
    on_tendon: bool
    gain: float
    offset: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    limits: Any = (-np.inf, np.inf)
    max_force: float = np.inf
    command: Any = field(default=0.0)
    law: ActuatorLaw | None = None
    gear: float = 1.0
    handle: TendonHandle | None = None
    number: int = 0
    levers: bool = False

    @property
    def inputs(self) -> int:
        """How many numbers its command has."""
        return 1 if self.law is None else len(self.law.inputs)

    def bounded(self, values: Any) -> Any:
        """A command within its limits, or a row of them for each of several inputs."""
        found = np.clip(values, *np.transpose(self.limits))
        return float(found) if self.inputs == 1 else tuple(found.tolist())

    def force(self, length: float, rate: float) -> float:
        """Its force, without the gear [N].

        Args:
            length: Angle or length of its target [rad or m].
            rate: Rate of change of that.
        """
        if self.law is not None and self.law.controller is not None and self.handle is not None:
            # the tendon has the force of the last substep
            return -self.handle.tension / self.gear
        if self.law is not None and self.handle is not None:
            activation = self.handle.activation
            found = force_of(0, law_row(self.law)[None], self.gear * length, self.gear * rate, activation)[0]
            return float(np.clip(found, *self.law.force_limits))
        force = self.gain * self.command + self.offset - self.stiffness * length - self.damping * rate
        return float(np.clip(force, -self.max_force, self.max_force)) / self.gear


def motor_of(actuators: list[Actuator], target: str, on_tendon: bool = False) -> Motor | None:
    """The motor that some actuators together are for a joint or tendon; None where there is none."""
    own = [a for a in actuators if a.target == target and a.on_tendon == on_tendon and a.law is None]
    if not own:
        return None
    stiffness, damping = sum(a.stiffness for a in own), sum(a.damping for a in own)
    most = sum(a.max_force for a in own)
    force = sum(a.gain * a.command + a.offset for a in own)
    if stiffness > 0.0:
        return Servo(force / stiffness, stiffness, damping, most)
    return Servo(0.0, 0.0, damping, most, force=force) if damping > 0.0 else ForceMotor(force, most)


def actuators_of(model: Any, joint_names: dict[int, str], skipped: list[str]) -> list[Actuator]:
    """Actuators that act on hinges and slides, and on tendons.

    Args:
        model: The compiled robot.
        joint_names: Names of its joints.
        skipped: Takes what cannot be had.
    """
    found = (_actuator(model, index, joint_names, skipped) for index in range(len(model.actuator_trntype)))
    return [actuator for actuator in found if actuator is not None]


def _with_law(law: ActuatorLaw, name: str, on: str, limits: list[tuple[float, float]]) -> Actuator:
    result = Actuator(name, on, False, law.gear, law=law, gear=law.gear)
    result.limits = limits[0] if result.inputs == 1 else tuple(limits[: result.inputs])
    result.command = result.bounded(0.0 if result.inputs == 1 else (0.0,) * result.inputs)
    return result


def _target(model: Any, index: int, joint_names: dict[int, str]) -> str | None:
    """Name of the joint, tendon or site that an actuator acts on; None where that is nothing that is read."""
    kind, target = int(model.actuator_trntype[index]), int(model.actuator_trnid[index, 0])
    if kind in AT_JOINT:
        read = int(model.jnt_type[target]) in (HINGE, SLIDE, BALL)
        return joint_names.get(target) if read else None
    if kind == AT_TENDON:
        return tendon_name(model, target)
    return (model.site(target).name or f"site_{target + 1}") if has_levers(model, index) else None


def _actuator(model: Any, index: int, joint_names: dict[int, str], skipped: list[str]) -> Actuator | None:
    name = model.actuator(index).name or f"actuator_{index + 1}"
    label = f"actuator {name!r}"
    on, levers, gear = _target(model, index, joint_names), has_levers(model, index), gear_of(model, index)
    if on is None or gear == 0.0:
        skipped.append(f"{label}: it acts on no hinge, slide, ball joint, tendon or site")
        return None
    if is_off(model, index):
        skipped.append(f"{label}: the file disables it")
        return None
    if model.actuator_delay[index] > 0.0:
        skipped.append(f"{label}: the delay of its commands")
    on_tendon, limits = int(model.actuator_trntype[index]) == AT_TENDON, command_limits(model, index)
    gain_type, bias_type = int(model.actuator_gaintype[index]), int(model.actuator_biastype[index])
    low, high = (float(bound) for bound in model.actuator_forcerange[index])
    simple = int(model.actuator_dyntype[index]) == NO_DYNAMICS
    # a motor has one limit in both directions
    simple = simple and not (model.actuator_forcelimited[index] and low != -high)
    if levers or not simple or gain_type != FIXED_GAIN or bias_type not in (NO_BIAS, AFFINE_BIAS):
        law = law_of_model(model, index, label, skipped)
        if law is None:
            return None
        result = _with_law(law, name, on, limits)
        result.on_tendon, result.number, result.levers = on_tendon, index, levers
        return result
    bias = np.array(model.actuator_biasprm[index][:3]) if bias_type == AFFINE_BIAS else np.zeros(3)
    result = Actuator(name, on, on_tendon, gear * float(model.actuator_gainprm[index][0]), gear=gear)
    result.offset = gear * float(bias[0])
    # the stiffness against the length of the actuator, which is gear times the angle or length
    result.stiffness = max(-float(bias[1]), 0.0) * gear**2
    result.damping = max(-float(bias[2]), 0.0) * gear**2
    if bias[1] > 0.0 or bias[2] > 0.0:
        skipped.append(f"{label}: a part of its force that grows with the angle or speed")
    result.limits = limits[0]
    result.command = result.bounded(0.0)
    if model.actuator_forcelimited[index]:
        result.max_force = high * abs(gear)
    return result
