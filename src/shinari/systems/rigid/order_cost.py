"""Whether the order of a component that moves would cost too much, found from lists of neighbours.

A component that moves and was swept is solved directly only where its factor is as cheap as that of a tree. Most heaps
in motion are far from that, and sets of bits for all of their nodes would be made for nothing: they are as large as the
square of the number of nodes. Here nodes of small degree are eliminated in lists, in which each has room for a few
more neighbours, until the cost is seen to be too large. Only where it is not, sets are made and an order is sought.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, scratch
from shinari.maths.function import steady
from shinari.systems.rigid.components import Components, Ends, Nodes, RestSpeeds, may_be_direct, motion_of
from shinari.systems.rigid.elimination import BITS, MOST_BODIES, least_cost
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.progress import Counts

# Bodies up to which sets of bits take no more than lists, two words for each node.
FEW_BODIES = 2 * BITS
# Largest degree of a node that is eliminated in lists, and the neighbours for which each list has room beyond its own.
MOST_DEGREE, SPARE = 4, 4
LEVELS = MOST_DEGREE + 1
# Other ends of links above which a node is left out, such as a plate that carries a heap: without it the cost is less.
MOST_ENDS = 64


class Lists(Record):
    """Neighbours of each node: as many places as it has ends of links, and SPARE."""

    node = Field(np.int32)


@steady
def begin_of_list(i, nodes):
    """Its first place; that of the next node ends it."""
    return (nodes.end[i - 1] if i > 0 else 0) + SPARE * i


@steady
def position_in(lists, begin, count, node):
    """Where a node is in a list; its end if it is not."""
    at = begin
    while at < begin + count and lists.node[at] != node:
        at += 1
    return at


@steady
def enter(i, nodes, heads):
    """Enter a node at the head of those of its degree."""
    degree = nodes.degree[i]
    if degree <= MOST_DEGREE:
        after = heads[degree]
        nodes.order[i], nodes.rank[i], heads[degree] = after, -1, i
        if after >= 0:
            nodes.rank[after] = i


@steady
def leave(i, nodes, heads):
    """Take a node out of those of its degree."""
    degree = nodes.degree[i]
    if degree <= MOST_DEGREE:
        after, before = nodes.order[i], nodes.rank[i]
        if after >= 0:
            nodes.rank[after] = before
        if before >= 0:
            nodes.order[before] = after
        else:
            heads[degree] = after


@steady
def is_left_out(i, nodes):
    """Whether a node has so many ends that it is in no list."""
    return nodes.end[i] - (nodes.end[i - 1] if i > 0 else 0) > MOST_ENDS


@steady
def list_neighbours(i, nodes, ends, lists):
    """List the neighbours of a node, each once; its degree."""
    begin, count = begin_of_list(i, nodes), 0
    if not is_left_out(i, nodes):
        for k in range(nodes.end[i - 1] if i > 0 else 0, nodes.end[i]):
            j = ends.node[k]
            if not is_left_out(j, nodes) and position_in(lists, begin, count, j) == begin + count:
                lists.node[begin + count] = j
                count += 1
    nodes.degree[i] = count


@steady
def eliminate(i, nodes, lists, heads):
    """Join the neighbours of a node, and take it out of their lists; whether these have room.

    Returns also by how much the sum of degrees changes.
    """
    begin, count, change = begin_of_list(i, nodes), nodes.degree[i], -nodes.degree[i]
    for s in range(count):
        j = np.int64(lists.node[begin + s])
        leave(j, nodes, heads)
        first, degree, end = begin_of_list(j, nodes), nodes.degree[j], begin_of_list(j + 1, nodes)
        change -= degree
        lists.node[position_in(lists, first, degree, i)] = lists.node[first + degree - 1]
        degree -= 1
        for t in range(count):
            other = lists.node[begin + t]
            if t != s and position_in(lists, first, degree, other) == first + degree:
                if first + degree == end:
                    return False, change
                lists.node[first + degree] = other
                degree += 1
        nodes.degree[j] = degree
        change += degree
        enter(j, nodes, heads)
    return True, change


@steady
def costs_more(first, n, limit, nodes, ends, lists):
    """Whether the elimination of nodes of least degree costs more products of blocks than a limit.

    False also where it is not found out.
    """
    heads = scratch(LEVELS, n)
    for degree in range(LEVELS):
        heads[degree] = -1
    degrees, cost, left, has_room = 0, 0.0, n, True
    for i in range(first, first + n):
        list_neighbours(i, nodes, ends, lists)
        enter(i, nodes, heads)
        degrees += nodes.degree[i]
    while has_room and left > 0 and cost + least_cost(left, degrees) <= limit:
        degree = 0
        while degree <= MOST_DEGREE and heads[degree] < 0:
            degree += 1
        if degree > MOST_DEGREE:
            return False
        i = heads[degree]
        leave(i, nodes, heads)
        has_room, change = eliminate(i, nodes, lists, heads)
        cost, left, degrees = cost + 1.0 + degree + 0.5 * degree * (degree + 1), left - 1, degrees + change
    return has_room and cost + least_cost(left, degrees) > limit


@kernel
def count_words(
    c, components: Components, nodes: Nodes, ends: Ends, lists: Lists, frames: Frames, solver_frames: SolverFrames,
    speeds: RestSpeeds, simple: float
):  # fmt: skip
    """Count the words of the sets of neighbours of a component: none where no order is sought.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        ends: The other ends of their links.
        lists: Receive the neighbours of each node.
        frames: Masses of the frames.
        solver_frames: Velocities of the frames.
        speeds: Speeds below which components rest.
        simple: Most products of blocks for each body of a component that moves, and was swept.
    """
    first = components.node[c]
    n = components.node[c + 1] - first
    wanted = n <= MOST_BODIES
    if wanted and n > FEW_BODIES:
        motion = motion_of(c, components, nodes, frames, solver_frames, speeds)
        wanted = may_be_direct(motion) or not costs_more(first, n, simple * n, nodes, ends, lists)
    components.word[c] = n * ((n + BITS - 1) // BITS) if wanted else 0


@kernel
def number_words(_, components: Components, counts: Counts, cost_limit: np.float64):
    """First word of each component; there are none where nothing is solved directly."""
    total = 0
    for c in range(counts.components[0] + 1):
        count = components.word[c] if c < counts.components[0] and cost_limit >= 0.0 else 0
        components.word[c], total = total, total + count
    counts.words[0] = total
