"""Groups of elements for sweeps, and their colours.

A group is solved by one thread: the contact points of a pair of bodies, a joint, or a Jacobian row. Groups of one
colour share no body and no tree of joints, so that threads solve them at once, and the result does not depend on the
threads. Each group in turn gets the least colour that its bodies and trees do not have yet. One with more groups than
colours (a plate that carries a heap) has the rest in the last colour, which one thread solves. Joints of a tree are in
no group: they hold all the time.
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


class Groups(Record):
    """Groups of elements that are solved by sweeps, G rows, in the order of their components."""

    first = Field(np.int64, doc="its first element in the order of the components")
    count = Field(np.int64, doc="elements")
    colour = Field(np.int64)


class ColouredGroups(Record):
    """The same groups, colour by colour."""

    first = Field(np.int64, doc="its first element in the order of the components")
    row = Field(np.int64, doc="its first row in the order of the sweeps")
    count = Field(np.int64, doc="elements")


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
    total = rows = 0
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
            groups.first[total], groups.count[total], groups.colour[total] = start, last - start, colour
            total, rows, start = total + 1, rows + last - start, last
    counts.groups[0], counts.rows[0] = total, rows


@kernel
def sort_groups(_, groups: Groups, coloured: ColouredGroups, offsets: Offsets, counts: Counts, most: np.int64):
    """Sort the groups by colour, and number their rows."""
    for colour in range(most + 2):
        offsets.start[colour] = 0
    for g in range(counts.groups[0]):
        offsets.start[groups.colour[g] + 1] += 1
    for colour in range(most + 1):
        offsets.start[colour + 1] += offsets.start[colour]
    for g in range(counts.groups[0]):
        at = offsets.start[groups.colour[g]]
        offsets.start[groups.colour[g]] = at + 1
        coloured.first[at], coloured.count[at] = groups.first[g], groups.count[g]
    for colour in range(most + 1, 0, -1):
        offsets.start[colour] = offsets.start[colour - 1]
    offsets.start[0] = row = 0
    for g in range(counts.groups[0]):
        coloured.row[g] = row
        row += coloured.count[g]


class SweepOrder:
    """Groups and colours of the components that are solved by sweeps.

    Args:
        counts: Receives the numbers of groups and rows.
        trees: Joints that are in no group, and bodies that share their colours.

    Attributes:
        groups: The groups, colour by colour.
    """

    def __init__(self, counts: Counts, trees: JointTrees) -> None:
        self._trees = trees.trees, trees.bodies, trees.members
        self._groups, self.groups, self._counts = Groups.zeros(0), ColouredGroups.zeros(0), counts
        self._most = TREE_COLOURS if len(trees.trees) > 1 else COLOURS
        self._offsets = Offsets.zeros(self._most + 2)

    def record_list(
        self,
        p: Program,
        components: Components,
        nodes: Nodes,
        elements: Elements,
        jacobian_rows: JacobianRows,
        first_point: int,
    ) -> None:
        """Record the listing of the groups."""
        counts = self._counts
        for groups in (self._groups, self.groups):
            p.require(groups, (counts.elements, 0))
        records = components, nodes, elements, jacobian_rows, self._groups, counts, *self._trees
        p.serial(list_groups, *records, first_point, self._most)
        p.serial(sort_groups, self._groups, self.groups, self._offsets, counts, self._most)

    def colours(self, backward: bool) -> list[tuple[np.ndarray, bool]]:
        """First group and end of each colour, and whether one thread solves it."""
        start = self._offsets.start
        cells = [(start[colour : colour + 2], colour == self._most) for colour in range(self._most + 1)]
        return cells[::-1] if backward else cells
