"""Groups of elements for sweeps, their colours, and batches of them.

A group is solved as a whole: the contact points of a pair of bodies, a joint, or a Jacobian row. Groups of one colour
share no body and no tree of joints, so that threads solve them at once, and the result does not depend on the
threads. Each group in turn gets the least colour that its bodies and trees do not have yet. One with more groups than
colours (a plate that carries a heap) has the rest in the last colour, which one thread solves. Joints of a tree are in
no group: they hold all the time.

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

    first = Field(np.int64, doc="its first element in the order of the components")
    count = Field(np.int64, doc="elements")
    sort = Field(np.int64, doc="colour times SORTS, and sort in its colour")
    order = Field(np.int64, doc="groups by their sort")


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


@kernel
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
    """List the groups of the components that are not solved directly, and colour them."""
    joints = first_point - len(jacobian_rows)
    total = 0
    for t in range(len(trees)):
        trees.colours[t] = 0
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
            taken = colours_of(a, nodes, trees, bodies) | colours_of(b, nodes, trees, bodies)
            # a row over more than two bodies is solved when no other is
            colour = most if joints <= e < first_point and jacobian_rows.pairs[e - joints] != 1 else 0
            while colour < most and (taken >> colour) & 1:
                colour += 1
            take_colour(a, colour, nodes, trees, bodies)
            take_colour(b, colour, nodes, trees, bodies)
            sort = JOINTS
            if e >= first_point:
                alone = colour == most or tree_of(a, nodes, bodies) >= 0 or tree_of(b, nodes, bodies) >= 0
                sort = ONE_BY_ONE if alone else SORTS - min(last - start, MOST_POINTS)
            groups.first[total], groups.count[total], groups.sort[total] = start, last - start, colour * SORTS + sort
            total, start = total + 1, last
    counts.groups[0] = total


@kernel
def sort_groups(_, groups: Groups, offsets: Offsets, counts: Counts, most: np.int64):
    """Sort the groups, and count their batches and rows."""
    sorts = (most + 1) * SORTS
    for sort in range(sorts + 1):
        offsets.start[sort] = 0
    for g in range(counts.groups[0]):
        offsets.start[groups.sort[g] + 1] += 1
    for sort in range(sorts):
        offsets.start[sort + 1] += offsets.start[sort]
    for g in range(counts.groups[0]):
        sort = groups.sort[g]
        groups.order[offsets.start[sort]] = g
        offsets.start[sort] += 1
    counts.batches[0] = counts.rows[0] = used = points = 0
    last = -1
    for k in range(counts.groups[0]):
        kind = kind_of(groups.sort[groups.order[k]])
        if kind != last or used == WIDTH:
            counts.batches[0] += 1
            counts.rows[0] += points
            last, used, points = kind, 0, 0
        used += 1
        points = max(points, groups.count[groups.order[k]] if kind % SORTS != JOINTS else 0)
    counts.rows[0] += points


@steady
def kind_of(sort):
    """Colour and kind of a sort: groups that differ in them are in different batches."""
    return sort - sort % SORTS + min(sort % SORTS, SIDE_BY_SIDE)


@kernel
def fill_batches(_, groups: Groups, batches: Batches, starts: Offsets, counts: Counts, most: np.int64):
    """Bring the groups into batches, and find the first of each colour, and of those side by side in it."""
    for part in range(2 * most + 3):
        starts.start[part] = 0
    b, last, row = -1, -1, 0
    for k in range(counts.groups[0]):
        g = groups.order[k]
        kind = kind_of(groups.sort[g])
        if kind != last or batches.groups[b] == WIDTH:
            b += 1
            last = kind
            batches.kind[b], batches.groups[b], batches.row[b], batches.rows[b] = kind % SORTS, 0, row, 0
            starts.start[2 * (kind // SORTS) + (2 if kind % SORTS == SIDE_BY_SIDE else 1)] += 1
        lane = batches.groups[b]
        batches.groups[b] = lane + 1
        batches.first[b, lane], batches.count[b, lane] = groups.first[g], groups.count[g]
        if kind % SORTS != JOINTS and groups.count[g] > batches.rows[b]:
            row += groups.count[g] - batches.rows[b]
            batches.rows[b] = groups.count[g]
    for part in range(2 * most + 2):
        starts.start[part + 1] += starts.start[part]


class SweepOrder:
    """Batches and colours of the components that are solved by sweeps.

    Args:
        counts: Receives the numbers of groups, batches and rows.
        trees: Joints that are in no group, and bodies that share their colours.

    Attributes:
        batches: The batches, colour by colour.
    """

    def __init__(self, counts: Counts, trees: JointTrees) -> None:
        self._trees = trees.trees, trees.bodies, trees.members
        self._groups, self.batches, self._counts = Groups.zeros(0), Batches.zeros(0), counts
        self._most = TREE_COLOURS if len(trees.trees) > 1 else COLOURS
        self._sorts, self._starts = Offsets.zeros((self._most + 1) * SORTS + 1), Offsets.zeros(2 * self._most + 3)

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
        p.serial(sort_groups, groups, self._sorts, counts, most)
        p.require(self.batches, (counts.batches, 0))
        p.serial(fill_batches, groups, self.batches, self._starts, counts, most)

    def colours(self, backward: bool) -> list[tuple[np.ndarray, np.ndarray, bool]]:
        """Begin and end of the batches of each colour, lane after lane and side by side; whether it is the last."""
        start, most = self._starts.start, self._most
        cells = [(start[2 * c : 2 * c + 2], start[2 * c + 1 : 2 * c + 3], c == most) for c in range(most + 1)]
        return cells[::-1] if backward else cells
