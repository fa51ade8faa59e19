"""Motors of joints and tendons while a scene runs: from what the user asks to the columns of the kernels, and back."""

from dataclasses import replace

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.body import Drive, Joint
from shinari.scene.motors import MOTORS, ForceMotor, Motor, Servo, VelocityMotor, within
from shinari.systems.rigid.joints.table import (
    MOTOR_COMPLIANCE,
    MOTOR_DAMPING,
    MOTOR_FORCE,
    MOTOR_GOAL,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    MOTOR_MAX_SPEED,
    MOTOR_SPEED,
    MOTOR_TARGET,
    NO_MOTOR,
    POSITION,
    PUSH,
    VELOCITY,
    motor_row_of,
)

SLACK = 1e-9
"""Part of the limits by which a target may be out of them: rounding."""
DRIVEN = ("hinge", "slider")


def motor_of(row: np.ndarray) -> Motor | None:
    """The motor that columns of a joint or tendon describe, or None."""
    kind, most = row[MOTOR_KIND], float(row[MOTOR_MAX_FORCE])
    if kind == NO_MOTOR:
        return None
    if kind == VELOCITY:
        return VelocityMotor(float(row[MOTOR_TARGET]), most)
    if kind == PUSH:
        return ForceMotor(float(row[MOTOR_FORCE]), most)
    compliance = float(row[MOTOR_COMPLIANCE])
    return Servo(
        float(row[MOTOR_TARGET]),
        np.inf if compliance == 0.0 else 1.0 / compliance,
        float(row[MOTOR_DAMPING]),
        most,
        float(row[MOTOR_SPEED]),
        float(row[MOTOR_FORCE]),
        float(row[MOTOR_MAX_SPEED]),
    )


def set_motor(motors: np.ndarray, saturated: np.ndarray, index: int, drive: Drive | None, here: float) -> bool:
    """Give a joint or tendon a motor, or take it away; whether it had none and has one now.

    Args:
        motors: Columns of the motors of all joints or tendons, changed.
        saturated: Whether each is at its limit, changed.
        index: The joint or tendon.
        drive: The motor, or None.
        here: Where it is [rad or m]: a servo with a limited speed goes on from its last goal, or from here.
    """
    old = motors[index].copy()
    row = motor_row_of(drive, float(old[MOTOR_GOAL]) if old[MOTOR_KIND] == POSITION else here)
    motors[index] = row
    if old[MOTOR_KIND] != row[MOTOR_KIND]:
        saturated[index] = 0.0
    return bool(old[MOTOR_KIND] == NO_MOTOR and row[MOTOR_KIND] != NO_MOTOR)


def wanted_drive(
    joint: Joint, motor: Motor | float | None, present: Motor | None, bounded: bool = True
) -> Drive | None:
    """What drives a joint from now on, checked.

    Args:
        joint: The joint.
        motor: A motor, None, or a number: a target for the present one.
        present: Its motor now.
        bounded: Whether a target has to be within the limits of the joint.

    Raises:
        SceneError: It is no hinge or slider, a value is of the wrong kind or not finite, an angle or travel is out of
            the limits, a speed above the largest, or there is no motor that a number could be for.
    """
    label = f"joint {joint.name!r}"
    if motor is None:
        return None
    if joint.kind not in DRIVEN:
        raise SceneError(f"{label}: drive: a motor drives a hinge or a slider, this is a {joint.kind} joint")
    if not isinstance(motor, MOTORS):
        value = check.number(label, "motor", motor)
        if present is None and np.isinf(joint.max_force) and np.isinf(joint.max_speed):
            raise SceneError(
                f"{label}: the joint has no motor; give it one, such as drive(Servo({value:g}, stiffness=100, "
                f"damping=10)), or a max_force or max_speed when it is added"
            )
        motor = _retargeted(Servo(value) if present is None else present, value)
    drive = motor.drive(label)
    if bounded:
        _check_target(label, joint, drive)
    return within(drive, joint.max_force, joint.max_speed)


def wanted_pull(name: str, max_force: float, motor: Motor | float | None, present: Motor | None) -> Drive | None:
    """What drives a tendon from now on, checked.

    Args:
        name: The tendon.
        max_force: Largest force of its motors [N].
        motor: A motor, None, or a number: a target for the present one.
        present: Its motor now.

    Raises:
        SceneError: A value is of the wrong kind or not finite, or there is no motor that a number could be for.
    """
    label = f"tendon {name!r}"
    if motor is None:
        return None
    if not isinstance(motor, MOTORS):
        value = check.number(label, "motor", motor)
        if present is None:
            raise SceneError(f"{label}: it has no motor; give it one, such as drive(ForceMotor({value:g}))")
        motor = _retargeted(present, value)
    return within(motor.drive(label), max_force, np.inf)


def _check_target(label: str, joint: Joint, drive: Drive) -> None:
    """Refuse a target that the joint cannot reach."""
    limits = joint.twist if joint.kind == "hinge" else joint.travel
    if drive.kind == "position" and drive.stiffness > 0.0 and limits is not None:
        low, high = float(limits[0]), float(limits[1])
        slack = SLACK * max(1.0, abs(drive.target))
        if not low - slack <= drive.target <= high + slack:
            raise SceneError(f"{label}: target: {drive.target:g} is outside its limits {low:g} to {high:g}")
    if drive.kind == "velocity" and abs(drive.target) > joint.max_speed * (1.0 + SLACK):
        raise SceneError(f"{label}: speed: {drive.target:g} is beyond its largest, {joint.max_speed:g}")


def _retargeted(motor: Motor, value: float) -> Motor:
    """The same motor with another target."""
    field = {VelocityMotor: "speed", Servo: "target", ForceMotor: "force"}[type(motor)]
    return replace(motor, **{field: value})
