"""Elements: what acts between two frames, in the one form that the solver of the bodies knows.

An element is a force at a point and a moment between frames a and b, and how both change with their relative motion:

    force on a   f - K d        d   = (dx_a + dtheta_a x r_a) - (dx_b + dtheta_b x r_b)
    moment on a  t - R phi      phi = dtheta_a - dtheta_b

with the opposite on b, where dx and dtheta are the motion of the frames from where they are now. A joint is one
element, a point of contact is one. A hard row has K = k n n^T with k = STIFF / (h^2 w), w the inverse mass that the row
feels: it yields by a part 1 / STIFF of what it would move in a substep without a force. Giles, Diaz and Yuksel 2025
(Augmented Vertex Block Descent) keep such rows softer and carry a multiplier on, since they solve body by body; here
the system is solved at once and may be stiff, and a multiplier that is carried on would make soft modes grow.

Elements are numbered: joints, Jacobian rows, points of contact. Of a Jacobian row an element keeps the frames and the
place alone.
"""

import numpy as np

from shinari.compute import Field, Record

STIFF = 1.0e5
"""Stiffness of a point of contact, in units of what it moves over h^2."""


class Elements(Record):
    """Elements, E rows."""

    frames = Field(np.int64, 2, doc="frames a and b")
    arms = Field(np.float64, 6, unit="m", doc="r_a and r_b: from the origin of each frame to the point, world axes")
    force = Field(np.float64, 6, unit="N, N m", doc="f and t: force and moment on a, world axes")
    stiffness = Field(np.float64, 12, unit="N/m, N m/rad", doc="K and R, symmetric, each as xx yy zz yz zx xy")
    motion = Field(np.float64, 6, unit="m, rad", doc="d and phi that the solver found")
    kept = Field(np.float64, 6, unit="N, N m", doc="force and moment that sweeps begin with")
    placed = Field(np.int64, 2, doc="frames a and b when it got its place")
    nodes = Field(np.int64, 3, doc="node of a, node of b, block of both; -1: none")
    component = Field(np.int64, doc="component; -1 where neither frame can move")
    order = Field(np.int64, doc="elements by component")


class JacobianRows(Record):
    """Rows whose two frames move in ways of their own, such as a gear's: for those no element serves. R rows.

    force on a and b   J^T (f - k c),    c = J (dx_a, dtheta_a, dx_b, dtheta_b)
    """

    joint = Field(np.int64, doc="the joint that it belongs to")
    jacobian = Field(np.float64, 12, doc="J")
    force = Field(np.float64, doc="f")
    stiffness = Field(np.float64, doc="k")
    motion = Field(np.float64, doc="c that the solver found")
    kept = Field(np.float64, doc="force of the sweeps")
    old_jacobian = Field(np.float64, 12, doc="J before the last evaluation")
    old_force = Field(np.float64, doc="f before the last evaluation")
    old_stiffness = Field(np.float64, doc="k before the last evaluation")


class PointWork(Record):
    """What the solver keeps of each point during a substep, P rows and room for more."""

    arms = Field(np.float64, 6, unit="m", doc="arms of the surfaces at the start of the substep")
    gap = Field(np.float64, unit="m", doc="gap C - C* now")
    wanted = Field(np.float64, unit="m", doc="C*")
    bounce_offset = Field(np.float64, unit="m", doc="part of C* that is due to a bounce")
    slip = Field(np.float64, 3, unit="m", doc="slip now")
    turn = Field(np.float64, 3, unit="rad", doc="relative turn of the bodies in the substep")
    fast = Field(np.float64, unit="m/s", doc="speed along the normal at the start of what may bounce, negative, else 0")
    stiff = Field(np.float64, unit="N/m", doc="k of the row")
    load = Field(np.float64, 3, unit="N", doc="force of the last substep")
    mu = Field(np.float64, doc="coefficient of friction that holds in the substep")
    limit = Field(np.float64, unit="N", doc="normal force that the limit of friction is taken from")
    kept_limit = Field(np.float64, unit="N", doc="limit before the solution")
    push = Field(np.float64, 3, unit="N", doc="force now")
    sliding_direction = Field(np.float64, 3, doc="direction of the friction while sliding")
    status = Field(np.int64, doc="APART, STICKING or SLIDING")


class Curved(Record):
    """Collision shapes, G rows."""

    curved = Field(np.bool_, doc="whether a round side without a core rolls away under its points")
