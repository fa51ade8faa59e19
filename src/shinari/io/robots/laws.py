"""Laws of the actuators of an MJCF that have an activation, or the force of a muscle."""

from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene.actuator import DYNAMICS, ActuatorLaw, Muscle

FIXED, AFFINE, MUSCLE = range(3)
"""Kinds of gains."""
NO_BIAS, AFFINE_BIAS, MUSCLE_BIAS = range(3)
"""Kinds of biases."""
AT_JOINT = (0, 1)
"""Actuators that act on a joint, in its own axes or in those of the parent."""
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
    muscle = kinds == (MUSCLE, MUSCLE_BIAS)
    linear = kinds[0] in (FIXED, AFFINE) and kinds[1] in (NO_BIAS, AFFINE_BIAS)
    if not (muscle or linear) or dynamics >= len(DYNAMICS):
        skipped.append(f"{label}: a motor with states of its own, or a mixture of a muscle and others")
        return None
    options: dict[str, Any] = {
        "dynamics": DYNAMICS[dynamics],
        "gear": float(model.actuator_gear[index, 0]),
        "command_limits": _limits(model, index, "ctrl"),
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


def _limits(model: Any, index: int, what: str) -> tuple[float, float]:
    if not getattr(model, f"actuator_{what}limited")[index]:
        return UNLIMITED
    low, high = (float(bound) for bound in getattr(model, f"actuator_{what}range")[index])
    return low, high


def _muscle(model: Any, index: int) -> Muscle:
    low, high, force, scale, least, most, speed, passive, lengthening = np.array(model.actuator_gainprm[index][:9])
    peak = force if force >= 0.0 else scale / max(float(model.actuator_acc0[index]), 1e-15)
    start, end = (float(bound) for bound in model.actuator_lengthrange[index])
    return Muscle(float(peak), (start, end), (low, high), least, most, speed, passive, lengthening)
