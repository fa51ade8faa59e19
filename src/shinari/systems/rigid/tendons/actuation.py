"""Actuators of tendons: force by activation, length and speed, and the activation after a substep.

The force is linear in the substep, F = F0 - c (v - v0) - k h v, with the stiffness k and damping c of the law: a motor
with a force F0 + c v0 and the damping c + h k. What would grow with the length or the speed acts as at the start.
Scaled lengths and velocities: L = s0 + (l - l0) / L0, V = v / (L0 speed).
"""

import math

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.scene.actuator import DYNAMICS, ActuatorLaw
from shinari.systems.rigid.joints.table import MOTOR_DAMPING, MOTOR_FORCE, MOTOR_KIND, NO_MOTOR
from shinari.systems.rigid.tendons.values import TendonValues

# Columns of laws.
ACTS, IS_MUSCLE, DYNAMIC, GEAR, EARLY = range(5)
GAIN, BIAS = 5, 8
GROWTH, DECAY, SMOOTHING = 11, 12, 13
COMMAND, ACTIVATION, FORCES = 14, 16, 18
PEAK, START, SCALED, BEST, LEAST, MOST, SPEED, PASSIVE, LENGTHENING = range(20, 29)
WIDTH = 29
NONE, INTEGRATOR, FILTER, FILTER_EXACT, MUSCLE = range(len(DYNAMICS))


class TendonLaws(Record):
    """Laws of actuators, T rows; see the columns above."""

    numbers = Field(np.float64, WIDTH)


def law_row(law: ActuatorLaw | None) -> np.ndarray:
    """The columns of a law; zeros without one, or where it is a controller or DC motor, see `control`."""
    row = np.zeros(WIDTH)
    if law is None or law.controller is not None:
        return row
    row[ACTS], row[DYNAMIC], row[GEAR], row[EARLY] = 1.0, DYNAMICS.index(law.dynamics), law.gear, law.early
    row[GAIN : GAIN + 3], row[BIAS : BIAS + 3] = law.gain, law.bias
    row[GROWTH : DECAY + 1], row[SMOOTHING] = law.times, law.smoothing
    row[COMMAND : COMMAND + 2], row[ACTIVATION : ACTIVATION + 2] = law.command_limits, law.activation_limits
    row[FORCES : FORCES + 2] = law.force_limits
    if law.muscle is not None:
        m = law.muscle
        row[IS_MUSCLE], row[PEAK], row[START], row[SCALED] = 1.0, m.peak_force, m.lengths[0], m.scaled[0]
        row[BEST], row[LEAST], row[MOST], row[SPEED] = m.best_length, m.least, m.most, m.speed
        row[PASSIVE], row[LENGTHENING] = m.passive_force, m.lengthening_force
    return row


@steady
def by_length(x, least, most):
    """Active force FL by the scaled length and its slope: parabolas, 1/2 in the middle of both sides."""
    rising, width = x <= 1.0, 1.0 - least if x <= 1.0 else most - 1.0
    # distance from 1 in half widths: 0 at the top, 2 at the foot
    u = 2.0 * abs(x - 1.0) / width
    value = 1.0 - 0.5 * u * u if u <= 1.0 else 0.5 * (2.0 - u) * (2.0 - u)
    slope = -u if u <= 1.0 else u - 2.0
    sign = -1.0 if rising else 1.0
    return (value, sign * slope * 2.0 / width) if u < 2.0 else (0.0, 0.0)


@steady
def by_speed(v, most):
    """Active force FV by the scaled velocity and its slope."""
    y = most - 1.0
    value, slope = (v + 1.0) * (v + 1.0), 2.0 * (v + 1.0)
    if v > 0.0:
        value = most - (y - v) * (y - v) / y if y > 0.0 else most
        slope = 2.0 * (y - v) / y if y > 0.0 else 0.0
    if v > y and v > 0.0:
        value, slope = most, 0.0
    return (value, slope) if v > -1.0 else (0.0, 0.0)


@steady
def passive(x, most, scale):
    """Passive force FP by the scaled length and its slope."""
    half = 0.5 * (most - 1.0)
    u = (x - 1.0) / half
    value = 0.5 * u * u if u <= 1.0 else u - 0.5
    slope = u if u <= 1.0 else 1.0
    return (scale * value, scale * slope / half) if u > 0.0 else (0.0, 0.0)


@steady
def force_of(t, n, length, speed, a):
    """Force of an actuator and its slopes by length and speed, without the gear."""
    if n[t, IS_MUSCLE] != 0.0:
        best = n[t, BEST]
        x, v = n[t, SCALED] + (length - n[t, START]) / best, speed / (best * n[t, SPEED])
        fl, dl = by_length(x, n[t, LEAST], n[t, MOST])
        fv, dv = by_speed(v, n[t, LENGTHENING])
        fp, dp = passive(x, n[t, MOST], n[t, PASSIVE])
        peak = -n[t, PEAK]
        return peak * (fl * fv * a + fp), peak * (dl * fv * a + dp) / best, peak * fl * dv * a / (best * n[t, SPEED])
    gain = n[t, GAIN] + n[t, GAIN + 1] * length + n[t, GAIN + 2] * speed
    bias = n[t, BIAS] + n[t, BIAS + 1] * length + n[t, BIAS + 2] * speed
    return gain * a + bias, n[t, GAIN + 1] * a + n[t, BIAS + 1], n[t, GAIN + 2] * a + n[t, BIAS + 2]


@steady
def time_of(t, n, away, a):
    """Time constant of the activation of a muscle [s]; `away` is how far the command is above it."""
    some = 0.5 + 1.5 * min(max(a, 0.0), 1.0)
    growth, decay, width = n[t, GROWTH] * some, n[t, DECAY] / some, n[t, SMOOTHING]
    if width <= 0.0:
        return growth if away > 0.0 else decay
    # a polynomial of fifth order between both
    x = min(max(away / width + 0.5, 0.0), 1.0)
    return decay + (growth - decay) * x * x * x * (x * (6.0 * x - 15.0) + 10.0)


@steady
def activation_after(t, n, command, a, h):
    """Activation after a substep."""
    kind, u = n[t, DYNAMIC], min(max(command, n[t, COMMAND]), n[t, COMMAND + 1])
    after = u
    if kind == INTEGRATOR:
        after = a + h * u
    if kind == FILTER:
        after = a + h * (u - a) / n[t, GROWTH]
    if kind == FILTER_EXACT:
        after = a + (u - a) * (1.0 - math.exp(-h / n[t, GROWTH]))
    if kind == MUSCLE:
        away = min(max(u, 0.0), 1.0) - a
        after = a + h * away / time_of(t, n, away, a)
    return min(max(after, n[t, ACTIVATION]), n[t, ACTIVATION + 1])


@kernel(fastmath=STEADY)
def actuate_tendon(t, laws: TendonLaws, values: TendonValues, h: np.float64):
    """Set the motor of a tendon with an actuator for a substep, and its activation after it."""
    n = laws.numbers
    if n[t, ACTS] == 0.0 or values.motors[t, MOTOR_KIND] == NO_MOTOR:
        return
    a, gear = values.activation[t], n[t, GEAR]
    after = activation_after(t, n, values.command[t], a, h)
    acting = after if n[t, EARLY] != 0.0 or n[t, DYNAMIC] == NONE else a
    speed = gear * values.rate[t]
    force, stiffness, damping = force_of(t, n, gear * values.start[t], speed, acting)
    low, high = n[t, FORCES], n[t, FORCES + 1]
    k, c = max(-stiffness, 0.0), max(-damping, 0.0)
    if force < low or force > high:
        force, k, c = min(max(force, low), high), 0.0, 0.0
    values.motors[t, MOTOR_FORCE] = gear * (force + c * speed)
    values.motors[t, MOTOR_DAMPING] = gear * gear * (c + h * k)
    values.activation[t] = after
