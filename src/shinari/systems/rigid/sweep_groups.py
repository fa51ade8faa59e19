"""Groups of elements for sweeps, their colours, and batches of them.

A group is solved as a whole: the contact points of a pair of bodies, a joint, or a Jacobian row. Groups of one colour
share no body and no tree of joints, so that threads solve them at once, and the result does not depend on the
threads. Each group in turn gets the least colour that its bodies and trees do not have yet. One with more groups than
colours (a plate that carries a heap) has the rest in the last colour, which one thread solves. Joints of a tree are in
no group: they hold all the time.

Points of bodies in trees are owned by a tree: that of a, else of b. All groups of a tree have one colour and are a task
of one thread, which solves them one after the other, so that the data of the tree stay in its cache.

Groups of a colour are brought into batches of up to `WIDTH`, each in a lane of its batch: vector instructions solve the
points of free bodies side by side. Joints, points of trees, and what is in the last colour are solved lane after lane.
Groups of a batch have about as many points each, since those with the most come first.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.scan import Offsets
from shinari.maths.function import steady
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.joint_trees import JointTrees, TreeBodies, TreeMembers, Trees
from shinari.systems.rigid.progress import Counts

# Colours that share no body, without and with trees of joints; the next one is solved by one thread.
COLOURS, TREE_COLOURS = 24, 62
# Groups of a batch.
WIDTH = 4
# How a batch is solved: joints and Jacobian rows; points lane after lane; points side by side.
JOINTS, ONE_BY_ONE, SIDE_BY_SIDE = range(3)
# Points by which groups are sorted; with more they are taken as one sort.
MOST_POINTS = 16
# Sorts of groups in a colour: joints, those lane after lane, and those side by side by their points.
SORTS = 2 + MOST_POINTS


class Groups(Record):
    """Groups of elements that are solved by sweeps, G rows, in the order of their components."""

    first = Field(np.int32, doc="its first element in the order of the components")
    count = Field(np.int32, doc="elements")
    sort = Field(np.int32, doc="colour times SORTS, and sort in its colour")
    owner = Field(np.int32, doc="the tree that owns it; -1 for none")
    next = Field(np.int32, doc="next group of that tree; -1 for none")
    order = Field(np.int32, doc="groups by their sort, those of a tree together")


class Batches(Record):
    """Batches of groups, colour after colour."""

    kind = Field(np.int64, doc="JOINTS, ONE_BY_ONE or SIDE_BY_SIDE")
    groups = Field(np.int64, doc="lanes in use")
    row = Field(np.int64, doc="its first row")
    rows = Field(np.int64, doc="its rows: the most points of a group")
    rolls = Field(np.int64, doc="whether a point has rolling or torsional friction")
    first = Field(np.int64, WIDTH, doc="of each group: its first element in the order of the components")
    count = Field(np.int64, WIDTH, doc="of each group: elements")
    nodes = Field(
        np.int64, (2, WIDTH), doc="of each group of points: nodes of a and b; of an immovable frame the last row"
    )
    mobility = Field(np.float64, (14, WIDTH), doc="of each group of points: mobilities of both nodes")


class Tasks(Record):
    """What a thread solves lane after lane: a batch of joints or of the last colour, or all batches of a tree."""

    first = Field(np.int64, doc="first batch")
    last = Field(np.int64, doc="last batch")


class ColourStarts(Record):
    """Where the tasks or batches of each colour start: cells of launches."""

    start = Field(np.int64)


@steady
def tree_of(node, nodes, bodies):
    """The tree of a node; -1 for none."""
    r = nodes.tree[node] if node >= 0 else -1
    return bodies.tree[r] if r >= 0 else -1


@steady
def colours_of(node, nodes, trees, bodies):
    """Bits of the colours that groups of a node, or of its whole tree, have."""
    t = tree_of(node, nodes, bodies)
    if t >= 0:
        return trees.colours[t]
    return nodes.colours[node] if node >= 0 else 0


@steady
def take_colour(node, colour, nodes, trees, bodies):
    """Add a colour to those of a node, or of its whole tree."""
    t = tree_of(node, nodes, bodies)
    if t >= 0:
        trees.colours[t] |= 1 << colour
    elif node >= 0:
        nodes.colours[node] |= 1 << colour


@kernel(in_order=True)
def list_groups(
    _,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    groups: Groups,
    counts: Counts,
    trees: Trees,
    bodies: TreeBodies,
    members: TreeMembers,
    first_point: np.int64,
    most: np.int64,
):
    """List the groups of the components that are not solved directly, and colour those that no tree owns."""
    joints = first_point - len(jacobian_rows)
    total = 0
    for t in range(len(trees)):
        trees.colours[t], trees.group[t] = 0, -1
    for c in range(counts.components[0]):
        if components.direct[c] != 0:
            continue
        for j in range(components.node[c], components.node[c + 1]):
            nodes.colours[j] = 0
        start, end = components.element[c], components.element[c + 1]
        while start < end:
            e = elements.order[start]
            if e < joints and members.chosen[e]:
                start += 1
                continue
            a, b, _block = elements.nodes[e]
            last = start + 1
            while e >= first_point and last < end:
                i, j, _block = elements.nodes[elements.order[last]]
                if i != a or j != b:
                    break
                last += 1
            owner = tree_of(a, nodes, bodies) if e >= first_point else -1
            owner = tree_of(b, nodes, bodies) if e >= first_point and owner < 0 else owner
            groups.first[total], groups.count[total], groups.owner[total] = start, last - start, owner
            groups.next[total] = -1
            if owner >= 0:
                own_group(total, owner, groups, trees)
            else:
                # a row over more than two bodies is solved when no other is
                least = most if joints <= e < first_point and jacobian_rows.pairs[e - joints] != 1 else 0
                taken = colours_of(a, nodes, trees, bodies) | colours_of(b, nodes, trees, bodies)
                colour = free_colour(taken, least, most)
                take_colour(a, colour, nodes, trees, bodies)
                take_colour(b, colour, nodes, trees, bodies)
                sort = JOINTS
                if e >= first_point:
                    sort = ONE_BY_ONE if colour == most else SORTS - min(last - start, MOST_POINTS)
                groups.sort[total] = colour * SORTS + sort
            total, start = total + 1, last
    counts.groups[0] = total


@steady
def own_group(g, t, groups, trees):
    """Add a group to those of a tree."""
    if trees.group[t] < 0:
        trees.group[t] = g
    else:
        groups.next[trees.last_group[t]] = g
    trees.last_group[t] = g


@steady
def free_colour(taken, colour, most):
    """The least colour from one on that is not taken, at most the last."""
    while colour < most and (taken >> colour) & 1:
        colour += 1
    return colour


@kernel
def colour_tasks(
    _, elements: Elements, groups: Groups, nodes: Nodes, trees: Trees, bodies: TreeBodies, most: np.int64
):  # fmt: skip
    """Colour the groups of each tree: all at once, since one thread solves them."""
    for t in range(len(trees) - 1):
        taken, g = 0, trees.group[t]
        while g >= 0:
            a, b, _block = elements.nodes[elements.order[groups.first[g]]]
            taken |= colours_of(a, nodes, trees, bodies) | colours_of(b, nodes, trees, bodies)
            g = groups.next[g]
        colour, g = free_colour(taken, 0, most), trees.group[t]
        while g >= 0:
            a, b, _block = elements.nodes[elements.order[groups.first[g]]]
            take_colour(a, colour, nodes, trees, bodies)
            take_colour(b, colour, nodes, trees, bodies)
            groups.sort[g] = colour * SORTS + ONE_BY_ONE
            g = groups.next[g]


@steady
def place_group(g, groups, offsets):
    """Place a group behind those of its sort so far."""
    at = offsets.start[groups.sort[g]]
    groups.order[at] = g
    offsets.start[groups.sort[g]] = at + 1


@kernel(in_order=True)
def sort_groups(_, groups: Groups, trees: Trees, offsets: Offsets, counts: Counts, most: np.int64):
    """Sort the groups, those of each tree together, and count their batches and rows."""
    sorts = (most + 1) * SORTS
    for sort in range(sorts + 1):
        offsets.start[sort] = 0
    for g in range(counts.groups[0]):
        offsets.start[groups.sort[g] + 1] += 1
    for sort in range(sorts):
        offsets.start[sort + 1] += offsets.start[sort]
    for t in range(len(trees) - 1):
        g = trees.group[t]
        while g >= 0:
            place_group(g, groups, offsets)
            g = groups.next[g]
    for g in range(counts.groups[0]):
        if groups.owner[g] < 0:
            place_group(g, groups, offsets)
    counts.batches[0] = counts.rows[0] = used = points = 0
    last, tree = -1, -1
    for k in range(counts.groups[0]):
        g = groups.order[k]
        kind, owner = kind_of(groups.sort[g]), groups.owner[g]
        if kind != last or owner != tree or used == WIDTH:
            counts.batches[0] += 1
            counts.rows[0] += points
            last, tree, used, points = kind, owner, 0, 0
        used += 1
        points = max(points, groups.count[g] if kind % SORTS != JOINTS else 0)
    counts.rows[0] += points


@steady
def kind_of(sort):
    """Colour and kind of a sort: groups that differ in them are in different batches."""
    return sort - sort % SORTS + min(sort % SORTS, SIDE_BY_SIDE)


@kernel(in_order=True)
def fill_batches(
    _, groups: Groups, batches: Batches, tasks: Tasks, task_starts: ColourStarts, starts: ColourStarts, counts: Counts,
    most: np.int64
):  # fmt: skip
    """Bring the groups into batches and tasks; find the tasks of each colour, and its batches side by side."""
    for colour in range(most + 2):
        task_starts.start[colour] = 0
    for colour in range(most + 1):
        starts.start[2 * colour] = starts.start[2 * colour + 1] = 0
    b, last, tree, row, n = -1, -1, -1, 0, 0
    for k in range(counts.groups[0]):
        g = groups.order[k]
        kind, owner = kind_of(groups.sort[g]), groups.owner[g]
        if kind != last or owner != tree or batches.groups[b] == WIDTH:
            b += 1
            colour, goes_on = kind // SORTS, owner >= 0 and owner == tree
            last, tree = kind, owner
            batches.kind[b], batches.groups[b], batches.row[b], batches.rows[b] = kind % SORTS, 0, row, 0
            if kind % SORTS == SIDE_BY_SIDE:
                if starts.start[2 * colour + 1] == 0:
                    starts.start[2 * colour] = b
                starts.start[2 * colour + 1] = b + 1
            elif goes_on:
                tasks.last[n - 1] = b
            else:
                tasks.first[n] = tasks.last[n] = b
                task_starts.start[colour + 1] += 1
                n += 1
        lane = batches.groups[b]
        batches.groups[b] = lane + 1
        batches.first[b, lane], batches.count[b, lane] = groups.first[g], groups.count[g]
        if kind % SORTS != JOINTS and groups.count[g] > batches.rows[b]:
            row += groups.count[g] - batches.rows[b]
            batches.rows[b] = groups.count[g]
    for colour in range(most + 1):
        task_starts.start[colour + 1] += task_starts.start[colour]
    counts.tasks[0] = n


class SweepOrder:
    """Batches and colours of the components that are solved by sweeps.

    Args:
        counts: Receives the numbers of groups, batches and rows.
        trees: Joints that are in no group, and bodies that share their colours.

    Attributes:
        batches: The batches, colour by colour.
        tasks: Those that are solved lane after lane, as threads take them.
    """

    def __init__(self, counts: Counts, trees: JointTrees) -> None:
        self._trees = trees.trees, trees.bodies, trees.members
        self._groups, self.batches, self.tasks, self._counts = Groups.zeros(0), Batches.zeros(0), Tasks.zeros(0), counts
        self._most = TREE_COLOURS if len(trees.trees) > 1 else COLOURS
        self._sorts = Offsets.zeros((self._most + 1) * SORTS + 1)
        self._task_starts, self._starts = ColourStarts.zeros(self._most + 2), ColourStarts.zeros(2 * self._most + 2)

    def record_list(
        self,
        p: Program,
        components: Components,
        nodes: Nodes,
        elements: Elements,
        jacobian_rows: JacobianRows,
        first_point: int,
    ) -> None:
        """Record the listing of the batches."""
        counts, groups, most = self._counts, self._groups, self._most
        p.require(groups, (counts.elements, 0))
        records = components, nodes, elements, jacobian_rows, groups, counts, *self._trees
        p.serial(list_groups, *records, first_point, most)
        trees, bodies, _members = self._trees
        p.serial(colour_tasks, elements, groups, nodes, trees, bodies, most)
        p.serial(sort_groups, groups, trees, self._sorts, counts, most)
        p.require(self.batches, (counts.batches, 0))
        p.require(self.tasks, (counts.batches, 0))
        p.serial(fill_batches, groups, self.batches, self.tasks, self._task_starts, self._starts, counts, most)

    def colours(self, backward: bool) -> list[tuple[np.ndarray, np.ndarray, bool]]:
        """Begin and end of the tasks of each colour, and of its batches side by side; whether it is the last."""
        tasks, start, most = self._task_starts.start, self._starts.start, self._most
        cells = [(tasks[c : c + 2], start[2 * c : 2 * c + 2], c == most) for c in range(most + 1)]
        return cells[::-1] if backward else cells
