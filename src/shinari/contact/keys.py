"""Pairs of objects as numbers in a sorted list."""

import numpy as np

from shinari.compute import Field, Record, function


class Keys(Record):
    """A sorted list."""

    key = Field(np.int64)


@function
def contains(keys, key):
    """Whether a key is in a sorted list."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys.key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(keys) and keys.key[low] == key
