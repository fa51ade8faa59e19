"""Groups of elements for sweeps, and their colours.

A group is solved by one thread: the contact points of a pair of bodies, a joint, or a Jacobian row. Groups of one
colour share no body, so that threads solve them at once, and the result does not depend on the threads. Each group in
turn gets the least colour that its bodies do not have yet. A body with more groups than colours (a plate that carries a
heap) has the rest in the last colour, which one thread solves.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.scan import Offsets
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.progress import Counts

# Colours that share no body; the next one is solved by one thread.
COLOURS = 24


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


@kernel
def list_groups(
    _,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    groups: Groups,
    counts: Counts,
    first_point: np.int64,
):
    """List the groups of the components that are not solved directly, and colour them."""
    joints = first_point - len(jacobian_rows)
    total = rows = 0
    for c in range(counts.components[0]):
        if components.direct[c] != 0:
            continue
        for j in range(components.node[c], components.node[c + 1]):
            nodes.colours[j] = 0
        start, end = components.element[c], components.element[c + 1]
        rows += end - start
        while start < end:
            e = elements.order[start]
            a, b, _block = elements.nodes[e]
            last = start + 1
            while e >= first_point and last < end:
                i, j, _block = elements.nodes[elements.order[last]]
                if i != a or j != b:
                    break
                last += 1
            taken = (nodes.colours[a] if a >= 0 else 0) | (nodes.colours[b] if b >= 0 else 0)
            # a row over more than two bodies is solved when no other is
            colour = COLOURS if joints <= e < first_point and jacobian_rows.pairs[e - joints] != 1 else 0
            while colour < COLOURS and (taken >> colour) & 1:
                colour += 1
            if a >= 0:
                nodes.colours[a] |= 1 << colour
            if b >= 0:
                nodes.colours[b] |= 1 << colour
            groups.first[total], groups.count[total], groups.colour[total] = start, last - start, colour
            total, start = total + 1, last
    counts.groups[0], counts.rows[0] = total, rows


@kernel
def sort_groups(_, groups: Groups, coloured: ColouredGroups, offsets: Offsets, counts: Counts):
    """Sort the groups by colour, and number their rows."""
    for colour in range(COLOURS + 2):
        offsets.start[colour] = 0
    for g in range(counts.groups[0]):
        offsets.start[groups.colour[g] + 1] += 1
    for colour in range(COLOURS + 1):
        offsets.start[colour + 1] += offsets.start[colour]
    for g in range(counts.groups[0]):
        at = offsets.start[groups.colour[g]]
        offsets.start[groups.colour[g]] = at + 1
        coloured.first[at], coloured.count[at] = groups.first[g], groups.count[g]
    for colour in range(COLOURS + 1, 0, -1):
        offsets.start[colour] = offsets.start[colour - 1]
    offsets.start[0] = row = 0
    for g in range(counts.groups[0]):
        coloured.row[g] = row
        row += coloured.count[g]


class SweepOrder:
    """Groups and colours of the components that are solved by sweeps.

    Args:
        counts: Receives the numbers of groups and rows.

    Attributes:
        groups: The groups, colour by colour.
    """

    def __init__(self, counts: Counts) -> None:
        self._groups, self.groups, self._counts = Groups.zeros(0), ColouredGroups.zeros(0), counts
        self._offsets = Offsets.zeros(COLOURS + 2)

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
        p.serial(list_groups, components, nodes, elements, jacobian_rows, self._groups, counts, first_point)
        p.serial(sort_groups, self._groups, self.groups, self._offsets, counts)

    def colours(self, backward: bool) -> list[tuple[np.ndarray, bool]]:
        """First group and end of each colour, and whether one thread solves it."""
        start = self._offsets.start
        cells = [(start[colour : colour + 2], colour == COLOURS) for colour in range(COLOURS + 1)]
        return cells[::-1] if backward else cells
