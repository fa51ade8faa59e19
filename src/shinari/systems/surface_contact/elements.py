"""Tables of points, edges and triangles with trees of their boxes, and the searches for their pairs."""

import numpy as np

from shinari.compute.scan import Offsets, Scan
from shinari.geometry.bvh import Bvh
from shinari.geometry.ordering import hilbert_order
from shinari.geometry.overlaps import Queries
from shinari.model.model import Model
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.records import Side

# Searches: all pairs; those of chosen rows of the one table; of chosen rows of the first table; of the second one.
EVERY, OWN, FIRST, SECOND = range(4)


class Elements:
    """Points, edges or triangles, with a tree of their boxes."""

    def __init__(self, points: np.ndarray, model: Model, who: Participants) -> None:
        self.edges, columns = points.shape[1] == 2, np.minimum(np.arange(3), points.shape[1] - 1)
        # neighbours next to each other: rows that are chosen are asked for in packets of eight
        rest = (model.origins[model.origin_index[points]] + who.rest[points]).mean(axis=1)
        order = hilbert_order(rest)
        points, rest = points[order], rest[order]
        self.side = Side(points=np.ascontiguousarray(points[:, columns]), object_index=model.owners[points[:, 0]])
        self.tree = Bvh(rest, model.real, points=self.side.points)
        self.order = Queries(box=hilbert_order(rest).astype(np.uint32))
        # rows with a particle that is astray
        self.flags, self.chosen = Offsets.zeros(len(points) + 1), Queries.zeros(len(points))
        self.scan = Scan(self.flags)

    def __len__(self) -> int:
        return len(self.side)


class ElementPairs:
    """Two tables of elements that may meet, and the searches for their pairs."""

    def __init__(self, first: Elements, second: Elements) -> None:
        self.first, self.second, own = first, second, first is second
        every = second.tree.self_overlaps() if own else second.tree.overlaps(first.tree.boxes, first.order)
        self.every = every, EVERY
        some = second.tree.overlaps(first.tree.boxes, first.chosen)
        self.some = [(some, OWN if own else FIRST, first)]
        if not own:
            self.some.append((first.tree.overlaps(second.tree.boxes, second.chosen), SECOND, second))


class Searches:
    """Searches for pairs of elements.

    Attributes:
        pairs: Tables that may meet.
        elements: The tables, each once.
    """

    def __init__(self, pairs: list[ElementPairs]) -> None:
        self.pairs = pairs
        self.elements = list(dict.fromkeys(each for both in pairs for each in (both.first, both.second)))

    def leave_out(self, others: "Searches") -> None:
        """Forget tables that others have: their boxes and trees are made anew there."""
        self.elements = [each for each in self.elements if each not in others.elements]
