"""Energy of joints: what their springs store, and what their motors do.

A row with the force f = -s C, s = min(k, 1 / compliance), stores s C^2 / 2 = f^2 / (2 s); k is the stiffness of a rigid
row of the solver, see `STIFF`, so that a spring stiffer than that stores what it really holds. Rigid rows store less
than a millionth of what they carry and count as nothing.

A servo with a stiffness s and a largest force F is a spring from its target on, beyond C = F / s one of constant force:

    U = s C^2 / 2    for s |C| <= F,    F |C| - F^2 / (2 s)    beyond

Its work from outside is the change of U where the target is moved. The work of all other motors is their force times
the displacement of the joint. Damping, of joints and of motors, stores nothing and does no work from outside.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import dot
from shinari.rigid.elements import Elements
from shinari.rigid.joints.laws import nearest_turn
from shinari.rigid.joints.limits import forces_after, restrain
from shinari.rigid.joints.measures import apart, axes_of, joint_frame, quaternion_at, relative, twist_of, vector_at
from shinari.rigid.joints.rows import AXES, FORCE, ROWS, STIFFNESS, evaluate
from shinari.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    COMPLIANCE,
    DRIVE,
    DRIVE_COMPLIANCE,
    DRIVE_MOST,
    FLAGS,
    FRAME_B,
    GEAR,
    HAS_LIMITS,
    KIND,
    LIMIT_COMPLIANCE,
    MOTOR,
    NO_DRIVE,
    POINT_MASS,
    POSITION,
    SECOND,
    SLIDER,
    STIFF,
    TURN_MASS,
    JointTable,
)  # fmt: skip


@steady
def drive_place(j, codes, numbers, angles, x, q):
    """Travel of a slider [m], else the angle about the axis over several turns [rad]."""
    gap, _, _ = apart(codes, numbers, j, x, q)
    axes = axes_of(joint_frame(numbers, j, FRAME_B, quaternion_at(q, codes[j, SECOND])))
    angle = nearest_turn(twist_of(relative(codes, numbers, j, q)), angles[j])
    return dot(axes[0], gap) if codes[j, KIND] == SLIDER else angle


@numba.njit(cache=True, **STEADY)
def drive_places(which, codes, numbers, angles, x, q, places):
    """Write travels [m] or angles [rad] of joints with motors, (W,)."""
    for w in range(len(which)):
        places[w] = drive_place(which[w], codes, numbers, angles, x, q)


@numba.njit(cache=True, **STEADY)
def work_of_motors(which, codes, numbers, broken, swept, angles, loads, rows, motion, x, q, places):
    """Work of motors in a substep [J], after its last solution; places are brought from its start to its end.

    Args:
        which: Joints with motors, (W,).
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        swept: Joints that were solved by sweeps, (J,): only their loads are known.
        angles: Angles about the axes now [rad], (J,).
        loads: Force [N] and moment [N m] on b, (J, 6).
        rows: What `evaluate` wrote, (J, ROWS).
        motion: Of the elements, (J, 6).
        x: Origins of the frames now [m], (F, 3).
        q: Their rotations now, (F, 4).
        places: Travels [m] or angles [rad], (W,), brought up to date.
    """
    total = 0.0
    for w in range(len(which)):
        j = which[w]
        place = drive_place(j, codes, numbers, angles, x, q)
        if not broken[j]:
            force = forces_after(j, codes, rows, motion)[3]
            if swept[j]:
                force = -dot(vector_at(rows, j, AXES), vector_at(loads, j, 0 if codes[j, KIND] == SLIDER else 3))
            most = numbers[j, DRIVE_MOST]
            total += min(max(force, -most), most) * (place - places[w])
        places[w] = place
    return total


def springs_of_drives(table: JointTable) -> np.ndarray:
    """Joints whose motor is a spring from its target on, (J,) bool."""
    return (table.codes[:, DRIVE] == POSITION) & (table.numbers[:, DRIVE_COMPLIANCE] > 0.0)


def elastic_energy(table: JointTable, arrays: dict[str, np.ndarray], x: np.ndarray, q: np.ndarray, h: float) -> float:
    """Elastic energy of all joints that have not broken [J].

    Args:
        table: The joints.
        arrays: Those of the state, see `start_joints`.
        x: Origins of the frames [m], (F, 3).
        q: Their rotations, (F, 4).
        h: Substep [s], for the largest stiffness.
    """
    codes, numbers, broken, count = table.codes, table.numbers, arrays["joints/broken"], len(table.codes)
    rows, el = np.zeros((count, ROWS)), Elements.zeros(count)
    evaluate(codes, numbers, broken, rows, x, q, h, el.frames, el.arms, el.force, el.stiffness)
    limited = np.flatnonzero(codes[:, FLAGS] & HAS_LIMITS)
    if len(limited):
        restrain(
            limited, np.zeros((len(limited), 4)), codes, numbers, arrays["joints/targets"], broken,
            arrays["joints/angles"], arrays["joints/saturated"], rows, x, q, x, q, h, True, el.force, el.stiffness,
        )  # fmt: skip
    # three rows along, three about the axes, and the limits of travel, twist and swing
    columns = [COMPLIANCE] * 3 + [ANGULAR_COMPLIANCE] * 3 + [LIMIT_COMPLIANCE] * 3
    force, stiffness = rows[:, FORCE : FORCE + MOTOR], rows[:, STIFFNESS : STIFFNESS + MOTOR]
    soft = (numbers[:, columns] > 0.0) & (stiffness > 0.0)
    stored = 0.5 * float(np.divide(force**2, stiffness, out=np.zeros_like(force), where=soft).sum())
    return stored + _of_gears(table, arrays, h) + _of_servos(table, arrays, x, q, h)


def _of_gears(table: JointTable, arrays: dict[str, np.ndarray], h: float) -> float:
    """Energy of gears that yield; their C is kept in the angles [J]."""
    numbers = table.numbers
    soft = (table.codes[:, KIND] == GEAR) & (numbers[:, ANGULAR_COMPLIANCE] > 0.0) & ~arrays["joints/broken"]
    compliance = np.maximum(numbers[soft, ANGULAR_COMPLIANCE], h * h / (STIFF * numbers[soft, TURN_MASS]))
    return 0.5 * float((arrays["joints/angles"][soft] ** 2 / compliance).sum())


def _of_servos(table: JointTable, arrays: dict[str, np.ndarray], x: np.ndarray, q: np.ndarray, h: float) -> float:
    """Energy of servos that have a stiffness [J]."""
    codes, numbers = table.codes, table.numbers
    which = np.flatnonzero(springs_of_drives(table) & ~arrays["joints/broken"])
    if len(which) == 0:
        return 0.0
    places = np.zeros(len(which))
    drive_places(which, codes, numbers, arrays["joints/angles"], x, q, places)
    away, most = np.abs(places - arrays["joints/targets"][which]), numbers[which, DRIVE_MOST]
    mass = numbers[which, np.where(codes[which, KIND] == SLIDER, POINT_MASS, TURN_MASS)]
    s = np.minimum(STIFF / h**2 * mass, 1.0 / numbers[which, DRIVE_COMPLIANCE])
    reach = np.minimum(away, most / s)
    beyond = np.where(away > reach, most, 0.0)
    return float((0.5 * s * reach**2 + beyond * (away - reach)).sum())


class MotorWork:
    """Adds up the work that motors do from outside; see above for those that are springs.

    Attributes:
        total: Work since the step began [J].
    """

    def __init__(self, table: JointTable) -> None:
        self._table = table
        self._which = np.flatnonzero((table.codes[:, DRIVE] != NO_DRIVE) & ~springs_of_drives(table))
        self._places = np.zeros(len(self._which))
        self.total = 0.0

    def begin(self, angles: np.ndarray, x: np.ndarray, q: np.ndarray) -> None:
        """A step begins with the frames there."""
        self.total = 0.0
        if len(self._which):
            drive_places(self._which, self._table.codes, self._table.numbers, angles, x, q, self._places)

    def add(self, broken, swept, angles, loads, rows, motion, x, q) -> None:
        """Add the work of a substep; arguments as for `work_of_motors`."""
        if len(self._which):
            self.total += work_of_motors(self._which, self._table.codes, self._table.numbers, broken, swept, angles,
                                         loads, rows, motion, x, q, self._places)  # fmt: skip
