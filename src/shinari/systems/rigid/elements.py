"""Elements: force elements between two frames.

A joint is one element, and so is a contact point. The solver reads nothing else. An element is a force at a point and a
moment between frames a and b, with the stiffness of both against the relative displacement of the frames:

    force on a   f - K d        d   = (dx_a + dtheta_a x r_a) - (dx_b + dtheta_b x r_b)
    moment on a  t - R phi      phi = dtheta_a - dtheta_b

with the opposite on b, where dx and dtheta are the displacements of the frames from their present poses. A hard row has
K = k n n^T with k = POINT_STIFFNESS / (h^2 w). w is the inverse effective mass of the row. The row yields by the
part 1 / POINT_STIFFNESS of the displacement that it prevents. Giles, Diaz and Yuksel 2025 (Augmented Vertex Block
Descent) use softer rows and warm-start a multiplier, since they solve body by body; here the system is solved at once
and may be stiff, and a warm-started multiplier would make soft modes grow.

Elements are numbered: joints, then Jacobian rows, then contact points. The element of a Jacobian row holds only its
frames and its nodes.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.maths.function import steady
from shinari.maths.symmetric import times

POINT_STIFFNESS = 1.0e5
"""Stiffness of a contact point, in units of the effective mass over h^2."""


class Elements(Record):
    """Elements, E rows."""

    frames = Field(np.int32, 2, doc="frames a and b")
    arms = Field(np.float64, 6, unit="m", doc="r_a and r_b: from the origin of each frame to the point, world axes")
    force = Field(np.float64, 6, unit="N, N m", doc="f and t: force and moment on a, world axes")
    stiffness = Field(np.float64, 12, unit="N/m, N m/rad", doc="K and R, symmetric, each as xx yy zz yz zx xy")
    displacement = Field(np.float64, 6, unit="m, rad", doc="d and phi of the solution")
    accumulated = Field(np.float64, 6, unit="N, N m", doc="force and moment of the sweeps or Newton steps so far")
    placed_frames = Field(np.int32, 2, doc="frames a and b when its nodes were assigned")
    nodes = Field(np.int32, 3, doc="node of a, node of b, block of both; -1: none")
    component = Field(np.int32, doc="component; -1 where neither frame can move")
    order = Field(np.int32, doc="elements by component")


class JacobianRows(Record):
    """Rows with a Jacobian of their own, such as those of gears and tendons, which have no form as an element. R rows.

    force on a and b   J^T (f - k c),    c = J (dx_a, dtheta_a, dx_b, dtheta_b)

    What acts on more than two frames has a row for each pair of them: pairs (0, 1), (0, 2), ... first, then the others.
    Its first row leads: it has f, k and c, which sum over all frames. Each frame belongs to one of the pairs.
    """

    joint = Field(np.int64, doc="its joint; -1 of a tendon")
    lead = Field(np.int64, doc="the row that leads")
    pairs = Field(np.int64, doc="number of pairs of frames that this row leads; 0 of those that do not lead")
    own = Field(np.int64, 2, doc="whether frames a and b belong to this pair")
    jacobian = Field(np.float64, 12, doc="J of the two frames")
    force = Field(np.float64, doc="f; 0 of those that do not lead, as the following")
    stiffness = Field(np.float64, doc="k")
    displacement = Field(np.float64, doc="c of the solution")
    accumulated = Field(np.float64, doc="accumulated force of the sweeps or Newton steps")
    old_jacobian = Field(np.float64, 12, doc="J before the last evaluation")
    old_force = Field(np.float64, doc="f before the last evaluation")
    old_stiffness = Field(np.float64, doc="k before the last evaluation")


class PointWork(Record):
    """Work values of the solver for each contact point in a substep, P rows and room for more."""

    gap = Field(np.float64, unit="m", doc="gap C - C* now")
    target_gap = Field(np.float64, unit="m", doc="C*")
    bounce_offset = Field(np.float64, unit="m", doc="part of C* that is due to a bounce")
    slip = Field(np.float64, 3, unit="m", doc="slip now")
    rotation = Field(np.float64, 3, unit="rad", doc="relative rotation of the bodies in the substep")
    rebound = Field(np.float64, unit="m/s", doc="normal speed after an impact; 0 where none is expected")
    approach = Field(
        np.float64, unit="m/s", doc="normal velocity before the impact, negative; 0 if the point cannot bounce"
    )
    stiffness = Field(np.float64, unit="N/m", doc="k of the row")
    grip = Field(np.float64, unit="N/m", doc="stiffness against slip")
    friction_coefficient = Field(np.float64, doc="coefficient of friction in the substep")
    limit = Field(np.float64, unit="N", doc="normal force that bounds the friction")
    stored_limit = Field(np.float64, unit="N", doc="limit before the solution")
    force = Field(np.float64, 3, unit="N", doc="force now")
    applied = Field(
        np.float64,
        3,
        unit="N",
        doc="force that the Newton steps so far have applied; after sweeps that from which the next substep starts",
    )
    sliding_direction = Field(np.float64, 3, doc="direction of the friction while sliding")
    status = Field(np.int8, doc="APART, STICKING or SLIDING")


@kernel
def clear_accumulated(e, elements: Elements, jacobian_rows: JacobianRows, joints: np.int64):
    """Clear the accumulated force of a joint or Jacobian row, where the frames stand at their prediction.

    Solutions that follow in the same substep go on with what those before have moved, and with the forces of that.
    """
    elements.accumulated[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if e >= joints:
        jacobian_rows.accumulated[e - joints] = 0.0


@steady
def accumulate_force(e, elements, t):
    """Accumulate the force of a part t of a Newton step, whose displacement is that of the part.

    A whole step leaves f - K d, whatever was before; t of it leaves (1 - t) of what was before and t f - K d. By
    induction over the steps, the accumulated forces of all elements balance the momenta of the frames.
    """
    f, k, m, old = elements.force[e], elements.stiffness[e], elements.displacement[e], elements.accumulated
    held, left = times((k[0], k[1], k[2], k[3], k[4], k[5]), (m[0], m[1], m[2])), 1.0 - t
    old[e, 0] = left * old[e, 0] + t * f[0] - held[0]
    old[e, 1] = left * old[e, 1] + t * f[1] - held[1]
    old[e, 2] = left * old[e, 2] + t * f[2] - held[2]


@steady
def accumulate_moment(e, elements, t):
    """The same for the moment."""
    f, k, m, old = elements.force[e], elements.stiffness[e], elements.displacement[e], elements.accumulated
    turned, left = times((k[6], k[7], k[8], k[9], k[10], k[11]), (m[3], m[4], m[5])), 1.0 - t
    old[e, 3] = left * old[e, 3] + t * f[3] - turned[0]
    old[e, 4] = left * old[e, 4] + t * f[4] - turned[1]
    old[e, 5] = left * old[e, 5] + t * f[5] - turned[2]


@steady
def accumulate_row_step(g, jacobian_rows, t):
    """Accumulate the force of a Jacobian row, see `accumulate_force`."""
    force, held = t * jacobian_rows.force[g], jacobian_rows.stiffness[g] * jacobian_rows.displacement[g]
    jacobian_rows.accumulated[g] = (1.0 - t) * jacobian_rows.accumulated[g] + force - held
