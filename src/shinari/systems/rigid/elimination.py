"""Order of elimination of a component, by least degree, and the blocks of its factor.

The neighbours of each node are a set of bits. Eliminating a node joins those of its neighbours, each of which gets all
others (Markowitz 1957; George and Liu 1989, The Evolution of the Minimum Degree Ordering Algorithm). What the factor
costs is known meanwhile, so that the search ends where a component will be solved by sweeps.
"""

import numpy as np

from shinari.compute import kernel, scratch
from shinari.maths.function import steady
from shinari.systems.rigid.components import (
    Blocks,
    Components,
    Edges,
    Ends,
    Links,
    Neighbours,
    Nodes,
    RestSpeeds,
    is_again,
    may_be_direct,
    motion_of,
)
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.progress import Counts

# Most bodies of a component for which an order is sought, see also `LARGE`.
MOST_BODIES = 8192
# Bits that are used of a word, so that none is negative.
BITS = 63
MOST_WORDS = MOST_BODIES // BITS + 1
# Degrees whose nodes are kept as sets while an order is sought.
LEVELS = 16


@kernel(in_order=True)
def list_ends(_, edges: Edges, links: Links, ends: Ends, solver_frames: SolverFrames, nodes: Nodes, counts: Counts):
    """List the links, and the other ends of those of each node."""
    count = total = 0
    for i in range(counts.nodes[0]):
        nodes.end[i] = 0
    for e in range(counts.edges[0]):
        if is_again(edges, e):
            continue
        a, b = edges.frames[e]
        i, j = solver_frames.node[a], solver_frames.node[b]
        if i >= 0 and j >= 0 and i != j:
            links.nodes[count] = i, j
            count += 1
            nodes.end[i] += 1
            nodes.end[j] += 1
    for i in range(counts.nodes[0]):
        total, nodes.end[i] = total + nodes.end[i], total
    for k in range(count):
        i, j = links.nodes[k]
        ends.node[nodes.end[i]], ends.node[nodes.end[j]] = j, i
        nodes.end[i] += 1
        nodes.end[j] += 1


@kernel
def set_neighbours(i, ends: Ends, nodes: Nodes, components: Components, neighbours: Neighbours):
    """Neighbours of a node as bits, and their number."""
    c = nodes.component[i]
    first, start = components.node[c], components.word[c]
    if components.word[c + 1] == start:
        return
    width = (components.node[c + 1] - first + BITS - 1) // BITS
    row, degree = start + (i - first) * width, 0
    for w in range(row, row + width):
        neighbours.word[w] = 0
    for k in range(nodes.end[i - 1] if i > 0 else 0, nodes.end[i]):
        j = np.int64(ends.node[k]) - first
        w, bit = row + j // BITS, 1 << (j % BITS)
        degree += 1 if neighbours.word[w] & bit == 0 else 0
        neighbours.word[w] |= bit
    nodes.degree[i] = degree


@steady
def trailing_zeros(bit):
    """Number of trailing zeros of a word with one bit set."""
    zeros = 0
    while bit >> 8 != 0:
        bit, zeros = bit >> 8, zeros + 8
    while bit > 1:
        bit, zeros = bit >> 1, zeros + 1
    return zeros


@steady
def count_bits(word, at, width):
    """Number of bits that are set in `width` words."""
    count = 0
    for w in range(at, at + width):
        rest = word[w]
        while rest != 0:
            rest &= rest - 1
            count += 1
    return count


@steady
def turn_bit(levels, degree, i):
    """Add node i to the set of the nodes with its degree, or take it out."""
    if degree < LEVELS:
        levels[degree, i // BITS] ^= 1 << (i % BITS)


@steady
def node_of_least_degree(levels, width, degree, first, n):
    """The first node of least degree that is not eliminated."""
    for level in range(LEVELS):
        for w in range(width):
            if levels[level, w] != 0:
                return w * BITS + trailing_zeros(levels[level, w] & -levels[level, w])
    best = -1
    for i in range(n):
        if degree[first + i] >= 0 and (best < 0 or degree[first + i] < degree[first + best]):
            best = i
    return best


@steady
def least_cost(n, degrees):
    """Least products of blocks of a factor of n nodes with a sum of degrees.

    Each edge is a block at least, and the cost is least where all columns have as many.
    """
    edges = 0.5 * degrees
    return n + 1.5 * edges + 0.5 * edges * edges / max(n, 1)


@kernel
def order_component(
    c, components: Components, nodes: Nodes, neighbours: Neighbours, frames: Frames, solver_frames: SolverFrames,
    speeds: RestSpeeds, cost_limit: float, simple: float, small: float
):  # fmt: skip
    """Order the nodes by least degree; a component whose factor costs too much is solved by sweeps.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        neighbours: Sets of neighbours, which become those after the elimination.
        frames: Masses of the frames.
        solver_frames: Velocities of the frames.
        speeds: Speeds below which components rest.
        cost_limit: Most products of blocks for each body.
        simple: The same of a component that moves, and was swept.
        small: For all bodies of such a component together, if their masses are different.
    """
    first, start, word = components.node[c], components.word[c], neighbours.word
    n = components.node[c + 1] - first
    width = (n + BITS - 1) // BITS
    wanted = components.word[c + 1] > start
    motion = motion_of(c, components, nodes, frames, solver_frames, speeds)
    components.moving[c] = 0 if may_be_direct(motion) else 1
    limit = cost_limit * n
    if components.moving[c] != 0:
        limit = max(simple * n, small) if motion.mixed else simple * n
    levels = scratch((LEVELS, MOST_WORDS), start)
    for level in range(LEVELS):
        for w in range(width if wanted else 0):
            levels[level, w] = 0
    degrees = 0
    for i in range(n if wanted else 0):
        turn_bit(levels, nodes.degree[first + i], i)
        degrees += nodes.degree[first + i]
    k, cost = 0, 0.0
    while wanted and k < n and cost + least_cost(n - k, degrees) <= limit:
        best = node_of_least_degree(levels, width, nodes.degree, first, n)
        count = nodes.degree[first + best]
        turn_bit(levels, count, best)
        nodes.degree[first + best] = -1
        nodes.order[first + k], nodes.size[first + k] = best, count
        cost += 1.0 + count + 0.5 * count * (count + 1)
        degrees -= count
        mine = start + best * width
        for at in range(width):
            rest = word[mine + at]
            while rest != 0:
                low = rest & -rest
                rest ^= low
                i = at * BITS + trailing_zeros(low)
                row = start + i * width
                turn_bit(levels, nodes.degree[first + i], i)
                degrees -= nodes.degree[first + i]
                for w in range(width):
                    word[row + w] |= word[mine + w]
                word[row + best // BITS] &= ~(1 << (best % BITS))
                word[row + i // BITS] &= ~(1 << (i % BITS))
                nodes.degree[first + i] = count_bits(word, row, width)
                degrees += nodes.degree[first + i]
                turn_bit(levels, nodes.degree[first + i], i)
        k += 1
    components.ordered[c] = 1 if wanted and k == n and cost <= limit else 0
    components.cost[c], components.factored[c] = cost, 0
    if components.ordered[c] == 0:
        for i in range(n):
            nodes.order[first + i], nodes.size[first + i] = i, 0


@kernel
def fill_columns(
    c, components: Components, nodes: Nodes, neighbours: Neighbours, blocks: Blocks, solver_frames: SolverFrames
):
    """Frames in order of elimination, and the rows of the blocks: neighbours that are eliminated later."""
    first, start = components.node[c], components.word[c]
    n = components.node[c + 1] - first
    width = (n + BITS - 1) // BITS
    for k in range(n):
        local = nodes.order[first + k]
        frame = nodes.member[first + local]
        nodes.rank[first + local] = first + k
        nodes.frame[first + k], solver_frames.node[frame] = frame, first + k
    if components.ordered[c] == 0:
        return
    for k in range(n):
        begin = nodes.column[first + k]
        at = begin
        for w in range(width):
            rest = neighbours.word[start + nodes.order[first + k] * width + w]
            while rest != 0:
                low = rest & -rest
                rest ^= low
                later = nodes.rank[first + w * BITS + trailing_zeros(low)]
                s = at
                while s > begin and blocks.row[s - 1] > later:
                    blocks.row[s] = blocks.row[s - 1]
                    s -= 1
                blocks.row[s] = later
                at += 1
