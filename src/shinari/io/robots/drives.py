"""Actuators and springs of a compiled robot as motors of joints."""

from typing import Any

import numpy as np

from shinari.scene.motors import Servo, VelocityMotor

HINGE, SLIDE = 3, 2
AT_JOINT = 0, 1
"""Actuators that act on a joint, in its own axes or in those of the parent."""
FIXED_GAIN, NO_BIAS, AFFINE_BIAS = 0, 0, 1


class Drives:
    """What drives each joint, gathered from all actuators that act on it.

    An actuator of position with gain kp, damping kv and gear g turns its joint with g (kp (u - g q) - kv g q'): a servo
    of stiffness kp g^2 and damping kv g^2 that aims at u / g. One of velocity adds kv g^2 to the damping, or is a motor
    of its own. Both get the command u = 0, or the allowed one that is nearest to it.

    Args:
        model: The compiled robot.
        start: Angle or travel of every joint where the robot is put, by its address in `qpos`.
        skipped: Takes what cannot be had.
    """

    def __init__(self, model: Any, start: np.ndarray, skipped: list[str]) -> None:
        self._model, self._start, self._skipped = model, start, skipped
        self._servos: dict[int, dict[str, float]] = {}
        self._speeds: dict[int, dict[str, float]] = {}
        for index in range(int(model.nu)):
            self._add(index)

    def of(self, joint: int) -> Servo | VelocityMotor | None:
        """The motor of a joint, or None."""
        model = self._model
        most = np.inf
        if model.jnt_actfrclimited[joint]:
            most = float(np.abs(model.jnt_actfrcrange[joint]).min())
        zero = float(self._start[model.jnt_qposadr[joint]])
        stiffness = float(np.asarray(model.jnt_stiffness[joint]).ravel()[0])
        name = model.joint(joint).name
        servo, speed = self._servos.get(joint), self._speeds.get(joint)
        if stiffness > 0.0 and (servo or speed):
            self._skipped.append(f"spring of joint {name!r}: it has a motor, and a joint has only one")
        if servo is not None:
            damping = servo["damping"] + (speed["damping"] if speed else 0.0)
            return Servo(servo["target"] - zero, servo["stiffness"], damping, min(most, servo["most"]))
        if speed is not None:
            self._skipped.append(f"gain of the motor of joint {name!r}: it keeps its speed as hard as its force allows")
            return VelocityMotor(speed["target"], min(most, speed["most"]))
        if stiffness > 0.0:
            return Servo(float(model.qpos_spring[model.jnt_qposadr[joint]]) - zero, stiffness)
        return None

    def _add(self, index: int) -> None:
        model = self._model
        name = f"actuator {model.actuator(index).name or index!r}"
        joint, kind = int(model.actuator_trnid[index, 0]), int(model.actuator_trntype[index])
        if kind not in AT_JOINT or int(model.jnt_type[joint]) not in (HINGE, SLIDE):
            self._skipped.append(f"{name}: it acts on no hinge or slide")
            return
        gain, bias = model.actuator_gainprm[index], model.actuator_biasprm[index]
        plain = int(model.actuator_gaintype[index]) == FIXED_GAIN and int(model.actuator_dyntype[index]) == 0
        affine = int(model.actuator_biastype[index]) == AFFINE_BIAS
        gear = float(model.actuator_gear[index, 0])
        if int(model.actuator_biastype[index]) == NO_BIAS and plain:
            self._skipped.append(f"{name}: it gives a force that is commanded; joints here have motors and servos")
            return
        position = plain and affine and gain[0] > 0.0 and bias[0] == 0.0 and bias[1] == -gain[0]
        velocity = plain and affine and gain[0] > 0.0 and bias[0] == bias[1] == 0.0 and bias[2] == -gain[0]
        taken = self._servos if position else self._speeds
        if not (position or velocity) or joint in taken or gear == 0.0:
            self._skipped.append(f"{name}: neither a motor nor a servo of a joint, or a second one")
            return
        command = 0.0
        if model.actuator_ctrllimited[index]:
            command = float(np.clip(0.0, *model.actuator_ctrlrange[index]))
        most = np.inf
        if model.actuator_forcelimited[index]:
            low, high = model.actuator_forcerange[index]
            most = float(min(abs(low), abs(high)) * abs(gear))
            if low != -high:
                self._skipped.append(f"{name}: the larger of its force limits {low:g} and {high:g}")
        taken[joint] = {"target": command / gear, "damping": float(-bias[2]) * gear**2, "most": most}
        if position:
            taken[joint]["stiffness"] = float(gain[0]) * gear**2
