"""Force and stiffness of single rows: held, bounded on one side or both, driven up to a largest force.

A row with compliance alpha and stiffness k of the solver gives f = (lambda - k C) / (1 + k alpha), lambda being its
force of the last substep. Where it comes to rest, f = lambda = -C / alpha; with alpha = 0, C = 0.
"""

import math

from shinari.maths.function import steady


@steady
def held(multiplier, k, c, compliance):
    """Force and stiffness of a row that holds C at zero."""
    s = 1.0 / (1.0 + k * compliance)
    return s * (multiplier - k * c), s * k


@steady
def bounded(multiplier, k, value, least, most, compliance):
    """Force and stiffness of a row that keeps a value between its bounds, which may be infinite."""
    low, stiffness = held(max(multiplier, 0.0), k, value - least, compliance)
    high, _ = held(min(multiplier, 0.0), k, value - most, compliance)
    force = max(low, 0.0) + min(high, 0.0)
    return force, (stiffness if low > 0.0 else 0.0) + (stiffness if high < 0.0 else 0.0)


@steady
def driven(multiplier, saturated, k, c, compliance, damping, rate, h, most, first):
    """A motor: force and stiffness of all of it, of its row without the damping, and whether it is at its limit.

    At its limit a motor has no stiffness, so that nobody knows yet where it leads to. Where the bodies were predicted
    it says nothing either: there a motor is far from its target for want of its own force. So it is taken for what it
    was in the last substep, unless that cannot be, then for what the last solution of this substep makes of it.
    """
    force, stiffness = held(multiplier, k, c, compliance)
    total = force - damping * rate
    over = 1.0 if total > most else (-1.0 if total < -most else 0.0)
    if first:
        state = saturated if over == saturated else 0.0
    else:
        state = over if saturated == 0.0 or over == saturated else 0.0
    if state != 0.0:
        return state * most, 0.0, min(max(force, -most), most), 0.0, state
    return total, stiffness + damping / h, force, stiffness, state


@steady
def nearest_turn(angle, near):
    """The angle, but for whole turns, that is nearest to another [rad]."""
    return angle + 2.0 * math.pi * math.floor((near - angle) / (2.0 * math.pi) + 0.5)
