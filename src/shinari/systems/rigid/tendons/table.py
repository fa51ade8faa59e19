"""Constant data of tendons in arrays: places in the axes of the frames, and the frames that each tendon moves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shinari.geometry.motion import NO_ROTATION, quaternion_product, rotation_matrix
from shinari.scene.body import WORLD, Body, Joint
from shinari.scene.tendon import LEVERS, JointTerm, Lever, Segment, Tendon
from shinari.systems.rigid.joints.table import (
    COMPLIANCE,
    DAMPING,
    DRY_FRICTION,
    FLAGS,
    HAS_AXIS,
    HAS_TRAVEL,
    LEAST_TRAVEL,
    LIMIT_COMPLIANCE,
    MOST_TRAVEL,
    MOTOR_INVERSE_MASS,
    REST,
    ROTOR,
)
from shinari.systems.rigid.tendons.actuation import WIDTH as LAW_WIDTH
from shinari.systems.rigid.tendons.actuation import law_row
from shinari.systems.rigid.tendons.control import WIDTH as CONTROLLER_WIDTH
from shinari.systems.rigid.tendons.control import controller_row
from shinari.systems.rigid.tendons.values import (
    AXES,
    CENTRE,
    CODES,
    COEFFICIENTS,
    CYLINDER,
    FIRST_PART,
    FIRST_PIECE,
    FORCE_OF,
    FRAME_A,
    FRAME_G,
    FRAME_S,
    IS_HELD,
    JOINT,
    LEAD,
    LEAST_SLACK,
    MOMENT_OF,
    MOST_SLACK,
    OF_JOINT,
    OFFSET,
    PART_A,
    PARTS,
    PIECE_CODES,
    PIECE_NUMBERS,
    PIECES,
    PLACE_A,
    RADIUS,
    SHAPE,
    SHARE,
    SIDE,
    SPHERE,
    STIFFNESS_OF_SPRING,
    STRAIGHT,
    THRUST,
    WAY,
    WIDTH,
)
from shinari.systems.rigid.tendons.wrapping import SIDED, THROUGH


class TendonTable(NamedTuple):
    """Arrays of T tendons, in the order in which they were added.

    Attributes:
        codes: See the columns in `values`, (T, CODES) int64.
        numbers: (T, WIDTH).
        piece_codes: Of the terms and segments of their lengths, (S, PIECE_CODES) int64.
        piece_numbers: (S, PIECE_NUMBERS).
        parts: Frames that they move, (P,) int64.
        links: Frames that they connect, (L, 2) int64.
        rows: Number of their Jacobian rows.
        laws: Laws of their actuators, (T, WIDTH), see `actuation`.
        controllers: Their controllers and DC motors, (T, WIDTH), see `control`.
        pulled: Frames on which they act at points, (F,): those of all but tendons over hinges alone.
    """

    codes: np.ndarray
    numbers: np.ndarray
    piece_codes: np.ndarray
    piece_numbers: np.ndarray
    parts: np.ndarray
    links: np.ndarray
    rows: int
    laws: np.ndarray
    controllers: np.ndarray
    pulled: np.ndarray


def pairs_of(parts: int) -> int:
    """Number of Jacobian rows of a tendon that moves so many frames."""
    return parts * (parts - 1) // 2 if parts > 1 else parts


def tendons_of(
    bodies: Sequence[Body], joints: Sequence[Joint], tendons: Sequence[Tendon], first_row: int
) -> TendonTable:
    """The tendons of a scene; `first_row` is the number of Jacobian rows of others."""
    codes, numbers = np.zeros((len(tendons), CODES), np.int64), np.zeros((len(tendons), WIDTH))
    pieces: list[tuple[np.ndarray, np.ndarray]] = []
    parts: list[int] = []
    links: list[tuple[int, int]] = []
    pulled: set[int] = set()
    lead = first_row
    for code, number, tendon in zip(codes, numbers, tendons, strict=True):
        found = [_of_joint(joints, bodies, term) for term in tendon.terms]
        found += [_of_segment(bodies, segment) for segment in tendon.segments]
        found += [_of_lever(bodies, lever) for lever in tendon.levers]
        frames = sorted({int(f) for piece, _ in found for f in piece[FRAME_A : FRAME_G + 1] if f >= 0})
        moved = [f for f in frames if f < len(bodies) and not bodies[f].kinematic]
        for piece, _ in found:
            for side in range(3):
                f = int(piece[FRAME_A + side])
                piece[PART_A + side] = len(parts) + moved.index(f) if f in moved else -1
                piece[FRAME_A + side] = max(f, 0)
        code[FIRST_PIECE], code[PIECES], code[LEAD] = len(pieces), len(found), lead
        code[FIRST_PART], code[PARTS] = len(parts), len(moved)
        # an immovable frame in the middle would separate the islands of the others
        links += [(moved[0], f) for f in frames if moved and f != moved[0]]
        if tendon.segments or tendon.levers or any(joints[term.joint].kind != "hinge" for term in tendon.terms):
            pulled |= set(moved)
        pieces, parts, lead = pieces + found, parts + moved, lead + pairs_of(len(moved))
        _set_law(code, number, tendon)
    return TendonTable(
        codes,
        numbers,
        np.array([piece for piece, _ in pieces], np.int64).reshape(-1, PIECE_CODES),
        np.array([values for _, values in pieces]).reshape(-1, PIECE_NUMBERS),
        np.array(parts, np.int64),
        np.array(links, np.int64).reshape(-1, 2),
        lead - first_row,
        np.array([law_row(tendon.actuator) for tendon in tendons]).reshape(-1, LAW_WIDTH),
        np.array([controller_row(tendon.actuator) for tendon in tendons]).reshape(-1, CONTROLLER_WIDTH),
        np.array(sorted(pulled), np.int64),
    )


def _frame(index: int, bodies: Sequence[Body]) -> int:
    return len(bodies) if index == WORLD else index


def _local(index: int, bodies: Sequence[Body], place: np.ndarray) -> np.ndarray:
    """A place in the axes of a body in those of its frame."""
    if index == WORLD:
        return np.asarray(place, np.float64)
    return rotation_matrix(bodies[index].axes).T @ (np.asarray(place, np.float64) - bodies[index].centre)


def _of_joint(joints: Sequence[Joint], bodies: Sequence[Body], term: JointTerm) -> tuple[np.ndarray, np.ndarray]:
    code, number = np.full(PIECE_CODES, -1, np.int64), np.zeros(PIECE_NUMBERS)
    joint = joints[term.joint]
    code[FRAME_A : FRAME_A + 2] = _frame(joint.first, bodies), _frame(joint.second, bodies)
    code[JOINT], code[SHAPE] = term.joint, OF_JOINT
    number[COEFFICIENTS : COEFFICIENTS + 5], number[OFFSET] = term.coefficients, term.offset
    return code, number


def _of_segment(bodies: Sequence[Body], segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    code, number = np.full(PIECE_CODES, -1, np.int64), np.zeros(PIECE_NUMBERS)
    for side, (index, place) in enumerate(zip(segment.bodies, segment.places, strict=True)):
        code[FRAME_A + side] = _frame(index, bodies)
        number[PLACE_A + 3 * side : PLACE_A + 3 * side + 3] = _local(index, bodies, place)
    code[SHAPE], code[FRAME_S], number[SHARE], number[AXES] = STRAIGHT, 0, segment.part, 1.0
    if segment.wrapped is not None and segment.centre is not None:
        index = segment.wrapped
        code[FRAME_G], code[SHAPE] = _frame(index, bodies), SPHERE if segment.turn is None else CYLINDER
        number[CENTRE : CENTRE + 3], number[RADIUS] = _local(index, bodies, segment.centre), segment.radius
        if segment.turn is not None:
            axes = NO_ROTATION if index == WORLD else bodies[index].axes * np.array([1.0, -1.0, -1.0, -1.0])
            number[AXES : AXES + 4] = quaternion_product(axes, segment.turn)
        if segment.through:
            number[WAY] = THROUGH
        if segment.side is not None:
            code[FRAME_S] = _frame(segment.side_body, bodies)
            number[SIDE : SIDE + 3], number[WAY] = _local(segment.side_body, bodies, segment.side), SIDED
    return code, number


def _of_lever(bodies: Sequence[Body], lever: Lever) -> tuple[np.ndarray, np.ndarray]:
    code, number = np.full(PIECE_CODES, -1, np.int64), np.zeros(PIECE_NUMBERS)
    first, second = lever.bodies
    alone = lever.kind == "thrust"
    code[SHAPE], code[FRAME_A], code[FRAME_S] = THRUST + LEVERS.index(lever.kind), _frame(first, bodies), 0
    if not alone:
        code[FRAME_A + 1] = _frame(second, bodies)
    number[PLACE_A : PLACE_A + 3] = _local(first, bodies, lever.places[0])
    number[PLACE_A + 3 : PLACE_A + 6] = _local(second, bodies, lever.places[1])
    axes = [NO_ROTATION if index == WORLD else bodies[index].axes for index in lever.bodies]
    carried = rotation_matrix(axes[0] if alone else axes[1]).T
    number[FORCE_OF : FORCE_OF + 3], number[MOMENT_OF : MOMENT_OF + 3] = carried @ lever.force, carried @ lever.moment
    turn = quaternion_product(quaternion_product(axes[0] * np.array([1.0, -1.0, -1.0, -1.0]), lever.turn), axes[1])
    number[AXES : AXES + 4], number[RADIUS], number[SHARE] = turn, lever.rod, 1.0
    return code, number


def _set_law(code: np.ndarray, number: np.ndarray, tendon: Tendon) -> None:
    flags = 0
    number[LEAST_TRAVEL : MOST_TRAVEL + 1], number[MOTOR_INVERSE_MASS] = (-np.inf, np.inf), 1.0
    if tendon.limits is not None:
        number[LEAST_TRAVEL : MOST_TRAVEL + 1], flags = tendon.limits, flags | HAS_TRAVEL
    if tendon.held is not None:
        number[REST], flags = tendon.held, flags | IS_HELD
    if tendon.dry_friction > 0.0 or tendon.mass > 0.0:
        flags |= HAS_AXIS
    number[COMPLIANCE], number[LIMIT_COMPLIANCE] = tendon.compliance, tendon.limit_compliance
    number[DAMPING], number[DRY_FRICTION], number[ROTOR] = tendon.damping, tendon.dry_friction, tendon.mass
    number[STIFFNESS_OF_SPRING], number[LEAST_SLACK : MOST_SLACK + 1] = tendon.stiffness, tendon.slack
    code[FLAGS] = flags
