"""The joints of one simulation: what they ask of the solver, what they remember, what can be read from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.rigid.elements import Bars, Elements
from shinari.rigid.frames import Frames
from shinari.rigid.joints.energy import MotorWork
from shinari.rigid.joints.gears import evaluate_gears, settle_gears
from shinari.rigid.joints.limits import measure, restrain
from shinari.rigid.joints.rows import ROWS, evaluate
from shinari.rigid.joints.settle import settle, settle_restraints
from shinari.rigid.joints.table import (
    ANCHOR_A,
    ANCHOR_B,
    DISTANCE,
    DRIVE,
    FIRST,
    FLAGS,
    FRAME_A,
    FRAME_B,
    GEAR,
    HAS_ANGLE,
    HAS_LIMITS,
    HAS_PAST,
    KIND,
    NO_DRIVE,
    SECOND,
    JointTable,
)  # fmt: skip
from shinari.scene.body import Joint
from shinari.scene.motion import quaternion_product, rotation_matrix


@dataclass(frozen=True)
class JointLoad:
    """What a joint pushes its second body with, in world axes; the first body with the opposite.

    Attributes:
        force: Force [N], (3,).
        torque: Moment about the anchor [N m], (3,).
    """

    force: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class JointState:
    """How the first body of a joint is against the second.

    Attributes:
        angle: Angle about the axis, over several turns where nothing else can turn [rad].
        speed: Angular velocity about the axis [rad/s].
        travel: Travel along the axis; of a distance its length [m].
        travel_speed: Its rate of change [m/s].
        broken: Whether it has let go.
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
    the first bars as well.

    Args:
        table: The joints.
        arrays: What `start_joints` gave, or a state has kept of it.

    Attributes:
        rows: What `settle` needs of the last evaluation, (J, ROWS).
        swept: Joints that sweeps have solved, whose elements hold what they push with and no motion, (J,).
    """

    def __init__(self, table: JointTable, arrays: dict[str, np.ndarray]) -> None:
        self.table = table
        self.saturated, self.angles = arrays["joints/saturated"], arrays["joints/angles"]
        self.broken, self.targets = arrays["joints/broken"], arrays["joints/targets"]
        self.loads = arrays["joints/loads"]
        self.rows = np.zeros((len(table.codes), ROWS))
        self.swept = np.zeros(len(table.codes), np.bool_)
        flags = table.codes[:, FLAGS]
        moved = (flags & (HAS_LIMITS | HAS_PAST)) != 0
        self._restrained, self._followed = np.flatnonzero(moved), np.flatnonzero(moved | ((flags & HAS_ANGLE) != 0))
        self._results = np.zeros((len(self._restrained), 4))
        self._first = True
        self._motors = MotorWork(table)
        self._breakable = bool(np.isfinite(table.strengths).any())

    def __len__(self) -> int:
        return len(self.table.codes)

    @property
    def bars(self) -> int:
        """How many bars they write."""
        return len(self.table.gears)

    @property
    def work(self) -> float:
        """Work that motors have done from outside since the step began [J]."""
        return self._motors.total

    def begin(self, frames: Frames) -> None:
        """A step begins with the bodies there."""
        self._motors.begin(self.angles, frames.x, frames.q)

    def evaluate(self, frames: Frames, h: float, elements: Elements, bars: Bars) -> None:
        """Write elements and bars where the bodies are now; the first call of a substep where they were predicted."""
        table, which = self.table, self._restrained
        if len(which):
            measure(which, table.codes, self.rows, elements.motion, self._results)
        evaluate(
            table.codes, table.numbers, self.broken, self.rows, frames.x, frames.q, h,
            elements.frames, elements.arms, elements.force, elements.stiffness,
        )  # fmt: skip
        if len(which):
            restrain(
                which, self._results, table.codes, table.numbers, self.targets, self.broken, self.angles,
                self.saturated, self.rows, frames.x, frames.q, frames.x0, frames.q0, h, self._first, elements.force,
                elements.stiffness,
            )  # fmt: skip
        if len(table.gears):
            evaluate_gears(
                table.gears, table.codes, table.numbers, self.broken, self.angles, frames.q,
                frames.q0, h, bars.frames, bars.jacobian, bars.force, bars.stiffness,
            )  # fmt: skip
        self._first = False

    def settle(self, frames: Frames, h: float, elements: Elements, bars: Bars) -> None:
        """After the last solution of a substep, with its motions written and the bodies moved: keep what it gave."""
        table = self.table
        settle(
            table.codes, self.loads, elements.force, elements.stiffness, elements.motion,
        )  # fmt: skip
        if len(self._followed):
            settle_restraints(
                self._followed, table.codes, table.numbers, self.broken, self.swept, self.angles, self.saturated,
                self.rows, frames.q, elements.motion,
            )  # fmt: skip
        if len(table.gears):
            settle_gears(
                table.gears, table.codes, table.numbers, self.broken, self.angles, self.loads,
                frames.q, frames.q0, bars.jacobian, bars.force, bars.stiffness, bars.motion,
            )  # fmt: skip
        self._motors.add(
            self.broken, self.swept, self.angles, self.loads, self.rows, elements.motion, frames.x, frames.q
        )
        self._first = True

    def break_over(self) -> bool:
        """Let go of joints that carry more than they can; whether any did."""
        if not self._breakable:
            return False
        carried = np.linalg.norm(self.loads.reshape(-1, 2, 3), axis=2)
        gone = (carried > self.table.strengths).any(axis=1) & ~self.broken
        self.broken |= gone
        self.loads[gone] = 0.0
        return bool(gone.any())

    def load(self, index: int) -> JointLoad:
        """Force and moment about the anchor on the second body of a joint in the last substep, world axes."""
        return JointLoad(self.loads[index, :3].copy(), self.loads[index, 3:].copy())

    def drive(self, index: int, target: float) -> None:
        """Give a motor another target: a speed [rad/s, m/s], or an angle or travel [rad, m].

        Raises:
            ValueError: The joint has no motor.
        """
        if self.table.codes[index, DRIVE] == NO_DRIVE:
            raise ValueError("the joint has no motor")
        self.targets[index] = target

    def state(self, index: int, frames: Frames) -> JointState:
        """Angle, travel and their speeds of a joint now."""
        codes, numbers = self.table.codes[index], self.table.numbers[index]
        a, b = int(codes[FIRST]), int(codes[SECOND])
        arms = [
            rotation_matrix(frames.q[i]) @ numbers[at : at + 3] for i, at in ((a, ANCHOR_A), (b, ANCHOR_B))
        ]  # fmt: skip
        apart = frames.x[a] - frames.x[b] + arms[0] - arms[1]
        turns = [quaternion_product(frames.q[i], numbers[at : at + 4]) for i, at in ((a, FRAME_A), (b, FRAME_B))]
        axis = rotation_matrix(turns[1])[:, 0]
        spin = frames.w[a] - frames.w[b]
        if codes[KIND] == DISTANCE:
            length = float(np.linalg.norm(apart))
            axis = apart / length if length > 0.0 else np.zeros(3)
            ends = [frames.v[i] + np.cross(frames.w[i], arm) for i, arm in zip((a, b), arms, strict=True)]
            return JointState(0.0, 0.0, length, float(axis @ (ends[0] - ends[1])), bool(self.broken[index]))
        if codes[KIND] == GEAR:
            return JointState(0.0, 0.0, 0.0, 0.0, bool(self.broken[index]))
        p = quaternion_product(turns[1] * [1, -1, -1, -1], turns[0])
        twist = 2.0 * np.arctan2(p[1], p[0])
        angle = twist + 2.0 * np.pi * np.round((self.angles[index] - twist) / (2.0 * np.pi))
        # a's anchor against what b has there
        arm = apart + arms[1]
        drift = frames.v[a] + np.cross(frames.w[a], arms[0]) - frames.v[b] - np.cross(frames.w[b], arm)
        return JointState(
            float(angle), float(axis @ spin), float(axis @ apart), float(axis @ drift), bool(self.broken[index])
        )
