"""Pairs of things as numbers in a sorted list."""

from shinari.maths.function import inlined


@inlined
def listed(key, keys):
    """Whether a key is in a sorted list."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(keys) and keys[low] == key
