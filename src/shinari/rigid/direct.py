"""The bodies' system, solved directly: one Newton step for all elements of a component.

    (M / h^2 + sum J^T K J) dX = sum J^T f - M (X - X_free) / h^2

for the motions dX of the bodies (three of translation, three of turn), with the elements' forces f and stiffnesses K
where the bodies are now. The matrix has a block for every body and for every two bodies that an element ties; it is
positive definite whatever the elements are, so that loops and redundant rows need no care. It is factored block by
block (Cholesky) in the order that `graph` found. Components are independent: each is solved by one thread.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import normalised
from shinari.rigid.block import (
    divide,
    factor,
    solve_lower,
    solve_upper,
    subtract_product,
    subtract_square,
    subtract_times,
    subtract_transposed,
)
from shinari.rigid.contact.vectors import cross
from shinari.rigid.joints.measures import arm_stiffness
from shinari.rigid.line_search import part_of_step
from shinari.rigid.motion import momentum_of, quaternion, set_quaternion, turned_by, vector


@steady
def row_of(stiffness, e, k, at):
    """Row k of a symmetric matrix (xx yy zz yz zx xy) that starts at a column."""
    xx, yy, zz = stiffness[e, at], stiffness[e, at + 1], stiffness[e, at + 2]
    yz, zx, xy = stiffness[e, at + 3], stiffness[e, at + 4], stiffness[e, at + 5]
    if k == 0:
        return xx, xy, zx
    if k == 1:
        return xy, yy, yz
    return zx, yz, zz


@steady
def add_stiffness(blocks, j, stiffness, e, ra, rb, sign, below):
    """Add sign J_a^T K J_b to block j, and the stiffness against turning; `below`: the lower triangle only.

    With d = dx + dtheta x r the rows of K J_b are (K_k, r_b x K_k), and the lower rows of J_a^T (.) are r_a x (.).
    """
    k0, k1, k2 = row_of(stiffness, e, 0, 0), row_of(stiffness, e, 1, 0), row_of(stiffness, e, 2, 0)
    g0, g1, g2 = cross(rb, k0), cross(rb, k1), cross(rb, k2)
    turn = (row_of(stiffness, e, 0, 6), row_of(stiffness, e, 1, 6), row_of(stiffness, e, 2, 6))
    for c in range(3):
        blocks[j, c] += sign * k0[c]
        blocks[j, 6 + c] += sign * k1[c]
        blocks[j, 12 + c] += sign * k2[c]
        blocks[j, 18 + c] += sign * (ra[1] * k2[c] - ra[2] * k1[c])
        blocks[j, 24 + c] += sign * (ra[2] * k0[c] - ra[0] * k2[c])
        blocks[j, 30 + c] += sign * (ra[0] * k1[c] - ra[1] * k0[c])
        blocks[j, 21 + c] += sign * (ra[1] * g2[c] - ra[2] * g1[c] + turn[0][c])
        blocks[j, 27 + c] += sign * (ra[2] * g0[c] - ra[0] * g2[c] + turn[1][c])
        blocks[j, 33 + c] += sign * (ra[0] * g1[c] - ra[1] * g0[c] + turn[2][c])
        if not below:
            blocks[j, 3 + c] += sign * g0[c]
            blocks[j, 9 + c] += sign * g1[c]
            blocks[j, 15 + c] += sign * g2[c]


@steady
def add_swing(d, j, r, f):
    """Add the stiffness against turning that a pull f at an arm r brings: it keeps its direction while the arm turns.

    Without it a light link under a heavy load turns too far in a substep once r . f h^2 / I is above one.
    """
    xx, yy, zz, yz, zx, xy = arm_stiffness(r, f)
    d[j, 21] += xx
    d[j, 27] += xy
    d[j, 28] += yy
    d[j, 33] += zx
    d[j, 34] += yz
    d[j, 35] += zz


@steady
def add_force(g, j, force, e, r, sign):
    """Add an element's force and moment to what acts on node j."""
    f = vector(force, e)
    moment = cross(r, f)
    for c in range(3):
        g[j, c] += sign * f[c]
        g[j, 3 + c] += sign * (moment[c] + force[e, 3 + c])


@steady
def add_element(e, places, arms, force, stiffness, pulls, d, blocks, g):
    """Add an element to the blocks and the right hand side; `pulls`: about what the first ones push with, (J, 3)."""
    a, b, block = places[e, 0], places[e, 1], places[e, 2]
    ra, rb = (arms[e, 0], arms[e, 1], arms[e, 2]), (arms[e, 3], arms[e, 4], arms[e, 5])
    if e < len(pulls):
        f = vector(pulls, e)
        if a >= 0:
            add_swing(d, a, ra, f)
        if b >= 0:
            add_swing(d, b, rb, (-f[0], -f[1], -f[2]))
    if a >= 0:
        add_stiffness(d, a, stiffness, e, ra, ra, 1.0, True)
        add_force(g, a, force, e, ra, 1.0)
    if b >= 0:
        add_stiffness(d, b, stiffness, e, rb, rb, 1.0, True)
        add_force(g, b, force, e, rb, -1.0)
    if block >= 0:
        # the row of a block is the later of the two nodes
        first, second = (ra, rb) if a > b else (rb, ra)
        add_stiffness(blocks, block, stiffness, e, first, second, -1.0, False)


@steady
def begin_node(j, i, q, inverse_mass, moments, moved, d, g, h):
    """Start a node with its mass and inertia, and with what is missing of its free motion."""
    ease = 1.0 / (h * h)
    for k in range(36):
        d[j, k] = 0.0
    mass = ease / inverse_mass[i]
    here = quaternion(q, i)
    for c in range(3):
        d[j, 7 * c] = mass
        g[j, c] = -mass * moved[i, c]
    x = momentum_of(here, moments, i, (ease, 0.0, 0.0))
    y = momentum_of(here, moments, i, (0.0, ease, 0.0))
    z = momentum_of(here, moments, i, (0.0, 0.0, ease))
    d[j, 21], d[j, 27], d[j, 28], d[j, 33], d[j, 34], d[j, 35] = x[0], y[0], y[1], z[0], z[1], z[2]
    t = (moved[i, 3], moved[i, 4], moved[i, 5])
    for c in range(3):
        g[j, 3 + c] = -(x[c] * t[0] + y[c] * t[1] + z[c] * t[2])


@steady
def motion_of(e, a, b, arms, g, motion):
    """Write d and phi of an element."""
    for c in range(6):
        motion[e, c] = 0.0
    if a >= 0:
        turn = cross((g[a, 3], g[a, 4], g[a, 5]), (arms[e, 0], arms[e, 1], arms[e, 2]))
        for c in range(3):
            motion[e, c] += g[a, c] + turn[c]
            motion[e, 3 + c] += g[a, 3 + c]
    if b >= 0:
        turn = cross((g[b, 3], g[b, 4], g[b, 5]), (arms[e, 3], arms[e, 4], arms[e, 5]))
        for c in range(3):
            motion[e, c] -= g[b, c] + turn[c]
            motion[e, 3 + c] -= g[b, 3 + c]


@steady
def pull(e, force, stiffness, motion, pulls):
    """Write f - K d."""
    d = vector(motion, e)
    for c in range(3):
        k = row_of(stiffness, e, c, 0)
        pulls[e, c] = force[e, c] - k[0] * d[0] - k[1] * d[1] - k[2] * d[2]


@steady
def factor_and_solve(first, last, columns, rows, targets, target_starts, d, blocks, g):
    """Factor the blocks of nodes first to last - 1 and solve for g, in place."""
    for j in range(first, last):
        begin, end = columns[j], columns[j + 1]
        factor(d, j)
        for p in range(begin, end):
            divide(blocks, p, d, j)
        at = target_starts[j]
        for p in range(begin, end):
            subtract_square(d, rows[p], blocks, p)
            for s in range(begin, p):
                subtract_product(blocks, targets[at], p, s)
                at += 1
        solve_lower(d, j, g)
        for p in range(begin, end):
            subtract_times(g, rows[p], blocks, p, j)
    for j in range(last - 1, first - 1, -1):
        for p in range(columns[j], columns[j + 1]):
            subtract_transposed(g, j, blocks, p, rows[p])
        solve_upper(d, j, g)


@steady
def solve_component(
    c, first_bar, nodes, starts, columns, rows, targets, target_starts, element_starts, element_order, places,
    arms, force, stiffness, motion, jacobian, bar_force, bar_stiffness, bar_motion,
    x, q, inverse_mass, moments, moved, d, blocks, g, turns, pulls, h, first_point, normals, law, mus, gaps, slips,
    stiff, load, limits, status, ways
):  # fmt: skip
    """Assemble, factor, solve and move a component; `turns` (C,): square of the largest turn [rad^2]."""
    first, last = starts[c], starts[c + 1]
    for j in range(first, last):
        begin_node(j, nodes[j], q, inverse_mass, moments, moved, d, g, h)
    for p in range(columns[first], columns[last]):
        for k in range(36):
            blocks[p, k] = 0.0
    for p in range(element_starts[c], element_starts[c + 1]):
        e = element_order[p]
        if e < first_bar:
            add_element(e, places, arms, force, stiffness, pulls, d, blocks, g)
        else:
            b = e - first_bar
            add_bar(e, b, places, jacobian, bar_force, bar_stiffness, d, blocks, g)
    factor_and_solve(first, last, columns, rows, targets, target_starts, d, blocks, g)
    for p in range(element_starts[c], element_starts[c + 1]):
        e = element_order[p]
        a, b = places[e, 0], places[e, 1]
        if e < first_bar:
            motion_of(e, a, b, arms, g, motion)
            if e < len(pulls):
                pull(e, force, stiffness, motion, pulls)
        else:
            bar_motion[e - first_bar] = bar_way(e - first_bar, a, b, jacobian, g)
    t = part_of_step(
        element_starts[c], element_starts[c + 1], first, last, first_point, first_bar, element_order, nodes, q,
        inverse_mass, moments, moved, g, h, force, stiffness, motion, bar_force, bar_stiffness, bar_motion, normals,
        law, mus, gaps, slips, stiff, load, limits, status, ways
    )  # fmt: skip
    if t < 1.0:
        for p in range(element_starts[c], element_starts[c + 1]):
            e = element_order[p]
            if e < first_bar:
                for k in range(6):
                    motion[e, k] *= t
            else:
                bar_motion[e - first_bar] *= t
    largest = 0.0
    for j in range(first, last):
        for k in range(6):
            g[j, k] *= t
        move(nodes[j], j, x, q, moved, g)
        largest = max(largest, g[j, 3] * g[j, 3] + g[j, 4] * g[j, 4] + g[j, 5] * g[j, 5])
    turns[c] = largest if t == 1.0 else np.inf


@steady
def add_bar(e, b, places, jacobian, force, stiffness, d, blocks, g):
    """Add bar b, which is element e of the graph."""
    k, f = stiffness[b], force[b]
    for side in range(2):
        j, at = places[e, side], 6 * side
        if j >= 0:
            for r in range(6):
                g[j, r] += f * jacobian[b, at + r]
                for c in range(r + 1):
                    d[j, 6 * r + c] += k * jacobian[b, at + r] * jacobian[b, at + c]
    block = places[e, 2]
    if block >= 0:
        row, column = (0, 6) if places[e, 0] > places[e, 1] else (6, 0)
        for r in range(6):
            for c in range(6):
                blocks[block, 6 * r + c] += k * jacobian[b, row + r] * jacobian[b, column + c]


@steady
def bar_way(b, i, j, jacobian, g):
    """J times the motions of both nodes."""
    way = 0.0
    for r in range(6):
        if i >= 0:
            way += jacobian[b, r] * g[i, r]
        if j >= 0:
            way += jacobian[b, 6 + r] * g[j, r]
    return way


@steady
def move(i, j, x, q, moved, g):
    """Move frame i by what was found for node j."""
    for c in range(3):
        x[i, c] += g[j, c]
        moved[i, c] += g[j, c]
        moved[i, 3 + c] += g[j, 3 + c]
    set_quaternion(q, i, normalised(turned_by(quaternion(q, i), (g[j, 3], g[j, 4], g[j, 5]))))


@numba.njit(parallel=True, cache=True, **STEADY)
def solve_direct(
    threads, shares, unfinished, direct, first_bar, nodes, starts, columns, rows, targets, target_starts,
    element_starts, element_order, places, arms, force, stiffness, motion, jacobian, bar_force, bar_stiffness,
    bar_motion, x, q, inverse_mass, moments, moved, d, blocks, g, turns, pulls, h, first_point, normals, law, mus, gaps,
    slips, stiff, load, limits, status, ways
):  # fmt: skip
    """Solve all components that are unfinished and worth it; thread t takes shares[t] to shares[t + 1] - 1."""
    for t in numba.prange(threads):
        for c in range(shares[t], shares[t + 1]):
            if direct[c] and unfinished[c]:
                solve_component(
                    c, first_bar, nodes, starts, columns, rows, targets, target_starts, element_starts, element_order,
                    places, arms, force, stiffness, motion, jacobian, bar_force, bar_stiffness, bar_motion, x, q,
                    inverse_mass, moments, moved, d, blocks, g, turns, pulls, h, first_point, normals, law, mus, gaps,
                    slips, stiff, load, limits, status, ways
                )  # fmt: skip


def shares_of(weights: np.ndarray, threads: int) -> np.ndarray:
    """Cut items with weights into so many runs of about equal weight, (threads + 1,)."""
    total = np.concatenate([[0.0], np.cumsum(weights)])
    shares = np.searchsorted(total, np.linspace(0.0, total[-1], threads + 1)).astype(np.int64)
    shares[0], shares[-1] = 0, len(weights)
    return shares
