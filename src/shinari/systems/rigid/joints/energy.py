"""Energy of joints: energy of their springs, and work of their motors.

The spring of a joint stores s (q - rest)^2 / 2, and a rotor of inertia I moves with I q'^2 / 2.

A row with the force f = -s C, s = min(k, 1 / compliance), stores s C^2 / 2 = f^2 / (2 s); k is the stiffness of a rigid
row of the solver, see `JOINT_STIFFNESS`, so that a stiffer spring stores the energy of that stiffness. Rigid rows
store less than a millionth of that and are left out.

A servo with a stiffness s and a largest force F is a spring from its target on, beyond C = F / s one of constant force:

    U = s C^2 / 2    for s |C| <= F,    F |C| - F^2 / (2 s)    beyond

Its work from outside is the change of U where the goal is moved, and that of a force beside the spring's. The work of
all other motors is their force times the displacement of the joint. Damping, of joints and of motors, stores nothing
and does no work from outside.
"""

import numpy as np

from shinari.compute import Program
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.evaluate import evaluate_joint
from shinari.systems.rigid.joints.results import find_coordinates, find_rate
from shinari.systems.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    COMPLIANCE,
    GEAR,
    JOINT_STIFFNESS,
    KIND,
    LIMIT_COMPLIANCE,
    MOTOR_COMPLIANCE,
    MOTOR_GOAL,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    MOTOR_ROW,
    NO_MOTOR,
    POINT_MASS,
    POSITION,
    ROTOR,
    SLIDER,
    SPRING,
    SPRING_REST,
    TURN_MASS,
    JointTable,
)  # fmt: skip
from shinari.systems.rigid.joints.values import FORCE, STIFFNESS, JointData, JointValues, Phase

SAVED = ("saturated", "angles", "broken", "motors", "sliding", "lag", "loads", "sides")
"""Values of joints that are part of the state, as `joints/...`."""


def joint_data(table: JointTable, arrays: dict[str, np.ndarray]) -> JointData:
    """The constants of joints; whether they supply energy follows from their motors."""
    columns = {"codes": table.codes, "numbers": table.numbers, "strengths": table.strengths}
    return JointData(**columns, active=table.active | (arrays["joints/motors"][:, MOTOR_KIND] != NO_MOTOR))


def bind_values(arrays: dict[str, np.ndarray], count: int) -> JointValues:
    """The variables of joints, with the arrays of a state, see `start_joints`."""
    values = JointValues.zeros(count)
    values.bind(**{name: arrays[f"joints/{name}"] for name in SAVED})
    return values


def springs_of_motors(motors: np.ndarray) -> np.ndarray:
    """Joints whose motor is a spring from its goal on, (J,) bool; `motors` are their columns."""
    compliance = motors[:, MOTOR_COMPLIANCE]
    return (motors[:, MOTOR_KIND] == POSITION) & (compliance > 0.0) & np.isfinite(compliance)


def rotor_energy(table: JointTable, arrays: dict[str, np.ndarray], frames: Frames) -> float:
    """Kinetic energy of the rotors of all joints that have not broken [J]; `frames` have poses and velocities."""
    inertia = np.where(arrays["joints/broken"], 0.0, table.numbers[:, ROTOR])
    if not inertia.any():
        return 0.0
    # the speeds of the bodies, so that those that a user writes count at once
    values, p = bind_values(arrays | {"joints/lag": np.zeros(len(table.codes))}, len(table.codes)), Program()
    p.launch(find_rate, joint_data(table, arrays), values, frames, count=len(table.codes))
    p.run()
    return 0.5 * float(inertia @ values.rate**2)


def elastic_energy(table: JointTable, arrays: dict[str, np.ndarray], x: np.ndarray, q: np.ndarray, h: float) -> float:
    """Elastic energy of all joints that have not broken [J].

    Args:
        table: The joints.
        arrays: Those of the state, see `start_joints`.
        x: Origins of the frames [m], (F, 3).
        q: Their rotations, (F, 4).
        h: Substep [s], for the largest stiffness.
    """
    numbers, frames = table.numbers, Frames.zeros(len(x))
    for now, given in ((frames.x, x), (frames.q, q), (frames.x0, x), (frames.q0, q)):
        now[...] = given
    count = len(table.codes)
    data, values, elements = joint_data(table, arrays), bind_values(arrays, count), Elements.zeros(count)
    phase = Phase.zeros(1)
    phase.first[0] = 1
    p = Program()
    p.launch(evaluate_joint, data, values, elements, frames, phase, h, count=count)
    p.launch(find_coordinates, data, values, frames, count=count)
    p.run()
    rows = values.rows
    # three rows along, three about the axes, and the limits of travel, twist and swing
    columns = [COMPLIANCE] * 3 + [ANGULAR_COMPLIANCE] * 3 + [LIMIT_COMPLIANCE] * 3
    force, stiffness = rows[:, FORCE : FORCE + MOTOR_ROW], rows[:, STIFFNESS : STIFFNESS + MOTOR_ROW]
    soft = (numbers[:, columns] > 0.0) & (stiffness > 0.0)
    stored = 0.5 * float(np.divide(force**2, stiffness, out=np.zeros_like(force), where=soft).sum())
    places = values.coordinate
    springs = servo_energy(table, arrays["joints/motors"], arrays["joints/broken"], places, h)
    springs += _of_springs(table, arrays, places, h)
    return stored + springs + _of_gears(table, arrays, h)


def _of_gears(table: JointTable, arrays: dict[str, np.ndarray], h: float) -> float:
    """Energy of gears that yield; their C is kept in the angles [J]."""
    numbers = table.numbers
    soft = (table.codes[:, KIND] == GEAR) & (numbers[:, ANGULAR_COMPLIANCE] > 0.0) & ~arrays["joints/broken"]
    compliance = np.maximum(numbers[soft, ANGULAR_COMPLIANCE], h * h / (JOINT_STIFFNESS * numbers[soft, TURN_MASS]))
    return 0.5 * float((arrays["joints/angles"][soft] ** 2 / compliance).sum())


def servo_energy(table: JointTable, motors: np.ndarray, broken: np.ndarray, places: np.ndarray, h: float) -> float:
    """Energy of servos that have a stiffness [J].

    Args:
        table: The joints.
        motors: Columns of their motors, (J, MOTORS).
        broken: Which are broken, (J,).
        places: Their travels [m] or angles [rad], (J,).
        h: Substep [s], for the largest stiffness.
    """
    which = np.flatnonzero(springs_of_motors(motors) & ~broken)
    if len(which) == 0:
        return 0.0
    away, most = np.abs(places[which] - motors[which, MOTOR_GOAL]), motors[which, MOTOR_MAX_FORCE]
    s = np.minimum(_stiffest(table, which, h), 1.0 / motors[which, MOTOR_COMPLIANCE])
    reach = np.minimum(away, most / s)
    beyond = np.where(away > reach, most, 0.0)
    return float((0.5 * s * reach**2 + beyond * (away - reach)).sum())


def _of_springs(table: JointTable, arrays: dict[str, np.ndarray], places: np.ndarray, h: float) -> float:
    """Energy of the springs of joints [J]."""
    which = np.flatnonzero((table.numbers[:, SPRING] > 0.0) & ~arrays["joints/broken"])
    s = np.minimum(_stiffest(table, which, h), table.numbers[which, SPRING])
    return 0.5 * float(s @ (places[which] - table.numbers[which, SPRING_REST]) ** 2)


def _stiffest(table: JointTable, which: np.ndarray, h: float) -> np.ndarray:
    """Stiffness of a rigid row along the free coordinates of joints."""
    mass = np.where(table.codes[which, KIND] == SLIDER, POINT_MASS, TURN_MASS)
    return JOINT_STIFFNESS / h**2 * table.numbers[which, mass]
