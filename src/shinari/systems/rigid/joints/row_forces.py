"""Force and stiffness of single rows: held, bounded on one side or both, or of a motor with a largest force.

A row with compliance alpha and stiffness k of the solver gives f = -min(k, 1 / alpha) C.
"""

import math

from shinari.maths.function import steady


@steady
def held(k, c, compliance):
    """Force and stiffness of a row that holds C at zero."""
    s = 1.0 / max(1.0, k * compliance)
    return -s * k * c, s * k


@steady
def side_of(low, high, was, after, first):
    """Side on which a limit acts, 1 or -1, or 0, from the forces of both sides.

    A side that was active in the last solution stays active while its force there, to first order, kept its sign: the
    error of second order at the limit can have either sign, times a large stiffness, and decides nothing. When it
    becomes inactive, only the other side can become active. Where bodies were predicted, one that sweeps
    left active is.
    """
    if first and was != 0.0 and not low > 0.0 and not high < 0.0:
        return was
    if not first and was != 0.0 and was * after > 0.0:
        return was
    if low > 0.0 and (first or was != 1.0):
        return 1.0
    if high < 0.0 and (first or was != -1.0):
        return -1.0
    return 0.0


@steady
def bounded(k, value, least, most, compliance, was, after, first):
    """Force, stiffness and side of a row that keeps a value between its bounds, which may be infinite.

    Two equal bounds hold the value: their side is 2.
    """
    low, stiffness = held(k, value - least, compliance)
    high, _ = held(k, value - most, compliance)
    side = 2.0 if least == most else side_of(low, high, was, after, first)
    force = low if side > 0.0 else (high if side < 0.0 else 0.0)
    return force, stiffness if side != 0.0 else 0.0, side


@steady
def motor_row(was, after, k, c, compliance, damping, bias, h, most, first):
    """A motor: force and stiffness of all of it, of its row without the bias, and whether it is at its limit.

    `bias` is the force beside that of the row: a given one and that of the damping.

    A saturated motor has no stiffness, and the predicted pose lacks the motor's own force. Neither shows whether the
    motor saturates. The state of the last substep is therefore used first, unless the force contradicts it, and then
    the force `after` of the last solution.
    """
    force, stiffness = held(k, c, compliance)
    total = force + bias
    judged = total if first or was != 0.0 else after + bias
    over = 1.0 if judged > most else (-1.0 if judged < -most else 0.0)
    state = over if over == was or (was == 0.0 and not first) else 0.0
    if state != 0.0:
        return state * most, 0.0, min(max(force, -most), most), 0.0, state
    return total, stiffness + damping / h, force, stiffness, state


@steady
def nearest_turn(angle, near):
    """The angle plus the whole number of turns that brings it nearest to another [rad]."""
    return angle + 2.0 * math.pi * math.floor((near - angle) / (2.0 * math.pi) + 0.5)
