"""The Cholesky factor of a component, small supernodes column by column, and solutions with it."""

from typing import Annotated, Any

import numpy as np

from shinari.compute import View, kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.systems.rigid.block import (
    divide,
    factor,
    solve_lower,
    solve_upper,
    subtract_product,
    subtract_times,
    subtract_transposed,
)
from shinari.systems.rigid.components import Blocks, Components, Nodes, Targets
from shinari.systems.rigid.supernodes import ends_supernode

Vectors = Annotated[Any, View(np.float64, 6)]
"""Vectors of nodes as a parameter."""


@steady
def entry(nodes, first, column, t):
    """Block of entry t in a column of the supernode that starts at node `first`.

    The entries of a supernode are its nodes, and after them the rows of its last column. Each of its columns has those
    that follow its own.
    """
    return nodes.column[first + column] + t - column - 1


@steady
def eliminate_supernode(first, end, nodes, blocks, targets):
    """Eliminate the nodes of a supernode, one after the other."""
    width, start = end - first, nodes.target[end - 1]
    entries = width + nodes.size[end - 1]
    for j in range(width):
        factor(nodes.matrix, first + j)
        for t in range(j + 1, entries):
            divide(blocks.value, entry(nodes, first, j, t), nodes.matrix, first + j)
        at = start
        for t in range(j + 1, entries):
            p = entry(nodes, first, j, t)
            subtract_product(nodes.matrix, blocks.row[p], blocks.value, p, p)
            for u in range(t + 1, entries):
                target = entry(nodes, first, t, u)
                if t >= width:
                    target, at = np.int64(targets.block[at]), at + 1
                subtract_product(blocks.value, target, blocks.value, p, entry(nodes, first, j, u))


@steady
def eliminate_columns(first, end, nodes, blocks, targets):
    """Eliminate the supernodes from node `first` on that end before node `end`."""
    begin = first
    for j in range(first, end):
        if ends_supernode(j, nodes):
            eliminate_supernode(begin, j + 1, nodes, blocks, targets)
            begin = j + 1


@shared(fastmath=STEADY)
def divide_by_factor(c: int, components: Components, nodes: Nodes, blocks: Blocks, g: Vectors) -> None:
    """Replace g by (U^T U)^-1 g, with the factor of a component."""
    first, last = components.node[c], components.node[c + 1]
    for j in range(first, last):
        solve_lower(nodes.matrix, j, g)
        for p in range(nodes.column[j], nodes.column[j + 1]):
            subtract_transposed(g, blocks.row[p], blocks.value, p, j)
    for j in range(last - 1, first - 1, -1):
        for p in range(nodes.column[j], nodes.column[j + 1]):
            subtract_times(g, j, blocks.value, p, blocks.row[p])
        solve_upper(nodes.matrix, j, g)


@kernel(fastmath=STEADY)
def factor_and_solve(
    c, components: Components, nodes: Nodes, blocks: Blocks, targets: Targets, keep: np.float64, failures: np.int64
):
    """Factor the columns of a component that are not eliminated yet, and solve for the displacements, in place.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        blocks: Off-diagonal blocks.
        targets: Where products of blocks are subtracted.
        keep: Products of blocks per body above which the factor is used again, also in motion.
        failures: Failures in the step after which it is not used again.
    """
    if components.factoring[c] == 0:
        return
    first, last = components.node[c], components.node[c + 1]
    heavy, rests = components.cost[c] >= keep * (last - first), components.resting[c] != 0
    kept = components.failures[c] < failures and (heavy or (rests and components.failures[c] == 0))
    components.factored[c] = 1 if kept else 0
    components.factorings[c] += 1
    eliminate_columns(components.eliminated[c], last, nodes, blocks, targets)
    components.eliminated[c] = first
    divide_by_factor(c, components, nodes, blocks, nodes.vector)
