"""Redundant constraints in closed loops of joints, found by the rank of their Jacobian at the start.

Open chains are removed first. Joints that share a free body form a group. All immovable frames count as one ground.
"""

from collections.abc import Sequence

import numpy as np

from shinari.compute import Program
from shinari.errors import OverconstrainedWarning, warn
from shinari.scene.body import Body, Joint
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import as_frame
from shinari.systems.rigid.joints.joints import Joints, start_joints
from shinari.systems.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    COMPLIANCE,
    DAMPING,
    FIRST,
    FLAGS,
    SECOND,
    JointTable,
    joints_of,
)  # fmt: skip

# Singular values below this part of the largest are zero.
SMALL = 1e-9
# Groups of more rows than this are judged by their number alone: the rank would take longer than the scene is worth.
MOST_ROWS = 1500
MOST_NAMES = 8


def warn_of_loops(bodies: Sequence[Body], joints: Sequence[Joint]) -> np.ndarray:
    """Warn of each group of joints that holds something more than once; which joints are in one, (J,) bool."""
    table, held_twice = joints_of(bodies, joints), np.zeros(len(joints), bool)
    ground = np.array([body.kinematic for body in bodies] + [True])
    groups = closed_groups(table.codes[:, [FIRST, SECOND]], ground)
    if not groups:
        return held_twice
    rows = _rows_held(table, bodies, joints)
    for group in groups:
        redundant, exact = redundancy([rows[j] for j in group], table.codes[group][:, [FIRST, SECOND]], ground)
        if redundant > 0:
            held_twice[group] = True
            names = ", ".join(repr(joints[j].name) for j in group[:MOST_NAMES])
            more = f" and {len(group) - MOST_NAMES} more" if len(group) > MOST_NAMES else ""
            warn(
                f"joints {names}{more} close a loop that holds {'' if exact else 'at least '}{redundant} "
                f"direction{'s' if redundant > 1 else ''} twice: how they share the load is not determined. Joints "
                f"that leave more free (ball in place of hinge) or a compliance help",
                OverconstrainedWarning,
            )
    return held_twice


def closed_groups(frames: np.ndarray, ground: np.ndarray) -> list[list[int]]:
    """Joints (J, 2) that are part of closed loops, or lie between such, in groups that share bodies.

    Args:
        frames: Frames of both sides, (J, 2).
        ground: Which frames nothing moves, (F,).
    """
    degree = np.bincount(frames.ravel(), minlength=len(ground))
    at: dict[int, list[int]] = {}
    for j, pair in enumerate(frames.tolist()):
        for side in pair:
            at.setdefault(side, []).append(j)
    left = set(range(len(frames)))
    ends = [i for i in at if degree[i] == 1 and not ground[i]]
    while ends:
        i = ends.pop()
        for j in at[i]:
            if j in left:
                left.discard(j)
                other = int(frames[j].sum()) - i
                degree[other] -= 1
                if degree[other] == 1 and not ground[other]:
                    ends.append(other)
    groups = []
    while left:
        group, todo = set(), [min(left)]
        while todo:
            j = todo.pop()
            if j in left:
                left.discard(j)
                group.add(j)
                todo += [k for i in frames[j] if not ground[i] for k in at[int(i)]]
        groups.append(sorted(group))
    return groups


def redundancy(rows: list[np.ndarray], frames: np.ndarray, ground: np.ndarray) -> tuple[int, bool]:
    """How many rows of a group of joints follow from the others, and whether that is exact or a lower bound.

    Args:
        rows: What each joint holds, rows (R, 12) over the motions of its two frames.
        frames: Frames of both sides, (J, 2).
        ground: Which frames nothing moves, (F,).
    """
    used = [i for i in np.unique(frames) if not ground[i]]
    column = {int(i): 6 * k for k, i in enumerate(used)}
    count = sum(len(held) for held in rows)
    if count > MOST_ROWS:
        return max(count - 6 * len(used), 0), False
    system = np.zeros((count, 6 * len(used)))
    first = 0
    for held, pair in zip(rows, frames, strict=True):
        for side, i in enumerate(pair):
            if not ground[i]:
                at = column[int(i)]
                system[first : first + len(held), at : at + 6] = held[:, 6 * side : 6 * side + 6]
        first += len(held)
    values = np.linalg.svd(system, compute_uv=False)
    return count - int((values > SMALL * values.max(initial=0.0)).sum()), True


def _rows_held(table: JointTable, bodies: Sequence[Body], joints: Sequence[Joint]) -> list[np.ndarray]:
    """What each joint holds without compliance at the start, as rows over the motions of its frames, (R, 12)."""
    # without limits, motors and damping
    codes, numbers, count = table.codes.copy(), table.numbers.copy(), len(table.codes)
    codes[:, FLAGS], numbers[:, DAMPING : DAMPING + 6] = 0, 0.0
    arrays = start_joints(joints)
    arrays["joints/motors"][...] = 0.0
    held = Joints(table._replace(codes=codes, numbers=numbers), arrays)
    frames, elements, jacobian_rows = (
        Frames.zeros(len(bodies) + 1),
        Elements.zeros(count + len(table.gears)),
        held.jacobian_rows(),
    )
    for i, b in enumerate(bodies):
        frames.x[i], frames.q[i] = as_frame(b.position, b.rotation, b.centre, b.axes)
    frames.x0[...], frames.q0[...] = frames.x, frames.q
    p = Program()
    held.record_evaluate(p, elements, jacobian_rows, frames, 1.0)
    p.run()
    gears = {int(j): jacobian for j, jacobian in zip(table.gears, jacobian_rows.jacobian, strict=True)}
    return [_rows_of_gear(numbers[j], gears[j]) if j in gears else _rows_of(numbers[j], elements, j)
            for j in range(count)]  # fmt: skip


def _rows_of_gear(numbers: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """The row of a gear, (R, 12)."""
    held = numbers[ANGULAR_COMPLIANCE] == 0.0
    return jacobian[None] / np.linalg.norm(jacobian) if held else np.zeros((0, 12))


def _rows_of(numbers: np.ndarray, elements: Elements, j: int) -> np.ndarray:
    """The rows of a joint that is an element, (R, 12)."""
    ra, rb = elements.arms[j, :3], elements.arms[j, 3:]
    motion = np.zeros((6, 12))
    motion[:3, :3], motion[:3, 6:9] = np.eye(3), -np.eye(3)
    motion[:3, 3:6], motion[:3, 9:12] = -_cross(ra), _cross(rb)
    motion[3:, 3:6], motion[3:, 9:12] = np.eye(3), -np.eye(3)
    rows = []
    for part, compliance in enumerate((COMPLIANCE, ANGULAR_COMPLIANCE)):
        xx, yy, zz, yz, zx, xy = elements.stiffness[j, 6 * part : 6 * part + 6]
        values, vectors = np.linalg.eigh([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        if numbers[compliance] == 0.0:
            held = values > SMALL * values.max()
            rows.append(vectors[:, held].T @ motion[3 * part : 3 * part + 3])
    return np.concatenate([np.zeros((0, 12)), *rows])


def _cross(r: np.ndarray) -> np.ndarray:
    """The matrix of r x."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
