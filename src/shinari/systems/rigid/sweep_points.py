"""Contact points in sweeps: the solution of the points of two bodies, with all others held."""

import math

from shinari.collision.law import friction, normal_response, tangential
from shinari.maths.function import steady
from shinari.maths.symmetric import plus, times
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.block import add_rows, minus
from shinari.systems.rigid.points import halves
from shinari.systems.rigid.sweep_trees import ZERO, displaced, node_times, push, push_node, read_node, wrench

NONE = (0.0, 0.0, 0.0)


@steady
def moved(x, m, r, f, sign):
    """Displacement x of a node after a force at an arm; m is its mobility."""
    s = sign * m[6]
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
def store(a, b, x, y, nodes):
    """Store the displacements of two nodes; the last row is that of the immovable frames."""
    last = len(nodes) - 1
    if a != last:
        nodes.vector[a] = x
    if b != last:
        nodes.vector[b] = y


@steady
def sweep_points(r, count, rows, nodes):
    """Solve the contact points of two bodies without joints, from row r on."""
    a, b = rows.nodes[r]
    x, y, own, other = nodes.vector[a], nodes.vector[b], nodes.mobility[a], nodes.mobility[b]
    for k in range(r, r + count):
        ra, rb = halves(rows.arms[k])
        change, active = sweep_point(k, displaced(x, y, ra, rb), rows)
        if active:
            x, y = moved(x, own, ra, change, 1.0), moved(y, other, rb, change, -1.0)
            if rows.rolls[k]:
                spin = plus(rotation_part(own), rotation_part(other))
                change = sweep_moment(k, (x[3] - y[3], x[4] - y[4], x[5] - y[5]), spin, rows)
                x, y = turned(x, own, change, 1.0), turned(y, other, change, -1.0)
    store(a, b, x, y, nodes)


@steady
def sweep_points_of_trees(r, count, rows, bodies, paths, nodes):
    """Solve the contact points of two bodies of which at least one belongs to a tree."""
    a, b = rows.nodes[r]
    ta, tb = nodes.tree[a], nodes.tree[b]
    same = ta >= 0 and tb >= 0 and bodies.tree[ta] == bodies.tree[tb]
    own, other = read_node(a, bodies, paths, nodes), read_node(b, bodies, paths, nodes)
    on_a, on_b, pushed = ZERO, ZERO, False
    for k in range(r, r + count):
        ra, rb = halves(rows.arms[k])
        change, active = sweep_point(k, displaced(own, other, ra, rb), rows)
        if active:
            pushed = not same
            f, g = wrench(ra, change, NONE, 1.0), wrench(rb, change, NONE, -1.0)
            own = add_rows(own, node_times(a, f, bodies, nodes))
            other = add_rows(other, node_times(b, g, bodies, nodes))
            on_a, on_b = add_rows(on_a, f), add_rows(on_b, g)
            if rows.rolls[k]:
                spin = plus(spin_mobility(a, bodies, nodes), spin_mobility(b, bodies, nodes))
                change = sweep_moment(k, (own[3] - other[3], own[4] - other[4], own[5] - other[5]), spin, rows)
                t = wrench(NONE, NONE, change, 1.0)
                own = add_rows(own, node_times(a, t, bodies, nodes))
                other = minus(other, 1.0, node_times(b, t, bodies, nodes))
                on_a, on_b = add_rows(on_a, t), minus(on_b, 1.0, t)
            if same:
                # a force on one moves the other
                push(ta, on_a, bodies)
                push(tb, on_b, bodies)
                on_a, on_b = ZERO, ZERO
                own, other = read_node(a, bodies, paths, nodes), read_node(b, bodies, paths, nodes)
    if pushed and a != len(nodes) - 1:
        push_node(a, on_a, bodies, nodes)
    if pushed and b != len(nodes) - 1:
        push_node(b, on_b, bodies, nodes)


@steady
def spin_mobility(j, bodies, nodes):
    """Rotation of a node by a unit moment."""
    r = nodes.tree[j]
    if r >= 0:
        g = bodies.mobility
        return g[r, 3, 3], g[r, 4, 4], g[r, 5, 5], g[r, 4, 5], g[r, 3, 5], g[r, 3, 4]
    return rotation_part(nodes.mobility[j])


@steady
def rotation_part(m):
    """Inverse inertia of a mobility."""
    return m[0], m[1], m[2], m[3], m[4], m[5]


@steady
def sweep_point(k, d, rows):
    """Solve a contact point at a relative displacement: along the normal, then across it.

    Returns the change of its force, and whether it touches.
    """
    n, mobility, softness = rows.normal[k], rows.mobility[k], rows.softness[k]
    f = rows.force[k]
    old, reach = dot(n, f), times(mobility, n)
    gap = rows.gap[k] + dot(n, d)
    normal = old + normal_response(-gap, 0.0, old, softness, dot(n, reach), -old)
    if normal == 0.0 and old == 0.0 and dot(f, f) == 0.0:
        # apart, as before: no friction
        return NONE, False
    slip = tangential(add(d, scale(reach, normal - old)), n)
    before, grip = sub(f, scale(n, old)), rows.grip[k]
    trial = sub(sub(rows.hold[k], scale(slip, grip)), before)
    square = dot(trial, trial)
    w = dot(trial, times(mobility, trial)) / square if square > 0.0 else 0.0
    hold = friction(add(before, scale(trial, 1.0 / (1.0 + grip * w))), normal, rows.law[k])
    new = add(scale(n, normal), hold)
    rows.force[k] = new
    return sub(new, f), True


@steady
def sweep_moment(k, rotation, mobility, rows):
    """Solve the moment of a point against spinning about the normal and against rolling, bounded by the normal force.

    The stiffnesses are those of `shinari.systems.rigid.points.resist`. Returns the change of the moment.
    """
    rolling, torsional = rows.moments[k]
    n, grip, old = rows.normal[k], rows.grip[k], rows.moment[k]
    normal, rotation = dot(n, rows.force[k]), add(rows.rotation[k], rotation)
    about, old_normal = dot(n, rotation), dot(n, old)
    stiffness = grip * torsional * torsional
    w = dot(n, times(mobility, n))
    spin = (stiffness * w * old_normal - stiffness * about) / (1.0 + stiffness * w)
    spin = min(max(spin, -torsional * normal), torsional * normal)
    before = sub(old, scale(n, old_normal))
    stiffness = grip * rolling * rolling
    trial = sub(scale(tangential(rotation, n), -stiffness), before)
    size = math.sqrt(dot(trial, trial))
    axis = scale(trial, 1.0 / size) if size > 0.0 else NONE
    w = dot(axis, times(mobility, axis))
    roll = add(before, scale(trial, 1.0 / (1.0 + stiffness * w)))
    size = math.sqrt(dot(roll, roll))
    roll = scale(roll, rolling * normal / size) if size > rolling * normal else roll
    t = add(scale(n, spin), roll)
    rows.moment[k] = t
    return sub(t, old)
