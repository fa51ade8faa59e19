"""Ranges of the lengths of muscles, where MuJoCo finds none by simulation: those of many postures."""

from typing import Any

import numpy as np

from shinari.errors import require

POSTURES = 2000
MUSCLE_GAIN, MUSCLE_BIAS = 2, 2
HINGE_OR_SLIDE = (2, 3)
HALF_TURN = np.pi


def seek_ranges(model: Any) -> list[str]:
    """Set the ranges of muscles that have none to those of postures within the limits of the joints.

    A third of all angles are at the lower limit, a third at the upper one, the others between; joints without limits
    go half a turn in both directions.

    Args:
        model: The compiled robot, changed.

    Returns:
        Names of these muscles.
    """
    mujoco = require("mujoco", "robot")
    ranges = model.actuator_lengthrange
    of_muscles = (np.asarray(model.actuator_gaintype) == MUSCLE_GAIN) | (
        np.asarray(model.actuator_biastype) == MUSCLE_BIAS
    )
    without = np.flatnonzero(of_muscles & (np.asarray(ranges)[:, 0] >= np.asarray(ranges)[:, 1]))
    if not len(without):
        return []
    joints = np.flatnonzero(np.isin(model.jnt_type, HINGE_OR_SLIDE))
    low, high = np.array(model.jnt_range)[joints].T
    free = ~np.array(model.jnt_limited)[joints].astype(bool)
    low[free], high[free] = -HALF_TURN, HALF_TURN
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    lengths = []
    for _ in range(POSTURES):
        part = np.clip(rng.uniform(-1.0, 2.0, len(joints)), 0.0, 1.0)
        data.qpos[model.jnt_qposadr[joints]] = low + part * (high - low)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_tendon(model, data)
        mujoco.mj_transmission(model, data)
        lengths.append(np.array(data.actuator_length)[model.actuator_outadr[without]])
    model.actuator_lengthrange[without, 0] = np.min(lengths, axis=0)
    model.actuator_lengthrange[without, 1] = np.max(lengths, axis=0)
    return [model.actuator(int(index)).name or f"actuator_{index + 1}" for index in without]
