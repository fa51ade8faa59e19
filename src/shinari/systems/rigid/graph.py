"""Connectivity of the bodies, elimination order and fill-in of the factor.

The nodes are the free bodies that an element acts on. A component is a set of free bodies that elements connect. Unlike
a sleeping island it also counts contact points without force and leaves sleeping bodies out. Each component is
eliminated by itself, in the order of least degree (Markowitz 1957; George and Liu 1989,
The Evolution of the Minimum Degree Ordering Algorithm). A chain or a tree has no fill-in; a component whose factor
would cost too much is solved by sweeps.

The graph is built from edges: the elements at that time. In a step it grows by the pairs that come into contact; each
step starts from its own elements, so that it depends on the state alone.
"""

import numpy as np

from shinari.compute import Program, kernel, scratch
from shinari.maths.function import steady
from shinari.maths.union_find import unite
from shinari.systems.rigid.components import (
    Blocks,
    Components,
    Edges,
    Ends,
    Links,
    Neighbours,
    Nodes,
    RestSpeeds,
    Targets,
    is_again,
    may_be_direct,
    motion_of,
)
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import is_free
from shinari.systems.rigid.newton import DirectLimits
from shinari.systems.rigid.progress import ROOM, Counts, Flags

# Most bodies of a component for which an order is sought, see also `LARGE`.
MOST_BODIES = 8192
# Bits that are used of a word, so that none is negative.
BITS = 63
MOST_WORDS = MOST_BODIES // BITS + 1
# Degrees whose nodes are kept as sets while an order is sought.
LEVELS = 16
# Component of an element that is not in the graph.
MISSING = -2


# ---- edges ----


@kernel
def check_assignment(_, elements: Elements, edges: Edges, counts: Counts, flags: Flags):
    """Decide whether elements have changed since they were assigned, and whether the graph is that of the step.

    Those of contact points change only as their table is rebuilt.
    """
    count = counts.elements[0]
    elements_changed = count != counts.placed[0]
    if not elements_changed:
        for e in range(count if flags.table_rebuilt[0] != 0 else count - counts.points[0]):
            elements_changed = elements_changed or elements.frames[e] != elements.placed_frames[e]
    other = flags.free_changed[0] != 0
    if flags.first_of_step[0] != 0 and not other:
        other = counts.edges[0] != count
        if not other:
            for e in range(count):
                other = other or elements.frames[e] != edges.frames[e]
    if other:
        flags.free_changed[0] = 1
    flags.rebuild[0] = 1 if other else 0
    flags.elements_changed[0] = 1 if elements_changed or other else 0
    flags.assign[0] = 1 if elements_changed and not other else 0


@kernel
def count_edges(_, elements: Elements, counts: Counts, flags: Flags):
    """Count the edges of the new graph: all elements, or the old edges and the elements that are not in the graph."""
    if flags.free_changed[0] != 0 or flags.reorder[0] != 0:
        counts.edges[0] = 0 if flags.free_changed[0] != 0 else counts.edges[0]
        counts.edges_needed[0] = counts.edges[0] + counts.elements[0]
        return
    missing = 0
    for e in range(counts.elements[0]):
        missing += 1 if elements.component[e] == MISSING else 0
    counts.edges_needed[0] = counts.edges[0] + missing


@kernel(in_order=True)
def gather_edges(_, elements: Elements, edges: Edges, counts: Counts, flags: Flags):
    """Write the edges of the new graph."""
    at = counts.edges[0]
    for e in range(counts.elements[0]):
        if flags.free_changed[0] != 0 or flags.reorder[0] != 0 or elements.component[e] == MISSING:
            edges.frames[at] = elements.frames[e]
            at += 1
    counts.edges[0] = at
    flags.free_changed[0], flags.reorder[0], flags.elements_changed[0], flags.arranged[0] = 0, 0, 1, 1


# ---- components ----


@kernel(in_order=True)
def find_roots(_, edges: Edges, frames: Frames, solver_frames: SolverFrames, counts: Counts):
    """Least frame of the component of each frame; -1 where it cannot move or no edge ends in it."""
    for i in range(len(solver_frames)):
        solver_frames.root[i] = -1
    for e in range(counts.edges[0]):
        if is_again(edges, e):
            continue
        a, b = edges.frames[e]
        a_free, b_free = is_free(frames, a), is_free(frames, b)
        if a_free and solver_frames.root[a] < 0:
            solver_frames.root[a] = a
        if b_free and solver_frames.root[b] < 0:
            solver_frames.root[b] = b
        if a_free and b_free:
            unite(solver_frames.root, a, b)
    for i in range(len(solver_frames)):
        if solver_frames.root[i] >= 0:
            solver_frames.root[i] = solver_frames.root[solver_frames.root[i]]


@kernel
def number_nodes(
    _, solver_frames: SolverFrames, nodes: Nodes, components: Components, counts: Counts, cost_limit: np.float64
):
    """Number the components by their least frames and the frames in each; count the words of their neighbours."""
    for i in range(len(solver_frames)):
        nodes.size[i] = 0
    for i in range(len(solver_frames)):
        if solver_frames.root[i] >= 0:
            nodes.size[solver_frames.root[i]] += 1
    count = parts = words = 0
    for i in range(len(solver_frames)):
        if solver_frames.root[i] == i:
            n = nodes.size[i]
            components.node[parts], components.word[parts] = count, words
            nodes.next[i], nodes.number[i] = count, parts
            count, parts = count + n, parts + 1
            words += n * ((n + BITS - 1) // BITS) if n <= MOST_BODIES and cost_limit >= 0.0 else 0
    components.node[parts], components.word[parts] = count, words
    for i in range(len(solver_frames)):
        r = solver_frames.root[i]
        solver_frames.node[i] = -1
        if r >= 0:
            k = nodes.next[r]
            nodes.next[r] = k + 1
            nodes.member[k], nodes.component[k] = i, nodes.number[r]
            solver_frames.node[i] = k
    counts.nodes[0], counts.components[0], counts.words[0] = count, parts, words
    counts.ends[0] = 2 * counts.edges[0]


# ---- order of elimination ----


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


@kernel(in_order=True)
def check_order(
    c, components: Components, nodes: Nodes, frames: Frames, solver_frames: SolverFrames, flags: Flags,
    speeds: RestSpeeds
):  # fmt: skip
    """Request a rebuild for a component that moved as it was ordered, and needs an order now.

    At the start of a step also for one that has an order and would not get it: a step depends on the state alone.
    """
    if may_be_direct(motion_of(c, components, nodes, frames, solver_frames, speeds)):
        if components.moving[c] != 0:
            flags.reorder[0] = flags.rebuild[0] = 1
    elif flags.first_of_step[0] != 0 and components.moving[c] == 0:
        flags.free_changed[0] = flags.rebuild[0] = 1


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
def find_columns(_, nodes: Nodes, counts: Counts):
    """Find the first block and the first target of each node."""
    blocks = targets = 0
    count = counts.nodes[0]
    for j in range(count):
        nodes.column[j], nodes.target[j] = blocks, targets
        size = nodes.size[j]
        blocks, targets = blocks + size, targets + size * (size - 1) // 2
    nodes.column[count], nodes.target[count] = blocks, targets
    counts.blocks[0], counts.targets[0] = blocks, targets


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


@kernel
def find_targets(j, nodes: Nodes, blocks: Blocks, targets: Targets):
    """The block that each product of two blocks of a column is subtracted from."""
    at, begin, end = nodes.target[j], nodes.column[j], nodes.column[j + 1]
    for p in range(begin, end):
        for s in range(begin, p):
            k, i = blocks.row[s], blocks.row[p]
            for b in range(nodes.column[k], nodes.column[k + 1]):
                if blocks.row[b] == i:
                    targets.block[at] = b
            at += 1


# ---- assignment of elements ----


@kernel
def assign_element(
    e, elements: Elements, frames: Frames, solver_frames: SolverFrames, nodes: Nodes, components: Components,
    blocks: Blocks, flags: Flags
):  # fmt: skip
    """Assign nodes, block and component to an element. Request a rebuild if the graph has none for it."""
    a, b = elements.frames[e]
    i, j = solver_frames.node[a], solver_frames.node[b]
    elements.placed_frames[e] = a, b
    block, component = -1, -1
    missing = (i < 0 and is_free(frames, a)) or (j < 0 and is_free(frames, b))
    if i >= 0:
        component = nodes.component[i]
    elif j >= 0:
        component = nodes.component[j]
    if i >= 0 and j >= 0 and i != j:
        low, high = min(i, j), max(i, j)
        for s in range(nodes.column[low], nodes.column[low + 1]):
            block = s if blocks.row[s] == high else block
        missing = missing or nodes.component[j] != component or (block < 0 and components.ordered[component] != 0)
    elements.nodes[e] = i, j, block
    elements.component[e] = MISSING if missing else component
    if missing:
        flags.rebuild[0], flags.arranged[0] = 1, 0
    if component < 0:
        elements.displacement[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel(in_order=True)
def sort_elements(_, elements: Elements, components: Components, counts: Counts):
    """Elements by component, in their order."""
    count, parts = counts.elements[0], counts.components[0]
    for c in range(parts + 1):
        components.element[c] = 0
    for e in range(count):
        if elements.component[e] >= 0:
            components.element[elements.component[e]] += 1
    total = 0
    for c in range(parts + 1):
        total, components.element[c] = total + components.element[c], total
    for e in range(count):
        c = elements.component[e]
        if c >= 0:
            elements.order[components.element[c]] = e
            components.element[c] += 1
    for c in range(parts, 0, -1):
        components.element[c] = components.element[c - 1]
    components.element[0] = 0
    counts.placed[0] = count


class Graph:
    """The elimination order of the bodies, the blocks of the factor, and the assignment of the elements.

    Args:
        frames: The frames.
        solver_frames: Receives the node of each.
        counts: Numbers of elements, nodes, components and blocks.
        flags: Receives whether a component is solved by sweeps.
        limits: Costs of a factor up to which a component is solved directly.
        speeds: Speeds below which components rest.
    """

    def __init__(
        self,
        frames: Frames,
        solver_frames: SolverFrames,
        counts: Counts,
        flags: Flags,
        limits: DirectLimits,
        speeds: RestSpeeds,
    ) -> None:
        rows = len(frames) + 1
        self.nodes, self.components = Nodes.zeros(rows), Components.zeros(rows)
        self.nodes.tree[...] = -1
        self.blocks, self.targets = Blocks.zeros(0), Targets.zeros(0)
        self._neighbours, self._edges, self._ends = Neighbours.zeros(0), Edges.zeros(0), Ends.zeros(0)
        self._links = Links.zeros(0)
        self._frames, self._solver_frames, self._counts, self._flags = frames, solver_frames, counts, flags
        self._limits, self._speeds = limits, speeds
        flags.free_changed[0] = 1

    @property
    def may_sweep(self) -> bool:
        """Whether a component can need sweeps: too many bodies, or too costly if all are neighbours."""
        n = len(self._frames)
        return n > MOST_BODIES or n * (1.0 + 0.75 * (n - 1) + (n - 1) * (2 * n - 1) / 12.0) > self._limits.small

    def record_arrange(self, p: Program, elements: Elements) -> None:
        """Assign all elements; rebuild the graph when one of them is not in it.

        Elements of a component without an order are not looked for among its edges. Where a rebuild gives it one, they
        are missing, and the graph is rebuilt once more.
        """
        edges, counts, flags = self._edges, self._counts, self._flags
        p.serial(check_assignment, elements, edges, counts, flags)
        if self.may_sweep:
            records = self.components, self.nodes, self._frames, self._solver_frames, flags
            p.launch(check_order, *records, self._speeds, count=(counts.components, 0))
        with p.when((flags.assign, 0)):
            self._record_assignment(p, elements)
        with p.when((flags.rebuild, 0)), p.repeat(2, until=(flags.arranged, 0)):
            p.serial(count_edges, elements, counts, flags)
            p.require(edges, (counts.edges_needed, 0), spare=ROOM)
            p.serial(gather_edges, elements, edges, counts, flags)
            self._record_graph(p)
            self._record_assignment(p, elements)
        with p.when((flags.elements_changed, 0)):
            p.serial(sort_elements, elements, self.components, counts)

    def _record_assignment(self, p: Program, elements: Elements) -> None:
        records = elements, self._frames, self._solver_frames, self.nodes, self.components, self.blocks, self._flags
        p.launch(assign_element, *records, count=(self._counts.elements, 0))

    def _record_graph(self, p: Program) -> None:
        edges, counts, solver_frames = self._edges, self._counts, self._solver_frames
        nodes, components, neighbours, blocks = self.nodes, self.components, self._neighbours, self.blocks
        each, every = (counts.components, 0), (counts.nodes, 0)
        p.serial(find_roots, edges, self._frames, solver_frames, counts)
        p.serial(number_nodes, solver_frames, nodes, components, counts, self._limits.heavy)
        p.require(neighbours, (counts.words, 0), spare=ROOM)
        p.require(self._ends, (counts.ends, 0), spare=ROOM)
        p.require(self._links, (counts.edges, 0), spare=ROOM)
        p.serial(list_ends, edges, self._links, self._ends, solver_frames, nodes, counts)
        p.launch(set_neighbours, self._ends, nodes, components, neighbours, count=every, grain=64)
        records = components, nodes, neighbours, self._frames, solver_frames, self._speeds
        limits = self._limits.heavy, self._limits.simple, self._limits.small
        p.launch(order_component, *records, *limits, count=each, grain=1)
        p.serial(find_columns, nodes, counts)
        p.require(blocks, (counts.blocks, 0), spare=ROOM)
        p.require(self.targets, (counts.targets, 0), spare=ROOM)
        p.launch(fill_columns, components, nodes, neighbours, blocks, solver_frames, count=each, grain=8)
        p.launch(find_targets, nodes, blocks, self.targets, count=every, grain=64)
