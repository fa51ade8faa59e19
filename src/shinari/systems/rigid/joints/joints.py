"""Joints of one simulation: launches that write their elements, their state, and queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.compute import Program
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.maths import quaternion
from shinari.scene.body import Drive, Joint
from shinari.scene.motors import Motor
from shinari.systems.rigid.components import Components
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.joints.driving import motor_of, set_motor
from shinari.systems.rigid.joints.easing import EASE, EASE_TURN, ease_limits
from shinari.systems.rigid.joints.energy import bind_values, joint_data, servo_energy
from shinari.systems.rigid.joints.evaluate import evaluate_again, evaluate_failed, evaluate_joint, restore_joint
from shinari.systems.rigid.joints.gears import evaluate_gear, evaluate_gear_again, restore_row, settle_gear
from shinari.systems.rigid.joints.moments import find_returned, held_joints, return_moments, take_returned
from shinari.systems.rigid.joints.results import break_joint, find_rate, settle_joint, start_joint
from shinari.systems.rigid.joints.table import (
    ANCHOR_A,
    ANCHOR_B,
    DISTANCE,
    DRY_FRICTION,
    FIRST,
    FLAGS,
    FRAME_A,
    FRAME_B,
    GEAR,
    HAS_LIMITS,
    KIND,
    MOTOR_KIND,
    MOTORS,
    NO_MOTOR,
    REDUNDANT,
    ROTOR,
    SECOND,
    SLIDER,
    JointTable,
    motor_row_of,
)  # fmt: skip
from shinari.systems.rigid.joints.values import Phase

# Here they take arrays: compiled, they would be so anew in each process.
conjugate, multiply, rotate = (
    function.py_func for function in (quaternion.conjugate, quaternion.multiply, quaternion.rotate)
)


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
        "joints/angles": np.array([joint.start for joint in joints], np.float64),
        "joints/broken": np.zeros(count, np.bool_),
        "joints/motors": np.array([motor_row_of(joint.drive, joint.start) for joint in joints]).reshape(count, MOTORS),
        "joints/sliding": np.zeros(count),
        "joints/lag": np.zeros(count),
        "joints/loads": np.zeros((count, 6)),
        "joints/sides": np.zeros((count, 3)),
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
        bounded: Whether any has a limit, dry friction or a motor.
        redundant: Whether any is part of a loop that holds something twice.
    """

    def __init__(self, table: JointTable, arrays: dict[str, np.ndarray]) -> None:
        self.table = table
        self.data, self.values = joint_data(table, arrays), bind_values(arrays, len(table.codes))
        self.phase = Phase.zeros(1)
        self.phase.first[0] = 1
        self.bounded = bool(
            (table.codes[:, FLAGS] & HAS_LIMITS).any()
            or (table.numbers[:, DRY_FRICTION] > 0.0).any()
            or self.driven.any()
        )
        self.redundant = bool((table.codes[:, FLAGS] & REDUNDANT).any())
        self._limited = bool((table.codes[:, FLAGS] & HAS_LIMITS).any())
        self._rotors = bool((table.numbers[:, ROTOR] > 0.0).any())
        self._breakable = bool(np.isfinite(table.strengths).any())

    def __len__(self) -> int:
        return len(self.table.codes)

    @property
    def work(self) -> float:
        """External work of motors since the step began [J]."""
        return float(self.values.work.sum())

    @property
    def driven(self) -> np.ndarray:
        """Which joints have a motor, (J,) bool."""
        return self.values.motors[:, MOTOR_KIND] != NO_MOTOR

    def jacobian_rows(self, more: int = 0) -> JacobianRows:
        """The Jacobian rows of the gears, and so many more after them."""
        gears = len(self.table.gears)
        jacobian_rows = JacobianRows.zeros(gears + more)
        jacobian_rows.joint[:gears], jacobian_rows.lead[:gears] = self.table.gears, np.arange(gears)
        jacobian_rows.pairs[:gears], jacobian_rows.own[:gears] = 1, 1
        return jacobian_rows

    def record_begin(self, p: Program, frames: Frames) -> None:
        """A step begins."""
        p.launch(start_joint, self.data, self.values, frames, self.phase, count=len(self), grain=64)

    def record_start(self, p: Program, frames: Frames, solver_frames: SolverFrames, h: float) -> None:
        """A substep begins, before the prediction."""
        if self._limited:
            records = self.data, self.values, frames, solver_frames
            p.launch(ease_limits, *records, EASE * h, EASE_TURN * h, count=len(self), grain=64)
        if self._rotors:
            p.launch(find_rate, self.data, self.values, frames, count=len(self), grain=64)

    def record_evaluate(
        self, p: Program, elements: Elements, jacobian_rows: JacobianRows, frames: Frames, h: float
    ) -> None:
        """Write elements and Jacobian rows at the present poses."""
        records = self.data, self.values, elements, frames
        p.launch(evaluate_joint, *records, self.phase, h, count=len(self), grain=64)
        p.launch(evaluate_gear, jacobian_rows, *records, len(self), h, count=len(self.table.gears), grain=64)
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
        gears = len(self.table.gears)
        p.launch(evaluate_gear_again, jacobian_rows, *records, components, count, h, count=gears, grain=64)

    def record_evaluate_failed(
        self, p: Program, elements: Elements, frames: Frames, components: Components, h: float
    ) -> None:
        """Evaluate the joints of components whose trial has failed."""
        p.launch(evaluate_failed, self.data, self.values, elements, components, frames, h, count=len(self), grain=64)

    def record_restore(
        self, p: Program, elements: Elements, jacobian_rows: JacobianRows, components: Components
    ) -> None:
        """Restore the forces of joints that are solved, and those of all Jacobian rows."""
        count = len(self)
        p.launch(restore_joint, self.values, elements, components, count=count)
        p.launch(restore_row, jacobian_rows, elements, components, count, count=len(jacobian_rows))

    def record_take_returned(self, p: Program, frames: Frames, solver_frames: SolverFrames) -> None:
        """Add to the angular momenta what the last substep has left, as a substep begins."""
        if len(self):
            p.launch(take_returned, frames, solver_frames, count=len(frames))

    def record_return_moments(
        self,
        p: Program,
        elements: Elements,
        frames: Frames,
        solver_frames: SolverFrames,
        components: Components,
        pulled: np.ndarray,
        h: float,
    ) -> None:
        """Leave to the angular momenta of the next substep what the solution took; tendons act on `pulled` frames."""
        held, of_frames = held_joints(self.table.codes, len(frames), pulled)
        if len(held):
            records = self.data, self.values, elements, components, frames, solver_frames
            p.launch(find_returned, held, *records, h, count=len(held), grain=64)
            p.launch(return_moments, of_frames, held, frames, solver_frames, count=len(frames), grain=64)

    def record_settle(
        self,
        p: Program,
        elements: Elements,
        jacobian_rows: JacobianRows,
        frames: Frames,
        components: Components,
        h: float,
    ) -> None:
        """Store loads and states after the last solution of a substep, and break overloaded joints."""
        records, count, gears = (elements, frames, components), len(self), len(self.table.gears)
        p.launch(settle_joint, self.data, self.values, *records, self.phase, h, count=count, grain=64)
        p.launch(settle_gear, jacobian_rows, self.data, self.values, *records, count, count=gears, grain=64)
        if self._breakable:
            p.launch(break_joint, self.data, self.values, count=len(self))

    def load(self, index: int) -> JointLoad:
        """Force and moment about the anchor on the second body of a joint in the last substep, world axes."""
        return JointLoad(self.values.loads[index, :3].copy(), self.values.loads[index, 3:].copy())

    def drive(self, index: int, drive: Drive | None, here: float) -> bool:
        """Give a joint a motor, or take it away; see `set_motor`."""
        return set_motor(self.values.motors, self.values.saturated, index, drive, here)

    def motor(self, index: int) -> Motor | None:
        """The motor of a joint, or None."""
        return motor_of(self.values.motors[index])

    def coordinate(self, index: int, frames: Frames) -> float:
        """Angle of a hinge [rad], or travel of a slider [m]."""
        state = self.state(index, frames)
        return state.travel if self.table.codes[index, KIND] == SLIDER else state.angle

    def coordinates(self, which: np.ndarray, frames: Frames) -> tuple[np.ndarray, np.ndarray]:
        """Angles [rad] or travels [m] of hinges and sliders, (J,), and their rates of change, (J,)."""
        axes, gap, arms, (a, b) = self._measured(which, frames)
        turns = [self._turned(which, frames, i, at) for i, at in ((a, FRAME_A), (b, FRAME_B))]
        p = multiply(conjugate(turns[1]), turns[0])
        twist, near = 2.0 * np.arctan2(p[1], p[0]), self.values.angles[which]
        angles = twist + 2.0 * np.pi * np.round((near - twist) / (2.0 * np.pi))
        drift = frames.v[a] + np.cross(frames.w[a], arms[0]) - frames.v[b] - np.cross(frames.w[b], gap + arms[1])
        slides = self.table.codes[which, KIND] == SLIDER
        rates = np.where(slides[:, None], drift, frames.w[a] - frames.w[b])
        return np.where(slides, (axes * gap).sum(axis=1), angles), (axes * rates).sum(axis=1)

    def axial_loads(self, which: np.ndarray, frames: Frames) -> np.ndarray:
        """Moments about the axes of hinges [N m], forces along those of sliders [N], on their first bodies, (J,)."""
        axes, _, _, _ = self._measured(which, frames)
        slides, loads = self.table.codes[which, KIND] == SLIDER, self.values.loads[which]
        return -(axes * np.where(slides[:, None], loads[:, :3], loads[:, 3:])).sum(axis=1)

    def _measured(self, which: np.ndarray, frames: Frames) -> tuple[np.ndarray, np.ndarray, list, list]:
        """Axes of joints in the world, from the anchors of b to those of a, arms of both sides, and their frames."""
        numbers, pair = self.table.numbers[which], [self.table.codes[which, side] for side in (FIRST, SECOND)]
        arms = [
            np.stack(rotate(tuple(frames.q[i].T), tuple(numbers[:, at : at + 3].T)), axis=1)
            for i, at in zip(pair, (ANCHOR_A, ANCHOR_B), strict=True)
        ]
        x = np.zeros((3, len(which)))
        x[0] = 1.0
        axes = np.stack(rotate(self._turned(which, frames, pair[1], FRAME_B), tuple(x)), axis=1)
        return axes, frames.x[pair[0]] - frames.x[pair[1]] + arms[0] - arms[1], arms, pair

    def _turned(self, which: np.ndarray, frames: Frames, sides: np.ndarray, at: int) -> tuple:
        """Joint frames of one side in the world, four arrays (J,)."""
        return multiply(tuple(frames.q[sides].T), tuple(self.table.numbers[which, at : at + 4].T))

    def motor_energy(self, joints: Sequence[int], places: Sequence[float], h: float) -> float:
        """Energy of the motors of some joints as springs, at their angles or travels [J]."""
        which = np.array(joints, np.int64)
        table = self.table._replace(codes=self.table.codes[which], numbers=self.table.numbers[which])
        arrays = {name: getattr(self.values, name)[which] for name in ("motors", "broken")}
        return servo_energy(table, arrays["motors"], arrays["broken"], np.array(places), h)

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
