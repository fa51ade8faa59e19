"""The list of near solids of particles or of elements, and what their contacts remember; for bodies only."""

from collections.abc import Callable

import numba
import numpy as np

from shinari.contact.family import Touches
from shinari.contact.solid.collide import place, start_of
from shinari.contact.solid.near import WORD, length
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import sub

MEMORY = 12
# Columns of the memory: the normal of the last touch, the weights of a point in an element, and how far it may go.
NORMAL, WEIGHTS, BOUND = slice(4, 7), slice(8, 11), 11


class NearList:
    """Items (particles, or elements of three) and the solids near them, compact, colour after colour.

    Attributes:
        all_colours: Where each colour starts among all items, (C + 1,).
        marks: Bits of the solids near each item, (I, words) uint64; a detection writes them.
        elements: `()` for particles, else the particles of each element, ((E, 3) uint32,).
        push: Kernel that solves the contacts.
        items: Items that are near a solid, ascending, (A,).
        colours: Where each colour starts among them, (C + 1,).
        offsets: Where the solids of each item start, (A + 1,).
        solids: Solids, (M,).
        memory: What each contact remembers of the substep, (M, MEMORY).
        impulses: Sum of its impulses on the item since the list was made [N s], (M, 3).
    """

    def __init__(
        self, colours: np.ndarray, marks: np.ndarray, elements: np.ndarray | None, push: Callable[..., None], real: type
    ) -> None:
        self.all_colours, self.marks, self.push = colours, marks, push
        self.elements = () if elements is None else (elements,)
        self.memory, self.impulses = np.zeros((0, MEMORY), real), np.zeros((0, 3))
        self.forget()

    @property
    def table(self) -> tuple[np.ndarray, ...]:
        """What the kernels take first."""
        return self.colours, self.items, self.offsets, self.solids, self.memory, self.impulses

    @property
    def count(self) -> int:
        """Contacts that may happen."""
        return len(self.solids)

    def forget(self) -> None:
        """A step begins: nothing is near, nothing has pushed."""
        self.items, self.solids = np.zeros(0, np.uint32), np.zeros(0, np.uint32)
        self.offsets, self.colours = np.zeros(1, np.int64), np.zeros_like(self.all_colours)
        self.memory, self.impulses = self.memory[:0], self.impulses[:0]
        self._kept: list[Touches] = []

    def renew(self) -> None:
        """Make the list from the marks; contacts that were in it keep their memory."""
        if self.count:
            self._kept.append(self._pushed())
        old, memory = self._keys(), self.memory
        rows, total = count_marks(self.marks)
        self.items, self.offsets = np.empty(rows, np.uint32), np.zeros(rows + 1, np.int64)
        self.solids = np.empty(total, np.uint32)
        list_marks(self.marks, self.items, self.offsets, self.solids)
        self.colours = np.searchsorted(self.items, self.all_colours)
        self.memory, self.impulses = np.zeros((total, MEMORY), memory.dtype), np.zeros((total, 3))
        self.memory[:, WEIGHTS] = 1.0 / 3.0
        self.memory[:, BOUND] = -1.0
        if len(old):
            _, here, there = np.intersect1d(self._keys(), old, assume_unique=True, return_indices=True)
            self.memory[here, :BOUND] = memory[there, :BOUND]

    def touches(self) -> Touches:
        """The contacts that pushed in this step, each once."""
        if not self._kept:
            return self._pushed()
        found = Touches.joined([*self._kept, self._pushed()])
        keys = np.concatenate([found.particles, found.colliders[:, None]], axis=1)
        _, last, contact = np.unique(keys[::-1], axis=0, return_index=True, return_inverse=True)
        last = len(keys) - 1 - last
        impulses = np.zeros((len(last), 3))
        np.add.at(impulses, contact.ravel()[::-1], found.impulses)
        return Touches(found.particles[last], found.weights[last], found.colliders[last], found.normals[last], impulses)

    def _keys(self) -> np.ndarray:
        """A number for each contact, ascending."""
        items = np.repeat(self.items.astype(np.int64), np.diff(self.offsets))
        return items * 64 * self.marks.shape[1] + self.solids

    def _pushed(self) -> Touches:
        on = (self.impulses != 0.0).any(axis=1)
        items = np.repeat(self.items, np.diff(self.offsets))[on]
        weights = np.zeros((len(items), 4))
        if self.elements:
            three = self.elements[0][items]
            particles = np.concatenate([three, three[:, :1]], axis=1)
            weights[:, :3] = self.memory[on][:, WEIGHTS]
        else:
            particles = np.repeat(items[:, None], 4, axis=1)
            weights[:, 0] = 1.0
        normals = self.memory[on][:, NORMAL].astype(np.float64)
        return Touches(particles, weights, self.solids[on].astype(np.int64), normals, self.impulses[on])


@steady
def any_strayed(begin, end, places, margins, gone, ways, x, predicted, velocities, h):
    """Measure how far particles have gone, with their way in the substep; True when one leaves its margin by it."""
    strayed = False
    for i in range(begin, end):
        now, start, then = place(x, i), start_of(x, predicted, velocities, h, i), place(places, i)
        ways[i] = length(sub(now, start))
        gone[i] = length(sub(now, then)) + ways[i]
        strayed |= not (gone[i] <= margins[i])
    return strayed


@numba.njit(parallel=True, cache=True, **STEADY)
def strayed(
    threads,
    flags,
    places,
    margins,
    gone,
    ways,
    movers,
    x,
    predicted,
    velocities,
    groups,
    reference,
    before,
    after,
    far,
    h,
):
    """Whether any particle has left its margin; `flags` (threads,) is scratch."""
    n = len(x)
    if threads == 1:
        return any_strayed(
            0, n, places, margins, gone, ways, x, predicted, velocities, h
        )  # fmt: skip
    for t in numba.prange(threads):
        flags[t] = any_strayed(
            n * t // threads, n * (t + 1) // threads, places, margins, gone, ways, x, predicted, velocities, h
        )  # fmt: skip
    return flags[:threads].any()


@numba.njit(cache=True, **STEADY)
def count_marks(masks):
    """Rows with a mark, and marks."""
    rows = marks = 0
    for i in range(len(masks)):
        found = 0
        for word in range(masks.shape[1]):
            rest = masks[i, word]
            while rest != np.uint64(0):
                rest &= rest - np.uint64(1)
                found += 1
        rows += found > 0
        marks += found
    return rows, marks


@numba.njit(cache=True, **STEADY)
def list_marks(masks, items, offsets, solids):
    """Rows with a mark, ascending; where the solids of each start; the solids of each, ascending."""
    row = mark = 0
    offsets[0] = 0
    for i in range(len(masks)):
        first = mark
        for word in range(masks.shape[1]):
            rest, k = masks[i, word], word * WORD
            while rest != np.uint64(0):
                if rest & np.uint64(1) != np.uint64(0):
                    solids[mark] = k
                    mark += 1
                rest >>= np.uint64(1)
                k += 1
        if mark > first:
            items[row] = i
            row += 1
            offsets[row] = mark
