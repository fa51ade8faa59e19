"""Colours: groups of rows that touch no particle in common, so that one group can be solved at once.

Rows are vertices of a conflict graph; two conflict when they share a particle that can move. Colouring takes three
steps, each linear in the number of rows (times the colours it looks at):

1. First fit: each row takes the lowest colour that none of its particles has seen. In mesh order that is few.
2. Again, colour by colour from the last (Culberson's iterated greedy): it never needs more colours, and often fewer.
3. Balance: rows of an overfull colour move to the emptiest colour their particles allow, so that all threads have work.

A regular sheet of valence 6 takes 6 colours for its edges, within 1 % of one size, and 14 for its hinges; 4 million
edges take 0.3 s. The result depends on nothing but the input. It also decides the *order* of a Gauss-Seidel sweep,
which matters for stability: rows in mesh order carry a correction across the whole sheet in one sweep and pump energy
into it, while rows by colour move it by one edge per colour.
"""

import numba
import numpy as np
from numpy.typing import NDArray

#: Colours with fewer rows run on one thread in any case: they are left as they are.
TINY = 64

_BITS = 64


def colour(
    indices: NDArray[np.integer], particle_count: int, *, free: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group rows into colours inside which no two rows share a free particle.

    Args:
        indices: Particles of each row, shape (M, P); a particle may repeat within a row.
        particle_count: N, the number of particles.
        free: Which particles can move, shape (N,); all by default. Rows may share a fixed particle within a colour:
            they only read it.

    Returns:
        The rows, colour after colour, as a permutation, shape (M,), and where each colour starts, shape (C + 1,):
        colour c is `order[offsets[c]:offsets[c + 1]]`, sorted by the smallest particle of the row, then by row.

    Raises:
        ValueError: A wrong shape, or an index outside of the particles.
    """
    rows = _checked(indices, particle_count)
    movable = np.ones(particle_count, np.bool_) if free is None else np.ascontiguousarray(free, dtype=np.bool_)
    if movable.shape != (particle_count,):
        raise ValueError(f"free must have the shape ({particle_count},), not {movable.shape}")
    if rows.size == 0:  # rows without points, or none: nothing conflicts
        count = len(rows)
        return np.arange(count, dtype=np.int64), np.array([0, count] if count else [0], dtype=np.int64)

    words = _words(rows, movable)
    used = np.zeros(words[-1], np.uint64)
    by_particle = _sorted_by_smallest(rows, particle_count)
    colours, count = _first_fit(rows, words, used, np.arange(len(rows)))
    order, _ = _grouped(colours, count, by_particle)
    used[:] = 0
    colours, count = _first_fit(rows, words, used, order[::-1].copy())
    _balance(rows, words, used, colours, by_particle, count)
    return _grouped(colours, count, by_particle)


def incidence(indices: NDArray[np.integer], particle_count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List for each particle the places where rows name it.

    Args:
        indices: Particles of each row, shape (M, P).
        particle_count: N, the number of particles.

    Returns:
        Offsets, shape (N + 1,), and entries, shape (M P,): particle i stands at the flat places
        `entries[offsets[i]:offsets[i + 1]]` of `indices`, ascending; place = row * P + slot.

    Raises:
        ValueError: A wrong shape, or an index outside of the particles.
    """
    return _incidence(_checked(indices, particle_count), particle_count)


def _checked(indices: NDArray[np.integer], particle_count: int) -> NDArray[np.int64]:
    """Rows as a C-contiguous table of one integer type, all indices within the particles."""
    rows = np.asarray(indices)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers of shape (rows, points), not {rows.dtype} of shape {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= particle_count):
        raise ValueError(f"indices must lie in [0, {particle_count}), found {rows.min()} to {rows.max()}")
    return np.ascontiguousarray(rows, dtype=np.int64)


@numba.njit(cache=True)
def _incidence(rows, particle_count):
    """Counting sort of the flat places by particle."""
    count, points = rows.shape
    offsets = np.zeros(particle_count + 1, np.int64)
    for row in range(count):
        for slot in range(points):
            offsets[rows[row, slot] + 1] += 1
    for particle in range(particle_count):
        offsets[particle + 1] += offsets[particle]
    entries = np.empty(count * points, np.int64)
    cursor = offsets[:-1].copy()
    for row in range(count):
        for slot in range(points):
            particle = rows[row, slot]
            entries[cursor[particle]] = row * points + slot
            cursor[particle] += 1
    return offsets, entries


@numba.njit(cache=True)
def _words(rows, free):
    """Where the bit set of each particle's used colours starts, shape (N + 1,), in words of 64.

    First fit gives a row a colour no higher than the number of rows it conflicts with, so a particle needs bits for the
    most conflicted of its rows, and none when it is fixed or in one row only. A star of a thousand rows costs its hub
    16 words and its tips nothing.
    """
    count, points = rows.shape
    degree = np.zeros(free.size, np.int64)
    for row in range(count):
        for slot in range(points):
            degree[rows[row, slot]] += 1
    size = np.zeros(free.size + 1, np.int64)
    for row in range(count):
        conflicts = 0
        for slot in range(points):
            particle = rows[row, slot]
            if free[particle]:
                conflicts += degree[particle] - 1
        for slot in range(points):
            particle = rows[row, slot]
            if free[particle] and degree[particle] > 1:
                size[particle + 1] = max(size[particle + 1], conflicts // _BITS + 1)
    for particle in range(free.size):
        size[particle + 1] += size[particle]
    return size


@numba.njit(cache=True)
def _lowest_bit(word):
    """Position of the lowest set bit of a word that has one."""
    position = 0
    for width in (32, 16, 8, 4, 2, 1):
        low = (word >> np.uint64(position)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        if low == np.uint64(0):
            position += width
    return position


@numba.njit(cache=True)
def _taken(rows, row, words, used, word):
    """One word of the set of colours that some particle of the row has already."""
    taken = np.uint64(0)
    for slot in range(rows.shape[1]):
        particle = rows[row, slot]
        if words[particle] + word < words[particle + 1]:
            taken |= used[words[particle] + word]
    return taken


@numba.njit(cache=True)
def _mark(rows, row, words, used, mark):
    """Flip the bit of a colour at each particle of a row, once where the row names it twice."""
    word = mark // _BITS
    bit = np.uint64(1) << np.uint64(mark % _BITS)
    for slot in range(rows.shape[1]):
        particle = rows[row, slot]
        again = False
        for earlier in range(slot):
            again |= rows[row, earlier] == particle
        if not again and words[particle] + word < words[particle + 1]:
            used[words[particle] + word] ^= bit


@numba.njit(cache=True)
def _first_fit(rows, words, used, order):
    """Give each row, in the given order, the lowest colour its particles allow: colours (M,) and their number."""
    colours = np.empty(len(rows), np.int64)
    count = 0
    for row in order:
        word = 0
        open_ = ~_taken(rows, row, words, used, 0)
        while open_ == np.uint64(0):
            word += 1
            open_ = ~_taken(rows, row, words, used, word)
        mark = word * _BITS + _lowest_bit(open_)
        _mark(rows, row, words, used, mark)
        colours[row] = mark
        count = max(count, mark + 1)
    return colours, count


@numba.njit(cache=True)
def _balance(rows, words, used, colours, order, count):
    """Move rows, in place, from overfull to underfull colours, over the colours that are worth a thread's while.

    Takes part: a colour of `TINY` rows, or an eighth of the largest. The tail of colours that one crowded particle
    enforces stays a tail. Each pass goes through all rows once and moves a row to the emptiest colour open to it, if
    that one is emptier than its own by two at least; a few passes bring the sizes together.
    """
    size = np.zeros(count, np.int64)
    for mark in colours:
        size[mark] += 1
    least = min(TINY, size.max() // 8)
    total = 0
    taking = np.zeros(count, np.bool_)
    part = 0
    for mark in range(min(count, _BITS)):  # 64 colours hold the bulk of any mesh; beyond are tails
        if size[mark] >= least:
            taking[mark] = True
            part += 1
            total += size[mark]
    if part < 2:
        return
    target = total // part
    for _ in range(8):
        moved = 0
        low = np.uint64(0)  # the underfull colours, as a set
        for mark in range(min(count, _BITS)):
            if taking[mark] and size[mark] < target:
                low |= np.uint64(1) << np.uint64(mark)
        for row in order:
            mark = colours[row]
            if not taking[mark] or size[mark] <= target:
                continue
            open_ = low & ~_taken(rows, row, words, used, 0)
            best = mark
            while open_ != np.uint64(0):
                other = _lowest_bit(open_)
                open_ &= open_ - np.uint64(1)
                if size[other] < size[best]:
                    best = other
            if size[best] + 1 < size[mark]:
                _mark(rows, row, words, used, mark)
                _mark(rows, row, words, used, best)
                colours[row] = best
                size[mark] -= 1
                size[best] += 1
                moved += 1
        if moved == 0:
            break


@numba.njit(cache=True)
def _sorted_by_smallest(rows, particle_count):
    """Row numbers ascending by the smallest particle of the row, then by row: a counting sort."""
    count, points = rows.shape
    key = np.empty(count, np.int64)
    offsets = np.zeros(particle_count + 1, np.int64)
    for row in range(count):
        smallest = rows[row, 0]
        for slot in range(1, points):
            smallest = min(smallest, rows[row, slot])
        key[row] = smallest
        offsets[smallest + 1] += 1
    for particle in range(particle_count):
        offsets[particle + 1] += offsets[particle]
    order = np.empty(count, np.int64)
    for row in range(count):
        order[offsets[key[row]]] = row
        offsets[key[row]] += 1
    return order


@numba.njit(cache=True)
def _grouped(colours, count, order):
    """Rows by colour, in the given order inside a colour, and the offsets of the colours."""
    offsets = np.zeros(count + 1, np.int64)
    for mark in colours:
        offsets[mark + 1] += 1
    for mark in range(count):
        offsets[mark + 1] += offsets[mark]
    cursor = offsets[:-1].copy()
    grouped = np.empty(order.size, np.int64)
    for row in order:
        grouped[cursor[colours[row]]] = row
        cursor[colours[row]] += 1
    return grouped, offsets
