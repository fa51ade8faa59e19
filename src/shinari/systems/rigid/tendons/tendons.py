"""Tendons of one simulation: launches that write their Jacobian rows, their state, and queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shinari.compute import Program
from shinari.scene.actuator import ActuatorLaw
from shinari.scene.body import Drive
from shinari.scene.controllers import INPUTS
from shinari.scene.motors import Motor
from shinari.scene.tendon import Tendon
from shinari.systems.rigid.components import Components
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.driving import motor_of, set_motor
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.table import (
    COMPLIANCE,
    DRY_FRICTION,
    FLAGS,
    HAS_TRAVEL,
    LEAST_TRAVEL,
    LIMIT_COMPLIANCE,
    MOST_TRAVEL,
    MOTOR_KIND,
    NO_MOTOR,
    REST,
    ROTOR,
    motor_row_of,
)
from shinari.systems.rigid.tendons.actuation import ACTS, TendonLaws, actuate_tendon
from shinari.systems.rigid.tendons.control import KIND, TendonControllers, control_tendon
from shinari.systems.rigid.tendons.path import measure_tendon
from shinari.systems.rigid.tendons.pull import (
    evaluate_tendon,
    evaluate_tendon_again,
    remeasure_tendon,
    restore_tendon,
    settle_tendon,
    start_tendon,
)
from shinari.systems.rigid.tendons.table import TendonTable, pairs_of
from shinari.systems.rigid.tendons.values import (
    FIRST_PART,
    FIRST_PIECE,
    IS_HELD,
    LEAD,
    LEAST_SLACK,
    MOST_SLACK,
    PARTS,
    PIECES,
    STIFFNESS_OF_SPRING,
    TendonData,
    TendonLinks,
    TendonParts,
    TendonPieces,
    TendonValues,
)

SAVED = ("motors", "saturated", "sliding", "force", "lag")
"""Values of tendons that are part of the state, as `tendons/...`."""
OF_ACTUATORS = ("command", "activation")
"""Those that are so where a tendon has an actuator."""
OF_CONTROLLERS = ("inputs", "states")
"""Those that are so where a tendon has a controller or a DC motor."""


@dataclass(frozen=True)
class TendonState:
    """State of a tendon.

    Attributes:
        length: Its length [m].
        velocity: Rate of change of that [m/s].
        tension: Force by which it pulls its ends together in the last substep [N].
        activation: Activation of its actuator.
        command: Its command.
        inputs: Inputs of its controller or motor: position, velocity, force and voltage.
    """

    length: float
    velocity: float
    tension: float
    activation: float = 0.0
    command: float = 0.0
    inputs: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)


def start_tendons(tendons: Sequence[Tendon]) -> dict[str, np.ndarray]:
    """Arrays of tendons that change while the scene runs, by name: they are part of the state."""
    if not tendons:
        return {}
    count = len(tendons)
    laws = [tendon.actuator for tendon in tendons]
    actuators = {
        "tendons/command": np.array([0.0 if law is None else np.clip(0.0, *law.command_limits) for law in laws]),
        "tendons/activation": np.array([0.0 if law is None else np.clip(0.0, *law.activation_limits) for law in laws]),
    }
    controlled = any(law is not None and law.controller is not None for law in laws)
    if controlled:
        actuators |= {"tendons/inputs": np.zeros((count, 4)), "tendons/states": np.zeros((count, 4))}
    return {
        **({} if all(law is None for law in laws) else actuators),
        "tendons/motors": np.array([motor_row_of(tendon.drive, 0.0) for tendon in tendons]),
        "tendons/saturated": np.zeros(count),
        "tendons/sliding": np.zeros(count),
        "tendons/force": np.zeros(count),
        "tendons/lag": np.zeros(count),
    }


class Tendons:
    """Tendons bound to the arrays of a simulation.

    Args:
        table: The tendons.
        arrays: Those of `start_tendons`, or of a saved state.
        joints: The joints.
        world: Frame of the world.

    Attributes:
        values: Their variables.
        links: Frames that they connect.
        bounded: Whether any has something that comes and goes: a limit, friction, a slack spring or a motor.
    """

    def __init__(self, table: TendonTable, arrays: dict[str, np.ndarray], joints: Joints, world: int) -> None:
        self.table, self._joints, self._world = table, joints, world
        count = len(table.codes)
        self._data, self.values = TendonData(codes=table.codes, numbers=table.numbers), TendonValues.zeros(count)
        # of queries, which do not change those of the simulation; without a lag
        self._now = TendonValues.zeros(count)
        if count:
            controlled = bool(table.controllers[:, KIND].any())
            saved = (*SAVED, *OF_ACTUATORS) if table.laws[:, ACTS].any() or controlled else SAVED
            saved += OF_CONTROLLERS if controlled else ()
            self.values.bind(**{name: arrays[f"tendons/{name}"] for name in saved})
        self._laws = TendonLaws(numbers=table.laws)
        self._controllers = TendonControllers(numbers=table.controllers)
        self._pieces = TendonPieces.zeros(len(table.piece_codes))
        self._pieces.codes[...], self._pieces.numbers[...] = table.piece_codes, table.piece_numbers
        self._parts, self.links = TendonParts.zeros(len(table.parts)), TendonLinks.zeros(len(table.links))
        self._parts.frame[...], self.links.frames[...] = table.parts, table.links
        self.bounded = bool(
            (table.codes[:, FLAGS] & HAS_TRAVEL).any()
            or (table.numbers[:, [DRY_FRICTION, STIFFNESS_OF_SPRING]] > 0.0).any()
            or self.driven.any()
        )

    def __len__(self) -> int:
        return len(self.table.codes)

    @property
    def driven(self) -> np.ndarray:
        """Which tendons have a motor, (T,) bool."""
        return self.values.motors[:, MOTOR_KIND] != NO_MOTOR

    @property
    def driven_frames(self) -> np.ndarray:
        """Frames on which their motors act."""
        return np.concatenate([np.zeros(0, np.int64), *(self._frames(t) for t in np.flatnonzero(self.driven).tolist())])

    @property
    def work(self) -> float:
        """External work of motors since the step began [J]."""
        return float(self.values.work.sum())

    @property
    def _measured(self) -> tuple:
        return self._data, self.values, self._pieces, self._parts, self._joints.data, self._joints.values

    def _frames(self, tendon: int) -> np.ndarray:
        first, count = self.table.codes[tendon, [FIRST_PART, PARTS]]
        return self.table.parts[first : first + count]

    def add_rows(self, jacobian_rows: JacobianRows) -> None:
        """Write which Jacobian rows are those of tendons, after those of gears."""
        for code in self.table.codes:
            g, parts = int(code[LEAD]), int(code[PARTS])
            pairs = pairs_of(parts)
            jacobian_rows.joint[g : g + pairs], jacobian_rows.lead[g : g + pairs] = -1, g
            jacobian_rows.pairs[g : g + 1] = pairs
            # frame 0 and the others belong to the pairs (0, k), which come first
            jacobian_rows.own[g : g + max(parts - 1, 1), 1] = 1 if parts > 1 else 0
            jacobian_rows.own[g : g + 1, 0] = 1

    def record_begin(self, p: Program) -> None:
        """A step begins."""
        p.launch(start_tendon, self.values, count=len(self))

    def record_start(self, p: Program, frames: Frames, h: float) -> None:
        """A substep begins, before the prediction."""
        p.launch(measure_tendon, *self._measured, frames, count=len(self), grain=8)
        if self._laws.numbers[:, ACTS].any():
            p.launch(actuate_tendon, self._laws, self.values, h, count=len(self), grain=8)
        if self._controllers.numbers[:, KIND].any():
            p.launch(control_tendon, self._controllers, self.values, h, count=len(self), grain=8)

    def record_evaluate(
        self, p: Program, elements: Elements, jacobian_rows: JacobianRows, frames: Frames, h: float
    ) -> None:
        """Write the Jacobian rows at the present poses."""
        records = *self._measured, frames, elements, jacobian_rows
        p.launch(evaluate_tendon, *records, self._world, h, count=len(self), grain=8)

    def record_evaluate_again(
        self,
        p: Program,
        elements: Elements,
        jacobian_rows: JacobianRows,
        frames: Frames,
        components: Components,
        h: float,
    ) -> None:
        """Evaluate the tendons of components that are not solved, and mark those whose limits or motors changed."""
        joints, count = len(self._joints), len(self)
        p.launch(remeasure_tendon, *self._measured, frames, elements, components, count=count, grain=8)
        records = self._data, self.values, self._parts, elements, jacobian_rows, components
        p.launch(evaluate_tendon_again, *records, joints, self._world, h, count=count, grain=8)

    def record_restore(self, p: Program, elements: Elements, components: Components) -> None:
        """Restore the rows of tendons that are solved."""
        records = self._data, self.values, elements, components
        p.launch(restore_tendon, *records, len(self._joints), count=len(self))

    def record_settle(
        self,
        p: Program,
        elements: Elements,
        jacobian_rows: JacobianRows,
        frames: Frames,
        components: Components,
        h: float,
    ) -> None:
        """Store forces and states after the last solution of a substep."""
        records = *self._measured, elements, frames, components, jacobian_rows
        p.launch(settle_tendon, *records, h, count=len(self), grain=8)

    def measure(self, frames: Frames) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of all tendons [m], (T,), and their rates of change [m/s], (T,), by poses and velocities now."""
        data, _, *others = self._measured
        p = Program()
        p.launch(measure_tendon, data, self._now, *others, frames, count=len(self))
        p.run()
        return self._now.length.copy(), self._now.rate.copy()

    def state(self, index: int, frames: Frames) -> TendonState:
        """Length, its rate and the tension of a tendon now."""
        length, rate = self.measure(frames)
        values = self.values
        own = values.force, values.activation, values.command
        tension, activation, command = (float(column[index]) for column in own)
        inputs = tuple(values.inputs[index].tolist())
        return TendonState(float(length[index]), float(rate[index]), -tension, activation, command, inputs)

    def path(self, index: int, frames: Frames) -> np.ndarray:
        """Ends of the straight pieces of a tendon now [m], (P, 2, 3)."""
        self.measure(frames)
        first, count = self.table.codes[index, [FIRST_PIECE, PIECES]]
        lines = self._pieces.ends[first : first + count].reshape(-1, 2, 3)
        return lines[(lines[:, 0] != lines[:, 1]).any(axis=1)].copy()

    def energies(self, frames: Frames) -> tuple[float, float]:
        """Kinetic energy of the masses that move along with tendons, and elastic energy of their springs [J]."""
        if not len(self):
            return 0.0, 0.0
        length, rate = self.measure(frames)
        whole = ~self._now.released
        n, flags, length, rate = self.table.numbers[whole], self.table.codes[whole, FLAGS], length[whole], rate[whole]
        away = length - np.clip(length, n[:, LEAST_SLACK], n[:, MOST_SLACK])
        elastic = 0.5 * float(n[:, STIFFNESS_OF_SPRING] @ away**2)
        beyond = length - np.clip(length, n[:, LEAST_TRAVEL], n[:, MOST_TRAVEL])
        for error, compliance in (
            (np.where(flags & IS_HELD, length - n[:, REST], 0.0), n[:, COMPLIANCE]),
            (beyond, n[:, LIMIT_COMPLIANCE]),
        ):
            soft = compliance > 0.0
            elastic += 0.5 * float((error[soft] ** 2 / compliance[soft]).sum())
        return 0.5 * float(n[:, ROTOR] @ rate**2), elastic

    def command(self, index: int, law: ActuatorLaw, numbers: Sequence[float]) -> None:
        """Give an actuator a command: a number for each of its inputs."""
        if law.controller is None:
            self.values.command[index] = numbers[0]
        for name, number in zip(law.inputs, numbers, strict=True):
            if law.controller is not None:
                self.values.inputs[index, INPUTS.index(name)] = number

    def drive(self, index: int, drive: Drive | None, here: float) -> bool:
        """Give a tendon a motor, or take it away; see `set_motor`."""
        return set_motor(self.values.motors, self.values.saturated, index, drive, here)

    def motor(self, index: int) -> Motor | None:
        """The motor of a tendon, or None."""
        return motor_of(self.values.motors[index])
