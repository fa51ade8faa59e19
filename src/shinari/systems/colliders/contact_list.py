"""The list of contacts of particles, or of elements, with the colliders near them.

A detection marks the colliders near each item as bits. Then the items with a mark and their contacts are counted, block
by block, written compactly, and take over the state of the contacts that were in the list before.
"""

import numpy as np

from shinari.collision.report import ContactImpulses
from shinari.compute import Program, kernel
from shinari.compute.scan import Offsets, Scan
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO
from shinari.systems.colliders.records import Colours, Contacts, Counts, Elements, Items, Marks

# Room of the list beyond what it needs, as a part of it: where many particles lie against a wall it is long.
LITTLE = 0.125
WORD = 8
# Items that are counted together: offsets of each would take more memory than all else that is known of most of them.
BLOCK = 16
ONE_BIT = np.uint64(1)
NO_BIT = np.uint64(0)
THIRD = np.float32(1.0 / 3.0)
FAR = np.float32(1e30)
# Fields of contacts that only lists of particles have, those of triangles and segments, and those that do not outlast
# a list.
OF_PARTICLES, OF_ELEMENTS = {"bound"}, {"bounds", "weights", "plane"}
OF_NOW = {"bound", "bounds", "plane"}


class ContactList:
    """Contacts of items with colliders, compact, colour after colour.

    Attributes:
        elements: Particles of all items; none in a list of particles.
        marks: Bits of the colliders near each item; a detection writes them.
        words: Words of bits for each item.
        items: Items that are near a collider.
        contacts: Their contacts.
        rows: Where the items of each block start.
        counts: How many of both there are.
        colours: Where each colour starts.
    """

    def __init__(
        self, elements: np.ndarray | None, colours: np.ndarray, colliders: int, precision: type, *, turns: bool = False
    ) -> None:
        """Make an empty list.

        Args:
            elements: Particles of each item, (I, 3) uint32; None where the items are the particles.
            colours: Where each colour starts among the items, (C + 1,).
            colliders: Number of colliders.
            precision: Floating point type.
            turns: Whether the items are particles that turn.
        """
        self._count = int(colours[-1])
        self.elements = Elements(points=np.zeros((0, 3), np.uint32) if elements is None else elements)
        self.words = -(-colliders // WORD)
        self.marks = Marks.zeros(self._count * self.words)
        absent = (OF_ELEMENTS if elements is None else OF_PARTICLES) | (set() if turns else {"rolling_correction"})
        self._of_elements, self._turns = int(elements is not None), int(turns)
        self.items = Items.zeros(0, precision, without={"points", "bounds"} if elements is None else {"bound"})
        self.contacts = Contacts.zeros(0, precision, without=absent | {"carried"})
        self._old, self._kept = (Contacts.zeros(0, precision, without=absent | OF_NOW) for _ in range(2))
        self.counts, self.colours = Counts.zeros(1), Colours.zeros(len(colours))
        self.colours.whole[...] = colours
        self._blocks = -(-self._count // BLOCK)
        self._starts, self.rows = Offsets.zeros(self._blocks + 1), Offsets.zeros(self._blocks + 1)
        self._scans = Scan(self._starts), Scan(self.rows)

    def record_forget(self, p: Program) -> None:
        """Empty the list at the start of a step."""
        for array in self.counts.arrays.values():
            p.copy(0, (array, 0))
        for colour in range(len(self.colours)):
            p.copy(0, (self.colours.start, colour))

    def record_renew(self, p: Program) -> None:
        """Make the list from the marks; contacts that were in it keep their state."""
        counts, blocks, sums = self.counts, self._blocks, (self._starts, self.rows)
        kinds = self._of_elements, self._turns
        marked = self.words, self._count
        p.copy((counts.contacts, 0), (counts.old, 0))
        p.require(self._old, (counts.old, 0))
        p.launch(set_aside, self.contacts, self._old, *kinds, count=(counts.old, 0))
        p.launch(count_block, self.marks, *sums, *marked, count=blocks, grain=64)
        for scan in self._scans:
            scan.record(p, blocks)
        p.copy(self._scans[0].total, (counts.contacts, 0))
        p.copy(self._scans[1].total, (counts.items, 0))
        p.require(self.contacts, (counts.contacts, 0), spare=LITTLE)
        p.require(self.items, (counts.items, 0), spare=LITTLE)
        lists = self.elements, self.items, self.contacts
        p.launch(fill_block, self.marks, *sums, *lists, *marked, self._turns, count=blocks, grain=64)
        records = self._old, self.contacts, self.items, self.rows
        p.launch(carry_over, *records, *kinds, count=(counts.old, 0))
        p.serial(count_departed, self._old, counts)
        p.require(self._kept, (counts.needed, 0))
        p.serial(keep_departed, self._old, self._kept, counts, self._of_elements)
        p.launch(start_colours, self.colours, self.marks, self.rows, self.words, count=len(self.colours))

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in this step, each once."""
        now = self._pushed(self.contacts, int(self.counts.contacts[0]))
        if not self.counts.kept[0]:
            return now
        found = ContactImpulses.joined([self._pushed(self._kept, int(self.counts.kept[0])), now])
        keys = np.concatenate([found.particles, found.colliders[:, None]], axis=1)
        _, last, contact = np.unique(keys[::-1], axis=0, return_index=True, return_inverse=True)
        last = len(keys) - 1 - last
        impulses = np.zeros((len(last), 3))
        np.add.at(impulses, contact.ravel()[::-1], found.impulses)
        return ContactImpulses(
            found.particles[last], found.weights[last], found.colliders[last], found.normals[last], impulses
        )

    def _pushed(self, contacts: Contacts, count: int) -> ContactImpulses:
        on = np.flatnonzero((contacts.impulse[:count] != 0.0).any(axis=1))
        weights = np.zeros((len(on), 4))
        if not self._of_elements:
            weights[:, 0], particles = 1.0, np.repeat(contacts.item[on, None], 4, axis=1)
        else:
            particles = self.elements.points[contacts.item[on]][:, [0, 1, 2, 0]]
            weights[:, :3] = contacts.weights[on]
        normals = contacts.normal[on].astype(np.float64)
        return ContactImpulses(particles, weights, contacts.solid[on].astype(np.int64), normals, contacts.impulse[on])


@steady
def take_state(contacts, n, other, m, of_elements, turns):
    """Give contact n the state of contact m of another list."""
    contacts.normal_correction[n], contacts.friction_correction[n] = (
        other.normal_correction[m],
        other.friction_correction[m],
    )
    contacts.normal[n], contacts.gap[n], contacts.impulse[n] = other.normal[m], other.gap[m], other.impulse[m]
    if of_elements:
        contacts.weights[n] = other.weights[m]
    if turns:
        contacts.rolling_correction[n] = other.rolling_correction[m]


@kernel
def set_aside(m, contacts: Contacts, old: Contacts, of_elements: int, turns: int):
    """Copy a contact."""
    old.item[m], old.solid[m], old.carried[m] = contacts.item[m], contacts.solid[m], False
    take_state(old, m, contacts, m, of_elements, turns)


@steady
def contacts_of(marks, i, words):
    """Number of contacts of an item."""
    found = 0
    for w in range(words):
        rest = np.uint64(marks.word[i * words + w])
        while rest != NO_BIT:
            rest &= rest - ONE_BIT
            found += 1
    return found


@kernel
def count_block(b, marks: Marks, starts: Offsets, rows: Offsets, words: int, count: int):
    """Number of contacts of the items of a block, and of those that have one."""
    contacts, items = 0, 0
    for i in range(b * BLOCK, min((b + 1) * BLOCK, count)):
        found = contacts_of(marks, i, words)
        contacts += found
        items += 1 if found > 0 else 0
    starts.start[b], rows.start[b] = contacts, items


@kernel
def fill_block(
    b, marks: Marks, starts: Offsets, rows: Offsets, elements: Elements, items: Items, contacts: Contacts, words: int,
    count: int, turns: int
):  # fmt: skip
    """Write the items of a block that have a mark, and their contacts, ascending by collider."""
    m, row = starts.start[b], rows.start[b]
    if starts.start[b + 1] == m:
        return
    for i in range(b * BLOCK, min((b + 1) * BLOCK, count)):
        first = m
        m = write_contacts(marks, contacts, i, m, words, len(elements) > 0, turns)
        if m > first:
            items.item[row], items.first[row], items.end[row] = i, first, m
            if len(elements) > 0:
                items.points[row], items.bounds[row] = elements.points[i], (-ONE, -ONE, -ONE)
            else:
                items.bound[row] = -ONE
            row += 1


@steady
def write_contacts(marks, contacts, i, m, words, of_elements, turns):
    """Write the contacts of an item from a row on; returns the row after them."""
    for w in range(words):
        rest, k = np.uint64(marks.word[i * words + w]), w * WORD
        while rest != NO_BIT:
            if rest & ONE_BIT != NO_BIT:
                contacts.item[m], contacts.solid[m] = i, k
                contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, (ZERO, ZERO, ZERO)
                contacts.normal[m], contacts.gap[m] = (ZERO, ZERO, ZERO), ZERO
                contacts.impulse[m] = ZERO, ZERO, ZERO
                if of_elements:
                    contacts.weights[m], contacts.bounds[m] = (THIRD, THIRD, THIRD), (-ONE, -ONE, -ONE)
                    contacts.plane[m] = ZERO, ZERO, ZERO, FAR
                else:
                    contacts.bound[m] = -ONE
                if turns:
                    contacts.rolling_correction[m] = ZERO, ZERO, ZERO
                m += 1
            rest >>= ONE_BIT
            k += 1
    return m


@steady
def listed(items, rows, item):
    """First contact of an item, and the end of its contacts; none where it is not in the list."""
    b, first, end = item // BLOCK, 0, 0
    for r in range(rows.start[b], rows.start[b + 1]):
        if items.item[r] == item:
            first, end = items.first[r], items.end[r]
    return first, end


@kernel
def carry_over(m, old: Contacts, contacts: Contacts, items: Items, rows: Offsets, of_elements: int, turns: int):
    """Give the state of an old contact to the same one in the new list."""
    first, end = listed(items, rows, np.int64(old.item[m]))
    for n in range(first, end):
        if contacts.solid[n] == old.solid[m]:
            take_state(contacts, n, old, m, of_elements, turns)
            old.carried[m] = True


@kernel(in_order=True)
def count_departed(_, old: Contacts, counts: Counts):
    """Room for the contacts that pushed and are not in the new list."""
    needed = counts.kept[0]
    for m in range(counts.old[0]):
        p = old.impulse[m]
        needed += not old.carried[m] and (p[0] != ZERO or p[1] != ZERO or p[2] != ZERO)
    counts.needed[0] = needed


@kernel(in_order=True)
def keep_departed(_, old: Contacts, kept: Contacts, counts: Counts, of_elements: int):
    """Keep these contacts for the report of the step."""
    at = counts.kept[0]
    for m in range(counts.old[0]):
        p = old.impulse[m]
        if not old.carried[m] and (p[0] != ZERO or p[1] != ZERO or p[2] != ZERO):
            kept.item[at], kept.solid[at] = old.item[m], old.solid[m]
            kept.normal[at], kept.impulse[at] = old.normal[m], old.impulse[m]
            if of_elements:
                kept.weights[at] = old.weights[m]
            at += 1
    counts.kept[0] = at


@kernel
def start_colours(c, colours: Colours, marks: Marks, rows: Offsets, words: int):
    """Where a colour starts among the items that have a contact."""
    whole = colours.whole[c]
    row = rows.start[whole // BLOCK]
    for i in range(whole // BLOCK * BLOCK, whole):
        row += 1 if contacts_of(marks, i, words) > 0 else 0
    colours.start[c] = row
