"""Reduction of contact points: the deepest, and others as far from each other as possible."""

from shinari.collision.narrow.rows import CORE_A, CORE_B, FEATURE, GAP, NORMAL, WIDTH
from shinari.maths.function import steady

# Points of a pair, at most.
SLOTS = 8
# Part of the size of a pair below which two points with the same normal count as one.
CLOSE = 0.01
# Factor on the distance of a point that was chosen in the last substep, so that the choice does not flicker.
KEPT = 1.5
# Part of the reach that is subtracted from its gap.
KEPT_GAP = 0.02


@steady
def was_there(feature, before):
    """Whether a feature is among those of the last substep, -1 where there was none."""
    there = False
    for k in range(SLOTS):
        there |= before[k] == feature
    return there


@steady
def squared_distance(one, i, other, k, arm):
    """Squared distance of row i and row k of another table [m^2]: of their middles, and of their normals at an arm."""
    square = 0.0
    for c in range(3):
        middle = 0.5 * (one[i, CORE_A + c] + one[i, CORE_B + c] - other[k, CORE_A + c] - other[k, CORE_B + c])
        normal = arm * (one[i, NORMAL + c] - other[k, NORMAL + c])
        square += middle * middle + normal * normal
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
            kept = was_there(pool[i, FEATURE], before)
            if n == 0:
                far = 2.0 * least + reach - pool[i, GAP] + (KEPT_GAP * reach if kept else 0.0)
            else:
                # distance from the points chosen so far
                far = squared_distance(pool, i, found, 0, 0.5 * size)
                for k in range(1, n):
                    far = min(far, squared_distance(pool, i, found, k, 0.5 * size))
                far *= KEPT if kept and far > least else 1.0
            if far > most_far:
                best, most_far = i, far
        if best < 0:
            return n
        for c in range(WIDTH):
            found[n, c] = pool[best, c]
        n += 1
    return n
