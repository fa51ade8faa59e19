"""Laws of the actuators of an MJCF that have an activation, or the force of a muscle."""

from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene.actuator import DYNAMICS, ActuatorLaw, Muscle
from shinari.scene.controllers import INPUTS, DCMotor, PIDControl

FIXED, AFFINE, MUSCLE, DC_MOTOR, _, PID = range(6)
"""Kinds of gains."""
NO_BIAS, AFFINE_BIAS, MUSCLE_BIAS = range(3)
"""Kinds of biases."""
AT_JOINT = (0, 1)
"""Actuators that act on a joint, in its own axes or in those of the parent."""
BALL, AT_SITE = 1, 4
UNLIMITED = (-np.inf, np.inf)


def law_of_model(model: Any, index: int, label: str, skipped: list[str]) -> ActuatorLaw | None:
    """The law of an actuator; None where it cannot be had, which is listed.

    Args:
        model: The compiled robot.
        index: The actuator.
        label: Its name in messages.
        skipped: Takes what cannot be had.
    """
    kinds = int(model.actuator_gaintype[index]), int(model.actuator_biastype[index])
    dynamics = int(model.actuator_dyntype[index])
    if kinds[0] in (DC_MOTOR, PID):
        return _controlled(model, index, label, skipped)
    muscle = kinds == (MUSCLE, MUSCLE_BIAS)
    linear = kinds[0] in (FIXED, AFFINE) and kinds[1] in (NO_BIAS, AFFINE_BIAS)
    if not (muscle or linear) or dynamics >= len(DYNAMICS):
        skipped.append(f"{label}: a servo of an orientation, or a mixture of a muscle and others")
        return None
    options: dict[str, Any] = {
        "dynamics": DYNAMICS[dynamics],
        "gear": gear_of(model, index),
        "command_limits": command_limits(model, index)[0],
        "activation_limits": _limits(model, index, "act"),
        "force_limits": _limits(model, index, "force"),
        "early": bool(model.actuator_actearly[index]),
    }
    target = int(model.actuator_trnid[index, 0])
    if int(model.actuator_trntype[index]) in AT_JOINT and model.jnt_actfrclimited[target]:
        skipped.append(f"{label}: the limit of the force on its joint")
    times = np.array(model.actuator_dynprm[index][:3])
    if DYNAMICS[dynamics] == "muscle":
        options |= {"times": tuple(times[:2].tolist()), "smoothing": float(times[2])}
    elif dynamics:
        options["times"] = (float(times[0]) or 1.0, 1.0)
    try:
        if muscle:
            return ActuatorLaw(muscle=_muscle(model, index), **options)
        gain, bias = np.array(model.actuator_gainprm[index][:3]), np.array(model.actuator_biasprm[index][:3])
        if kinds[0] == FIXED:
            gain[1:] = 0.0
        return ActuatorLaw(tuple(gain), tuple(bias if kinds[1] == AFFINE_BIAS else np.zeros(3)), **options)
    except SceneError as error:
        skipped.append(f"{label}: {error}")
        return None


def gear_of(model: Any, index: int) -> float:
    """Length of an actuator by that of what it acts on; levers have theirs in their directions."""
    at_site = int(model.actuator_trntype[index]) == AT_SITE
    target = int(model.actuator_trnid[index, 0])
    on_ball = int(model.actuator_trntype[index]) in AT_JOINT and int(model.jnt_type[target]) == BALL
    return 1.0 if at_site or on_ball else float(model.actuator_gear[int(model.actuator_outadr[index]), 0])


def extras_of(model: Any, kinds: tuple[int, ...], target: int) -> tuple[float, float]:
    """Damping and mass that actuators add to a joint or tendon.

    Args:
        model: The compiled robot.
        kinds: Kinds of what actuators act on: joints or tendons.
        target: The joint or tendon.
    """
    damping = mass = 0.0
    for index in range(len(model.actuator_trntype)):
        if int(model.actuator_trntype[index]) in kinds and int(model.actuator_trnid[index, 0]) == target:
            square = float(model.actuator_gear[int(model.actuator_outadr[index]), 0]) ** 2
            damping += float(np.asarray(model.actuator_damping[index]).ravel()[0]) * square
            mass += float(model.actuator_armature[index]) * square
    return damping, mass


def command_limits(model: Any, index: int) -> list[tuple[float, float]]:
    """Least and largest command of each input of an actuator."""
    first = int(model.actuator_ctrladr[index])
    found = [UNLIMITED] * max(int(model.actuator_ctrlnum[index]), 1)
    for k in range(int(model.actuator_ctrlnum[index])):
        if model.actuator_ctrllimited[first + k]:
            low, high = (float(bound) for bound in model.actuator_ctrlrange[first + k])
            found[k] = (low, high)
    return found


def _controlled(model: Any, index: int, label: str, skipped: list[str]) -> ActuatorLaw | None:
    """The law of a PID controller or of a DC motor."""
    code = int(model.actuator_ctrlspec[index])
    inputs = tuple(name for k, name in enumerate(INPUTS) if code & (1 << k))
    gain, bias = np.array(model.actuator_gainprm[index]), np.array(model.actuator_biasprm[index])
    dyn = np.array(model.actuator_dynprm[index])
    try:
        if int(model.actuator_gaintype[index]) == PID:
            control = PIDControl(-bias[1], -bias[2], gain[0], dyn[0], dyn[1], inputs)
            if bias[0]:
                skipped.append(f"{label}: the constant part of its force")
        else:
            control = _motor(gain, bias, dyn, inputs)
        limits: dict[str, Any] = {
            "force_limits": _limits(model, index, "force"),
            "command_limits": command_limits(model, index)[0],
        }
        return ActuatorLaw(controller=control, gear=gear_of(model, index), **limits)
    except SceneError as error:
        skipped.append(f"{label}: {error}")
        return None


def _motor(gain: np.ndarray, bias: np.ndarray, dyn: np.ndarray, inputs: tuple[str, ...]) -> DCMotor:
    """A DC motor by the columns of MuJoCo."""
    told = tuple(name for name in inputs if name != "voltage")
    control = PIDControl(gain[4], gain[6], gain[5], dyn[8], dyn[7], told) if told else None
    thermal = (dyn[2], dyn[3], gain[2], gain[3], dyn[4]) if dyn[2] > 0.0 else (0.0,) * 5
    bristles = (dyn[5], dyn[6], *bias[3:6]) if dyn[5] > 0.0 else (0.0,) * 5
    options = {"cogging": tuple(bias[:3]), "bristles": bristles, "thermal": thermal}
    return DCMotor(gain[0], gain[1], max(dyn[0], 0.0), max(dyn[1], 0.0), control, gain[7], inputs, **options)


def _limits(model: Any, index: int, what: str) -> tuple[float, float]:
    if not getattr(model, f"actuator_{what}limited")[index]:
        return UNLIMITED
    low, high = (float(bound) for bound in getattr(model, f"actuator_{what}range")[index])
    return low, high


def _muscle(model: Any, index: int) -> Muscle:
    low, high, force, scale, least, most, speed, passive, lengthening = np.array(model.actuator_gainprm[index][:9])
    out = int(model.actuator_outadr[index])
    peak = force if force >= 0.0 else scale / max(float(model.actuator_acc0[out]), 1e-15)
    start, end = (float(bound) for bound in model.actuator_lengthrange[out])
    return Muscle(float(peak), (start, end), (low, high), least, most, speed, passive, lengthening)
