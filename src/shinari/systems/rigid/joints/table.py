"""Constant data of joints in arrays.

Anchors and joint frames are in the axes of the frames: of a body its principal axes, about its centre of mass. Rows are
measured in the axes of the joint on b: x along the joint's axis. The first six rows of a joint hold the anchor along
x y z and the rotation about x y z; the rows of limits and of the motor follow.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shinari.geometry.motion import NO_ROTATION, quaternion_product, rotation_matrix
from shinari.scene.body import WORLD, Body, Drive, Joint

FIXED, BALL, HINGE, SLIDER, CYLINDRICAL, UNIVERSAL, PLANAR, DISTANCE, GEAR = range(9)
CODES = {
    "fixed": FIXED,
    "ball": BALL,
    "hinge": HINGE,
    "slider": SLIDER,
    "cylindrical": CYLINDRICAL,
    "universal": UNIVERSAL,
    "planar": PLANAR,
    "distance": DISTANCE,
    "gear": GEAR,
}

# Rows held along and about x y z, and damped ones: of a distance along its line. A universal joint holds the direction
# across both of its axes, see `rows`.
HELD = {
    FIXED: (1, 1, 1, 1, 1, 1),
    BALL: (1, 1, 1, 0, 0, 0),
    HINGE: (1, 1, 1, 0, 1, 1),
    SLIDER: (0, 1, 1, 1, 1, 1),
    CYLINDRICAL: (0, 1, 1, 0, 1, 1),
    UNIVERSAL: (1, 1, 1, 1, 0, 0),
    PLANAR: (1, 0, 0, 0, 1, 1),
    DISTANCE: (1, 0, 0, 0, 0, 0),
    GEAR: (0, 0, 0, 0, 0, 0),
}
DAMPED = {
    kind: (1, 0, 0, 0, 0, 0) if kind == DISTANCE else tuple(1 - row for row in rows) for kind, rows in HELD.items()
} | {UNIVERSAL: (0, 0, 0, 1, 1, 1)}

# Columns of `codes`.
FIRST, SECOND, KIND, FLAGS = range(4)
# Bits of its column FLAGS.
HAS_TRAVEL, HAS_TWIST, HAS_SWING, HAS_PAST, HAS_ANGLE, HAS_AXIS, REDUNDANT = 1, 2, 4, 8, 16, 32, 64
HAS_LIMITS = HAS_TRAVEL | HAS_TWIST | HAS_SWING

# Columns of `motors`, which change while the scene runs.
MOTOR_KIND, MOTOR_TARGET, MOTOR_GOAL, MOTOR_SPEED, MOTOR_FORCE = range(5)
MOTOR_COMPLIANCE, MOTOR_DAMPING, MOTOR_MAX_FORCE, MOTOR_MAX_SPEED = range(5, 9)
MOTORS = 9
# Values of its column MOTOR_KIND.
NO_MOTOR, VELOCITY, POSITION, PUSH = range(4)
MOTOR_KINDS = {"velocity": VELOCITY, "position": POSITION, "force": PUSH}

# Columns of `numbers`; the first two are followed by as many as their vectors have.
ANCHOR_A, ANCHOR_B, FRAME_A, FRAME_B = 0, 3, 6, 10
HOLDS, DAMPING = 14, 20
POINT_MASS, TURN_MASS = 26, 27
COMPLIANCE, ANGULAR_COMPLIANCE, LIMIT_COMPLIANCE = 28, 29, 30
LEAST_TRAVEL, MOST_TRAVEL, LEAST_TWIST, MOST_TWIST, LEAST_SWING, MOST_SWING = 31, 32, 33, 34, 35, 36
MOTOR_INVERSE_MASS = 37
ROTOR, DRY_FRICTION, SPRING, SPRING_REST = 38, 39, 40, 41
REST = 42
NUMBERS = 43

# Rows beyond the six held ones.
TRAVEL, TWIST, SWING, MOTOR_ROW, FRICTION_ROW = 6, 7, 8, 9, 10

JOINT_STIFFNESS = 1.0e6
"""Stiffness of a held row, in units of the effective mass over h^2.

A row yields by a millionth of the displacement that it prevents in a substep, and needs no multiplier: to a load of a
thousand times the weight of a body by 0.06 micrometres at 600 substeps a second. A multiplier kept from substep to
substep is worse than none: it integrates C, and with K h^2 / m below 1 in any mode, such as the bending of a long
chain of hinges, the mode grows, (z - 1)^3 + (K h^2 / m) z^3 = 0. The forces between two bodies have a relative rounding
error of 1e-16 JOINT_STIFFNESS, which bounds it.
"""


class JointTable(NamedTuple):
    """Arrays of J joints, in the order in which they were added.

    Attributes:
        codes: Frames a and b, kind and flags, (J, 4) int64.
        numbers: See the columns above, (J, NUMBERS).
        strengths: Largest force [N] and moment [N m], (J, 2).
        gears: Which joints are gears, (G,) int64: those are Jacobian rows, all others are elements.
    """

    codes: np.ndarray
    numbers: np.ndarray
    strengths: np.ndarray
    gears: np.ndarray

    @property
    def active(self) -> np.ndarray:
        """Whether each joint stores energy, by springs or rotors, or is a gear, (J,) bool."""
        springs = [COMPLIANCE, ANGULAR_COMPLIANCE, LIMIT_COMPLIANCE, SPRING, ROTOR]
        return (self.codes[:, KIND] == GEAR) | (self.numbers[:, springs] > 0.0).any(axis=1)


def motor_row_of(drive: Drive | None, here: float) -> np.ndarray:
    """The columns of a motor at a joint whose angle or travel is `here`, where a servo with a largest speed begins."""
    row = np.zeros(MOTORS)
    if drive is not None:
        row[MOTOR_KIND] = MOTOR_KINDS[drive.kind]
        row[MOTOR_COMPLIANCE] = np.inf if drive.stiffness == 0.0 else 1.0 / drive.stiffness
        row[MOTOR_SPEED], row[MOTOR_DAMPING] = drive.speed, drive.damping
        row[MOTOR_MAX_FORCE], row[MOTOR_MAX_SPEED] = drive.most, drive.fastest
        row[MOTOR_FORCE] = np.clip(drive.force, -drive.most, drive.most)
        row[MOTOR_TARGET] = row[MOTOR_GOAL] = drive.target
        if drive.kind == "position" and np.isfinite(drive.fastest):
            row[MOTOR_GOAL] = here
        if drive.kind == "force":
            row[MOTOR_COMPLIANCE], row[MOTOR_FORCE] = np.inf, np.clip(drive.target, -drive.most, drive.most)
    return row


def joints_of(bodies: Sequence[Body], joints: Sequence[Joint]) -> JointTable:
    """The joints of a scene."""
    count = len(joints)
    table = JointTable(
        codes=np.zeros((count, 4), np.int64),
        numbers=np.zeros((count, NUMBERS)),
        strengths=np.array([(joint.break_force, joint.break_torque) for joint in joints]).reshape(count, 2),
        gears=np.array([j for j, joint in enumerate(joints) if joint.kind == "gear"], np.int64),
    )
    rotors = _rotors(len(bodies), joints)
    for codes, numbers, joint in zip(table.codes, table.numbers, joints, strict=True):
        _set_frames(codes, numbers, joint, bodies)
        _set_effective_masses(numbers, joint, bodies, rotors)
        _set_limits_and_motor(codes, numbers, joint)
    return table


def _set_frames(codes: np.ndarray, numbers: np.ndarray, joint: Joint, bodies: Sequence[Body]) -> None:
    """Anchors and joint frames in the axes of the frames."""
    for side, index in enumerate((joint.first, joint.second)):
        codes[side] = len(bodies) if index == WORLD else index
        centre, axes = (np.zeros(3), NO_ROTATION) if index == WORLD else (bodies[index].centre, bodies[index].axes)
        at = 3 * side
        numbers[ANCHOR_A + at : ANCHOR_A + at + 3] = rotation_matrix(axes).T @ (joint.places[side] - centre)
        at = 4 * side
        numbers[FRAME_A + at : FRAME_A + at + 4] = quaternion_product(axes * [1, -1, -1, -1], joint.frames[side])
    codes[KIND] = CODES[joint.kind]


def _rotors(bodies: int, joints: Sequence[Joint]) -> np.ndarray:
    """Mass [kg] and inertia [kg m^2] of the rotors of all joints at each body, (B, 2)."""
    total = np.zeros((bodies, 2))
    for joint in joints:
        for index in (joint.first, joint.second):
            if index != WORLD:
                total[index, 0 if joint.kind == "slider" else 1] += joint.rotor_inertia
    return total


def _set_effective_masses(numbers: np.ndarray, joint: Joint, bodies: Sequence[Body], rotors: np.ndarray) -> None:
    """Effective masses and inertias that scale the stiffness of the rows.

    They use the largest moment of inertia and no arms: a row is then stiff enough in all directions, and stiffer than
    necessary along directions in which the bodies are light. A body has the rotors of its joints: what moves these has
    to pass through it.
    """
    moved = [None if i == WORLD or bodies[i].kinematic else bodies[i] for i in (joint.first, joint.second)]
    ratio = joint.numbers.get("ratio", 1.0)
    light = turned = 0.0
    for side, body in enumerate(moved):
        if body is not None:
            extra = rotors[joint.second if side else joint.first]
            light += 1.0 / (body.mass + extra[0])
            turned += (ratio**2 if side == 1 else 1.0) / (float(body.moments.max()) + extra[1])
            if joint.kind in ("hinge", "slider"):
                hinged = joint.kind == "hinge"
                numbers[MOTOR_INVERSE_MASS] += _inverse_inertia(numbers, side, body) if hinged else 1.0 / body.mass
    numbers[POINT_MASS], numbers[TURN_MASS] = 1.0 / light, 1.0 / turned


def _inverse_inertia(numbers: np.ndarray, side: int, body: Body) -> float:
    """Inverse moment of inertia of a body about the axis of a hinge [1/(kg m^2)]."""
    anchor, q = numbers[ANCHOR_A + 3 * side :][:3], numbers[FRAME_A + 4 * side :][:4]
    axis = rotation_matrix(q)[:, 0]
    across = np.cross(axis, anchor)
    return 1.0 / float(body.moments @ axis**2 + body.mass * (across @ across))


def _set_limits_and_motor(codes: np.ndarray, numbers: np.ndarray, joint: Joint) -> None:
    """Held rows, compliances, damping, limits and motor."""
    kind = CODES[joint.kind]
    numbers[HOLDS : HOLDS + 6] = HELD[kind]
    numbers[DAMPING : DAMPING + 6] = joint.damping * np.array(DAMPED[kind])
    numbers[COMPLIANCE : COMPLIANCE + 3] = joint.compliance, joint.angular_compliance, joint.limit_compliance
    flags = 0
    numbers[LEAST_TRAVEL : MOST_SWING + 1] = -np.inf, np.inf, -np.inf, np.inf, -np.inf, np.inf
    if joint.travel is not None:
        numbers[LEAST_TRAVEL : MOST_TRAVEL + 1], flags = joint.travel, flags | HAS_TRAVEL
    if joint.twist is not None:
        numbers[LEAST_TWIST : MOST_TWIST + 1], flags = joint.twist, flags | HAS_TWIST
    if joint.swing is not None:
        numbers[MOST_SWING], flags = joint.swing, flags | HAS_SWING
    numbers[ROTOR], numbers[DRY_FRICTION] = joint.rotor_inertia, joint.dry_friction
    numbers[SPRING], numbers[SPRING_REST] = joint.stiffness, joint.rest
    if joint.damping > 0.0 or joint.rotor_inertia > 0.0 or joint.dry_friction > 0.0:
        flags |= HAS_PAST
    if joint.rotor_inertia > 0.0 or joint.dry_friction > 0.0 or joint.stiffness > 0.0:
        flags |= HAS_AXIS
    if joint.kind in ("hinge", "cylindrical", "planar") or joint.twist is not None:
        flags |= HAS_ANGLE
    if joint.kind == "distance":
        numbers[REST] = joint.numbers.get("rest_length", 0.0)
        numbers[HOLDS] = "rest_length" in joint.numbers
    if joint.kind == "gear":
        numbers[REST] = joint.numbers["ratio"]
    if joint.kind == "universal":
        # the cosine of the angle between both axes
        numbers[REST] = joint.numbers["cosine"]
    codes[FLAGS] = flags
