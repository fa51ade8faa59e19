"""Chooses few of many points of contact: the deepest, and others as far from each other as possible."""

from shinari.maths.function import steady

# Points of a pair, at most.
SLOTS = 8
# Part of the size of a pair below which two points with the same normal count as one.
CLOSE = 0.01
# How much farther a point counts that was chosen in the last substep: or the choice would flicker.
KEPT = 1.5
# Part of the reach by which it counts deeper.
KEPT_GAP = 0.02


@steady
def was_there(feature, before):
    """Whether a feature is among those of the last substep, -1 where there was none."""
    there = False
    for k in range(SLOTS):
        there |= before[k] == feature
    return there


@steady
def square_apart(one, i, other, k, turn):
    """Square of how far row i and row k of another table are apart [m^2]: their places, and their normals at an arm."""
    square = 0.0
    for c in range(3):
        place = 0.5 * (one[i, c] + one[i, 4 + c] - other[k, c] - other[k, 4 + c])
        normal = turn * (one[i, 8 + c] - other[k, 8 + c])
        square += place * place + normal * normal
    return square


@steady
def choose(pool, count, most, size, reach, before, found):
    """Copy at most so many rows of a pool to `found`; returns how many.

    Args:
        pool: Rows as `manifold` writes them, (P, 14).
        count: Rows in the pool.
        most: How many to choose.
        size: Size of the smaller collision shape [m].
        reach: Up to which gap the points were found [m].
        before: Features of the points in the last substep, (SLOTS,); -1 where there was none.
        found: Rows (most, 14).
    """
    least = (CLOSE * size) ** 2
    n = 0
    while n < most:
        best, most_far = -1, least
        for i in range(count):
            kept = was_there(pool[i, 12], before)
            if n == 0:
                far = 2.0 * least + reach - pool[i, 11] + (KEPT_GAP * reach if kept else 0.0)
            else:
                # what the points chosen so far leave between them; high points count less
                far = square_apart(pool, i, found, 0, 0.5 * size)
                for k in range(1, n):
                    far = min(far, square_apart(pool, i, found, k, 0.5 * size))
                far *= KEPT if kept and far > least else 1.0
            if far > most_far:
                best, most_far = i, far
        if best < 0:
            return n
        for c in range(14):
            found[n, c] = pool[best, c]
        n += 1
    return n
