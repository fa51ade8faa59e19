"""What a compiled robot switches off, and what it has that there is not here."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.errors import require

SWITCHED_OFF = {
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "EQUALITY": ("eq_active0",),
    "CONTACT": ("geom_contype", "geom_conaffinity", "flex_contype", "flex_conaffinity", "flex_selfcollide"),
    "SPRING": ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly"),
    "DAMPER": (
        "dof_damping",
        "dof_dampingpoly",
        "tendon_damping",
        "tendon_dampingpoly",
        "actuator_damping",
        "actuator_dampingpoly",
    ),
    "CLAMPCTRL": ("actuator_ctrllimited",),
}
"""Arrays of a model that are 0 where a flag is disabled."""
CONSTRAINTS = ("LIMIT", "FRICTIONLOSS", "EQUALITY", "CONTACT")
"""Flags that are disabled with `constraint`."""
GRAVITY = (0.0, 0.0, -9.81)
"""Gravity of a file that gives none [m/s^2]."""
ALIKE = 0.1
"""Gravities that differ by less are one [m/s^2]."""
NOT_READ = (
    ("body", "body_gravcomp", "gravcomp: their whole weight acts"),
    ("joint", "jnt_actgravcomp", "actuatorgravcomp: no actuator counts or limits what carries their bodies"),
    ("joint", "jnt_stiffnesspoly", "the part of their stiffness that changes with the angle"),
    ("dof", "dof_dampingpoly", "the part of their damping that changes with the speed"),
    ("joint", "jnt_springyield", "springyield: their springs do not yield"),
    ("tendon", "tendon_springyield", "springyield: their springs do not yield"),
    ("tendon", "tendon_actfrclimited", "actuatorfrcrange: the sum of the forces of their actuators has no limit"),
    ("actuator", "actuator_dampingpoly", "the part of their damping that changes with the speed"),
    ("geom", "geom_surfacevel", "surfacevel: their surfaces do not move"),
    ("geom", "geom_adhesion", "adhesion: they do not stick"),
)
"""Arrays that are 0 as a rule, and what is told where they are not."""
FREE = 0


def switch_off(model: Any) -> None:
    """Take out of a compiled robot what its flags disable."""
    mujoco, off = require("mujoco", "robot"), int(model.opt.disableflags)

    def disabled(flag: str) -> bool:
        return bool(off & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0)))

    for flag, arrays in SWITCHED_OFF.items():
        if disabled(flag) or (flag in CONSTRAINTS and disabled("CONSTRAINT")):
            for name in arrays:
                if hasattr(model, name):
                    getattr(model, name)[:] = 0
    if disabled("GRAVITY"):
        model.opt.gravity[:] = 0.0
    if disabled("SPRING") and disabled("DAMPER"):
        # all passive forces
        model.body_gravcomp[:] = 0.0


def is_off(model: Any, actuator: int) -> bool:
    """Whether the file disables an actuator, by its group or with all others."""
    bit = int(require("mujoco", "robot").mjtDisableBit.mjDSBL_ACTUATION)
    group = int(model.actuator_group[actuator])
    return bool(int(model.opt.disableflags) & bit) or bool(
        0 <= group < 31 and int(model.opt.disableactuator) >> group & 1
    )


def weight_part(model: Any, body: int) -> float | None:
    """Part of its weight that acts on a body of the file, -1 to 1; None: another one, which there is not here."""
    part = 1.0 - float(model.body_gravcomp[body])
    return part if abs(part) <= 1.0 else None


def not_read(model: Any, body_name: Callable[[int], str], gravity: Any) -> list[str]:
    """What a compiled robot has that there is not here, in words.

    Args:
        model: The robot.
        body_name: Tells the name of a body.
        gravity: Gravity of the scene in the axes of the file [m/s^2], (3,).
    """
    told = []
    for kind, array, what in NOT_READ:
        values = np.asarray(getattr(model, array, ())).astype(np.float64)
        found = np.flatnonzero(values.reshape(len(values), -1).any(axis=1)) if values.size else []
        if kind == "dof":
            kind, found = "joint", sorted({int(model.dof_jntid[index]) for index in found})
        if len(found):
            first = _name(model, kind, int(found[0]), body_name)
            told.append(f"{kind} {first!r}{f' and {len(found) - 1} more' * (len(found) > 1)}: {what}")
    for joint in np.flatnonzero(np.asarray(model.jnt_type) == FREE):
        told += _of_free_joint(model, int(joint), _name(model, "joint", int(joint), body_name))
    wanted = np.array(model.opt.gravity)
    if np.linalg.norm(wanted - GRAVITY) > ALIKE and np.linalg.norm(wanted - gravity) > ALIKE:
        told.append(f"gravity {wanted.tolist()}: that of the scene acts")
    filters = int(require("mujoco", "robot").mjtDisableBit.mjDSBL_FILTERPARENT)
    if int(model.opt.disableflags) & filters:
        told.append("filterparent of <flag>: bodies that a joint connects pass through each other")
    return told


def _of_free_joint(model: Any, joint: int, name: str) -> list[str]:
    """What acts along a free joint in the file."""
    first = int(model.jnt_dofadr[joint])
    dofs = slice(first, first + 6)
    return [
        f"{what} of free joint {name!r}"
        for values, what in (
            (model.dof_damping[dofs], "damping"),
            (model.dof_frictionloss[dofs], "dry friction"),
            (model.dof_armature[dofs], "armature"),
            (model.jnt_stiffness[joint], "spring"),
        )
        if np.any(values)
    ]


def _name(model: Any, kind: str, index: int, body_name: Callable[[int], str]) -> str:
    """Name of a part, or one of the body that has it, or its number."""
    if kind == "body":
        return body_name(index)
    own = getattr(model, kind)(index).name
    bodies = {"joint": "jnt_bodyid", "geom": "geom_bodyid"}
    return own or (body_name(int(getattr(model, bodies[kind])[index])) if kind in bodies else f"{kind}_{index + 1}")
