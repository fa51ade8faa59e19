"""The law of contact: every detector finds points, normals and depths, and ends in the functions of this file.

            a                       n  unit normal, from b to a
      ------+------  ^ n            depth  overlap along n [m]
      ------+------  |              w  sum of the generalised inverse masses along n [1/kg]
            b                       L  multiplier [kg m]: impulse times the substep

**Normal response.** A contact is a row C = -depth >= 0, L >= 0. Without a compliance a change of L by depth / w closes
it. With a compliance it is a row of XPBD, C + alpha L / h^2 = 0 (Macklin et al. 2016, eq. 18); it brings all of its
velocity, since resting deep inside is its purpose. A detector that moves one point only may divide all by w: then L is
a displacement [m], the mobility is 1 and the scaled compliance is alpha / (h^2 w).

**Recovery.** Overlap that was there at the start of the substep leaves without velocity (Macklin et al. 2014, Unified
Particle Physics, section 4.4), by at most the depenetration speed times h.

**Friction.** Coulomb: a tangential correction that leaves no slip is taken in full up to mu_s times the correction
along the normal, otherwise mu_k times that (Macklin et al. 2014, eq. 24).

**Restitution.** Newton: contacts that approach by more than the speed that gravity gives in two substeps separate at e
times the speed of approach (Mueller et al. 2020, Detailed Rigid Body Simulation with Extended Position Based Dynamics,
eq. 34).

**Two surfaces** have the geometric mean of the coefficients of friction, the larger restitution, the sum of
the compliances.

The functions serve float32 and float64.
"""

import math

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, dot, norm, reciprocal, scale, sub

HALF, TWO = np.float32(0.5), np.float32(2.0)
# Part of an overlap that leaves in a substep where bodies or layers lie on each other: all at once, it would hit the
# next one. Single points leave all of it, bounded by the depenetration speed alone.
RECOVERY = np.float32(0.2)
# An approach does not bounce up to the change of speed by gravity in so many substeps.
SLOW_SUBSTEPS = 2.0
# Stiffness of a regularised contact against slip, over that against overlap. Softer, because the states of points that
# are about to slip are found the harder the sharper the corner of Coulomb's law is. The friction of the last substep is
# carried on, so that a point that sticks is a spring at the place where it began to, and does not creep.
GRIP = 1e-3
# Slip [m/s] above which the coefficient of sliding bounds the friction of a regularised contact in a substep.
SLIPS = 1e-4
# Columns of the law of a contact, and of a surface.
SLIDING_FRICTION, STATIC_FRICTION, RESTITUTION, COMPLIANCE, ROLLING, TORSION = range(6)
# States of a regularised contact.
APART, STICKING, SLIDING = 0, 1, 2


# ---- two surfaces ----


@steady
def combined(first, second):
    """Coefficient of friction of two surfaces: the geometric mean; of the other where one is negative, 0 where both."""
    both = np.sqrt(max(first, ZERO) * max(second, ZERO))
    return max(second, ZERO) if first < ZERO else (first if second < ZERO else both)


@steady
def combined_surface(first, second):
    """Friction, static friction, restitution and compliance of two surfaces, each given by the same four numbers."""
    return (
        combined(first[SLIDING_FRICTION], second[SLIDING_FRICTION]),
        combined(first[STATIC_FRICTION], second[STATIC_FRICTION]),
        max(first[RESTITUTION], second[RESTITUTION]),
        first[COMPLIANCE] + second[COMPLIANCE],
    )


# ---- along the normal ----


@steady
def normal_response(depth, fresh, old, scaled_compliance, mobility, least):
    """Change of the multiplier of a contact.

    Args:
        depth: Depth now [m].
        fresh: Part of it that brings velocity, if the contact has no compliance [m].
        old: Multiplier so far [kg m].
        scaled_compliance: Compliance / h^2 [1/kg].
        mobility: Sum of the inverse masses along the normal [1/kg].
        least: Least change of a contact without compliance: 0, or -old where a sweep may take back the impulse with
            which the substep began. A contact that begins with none would cancel the impulses of other sweeps.
    """
    soft = scaled_compliance > ZERO
    wanted = depth - scaled_compliance * old if soft else fresh
    return max(wanted / (mobility + scaled_compliance), -old if soft else least)


@steady
def recovery(overlap, most):
    """Displacement without velocity [m] of an overlap that was there before: all of it, up to a bound."""
    return min(max(overlap, ZERO), most)


@steady
def regularised_stiffness(stiffness, compliance):
    """Stiffness [N/m] of a regularised contact that has a compliance [m/N], too: the softer of both."""
    if compliance > ZERO:
        return stiffness / max(ONE, stiffness * compliance)
    return stiffness


# ---- along the surface ----


@steady
def tangential(v, n):
    """Part of a vector along a surface with normal n."""
    return sub(v, scale(n, dot(n, v)))


@steady
def friction_share(size, sliding, sticking):
    """Part of a tangential correction of a size that friction takes, bounded by mu_k L (sliding) or mu_s L."""
    # no slip is taken in full; a compliant row that pulls back takes nothing
    return ONE if size <= sticking else min(max(sliding, ZERO) * reciprocal(size), ONE)


@steady
def friction(wanted, push, law):
    """Tangential correction by friction.

    A detector that accumulates friction over iterations includes its small part along a normal that has rotated since:
    without it a point would be drawn into the surface.

    Args:
        wanted: Tangential correction that leaves no slip.
        push: Correction along the normal, in the same unit.
        law: Friction and static friction first.
    """
    return scale(wanted, friction_share(norm(wanted), law[SLIDING_FRICTION] * push, law[STATIC_FRICTION] * push))


@steady
def friction_multiplier(wanted, push, mobility, law):
    """Multiplier of friction [kg m] for a displacement along the surface, bounded by that along the normal [kg m].

    Both are compared as displacements: squares of multipliers of fine grains are below the normal numbers of single
    precision.

    Args:
        wanted: Displacement by friction that leaves no slip [m].
        push: Multiplier along the normal [kg m].
        mobility: Sum of the inverse masses along the surface [1/kg].
        law: Friction and static friction first.
    """
    return scale(friction(wanted, mobility * push, law), ONE / mobility)


@steady
def friction_coefficient(slip, law):
    """Coefficient for a substep that begins with a relative tangential velocity."""
    return law[SLIDING_FRICTION] if dot(slip, slip) > SLIPS * SLIPS else law[STATIC_FRICTION]


@steady
def grip_stiffness(k, most, fall):
    """Stiffness of a regularised contact against slip [N/m].

    Args:
        k: Stiffness of a contact without compliance [N/m].
        most: Largest friction [N]. What carries far more than its own weight builds it up within `fall`: as soft as
            `GRIP` says, a load of ten thousand times a body would push it out of its place first.
        fall: Displacement by gravity in a substep [m].
    """
    return min(max(GRIP * k, most / fall), k)


@steady
def regularised_force(gap, slip, n, grip, stiffness, last, limit):
    """State of a regularised contact and its force, (n f_n, f_t), at a gap and a slip.

    Joints and contacts of bodies are solved together by Newton's method, which needs forces with slopes:

        f_n = -stiffness C >= 0,    f_t = f_t,0 - grip s,    |f_t| <= limit

    Args:
        gap: Distance from where the contact is to be [m].
        slip: Tangential displacement in the substep [m].
        n: Normal.
        grip: Stiffness against slip, see `grip_stiffness` [N/m].
        stiffness: Stiffness against overlap, see `regularised_stiffness` [N/m].
        last: Force of the last substep [N].
        limit: Bound of the friction [N], held while states are found (Tresca).

    Returns:
        State, normal force, friction, and the size of the friction without its bound where it slides, else 0.
    """
    normal = -stiffness * gap
    if not normal > 0.0:
        return APART, 0.0, (0.0, 0.0, 0.0), 0.0
    wish = sub(tangential(last, n), scale(slip, grip))
    square = dot(wish, wish)
    if square <= limit * limit and limit > 0.0:
        # most points stick: they do not wait for a root
        return STICKING, normal, wish, 0.0
    size = math.sqrt(square)
    return SLIDING, normal, scale(wish, friction_share(size, limit, limit)), size


# ---- impacts ----


def slow_approach(gravity: np.ndarray, substep: float) -> float:
    """Speed [m/s] up to which contacts do not bounce: without it, bodies at rest would."""
    return SLOW_SUBSTEPS * substep * float(np.linalg.norm(gravity))


@steady
def separation_speed(restitution, approach, slow):
    """Speed along the normal after an impact: e times that of the approach, which is negative; 0 up to `slow` [m/s]."""
    return -restitution * approach if approach < -slow else ZERO * approach


@steady
def rebound(restitution, approach, now, slow):
    """Change of the speed along the normal by restitution: up to the speed of separation, never less than 0.

    Args:
        restitution: e.
        approach: Normal velocity before the impact, negative [m/s].
        now: Normal velocity after the positions are solved [m/s].
        slow: Speed up to which nothing bounces [m/s].
    """
    goal = separation_speed(restitution, approach, slow)
    return max(goal - now, ZERO) if goal > ZERO else ZERO * now


@steady
def rebound_within(restitution, approach, gap, pull, h):
    """Speed along the normal after an impact at its time within the substep [m/s].

    A velocity belongs to the middle of its substep. An impact at the part s of the path takes place at the speed
    v + (s - 1/2) g h, v the approach of the prediction. It leaves e times that, and gravity takes (1/2 - s) g h until
    the middle. A free fall between impacts with e = 1 then keeps its energy whatever s is.

    Args:
        restitution: e.
        approach: Normal velocity of the prediction, negative [m/s].
        gap: At the start of the substep [m].
        pull: Change of the normal velocity by gravity in the substep, g h [m/s].
        h: Substep [s].
    """
    part = min(max(-gap / (approach * h), 0.0), 1.0)
    return max(-restitution * approach - (1.0 + restitution) * (part - 0.5) * pull, 0.0)


@steady
def bounce_distance(restitution, approach, gap, h):
    """How far from the surface an impact ends a substep [m]: e times the rest of the path behind it."""
    return max(restitution * (-approach * h - max(gap, ZERO)), ZERO)


@steady
def recoil(n, gap, start, now, law, gravity, slow, h):
    """Change of a relative velocity by an impact of points that fall freely before and after it, with friction.

    In free flight symplectic Euler keeps (v - g h / 2)^2 / 2 + g y exactly, v upward after a substep. The speed at the
    impact follows from that at the start of the substep, and the point leaves the surface at e times that speed, both
    of them without the error that a velocity at the end of a substep has. Contacts of points that others hold (cloth,
    grains, bodies with joints) do not fall freely: they take `rebound`.

    Args:
        n: Normal.
        gap: Gap at the start of the substep [m].
        start: Relative velocity at the start of the substep [m/s].
        now: The same at its end [m/s].
        law: Friction, static friction and restitution first.
        gravity: Relative acceleration [m/s^2].
        slow: Speed up to which nothing bounces [m/s].
        h: Substep [s].
    """
    pull = -dot(n, gravity)
    kick = HALF * pull * h
    approach = dot(n, start) - kick
    speed = np.sqrt(max(approach * approach + TWO * pull * gap, ZERO))
    change = rebound(law[RESTITUTION], -speed if approach < ZERO else ZERO * speed, dot(n, now) - kick, slow)
    return sub(scale(n, change), friction(tangential(now, n), change, law))
