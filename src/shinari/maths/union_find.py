"""Sets that are united (union-find): each element names another one of its set, and the least one names itself.

`parents` is a field of a record, one row for each element. Paths are halved on each search, so that trees stay flat.
The least element stands for its set, so that the names do not depend on the order in which sets were united.
"""

from shinari.maths.function import steady


@steady
def root(parents, i):
    """The element that stands for the set of element i."""
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@steady
def unite(parents, i, j):
    """Unite the sets of two elements.

    Returns:
        The element that stands for both now, and the one that did for the other set until now; equal if they were one.
    """
    first, second = root(parents, i), root(parents, j)
    low, high = min(first, second), max(first, second)
    parents[high] = low
    return low, high
