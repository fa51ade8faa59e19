"""Contact points in the order of the sweeps, with all that a sweep reads.

In a sweep a contact is a spring with a damper, not a wall:

    f_n = -(k C + c dC/dt) >= 0,    k = m omega^2,    c = 2 zeta m omega,    m the effective mass

integrated implicitly. As the row of a substep h it has the stiffness k + c / h and the target gap C_0 c / (k h + c),
where C_0 is the overlap at the start of the substep. Sweeps do not find the forces of a stiff heap: what one body
passes to the next in a sweep is the less, the stiffer both are. A heap that is softer settles, and sinks by m g / k
under each load; a stiffer one creeps without end. With S sweeps, omega h = RATE S is as stiff as settles
(`docs/decisions/rigid.md`); every doubling of the sweeps sinks a fourth. Softness in place of Baumgarte terms is that
of Catto 2011 (Soft Constraints) and of Box2D; there, bodies are moved by velocities, and a pass without softness
follows.

Friction is the same spring and damper along the surface. Its spring is carried on from substep to substep by the force
of the last one, without that of the damper. Points that are apart at the start, or bounce, stay stiff.
"""

import numpy as np

from shinari.collision.law import COMPLIANCE, GRIP, ROLLING, TORSION, recovery, regularised_stiffness, tangential
from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import scale, sub
from shinari.systems.rigid.components import Nodes
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import POINT_STIFFNESS, Elements, PointWork
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.points import halves
from shinari.systems.rigid.sweep_groups import ColouredGroups
from shinari.systems.rigid.sweep_joints import compliance_column

# Sweeps of a substep, forward and backward in turn.
SWEEPS = 4
# Angle omega h for each sweep [rad], and damping ratio.
RATE, DAMPING = 0.28, 10.0
_ANGLE = RATE * SWEEPS
_SPRING, _DAMPER = _ANGLE * _ANGLE, 2.0 * DAMPING * _ANGLE
# Stiffness of a row in units of the effective mass over h^2, part of an overlap that leaves, and of friction that is
# carried on.
SOFT_STIFFNESS = _SPRING + _DAMPER
LEAVES = _SPRING / SOFT_STIFFNESS


class SweepRows(Record):
    """Contact points in the order of the sweeps, R rows; the rows of joints are not in use."""

    point = Field(np.int64)
    nodes = Field(
        np.int64,
        2,
        doc="of a group, in its first row: those of a and b; for an immovable frame the last row of the nodes",
    )
    arms = Field(np.float64, 6, unit="m", doc="r_a and r_b")
    normal = Field(np.float64, 3, doc="from b to a")
    gap = Field(np.float64, unit="m", doc="gap at the prediction")
    hold = Field(np.float64, 3, unit="N", doc="friction at the prediction, with what is carried on")
    softness = Field(np.float64, unit="m/N", doc="inverse stiffness along the normal")
    grip = Field(np.float64, unit="N/m", doc="stiffness along the surface")
    law = Field(np.float64, 2, doc="friction and static friction")
    rolls = Field(np.bool_, doc="whether it has rolling or torsional friction; else the next three are not in use")
    moments = Field(np.float64, 2, unit="m", doc="rolling and torsional friction")
    rotation = Field(np.float64, 3, unit="rad", doc="relative rotation of the bodies at the prediction")
    moment = Field(np.float64, 3, unit="N m", doc="accumulated moment on a")
    mobility = Field(np.float64, 6, unit="m/N", doc="displacement by a unit force, xx yy zz yz zx xy")
    force = Field(np.float64, 3, unit="N", doc="accumulated force on a")


@steady
def node_or_last(node, nodes):
    """A node, or the last row of the nodes for an immovable frame."""
    return node if node >= 0 else len(nodes) - 1


@kernel(fastmath=STEADY)
def write_sweep_rows(
    g,
    groups: ColouredGroups,
    rows: SweepRows,
    elements: Elements,
    points: Points,
    work: PointWork,
    frames: Frames,
    nodes: Nodes,
    first_point: np.int64,
    h: np.float64,
    escape: np.float64,
):
    """Write the rows of a group of contact points.

    Args:
        g: The group.
        groups: The groups.
        rows: Receives the rows.
        elements: The elements.
        points: The points.
        work: Their gaps and slips at the prediction.
        frames: The frames.
        nodes: The nodes.
        first_point: Element of the first point.
        h: Substep [s].
        escape: Depenetration speed [m/s].
    """
    for k in range(groups.count[g]):
        e, r = elements.order[groups.first[g] + k], groups.row[g] + k
        if e < first_point:
            return
        p, h2 = e - first_point, h * h
        a, b = elements.frames[e]
        n, last, law = points.normal[p], work.last_force[p], points.law[p]
        arms = elements.arms[e]
        ra, rb = halves(arms)
        rows.point[r] = p
        if k == 0:
            rows.nodes[r] = node_or_last(elements.nodes[e, 0], nodes), node_or_last(elements.nodes[e, 1], nodes)
        rows.arms[r], rows.normal[r] = arms, n
        stiffness, gap, start = work.stiffness[p], work.gap[p], work.start_gap[p]
        soft = stiffness * (SOFT_STIFFNESS / POINT_STIFFNESS)
        rows.grip[r] = GRIP * stiffness
        if start < 0.0 and work.bounce_offset[p] == 0.0 and law[COMPLIANCE] == 0.0:
            gap += work.target_gap[p] - start - recovery(-LEAVES * start, escape * h)
            rows.grip[r] = stiffness = soft
        stiffness = regularised_stiffness(stiffness, law[COMPLIANCE])
        rows.gap[r], rows.softness[r] = gap, 1.0 / stiffness if stiffness > 0.0 else 0.0
        rows.law[r], rows.rolls[r] = (law[0], law[1]), law[ROLLING] > 0.0 or law[TORSION] > 0.0
        if rows.rolls[r]:
            rows.moments[r], rows.rotation[r] = (law[ROLLING], law[TORSION]), work.rotation[p]
            rows.moment[r] = 0.0, 0.0, 0.0
        mass, inertia = frames.inverse_mass, frames.inverse_inertia
        x = compliance_column(a, b, ra, rb, (h2, 0.0, 0.0), mass, inertia)
        y = compliance_column(a, b, ra, rb, (0.0, h2, 0.0), mass, inertia)
        z = compliance_column(a, b, ra, rb, (0.0, 0.0, h2), mass, inertia)
        rows.mobility[r] = x[0], y[1], z[2], y[2], z[0], x[1]
        rows.hold[r], rows.force[r] = sub(tangential(last, n), scale(work.slip[p], rows.grip[r])), last
