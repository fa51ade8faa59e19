"""Contact points in the order of the sweeps, with all that a sweep reads.

Each row holds one point of every group of a batch, in lanes: a vector instruction reads a number of all of them.

In a sweep a contact is a spring with a damper, not a wall:

    f_n = -(k C + c dC/dt) >= 0,    k = m omega^2,    c = 2 zeta m omega,    m the effective mass

integrated implicitly. As the row of a substep h it has the stiffness k + c / h and the target gap C_0 c / (k h + c),
where C_0 is the overlap at the start of the substep. Sweeps do not find the forces of a stiff heap: what one body
passes to the next in a sweep is the less, the stiffer both are. A heap that is softer settles, and sinks by m g / k
under each load; a stiffer one creeps without end. With S sweeps, omega h = RATE S is as stiff as settles
(`docs/decisions/rigid.md`); every doubling of the sweeps sinks a fourth. Softness in place of Baumgarte terms is that
of Catto 2011 (Soft Constraints) and of Box2D; there, bodies are moved by velocities, and a pass without softness
follows.

The sweeps of a substep begin with the forces of the last one, so that those of all substeps are one long iteration. It
is over-relaxed: of a normal force that the sweeps of a substep have changed by D the next one begins with AHEAD D more.
What takes many substeps to find, the weight of a heap that comes to rest, is found in half of them, and what few sweeps
find is mended by the first one.

Where masses are very different a light body may carry a hundred times its weight, and its springs would give by a part
of its thickness. Such a row is so stiff that its load presses it in by no more than gravity moves a body in a substep,
and what it is deeper leaves by as much in a substep: a load is lifted, not thrown.

Friction is the same spring and damper along the surface. Its spring is carried on from substep to substep by the force
of the last one, without that of the damper. Points that are apart at the start, or bounce, stay stiff.
"""

import numpy as np

from shinari.collision.law import COMPLIANCE, GRIP, ROLLING, TORSION, recovery, regularised_stiffness, tangential
from shinari.compute import Field, Record, kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import plus, times
from shinari.maths.vec3 import cross, dot, scale, sub
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.elements import POINT_STIFFNESS, Elements, PointWork
from shinari.systems.rigid.points import Terms
from shinari.systems.rigid.sweep_groups import JOINTS, WIDTH, Batches

# Sweeps of a substep: the first half of them forward, the others backward.
SWEEPS = 4
# Angle omega h for each sweep [rad], and damping ratio.
RATE, DAMPING = 0.34, 10.0
_ANGLE = RATE * SWEEPS
_SPRING, _DAMPER = _ANGLE * _ANGLE, 2.0 * DAMPING * _ANGLE
# Stiffness of a row in units of the effective mass over h^2, part of an overlap that leaves, and of friction that is
# carried on.
SOFT_STIFFNESS = _SPRING + _DAMPER
LEAVES = _SPRING / SOFT_STIFFNESS
# By how much of what its sweeps have changed a normal force is changed again before the next substep.
AHEAD = 0.7


class SweepRows(Record):
    """Rows of contact points in the order of the sweeps, a point in each lane."""

    arms = Field(np.float64, (6, WIDTH), unit="m", doc="r_a and r_b")
    normal = Field(np.float64, (3, WIDTH), doc="from b to a")
    gap = Field(np.float64, WIDTH, unit="m", doc="gap at the prediction")
    hold = Field(np.float64, (3, WIDTH), unit="N", doc="friction at the prediction, with what is carried on")
    softness = Field(np.float64, WIDTH, unit="m/N", doc="inverse stiffness along the normal")
    grip = Field(np.float64, WIDTH, unit="N/m", doc="stiffness along the surface")
    law = Field(np.float64, (2, WIDTH), doc="friction and static friction")
    along = Field(np.float64, WIDTH, unit="m/N", doc="displacement along the normal by a unit force along it")
    reach = Field(np.float64, (3, WIDTH), unit="m/N", doc="displacement along the surface by the same")
    across = Field(np.float64, WIDTH, unit="m/N", doc="largest displacement along the surface by a unit force along it")
    force = Field(np.float64, (3, WIDTH), unit="N", doc="accumulated force on a")


class SpinRows(Record):
    """What rolling and torsional friction add to the rows; no rows where no surface has them."""

    moments = Field(np.float64, (2, WIDTH), unit="m", doc="rolling and torsional friction")
    rotation = Field(np.float64, (3, WIDTH), unit="rad", doc="relative rotation of the bodies at the prediction")
    moment = Field(np.float64, (3, WIDTH), unit="N m", doc="accumulated moment on a")


@steady
def lane3(field, r, lane):
    """Three numbers of a lane."""
    return field[r, 0, lane], field[r, 1, lane], field[r, 2, lane]


@steady
def set_lane3(field, r, lane, v):
    """Set three numbers of a lane."""
    field[r, 0, lane], field[r, 1, lane], field[r, 2, lane] = v


@steady
def lane_arms(field, r, lane):
    """Both arms of a lane."""
    return lane3(field, r, lane), (field[r, 3, lane], field[r, 4, lane], field[r, 5, lane])


@steady
def lane6(field, r, lane, at):
    """Six numbers of a lane, from one on."""
    return (
        field[r, at, lane], field[r, at + 1, lane], field[r, at + 2, lane],
        field[r, at + 3, lane], field[r, at + 4, lane], field[r, at + 5, lane],
    )  # fmt: skip


@steady
def node_or_last(node, nodes):
    """A node, or the last row of the nodes for an immovable frame."""
    return node if node >= 0 else len(nodes) - 1


@steady
def mobility_at(m, w, r):
    """Displacement of a point at an arm by a unit force, of a body with inverse inertia m and inverse mass w."""
    zero = w - w
    x = cross(times(m, (zero, r[2], -r[1])), r)
    y = cross(times(m, (-r[2], zero, r[0])), r)
    z = cross(times(m, (r[1], -r[0], zero)), r)
    return w + x[0], w + y[1], w + z[2], y[2], z[0], x[1]


@steady
def parts_along_and_across(m, n):
    """Displacements along and across n, by a force along n, and the largest across by a force across, of a mobility m.

    Across n the mobility is B = P m P with P = 1 - n n^T, of eigenvalues a, b and 0: a + b is its trace, and a^2 + b^2
    that of its square.
    """
    by_normal = times(m, n)
    along = dot(n, by_normal)
    half = 0.5 * (m[0] + m[1] + m[2] - along)
    squares = m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + 2.0 * (m[3] * m[3] + m[4] * m[4] + m[5] * m[5])
    squares += along * along - 2.0 * dot(by_normal, by_normal)
    across = half + np.sqrt(max(0.5 * squares - half * half, 0.0))
    return along, sub(by_normal, scale(n, along)), across


@steady
def write_lane(b, lane, batches, nodes, elements):
    """Write nodes and mobilities of a lane; one that is not in use is immovable."""
    i = j = len(nodes) - 1
    if lane < batches.groups[b]:
        e = elements.order[batches.first[b, lane]]
        i, j = node_or_last(elements.nodes[e, 0], nodes), node_or_last(elements.nodes[e, 1], nodes)
    batches.nodes[b, 0, lane], batches.nodes[b, 1, lane] = i, j
    for c in range(7):
        batches.mobility[b, c, lane], batches.mobility[b, 7 + c, lane] = nodes.mobility[i, c], nodes.mobility[j, c]


@steady
def clear_row(r, lane, rows):
    """A point that is always apart."""
    none = (0.0, 0.0, 0.0)
    for c in range(6):
        rows.arms[r, c, lane] = 0.0
    set_lane3(rows.normal, r, lane, none)
    set_lane3(rows.hold, r, lane, none)
    set_lane3(rows.force, r, lane, none)
    rows.gap[r, lane], rows.softness[r, lane], rows.grip[r, lane] = 1.0, 1.0, 0.0
    rows.law[r, 0, lane], rows.law[r, 1, lane] = 0.0, 0.0


@steady
def loaded_stiffness(k, soft, load, fall):
    """Stiffness of a row [N/m] whose spring gives by the fall of a substep under its load at most.

    Args:
        k: Stiffness of a contact without compliance [N/m].
        soft: That of sweeps [N/m].
        load: Normal force of the last substep [N].
        fall: Displacement by gravity in a substep [m].
    """
    return min(max(soft, load / (fall * LEAVES)), k)


@steady
def write_row(r, lane, e, p, rows, elements, points, work, components, terms):
    """Write the row of a point, all but its mobility."""
    n, last, law = points.normal[p], points.force[p], points.law[p]
    for c in range(6):
        rows.arms[r, c, lane] = elements.arms[e, c]
    set_lane3(rows.normal, r, lane, n)
    stiffness, gap, start = work.stiffness[p], work.gap[p], points.gap[p]
    grip, soft = GRIP * stiffness, stiffness * (SOFT_STIFFNESS / POINT_STIFFNESS)
    if start < 0.0 and work.bounce_offset[p] == 0.0 and law[COMPLIANCE] == 0.0:
        leaves = -LEAVES * start
        if components.uneven[elements.component[e]] != 0:
            held = loaded_stiffness(stiffness, soft, dot(n, last), terms.fall[0])
            if held > soft:
                leaves, soft = min(leaves, terms.fall[0]), held
        gap += work.target_gap[p] - start - recovery(leaves, terms.escape[0] * terms.h[0])
        grip = stiffness = soft
    stiffness = regularised_stiffness(stiffness, law[COMPLIANCE])
    rows.gap[r, lane], rows.softness[r, lane] = gap, 1.0 / stiffness if stiffness > 0.0 else 0.0
    rows.grip[r, lane], rows.law[r, 0, lane], rows.law[r, 1, lane] = grip, law[0], law[1]
    set_lane3(rows.hold, r, lane, sub(tangential(last, n), scale(work.slip[p], grip)))
    set_lane3(rows.force, r, lane, last)


@steady
def write_spin(r, lane, p, spins, points, work):
    """Write rolling and torsional friction of a point, and tell whether it has any."""
    law, none = points.law[p], (0.0, 0.0, 0.0)
    rolls = law[ROLLING] > 0.0 or law[TORSION] > 0.0
    spins.moments[r, 0, lane], spins.moments[r, 1, lane] = law[ROLLING], law[TORSION]
    set_lane3(spins.rotation, r, lane, work.rotation[p] if rolls else none)
    set_lane3(spins.moment, r, lane, none)
    return 1 if rolls else 0


@kernel(fastmath=STEADY, vector=True)
def write_batch(
    b,
    batches: Batches,
    rows: SweepRows,
    spins: SpinRows,
    elements: Elements,
    points: Points,
    work: PointWork,
    nodes: Nodes,
    components: Components,
    terms: Terms,
    first_point: np.int64,
):
    """Write the rows of a batch of contact points.

    Args:
        b: The batch.
        batches: The batches.
        rows: Receives the rows.
        spins: Receives rolling and torsional friction, if it has rows.
        elements: The elements.
        points: The points.
        work: Their gaps and slips at the prediction.
        nodes: The nodes.
        components: The components.
        terms: What all points share.
        first_point: Element of the first point.
    """
    batches.rolls[b] = 0
    if batches.kind[b] == JOINTS:
        return
    first = batches.row[b]
    last = first + batches.rows[b]
    for lane in range(WIDTH):
        write_lane(b, lane, batches, nodes, elements)
        count = batches.count[b, lane] if lane < batches.groups[b] else 0
        for r in range(first, first + count):
            e = elements.order[batches.first[b, lane] + r - first]
            write_row(r, lane, e, e - first_point, rows, elements, points, work, components, terms)
            if len(spins) > 0:
                batches.rolls[b] |= write_spin(r, lane, e - first_point, spins, points, work)
        for r in range(first + count, last):
            clear_row(r, lane, rows)
            if len(spins) > 0:
                spins.moments[r, 0, lane], spins.moments[r, 1, lane] = 0.0, 0.0
                set_lane3(spins.rotation, r, lane, (0.0, 0.0, 0.0))
                set_lane3(spins.moment, r, lane, (0.0, 0.0, 0.0))
    found, m = scratch((5, WIDTH), terms.h[0]), batches.mobility
    for r in range(first, last):
        for lane in range(WIDTH):
            ra, rb = lane_arms(rows.arms, r, lane)
            x = mobility_at(lane6(m, b, lane, 0), m[b, 6, lane], ra)
            y = mobility_at(lane6(m, b, lane, 7), m[b, 13, lane], rb)
            along, reach, across = parts_along_and_across(plus(x, y), lane3(rows.normal, r, lane))
            found[0, lane], found[1, lane] = along, across
            found[2, lane], found[3, lane], found[4, lane] = reach
        for lane in range(WIDTH):
            rows.along[r, lane], rows.across[r, lane] = found[0, lane], found[1, lane]
            set_lane3(rows.reach, r, lane, (found[2, lane], found[3, lane], found[4, lane]))
