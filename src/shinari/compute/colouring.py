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

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, function, kernel
from shinari.compute.counting import by_smallest, counting_sort, sort_items
from shinari.compute.program import load_kernels, run_once

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

    load_kernels(*KERNELS)
    table, places = Rows.zeros(len(rows)), Places(particle=rows.ravel())
    points, length = rows.shape[1], particle_count + 1
    particles = Particles(
        free=np.append(movable, False),
        degree=np.bincount(places.particle, minlength=length),
        words=np.zeros(length, np.int64),
    )
    run_once(count_words, table, places, particles, points, count=1)
    used, sizes = Used.zeros(int(particles.words[-1])), Sizes.zeros(1)
    by_particle = by_smallest(rows, particle_count)
    table.order[...] = np.arange(len(rows))
    run_once(first_fit, table, places, particles, used, sizes, points, count=1)
    order, _ = _grouped(table.colour, int(sizes.colours[0]), by_particle)
    used.word[...] = 0
    table.order[...] = order[::-1]
    run_once(first_fit, table, places, particles, used, sizes, points, count=1)
    count = int(sizes.colours[0])
    sizes = Sizes.zeros(count)
    sizes.colours[0], sizes.rows[...] = count, np.bincount(table.colour, minlength=count)
    table.order[...] = by_particle
    run_once(balance, table, places, particles, used, sizes, points, count=1)
    return _grouped(table.colour, count, by_particle)


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
    entries, offsets = counting_sort(_checked(indices, particle_count).ravel(), particle_count)
    return offsets, entries


def _checked(indices: NDArray[np.integer], particle_count: int) -> NDArray[np.int64]:
    """Rows as a C-contiguous table of one integer type, all indices within the particles."""
    rows = np.asarray(indices)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers of shape (rows, points), not {rows.dtype} of shape {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= particle_count):
        raise ValueError(f"indices must lie in [0, {particle_count}), found {rows.min()} to {rows.max()}")
    return np.ascontiguousarray(rows, dtype=np.int64)


def _grouped(
    colours: NDArray[np.int64], count: int, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows by colour, in the given order inside a colour, and the offsets of the colours."""
    places, offsets = counting_sort(colours[order], count)
    return order[places], offsets


class Rows(Record):
    """Rows, M rows."""

    colour = Field(np.int64)
    order = Field(np.int64, doc="rows in the order in which they are visited")


class Places(Record):
    """Points of the rows, row after row."""

    particle = Field(np.int64)


class Particles(Record):
    """Particles, N + 1 rows."""

    free = Field(np.bool_)
    degree = Field(np.int64, doc="places at which rows name it")
    words = Field(np.int64, doc="where the bit set of its used colours starts, in words of 64")


class Used(Record):
    """Bit sets of used colours, particle after particle."""

    word = Field(np.uint64)


class Sizes(Record):
    """Colours; the first row also has how many they are."""

    colours = Field(np.int64)
    rows = Field(np.int64, doc="rows of the colour")
    balanced = Field(np.bool_, doc="whether it takes part in the balance")


@kernel
def count_words(_, rows: Rows, places: Places, particles: Particles, points: np.int64):
    """Find where the bit set of each particle starts.

    First fit gives a row a colour no higher than the number of rows it conflicts with, so a particle needs bits for the
    most conflicted of its rows, and none when it is fixed or in one row only. A star of a thousand rows costs its hub
    16 words and its tips nothing.
    """
    for row in range(len(rows)):
        conflicts = 0
        for at in range(row * points, row * points + points):
            particle = places.particle[at]
            if particles.free[particle]:
                conflicts += particles.degree[particle] - 1
        for at in range(row * points, row * points + points):
            particle = places.particle[at]
            if particles.free[particle] and particles.degree[particle] > 1:
                particles.words[particle] = max(particles.words[particle], conflicts // _BITS + 1)
    total = 0
    for particle in range(len(particles)):
        before = total
        total += particles.words[particle]
        particles.words[particle] = before


@function
def lowest_bit(word):
    """Position of the lowest set bit of a word that has one."""
    position = 0
    for width in (32, 16, 8, 4, 2, 1):
        low = (word >> np.uint64(position)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        if low == np.uint64(0):
            position += width
    return position


@function
def taken_colours(row, places, particles, used, points, word):
    """One word of the set of colours that some particle of the row has already."""
    taken = np.uint64(0)
    for at in range(row * points, row * points + points):
        particle = places.particle[at]
        here = particles.words[particle] + word
        if here < particles.words[particle + 1]:
            taken |= used.word[here]
    return taken


@function
def flip(row, places, particles, used, points, mark):
    """Flip the bit of a colour at each particle of a row, once where the row names it twice."""
    word = mark // _BITS
    bit = np.uint64(1) << np.uint64(mark % _BITS)
    for at in range(row * points, row * points + points):
        particle = places.particle[at]
        again = False
        for earlier in range(row * points, at):
            again |= places.particle[earlier] == particle
        here = particles.words[particle] + word
        if not again and here < particles.words[particle + 1]:
            used.word[here] ^= bit


@kernel
def first_fit(_, rows: Rows, places: Places, particles: Particles, used: Used, sizes: Sizes, points: np.int64):
    """Give each row, in the given order, the lowest colour its particles allow; count the colours."""
    count = 0
    for at in range(len(rows)):
        row, word = rows.order[at], 0
        open_ = ~taken_colours(row, places, particles, used, points, 0)
        while open_ == np.uint64(0):
            word += 1
            open_ = ~taken_colours(row, places, particles, used, points, word)
        mark = word * _BITS + lowest_bit(open_)
        flip(row, places, particles, used, points, mark)
        rows.colour[row] = mark
        count = max(count, mark + 1)
    sizes.colours[0] = count


@function
def emptiest(marks, mark, sizes):
    """The colour of a set that has the fewest rows; `mark` where none has fewer than that."""
    best = mark
    while marks != np.uint64(0):
        other = lowest_bit(marks)
        marks &= marks - np.uint64(1)
        if sizes.rows[other] < sizes.rows[best]:
            best = other
    return best


@kernel
def balance(_, rows: Rows, places: Places, particles: Particles, used: Used, sizes: Sizes, points: np.int64):
    """Move rows from overfull to underfull colours, over the colours that are worth a thread's while.

    Takes part: a colour of `TINY` rows, or an eighth of the largest. The tail of colours that one crowded particle
    enforces stays a tail. Each pass goes through all rows once and moves a row to the emptiest colour open to it, if
    that one is emptier than its own by two at least; a few passes bring the sizes together.
    """
    largest, total, part = 0, 0, 0
    for mark in range(len(sizes)):
        largest = max(largest, sizes.rows[mark])
    least = min(TINY, largest // 8)
    count = min(len(sizes), _BITS)  # 64 colours hold the bulk of any mesh; beyond are tails
    for mark in range(count):
        if sizes.rows[mark] >= least:
            sizes.balanced[mark] = True
            part += 1
            total += sizes.rows[mark]
    target = total // max(part, 1)
    for _pass in range(8 if part > 1 else 0):
        moved = 0
        low = np.uint64(0)  # the underfull colours, as a set
        for mark in range(count):
            if sizes.balanced[mark] and sizes.rows[mark] < target:
                low |= np.uint64(1) << np.uint64(mark)
        for at in range(len(rows)):
            row = rows.order[at]
            mark = rows.colour[row]
            if sizes.balanced[mark] and sizes.rows[mark] > target:
                best = emptiest(low & ~taken_colours(row, places, particles, used, points, 0), mark, sizes)
                if sizes.rows[best] + 1 < sizes.rows[mark]:
                    flip(row, places, particles, used, points, mark)
                    flip(row, places, particles, used, points, best)
                    rows.colour[row] = best
                    sizes.rows[mark] -= 1
                    sizes.rows[best] += 1
                    moved += 1
        if moved == 0:
            break


KERNELS = count_words, first_fit, balance, sort_items
"""The kernels of this file, to be compiled ahead."""
