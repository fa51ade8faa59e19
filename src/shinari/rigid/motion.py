"""How a rigid body moves in a substep: prediction, and the velocities that follow from the poses.

Without a torque the angular momentum L stays what it is in the world. The prediction is the midpoint rule that keeps
it: the body turns by h W with W = I(q_mid)^-1 L, where q_mid is half way, and ends with W = I(q)^-1 L. The turn is an
exact rotation (exponential map), so nothing has to be brought back to length. The update of Mueller et al. 2020,
algorithm 2, puts the gyroscopic term in explicitly and linearises the turn; over ten seconds of a tumbling body it
loses several per cent of the energy and of |L|, this one none of |L|.

What the solver does on top of the prediction changes the pose; the momentum is then I(q_mid) W of the turn as it was.
"""

import math

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import exponential, multiply, normalised, rotate, rotate_back
from shinari.maths.vec3 import add, scale
from shinari.rigid.contact.vectors import cross

MIDPOINTS = 12
CLOSE = 1e-28
HALF = 0.5
# below this angle the logarithm of a rotation is taken from its series [rad]
SMALL = 1e-8


@steady
def vector(a, i):
    """Row i of an array (N, 3 or more)."""
    return a[i, 0], a[i, 1], a[i, 2]


@steady
def quaternion(a, i):
    """Row i of an array (N, 4)."""
    return a[i, 0], a[i, 1], a[i, 2], a[i, 3]


@steady
def set_vector(a, i, v):
    """Write row i of an array (N, 3)."""
    a[i, 0], a[i, 1], a[i, 2] = v[0], v[1], v[2]


@steady
def set_quaternion(a, i, v):
    """Write row i of an array (N, 4)."""
    a[i, 0], a[i, 1], a[i, 2], a[i, 3] = v[0], v[1], v[2], v[3]


@steady
def symmetric_times(s, i, v):
    """Product of the symmetric matrix in row i (xx yy zz yz zx xy) and a vector."""
    return (
        s[i, 0] * v[0] + s[i, 5] * v[1] + s[i, 4] * v[2],
        s[i, 5] * v[0] + s[i, 1] * v[1] + s[i, 3] * v[2],
        s[i, 4] * v[0] + s[i, 3] * v[1] + s[i, 2] * v[2],
    )


@steady
def velocity_at(v, w, i, r):
    """Velocity of a frame at an arm from its origin."""
    return add(vector(v, i), cross(vector(w, i), r))


@steady
def logarithm(q):
    """Rotation vector of a unit quaternion, on the short way [rad]."""
    w, x, y, z = q
    sign = -1.0 if w < 0.0 else 1.0
    sine = math.sqrt(x * x + y * y + z * z)
    angle = 2.0 * math.atan2(sine, sign * w)
    s = sign * (angle / sine if sine > SMALL else 2.0)
    return s * x, s * y, s * z


@steady
def spin_of(q, moments, i, momentum):
    """Angular velocity, I^-1 L, in world axes."""
    local = rotate_back(q, momentum)
    return rotate(q, (local[0] / moments[i, 0], local[1] / moments[i, 1], local[2] / moments[i, 2]))


@steady
def momentum_of(q, moments, i, spin):
    """Angular momentum, I W, in world axes."""
    local = rotate_back(q, spin)
    return rotate(q, (local[0] * moments[i, 0], local[1] * moments[i, 1], local[2] * moments[i, 2]))


@steady
def turned_by(q, v):
    """The frame q after the rotation vector v in world axes."""
    return multiply(exponential(v), q)


@steady
def turn_between(q0, q1):
    """Rotation vector in world axes that leads from q0 to q1 on the short way."""
    return logarithm(multiply(q1, (q0[0], -q0[1], -q0[2], -q0[3])))


@steady
def mean_spin(q, moments, i, spin, h):
    """Angular velocity that a free body turns with in a substep: that at the midpoint of the turn."""
    equal = moments[i, 0] == moments[i, 1] and moments[i, 1] == moments[i, 2]
    middle = spin
    if not equal:
        momentum = momentum_of(q, moments, i, spin)
        for _ in range(MIDPOINTS):
            last = middle
            middle = spin_of(turned_by(q, scale(last, HALF * h)), moments, i, momentum)
            a, b, c = middle[0] - last[0], middle[1] - last[1], middle[2] - last[2]
            size = middle[0] * middle[0] + middle[1] * middle[1] + middle[2] * middle[2]
            if a * a + b * b + c * c <= CLOSE * size:
                break
    return middle


@steady
def write_inverse_inertia(inverse_inertia, inverse_mass, moments, q, i):
    """Inverse inertia in world axes, R diag(1 / moments) R^T."""
    if inverse_mass[i] > 0.0:
        a, b, c = 1.0 / moments[i, 0], 1.0 / moments[i, 1], 1.0 / moments[i, 2]
        here = quaternion(q, i)
        x, y, z = rotate(here, (1.0, 0.0, 0.0)), rotate(here, (0.0, 1.0, 0.0)), rotate(here, (0.0, 0.0, 1.0))
        inverse_inertia[i, 0] = a * x[0] * x[0] + b * y[0] * y[0] + c * z[0] * z[0]
        inverse_inertia[i, 1] = a * x[1] * x[1] + b * y[1] * y[1] + c * z[1] * z[1]
        inverse_inertia[i, 2] = a * x[2] * x[2] + b * y[2] * y[2] + c * z[2] * z[2]
        inverse_inertia[i, 3] = a * x[1] * x[2] + b * y[1] * y[2] + c * z[1] * z[2]
        inverse_inertia[i, 4] = a * x[2] * x[0] + b * y[2] * y[0] + c * z[2] * z[0]
        inverse_inertia[i, 5] = a * x[0] * x[1] + b * y[0] * y[1] + c * z[0] * z[1]


@numba.njit(cache=True, **STEADY)
def accelerate(v, inverse_mass, asleep, kick):
    """Let gravity act on the velocities."""
    for i in range(len(inverse_mass)):
        if inverse_mass[i] > 0.0 and not asleep[i]:
            for k in range(3):
                v[i, k] += kick[k]


@numba.njit(cache=True, **STEADY)
def predict(x, q, v, w, x0, q0, inverse_mass, moments, inverse_inertia, asleep, count, h):
    """Move the first `count` frames on by a substep; those that are not pushed go evenly with their velocities."""
    for i in range(count):
        set_vector(x0, i, vector(x, i))
        set_quaternion(q0, i, quaternion(q, i))
        if asleep[i]:
            continue
        set_vector(x, i, add(vector(x, i), scale(vector(v, i), h)))
        spin = vector(w, i)
        if inverse_mass[i] > 0.0:
            spin = mean_spin(quaternion(q, i), moments, i, spin, h)
        set_quaternion(q, i, normalised(turned_by(quaternion(q, i), scale(spin, h))))
        write_inverse_inertia(inverse_inertia, inverse_mass, moments, q, i)


@numba.njit(cache=True, **STEADY)
def write_inertia(inverse_inertia, inverse_mass, moments, q):
    """Inverse inertia of all frames in world axes."""
    for i in range(len(q)):
        write_inverse_inertia(inverse_inertia, inverse_mass, moments, q, i)


@numba.njit(cache=True, **STEADY)
def derive(x, q, v, w, x0, q0, inverse_mass, moments, asleep, count, h, decay):
    """Velocities of the first `count` frames from their poses at both ends of the substep, and their damping."""
    for i in range(count):
        if inverse_mass[i] > 0.0 and not asleep[i]:
            a, b = vector(x, i), vector(x0, i)
            set_vector(v, i, ((a[0] - b[0]) / h, (a[1] - b[1]) / h, (a[2] - b[2]) / h))
            before, after, spin = quaternion(q0, i), quaternion(q, i), vector(w, i)
            free = normalised(turned_by(before, scale(mean_spin(before, moments, i, spin, h), h)))
            turn = turn_between(free, after)
            momentum = add(momentum_of(before, moments, i, spin), momentum_of(free, moments, i, scale(turn, 1.0 / h)))
            set_vector(w, i, scale(spin_of(after, moments, i, momentum), decay))
            set_vector(v, i, scale(vector(v, i), decay))


def as_frame(position: np.ndarray, rotation: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> tuple:
    """Origin and quaternion of the frame of a body from the pose of the body as described."""
    return position + np.array(rotate(tuple(rotation), tuple(centre))), np.array(multiply(tuple(rotation), tuple(axes)))
