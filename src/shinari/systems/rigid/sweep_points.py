"""Contact points in sweeps: the solution of the points of two bodies, with all others held."""

import numpy as np

from shinari.collision.law import SLIDING_FRICTION, STATIC_FRICTION, tangential
from shinari.compute import kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import plus, times
from shinari.maths.vec3 import add, cross, dot, norm, reciprocal, scale, sub
from shinari.systems.rigid.block import add_rows, minus
from shinari.systems.rigid.components import Nodes
from shinari.systems.rigid.sweep_groups import WIDTH, Batches
from shinari.systems.rigid.sweep_rows import SpinRows, SweepRows, lane3, lane6, lane_arms, set_lane3
from shinari.systems.rigid.sweep_trees import (
    ZERO,
    displaced,
    node_times,
    push,
    push_node,
    read_node,
    turns_by_moments,
    wrench,
)

NONE = (0.0, 0.0, 0.0)


@steady
def moved(x, m, w, r, f, sign):
    """Displacement x of a node after a force at an arm; m is its inverse inertia, w its inverse mass, times h^2."""
    s = sign * w
    turn = times(m, cross(r, f))
    return (
        x[0] + s * f[0],
        x[1] + s * f[1],
        x[2] + s * f[2],
        x[3] + sign * turn[0],
        x[4] + sign * turn[1],
        x[5] + sign * turn[2],
    )


@steady
def turned(x, m, t, sign):
    """Displacement x of a node after a moment."""
    turn = times(m, t)
    return x[0], x[1], x[2], x[3] + sign * turn[0], x[4] + sign * turn[1], x[5] + sign * turn[2]


@steady
def take_nodes(b, batches, nodes, taken):
    """Bring the displacements of both nodes of each lane of a batch to it."""
    for lane in range(WIDTH):
        x, y = nodes.vector[batches.nodes[b, 0, lane]], nodes.vector[batches.nodes[b, 1, lane]]
        taken[0, lane], taken[1, lane], taken[2, lane], taken[3, lane], taken[4, lane], taken[5, lane] = x
        taken[6, lane], taken[7, lane], taken[8, lane], taken[9, lane], taken[10, lane], taken[11, lane] = y


@steady
def give_nodes(b, batches, nodes, taken):
    """Store the displacements of both nodes of each lane; the last row is that of the immovable frames."""
    last = len(nodes) - 1
    for lane in range(batches.groups[b]):
        i, j = batches.nodes[b, 0, lane], batches.nodes[b, 1, lane]
        if i != last:
            nodes.vector[i] = (
                taken[0, lane], taken[1, lane], taken[2, lane], taken[3, lane], taken[4, lane], taken[5, lane]
            )  # fmt: skip
        if j != last:
            nodes.vector[j] = (
                taken[6, lane], taken[7, lane], taken[8, lane], taken[9, lane], taken[10, lane], taken[11, lane]
            )  # fmt: skip


@steady
def lane_vectors(taken, lane):
    """Displacements of both nodes of a lane."""
    return (
        (taken[0, lane], taken[1, lane], taken[2, lane], taken[3, lane], taken[4, lane], taken[5, lane]),
        (taken[6, lane], taken[7, lane], taken[8, lane], taken[9, lane], taken[10, lane], taken[11, lane]),
    )


@steady
def give_lane(given, lane, x, y, new):
    """Set the displacements of both nodes of a lane, and the force or moment of its point."""
    given[0, lane], given[1, lane], given[2, lane], given[3, lane], given[4, lane], given[5, lane] = x
    given[6, lane], given[7, lane], given[8, lane], given[9, lane], given[10, lane], given[11, lane] = y
    given[12, lane], given[13, lane], given[14, lane] = new


@steady
def take_given(r, field, taken, given):
    """Take over the displacements, and store the force or moment of the points of row r."""
    for c in range(12):
        for lane in range(WIDTH):
            taken[c, lane] = given[c, lane]
    for c in range(3):
        for lane in range(WIDTH):
            field[r, c, lane] = given[12 + c, lane]


@kernel(fastmath=STEADY, vector=True)
def sweep_side_by_side(b, batches: Batches, rows: SweepRows, nodes: Nodes, zero: np.float64):
    """Solve the points of a batch once, one after the other in each lane; `zero` is 0.

    The loops over the lanes become vector instructions. What they write stands in memory that they do not read.
    """
    taken, given, m = scratch((12, WIDTH), zero), scratch((15, WIDTH), zero), batches.mobility
    take_nodes(b, batches, nodes, taken)
    for r in range(batches.row[b], batches.row[b] + batches.rows[b]):
        for lane in range(WIDTH):
            x, y = lane_vectors(taken, lane)
            ra, rb = lane_arms(rows.arms, r, lane)
            new = solve_point(r, lane, displaced(x, y, ra, rb), rows)
            change = sub(new, lane3(rows.force, r, lane))
            x = moved(x, lane6(m, b, lane, 0), m[b, 6, lane], ra, change, 1.0)
            y = moved(y, lane6(m, b, lane, 7), m[b, 13, lane], rb, change, -1.0)
            give_lane(given, lane, x, y, new)
        take_given(r, rows.force, taken, given)
    give_nodes(b, batches, nodes, taken)


@kernel(fastmath=STEADY, vector=True)
def spin_side_by_side(b, batches: Batches, rows: SweepRows, spins: SpinRows, nodes: Nodes, zero: np.float64):
    """Solve rolling and torsional friction of the points of a batch once; `zero` is 0."""
    if batches.rolls[b] == 0:
        return
    taken, given, m = scratch((12, WIDTH), zero), scratch((15, WIDTH), zero), batches.mobility
    take_nodes(b, batches, nodes, taken)
    for r in range(batches.row[b], batches.row[b] + batches.rows[b]):
        for lane in range(WIDTH):
            x, y = lane_vectors(taken, lane)
            own, other = lane6(m, b, lane, 0), lane6(m, b, lane, 7)
            new = solve_moment(r, lane, (x[3] - y[3], x[4] - y[4], x[5] - y[5]), plus(own, other), rows, spins)
            change = sub(new, lane3(spins.moment, r, lane))
            give_lane(given, lane, turned(x, own, change, 1.0), turned(y, other, change, -1.0), new)
        take_given(r, spins.moment, taken, given)
    give_nodes(b, batches, nodes, taken)


@steady
def sweep_lane(b, lane, own, on_a, batches, rows, spins, bodies, paths, nodes):
    """Solve the points of a lane; its bodies may belong to trees.

    Args:
        b: The batch.
        lane: The lane.
        own: Displacement of its node a.
        on_a: Force on node a that its tree does not have yet, but `own` does.
        batches: The batches.
        rows: Their rows.
        spins: Rolling and torsional friction.
        bodies: The bodies of trees.
        paths: Their paths.
        nodes: The nodes.

    Returns:
        Both of node a, after the points.
    """
    a, c = batches.nodes[b, 0, lane], batches.nodes[b, 1, lane]
    ta, tc = nodes.tree[a], nodes.tree[c]
    same = ta >= 0 and tc >= 0 and bodies.tree[ta] == bodies.tree[tc]
    if same:
        # a force on one moves the other
        push(ta, on_a, bodies)
        on_a = ZERO
    other, on_c, pushed = read_node(c, bodies, paths, nodes), ZERO, False
    last = batches.row[b] + batches.count[b, lane] - 1
    for r in range(batches.row[b], last + 1):
        ra, rc = lane_arms(rows.arms, r, lane)
        old = lane3(rows.force, r, lane)
        new = solve_point(r, lane, displaced(own, other, ra, rc), rows)
        set_lane3(rows.force, r, lane, new)
        change = sub(new, old)
        if dot(new, new) > 0.0 or dot(old, old) > 0.0:
            pushed = not same
            f, g = wrench(ra, change, NONE, 1.0), wrench(rc, change, NONE, -1.0)
            own = add_rows(own, node_times(a, f, bodies, nodes))
            other = add_rows(other, node_times(c, g, bodies, nodes))
            on_a, on_c = add_rows(on_a, f), add_rows(on_c, g)
            if batches.rolls[b]:
                spin = plus(turns_by_moments(a, bodies, nodes), turns_by_moments(c, bodies, nodes))
                rotation = own[3] - other[3], own[4] - other[4], own[5] - other[5]
                moment = solve_moment(r, lane, rotation, spin, rows, spins)
                t = wrench(NONE, NONE, sub(moment, lane3(spins.moment, r, lane)), 1.0)
                set_lane3(spins.moment, r, lane, moment)
                own = add_rows(own, node_times(a, t, bodies, nodes))
                other = minus(other, 1.0, node_times(c, t, bodies, nodes))
                on_a, on_c = add_rows(on_a, t), minus(on_c, 1.0, t)
            if same:
                push(ta, on_a, bodies)
                push(tc, on_c, bodies)
                on_a, on_c = ZERO, ZERO
                own = read_node(a, bodies, paths, nodes)
                if r < last:
                    other = read_node(c, bodies, paths, nodes)
    if pushed and c != len(nodes) - 1:
        push_node(c, on_c, bodies, nodes)
    return own, on_a


@steady
def release(a, on_a, bodies, nodes):
    """Apply the force on node a that is left from its groups."""
    if a >= 0 and a != len(nodes) - 1 and on_a != ZERO:
        push_node(a, on_a, bodies, nodes)


@steady
def solve_point(r, lane, d, rows):
    """Force of a contact point at a relative displacement: along the normal, then across it.

    Without branches, which the lanes of a vector could not take; what does not depend on the displacement stands in the
    rows, since each point waits for the one before.
    """
    n, f, reach = lane3(rows.normal, r, lane), lane3(rows.force, r, lane), lane3(rows.reach, r, lane)
    softness, grip, law = rows.softness[r, lane], rows.grip[r, lane], (rows.law[r, 0, lane], rows.law[r, 1, lane])
    old, along = dot(n, f), dot(n, d)
    # a quotient would wait for the displacement as well
    stiffness = 1.0 / (rows.along[r, lane] + softness)
    normal = max(old - stiffness * (rows.gap[r, lane] + along + softness * old), 0.0)
    before = sub(f, scale(n, old))
    wanted = sub(sub(lane3(rows.hold, r, lane), before), scale(sub(d, scale(n, along)), grip))
    trial = sub(wanted, scale(reach, grip * (normal - old)))
    hold = add(before, scale(trial, 1.0 / (1.0 + grip * rows.across[r, lane])))
    return add(scale(n, normal), scale(hold, held_part(hold, normal, law)))


@steady
def held_part(hold, normal, law):
    """Part of a friction that a normal force bears, as of `shinari.collision.law.friction`.

    What sticks does not wait for a root.
    """
    square, most = dot(hold, hold), law[STATIC_FRICTION] * normal
    if square <= most * most:
        return 1.0
    return min(law[SLIDING_FRICTION] * normal / np.sqrt(square), 1.0)


@steady
def solve_moment(r, lane, rotation, mobility, rows, spins):
    """Moment of a point against spinning about the normal and against rolling, bounded by the normal force.

    The stiffnesses are those of `shinari.systems.rigid.points.resist`.
    """
    rolling, torsional = spins.moments[r, 0, lane], spins.moments[r, 1, lane]
    n, grip, old = lane3(rows.normal, r, lane), rows.grip[r, lane], lane3(spins.moment, r, lane)
    normal, rotation = dot(n, lane3(rows.force, r, lane)), add(lane3(spins.rotation, r, lane), rotation)
    about, old_normal = dot(n, rotation), dot(n, old)
    stiffness = grip * torsional * torsional
    w = dot(n, times(mobility, n))
    spin = (stiffness * w * old_normal - stiffness * about) / (1.0 + stiffness * w)
    spin = min(max(spin, -torsional * normal), torsional * normal)
    before = sub(old, scale(n, old_normal))
    stiffness = grip * rolling * rolling
    trial = sub(scale(tangential(rotation, n), -stiffness), before)
    axis = scale(trial, reciprocal(norm(trial)))
    w = dot(axis, times(mobility, axis))
    roll = add(before, scale(trial, 1.0 / (1.0 + stiffness * w)))
    size, most = norm(roll), rolling * normal
    roll = scale(roll, most / size if size > most else 1.0)
    return add(scale(n, spin), roll)
