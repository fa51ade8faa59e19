"""Joints that follow others by a law: <mimic> of URDF and <equality><joint> of MJCF."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.api.add_tendons import COEFFICIENTS, MET

EQUAL_JOINTS = 2
"""Kind of an equality constraint between joints."""
HINGE_OR_SLIDE = (2, 3)
"""Kinds of joints that have one angle or travel."""


@dataclass(frozen=True)
class Coupling:
    """A joint that follows another.

    Attributes:
        name: Its name, or one from the joint.
        joint: The joint that follows, its number in the compiled model.
        leader: The joint that it follows; None: it is held.
        coefficients: Of the polynomial in the angle or travel of the leader, (5,).
    """

    name: str
    joint: int
    leader: int | None
    coefficients: tuple[float, ...]

    def value(self, qpos: np.ndarray, model: Any) -> float:
        """What the law gives for the joint [rad or m]."""
        at = 0.0 if self.leader is None else float(qpos[model.jnt_qposadr[self.leader]])
        return float(np.polyval(self.coefficients[::-1], at))


def couplings_of(model: Any, mimics: dict[str, tuple[str, float, float]], skipped: list[str]) -> list[Coupling]:
    """The couplings of a compiled robot; those that cannot be had are listed as skipped.

    Args:
        model: The compiled robot.
        mimics: Of each joint of a URDF that follows another its name, the ratio and the offset.
        skipped: Takes what cannot be had.
    """
    found = [_equality(model, i, skipped) for i in range(int(model.neq)) if int(model.eq_type[i]) == EQUAL_JOINTS]
    names = {model.joint(j).name: j for j in range(int(model.njnt)) if int(model.jnt_type[j]) in HINGE_OR_SLIDE}
    for name, (leader, ratio, offset) in mimics.items():
        if name not in names or leader not in names:
            skipped.append(f"<mimic> of joint {name!r}: it or {leader!r} is no joint that moves")
            continue
        law = (offset, ratio, 0.0, 0.0, 0.0)
        found.append(Coupling(f"{name}_mimic", names[name], names[leader], law))
    return [coupling for coupling in found if coupling is not None]


def _equality(model: Any, index: int, skipped: list[str]) -> Coupling | None:
    joint, leader = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    name = model.equality(index).name or f"equality_{index + 1}"
    ends = [joint] if leader < 0 else [joint, leader]
    if not model.eq_active0[index]:
        skipped.append(f"equality {name!r}: it is not active at the start")
        return None
    if any(int(model.jnt_type[j]) not in HINGE_OR_SLIDE for j in ends) or len(set(ends)) < len(ends):
        skipped.append(f"equality {name!r}: it is not between two hinges or slides")
        return None
    rest = [float(model.qpos0[model.jnt_qposadr[j]]) for j in ends]
    if leader < 0:
        return Coupling(name, joint, None, (rest[0] + float(model.eq_data[index][0]), 0.0, 0.0, 0.0, 0.0))
    # y - y0 = a0 + a1 (x - x0) + ...: the same polynomial in x
    moved = np.poly1d([0.0])
    for coefficient in np.array(model.eq_data[index][:COEFFICIENTS])[::-1]:
        moved = moved * np.poly1d([1.0, -rest[1]]) + np.poly1d([coefficient])
    moved = moved + np.poly1d([rest[0]])
    numbers = np.zeros(COEFFICIENTS)
    numbers[: len(moved.coeffs)] = moved.coeffs[::-1]
    return Coupling(name, joint, leader, tuple(numbers.tolist()))


def settled(
    couplings: list[Coupling], model: Any, qpos: np.ndarray, names: dict[int, str], skipped: list[str]
) -> list[Coupling]:
    """Move joints that follow to where their laws put them; laws that cannot be met at the start are left out.

    Args:
        couplings: The couplings.
        model: The compiled robot.
        qpos: Angles and travels at the start by their addresses; changed.
        names: Names of the joints.
        skipped: Takes what is left out.
    """
    kept: list[Coupling] = []
    waiting = list(couplings)
    while waiting:
        # what leads others is put first
        followers = {c.joint for c in waiting}
        coupling = next((c for c in waiting if c.leader not in followers), waiting[0])
        waiting.remove(coupling)
        joint, value = coupling.joint, coupling.value(qpos, model)
        low, high = (float(bound) for bound in model.jnt_range[joint])
        bounded = bool(model.jnt_limited[joint])
        at = int(model.jnt_qposadr[joint])
        if bounded and not low - MET <= value <= high + MET:
            skipped.append(
                f"coupling {coupling.name!r}: it puts joint {names[joint]!r} at {value:g} at the start, outside its "
                f"limits {low:g} to {high:g}"
            )
        elif joint in {c.joint for c in kept} and abs(value - qpos[at]) > MET:
            skipped.append(f"coupling {coupling.name!r}: joint {names[joint]!r} already follows another law")
        else:
            qpos[at] = min(max(value, low), high) if bounded else value
            kept.append(coupling)
    result = []
    for coupling in kept:
        if abs(coupling.value(qpos, model) - float(qpos[model.jnt_qposadr[coupling.joint]])) > MET:
            skipped.append(f"coupling {coupling.name!r}: others move its joints; it is not met at the start")
        else:
            result.append(coupling)
    return result
