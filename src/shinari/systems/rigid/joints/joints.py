"""Joints of one simulation: launches that write their elements, their state, and queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.compute import Program
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.scene.body import Joint
from shinari.systems.rigid.components import Components
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.energy import bind_values, joint_data
from shinari.systems.rigid.joints.evaluate import evaluate_again, evaluate_joint, restore_joint
from shinari.systems.rigid.joints.gears import evaluate_gear, evaluate_gear_again, restore_gear, settle_gear
from shinari.systems.rigid.joints.results import break_joint, settle_joint, start_joint
from shinari.systems.rigid.joints.table import (
    ANCHOR_A,
    ANCHOR_B,
    DISTANCE,
    FIRST,
    FLAGS,
    FRAME_A,
    FRAME_B,
    GEAR,
    HAS_LIMITS,
    KIND,
    MOTOR_KIND,
    NO_MOTOR,
    SECOND,
    JointTable,
)  # fmt: skip
from shinari.systems.rigid.joints.values import Phase


@dataclass(frozen=True)
class JointLoad:
    """Load of a joint on its second body, in world axes; the first body has the opposite.

    Attributes:
        force: Force [N], (3,).
        torque: Moment about the anchor [N m], (3,).
    """

    force: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class JointState:
    """State of a joint: the first body relative to the second.

    Attributes:
        angle: Angle about the axis, over several turns where it is the only rotation [rad].
        speed: Angular velocity about the axis [rad/s].
        travel: Travel along the axis; of a distance its length [m].
        travel_speed: Its rate of change [m/s].
        broken: Whether it is broken.
    """

    angle: float
    speed: float
    travel: float
    travel_speed: float
    broken: bool


def start_joints(joints: Sequence[Joint]) -> dict[str, np.ndarray]:
    """Arrays of joints that change while the scene runs, by name: they are part of the state."""
    count = len(joints)
    return {
        "joints/saturated": np.zeros(count),
        "joints/angles": np.zeros(count),
        "joints/broken": np.zeros(count, np.bool_),
        "joints/targets": np.array([0.0 if joint.drive is None else joint.drive.target for joint in joints]),
        "joints/loads": np.zeros((count, 6)),
    }


class Joints:
    """Joints bound to the arrays of a simulation.

    Joint j is element j, so that the elements' first rows are those of joints; gears, whose elements do nothing, are
    the Jacobian rows, whose elements come next.

    Args:
        table: The joints.
        arrays: Those of `start_joints`, or of a saved state.

    Attributes:
        data: Their constants.
        values: Their variables.
        phase: Progress of the substep.
        bounded: Whether any has a limit or a motor.
    """

    def __init__(self, table: JointTable, arrays: dict[str, np.ndarray]) -> None:
        self.table = table
        self.data, self.values = joint_data(table), bind_values(arrays, len(table.codes))
        self.phase = Phase.zeros(1)
        self.phase.first[0] = 1
        self.bounded = bool(
            (table.codes[:, FLAGS] & HAS_LIMITS).any() or (table.codes[:, MOTOR_KIND] != NO_MOTOR).any()
        )
        self._breakable = bool(np.isfinite(table.strengths).any())

    def __len__(self) -> int:
        return len(self.table.codes)

    @property
    def work(self) -> float:
        """External work of motors since the step began [J]."""
        return float(self.values.work.sum())

    def jacobian_rows(self) -> JacobianRows:
        """The Jacobian rows of the gears."""
        jacobian_rows = JacobianRows.zeros(len(self.table.gears))
        jacobian_rows.joint[...] = self.table.gears
        return jacobian_rows

    def record_begin(self, p: Program, elements: Elements, frames: Frames) -> None:
        """A step begins."""
        p.launch(start_joint, self.data, self.values, elements, frames, self.phase, count=len(self), grain=64)

    def record_evaluate(
        self, p: Program, elements: Elements, jacobian_rows: JacobianRows, frames: Frames, h: float
    ) -> None:
        """Write elements and Jacobian rows at the present poses."""
        records = self.data, self.values, elements, frames
        p.launch(evaluate_joint, *records, self.phase, h, count=len(self), grain=64)
        p.launch(evaluate_gear, jacobian_rows, *records, len(self), h, count=len(jacobian_rows), grain=64)
        p.copy(0, (self.phase.first, 0))

    def record_evaluate_again(
        self,
        p: Program,
        elements: Elements,
        jacobian_rows: JacobianRows,
        frames: Frames,
        components: Components,
        h: float,
    ) -> None:
        """Evaluate the joints of components that are not solved, and mark those whose limits or motors changed."""
        records, count = (self.data, self.values, elements, frames), len(self)
        p.launch(evaluate_again, *records, components, h, count=count, grain=64)
        p.launch(evaluate_gear_again, jacobian_rows, *records, components, count, h, count=len(jacobian_rows), grain=64)
        p.launch(restore_joint, self.values, elements, components, count=count)
        p.launch(restore_gear, jacobian_rows, elements, components, count, count=len(jacobian_rows))

    def record_settle(self, p: Program, elements: Elements, jacobian_rows: JacobianRows, frames: Frames) -> None:
        """Store loads and states after the last solution of a substep, and break overloaded joints."""
        p.launch(settle_joint, self.data, self.values, elements, frames, self.phase, count=len(self), grain=64)
        p.launch(settle_gear, jacobian_rows, self.data, self.values, frames, count=len(jacobian_rows), grain=64)
        if self._breakable:
            p.launch(break_joint, self.data, self.values, count=len(self))

    def load(self, index: int) -> JointLoad:
        """Force and moment about the anchor on the second body of a joint in the last substep, world axes."""
        return JointLoad(self.values.loads[index, :3].copy(), self.values.loads[index, 3:].copy())

    def drive(self, index: int, target: float) -> None:
        """Give a motor another target: a speed [rad/s, m/s], or an angle or travel [rad, m].

        Raises:
            ValueError: The joint has no motor.
        """
        if self.table.codes[index, MOTOR_KIND] == NO_MOTOR:
            raise ValueError("the joint has no motor")
        self.values.targets[index] = target

    def state(self, index: int, frames: Frames) -> JointState:
        """Angle, travel and their speeds of a joint now."""
        codes, numbers = self.table.codes[index], self.table.numbers[index]
        a, b = int(codes[FIRST]), int(codes[SECOND])
        arms = [
            rotation_matrix(frames.q[i]) @ numbers[at : at + 3] for i, at in ((a, ANCHOR_A), (b, ANCHOR_B))
        ]  # fmt: skip
        offset = frames.x[a] - frames.x[b] + arms[0] - arms[1]
        turns = [quaternion_product(frames.q[i], numbers[at : at + 4]) for i, at in ((a, FRAME_A), (b, FRAME_B))]
        axis = rotation_matrix(turns[1])[:, 0]
        spin = frames.w[a] - frames.w[b]
        if codes[KIND] == DISTANCE:
            length = float(np.linalg.norm(offset))
            axis = offset / length if length > 0.0 else np.zeros(3)
            ends = [frames.v[i] + np.cross(frames.w[i], arm) for i, arm in zip((a, b), arms, strict=True)]
            return JointState(0.0, 0.0, length, float(axis @ (ends[0] - ends[1])), bool(self.values.broken[index]))
        if codes[KIND] == GEAR:
            return JointState(0.0, 0.0, 0.0, 0.0, bool(self.values.broken[index]))
        p = quaternion_product(turns[1] * [1, -1, -1, -1], turns[0])
        twist = 2.0 * np.arctan2(p[1], p[0])
        angle = twist + 2.0 * np.pi * np.round((self.values.angles[index] - twist) / (2.0 * np.pi))
        # velocity of a's anchor relative to the point of b at the same place
        arm = offset + arms[1]
        drift = frames.v[a] + np.cross(frames.w[a], arms[0]) - frames.v[b] - np.cross(frames.w[b], arm)
        return JointState(
            float(angle), float(axis @ spin), float(axis @ offset), float(axis @ drift), bool(self.values.broken[index])
        )
