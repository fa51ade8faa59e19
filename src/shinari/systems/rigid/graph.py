"""Connectivity of the bodies: components, and the nodes and blocks that elements are assigned to.

The nodes are the free bodies that an element acts on. A component is a set of free bodies that elements connect. Unlike
a sleeping island it also counts contact points without force and leaves sleeping bodies out. Each component is
eliminated by itself, see `elimination`. A chain or a tree has no fill-in; a component whose factor would cost too much
is solved by sweeps.

The graph is built from edges: the elements at that time. In a step it grows by the pairs that come into contact; each
step starts from its own elements, so that it depends on the state alone.
"""

from shinari.compute import Program, kernel
from shinari.maths.union_find import unite
from shinari.systems.rigid.components import (
    NO_CARRIER,
    SEVERAL,
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
from shinari.systems.rigid.elimination import (
    MOST_BODIES,
    fill_columns,
    list_ends,
    order_component,
    set_neighbours,
)
from shinari.systems.rigid.elimination_tree import order_by_subtrees
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import is_free
from shinari.systems.rigid.newton import DirectLimits
from shinari.systems.rigid.order_cost import SPARE, Lists, count_words, number_words
from shinari.systems.rigid.panels import PanelFactor
from shinari.systems.rigid.progress import ROOM, Counts, Flags
from shinari.systems.rigid.supernodes import LargeSupernodes, find_columns, find_targets, list_large

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
    links = 0
    for i in range(len(solver_frames)):
        solver_frames.root[i] = -1
    for e in range(counts.edges[0]):
        if is_again(edges, e):
            continue
        links += 1
        a, b = edges.frames[e]
        a_free, b_free = is_free(frames, a), is_free(frames, b)
        if a_free and solver_frames.root[a] < 0:
            solver_frames.root[a] = a
        if b_free and solver_frames.root[b] < 0:
            solver_frames.root[b] = b
        if a_free and b_free:
            unite(solver_frames.root, a, b)
    counts.links[0] = links
    for i in range(len(solver_frames)):
        if solver_frames.root[i] >= 0:
            solver_frames.root[i] = solver_frames.root[solver_frames.root[i]]


@kernel
def number_nodes(_, solver_frames: SolverFrames, nodes: Nodes, components: Components, counts: Counts):
    """Number the components by their least frames and the frames in each."""
    for i in range(len(solver_frames)):
        nodes.size[i] = 0
    for i in range(len(solver_frames)):
        if solver_frames.root[i] >= 0:
            nodes.size[solver_frames.root[i]] += 1
    count = parts = 0
    for i in range(len(solver_frames)):
        if solver_frames.root[i] == i:
            n = nodes.size[i]
            components.node[parts] = count
            nodes.next[i], nodes.number[i] = count, parts
            count, parts = count + n, parts + 1
    components.node[parts] = count
    for i in range(len(solver_frames)):
        r = solver_frames.root[i]
        solver_frames.node[i] = -1
        if r >= 0:
            k = nodes.next[r]
            nodes.next[r] = k + 1
            nodes.member[k], nodes.component[k] = i, nodes.number[r]
            solver_frames.node[i] = k
    counts.nodes[0], counts.components[0] = count, parts
    counts.ends[0], counts.places[0] = 2 * counts.links[0], 2 * counts.links[0] + SPARE * count


@kernel(in_order=True)
def find_carriers(_, edges: Edges, solver_frames: SolverFrames, nodes: Nodes, components: Components, counts: Counts):
    """Find the immovable frame that each component touches or is joined to, if it is one."""
    for c in range(counts.components[0]):
        components.carrier[c] = NO_CARRIER
    for e in range(counts.edges[0]):
        a, b = edges.frames[e]
        i, j = solver_frames.node[a], solver_frames.node[b]
        if is_again(edges, e) or (i >= 0) == (j >= 0):
            continue
        c, frame = nodes.component[max(i, j)], a if i < 0 else b
        if components.carrier[c] != frame:
            components.carrier[c] = frame if components.carrier[c] == NO_CARRIER else SEVERAL


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
        self.blocks, self.targets, self._large = Blocks.zeros(0), Targets.zeros(0), LargeSupernodes.zeros(0)
        self.panels = PanelFactor(self._large, self.components, self.nodes, self.blocks, self.targets)
        self._neighbours, self._edges, self._ends = Neighbours.zeros(0), Edges.zeros(0), Ends.zeros(0)
        self._links, self._lists = Links.zeros(0), Lists.zeros(0)
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
        p.serial(number_nodes, solver_frames, nodes, components, counts)
        p.serial(find_carriers, edges, solver_frames, nodes, components, counts)
        p.require(self._ends, (counts.ends, 0), spare=ROOM)
        p.require(self._links, (counts.links, 0), spare=ROOM)
        p.serial(list_ends, edges, self._links, self._ends, solver_frames, nodes, counts)
        p.require(self._lists, (counts.places, 0), spare=ROOM)
        records = components, nodes, self._ends, self._lists, self._frames, solver_frames, self._speeds
        p.launch(count_words, *records, self._limits.simple, count=each, grain=1)
        p.serial(number_words, components, counts, self._limits.heavy)
        p.require(neighbours, (counts.words, 0), spare=ROOM)
        p.launch(set_neighbours, self._ends, nodes, components, neighbours, count=every, grain=64)
        records = components, nodes, neighbours, self._frames, solver_frames, self._speeds
        limits = self._limits.heavy, self._limits.simple, self._limits.small
        p.launch(order_component, *records, *limits, count=each, grain=1)
        p.launch(order_by_subtrees, components, nodes, neighbours, count=each, grain=8)
        p.serial(find_columns, nodes, components, counts)
        p.require(blocks, (counts.blocks, 0), spare=ROOM)
        p.require(self.targets, (counts.targets, 0), spare=ROOM)
        p.require(self.panels.rows, (counts.panel_rows, 0), spare=ROOM)
        p.require(self._large, (counts.large, 0), spare=ROOM)
        p.serial(list_large, self._large, nodes, components, counts)
        p.launch(fill_columns, components, nodes, neighbours, blocks, solver_frames, count=each, grain=8)
        p.launch(find_targets, nodes, blocks, self.targets, count=every, grain=64)
