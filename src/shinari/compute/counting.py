"""Counting sort of items by small whole numbers: linear, and stable."""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.program import run_once


class Items(Record):
    """What is sorted, n rows."""

    key = Field(np.int64)
    order = Field(np.int64, doc="items by key")


class Starts(Record):
    """Keys, K rows."""

    next = Field(np.int64, doc="where the next item of this key goes")


@kernel
def sort_items(_, items: Items, starts: Starts):
    """Place each item behind those before it with the same key."""
    for i in range(len(items)):
        key = items.key[i]
        at = starts.next[key]
        items.order[at] = i
        starts.next[key] = at + 1


def counting_sort(keys: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort items by keys from 0 to count - 1.

    Args:
        keys: Key of each item, (n,).
        count: Number of keys.

    Returns:
        The items by key and, of one key, in their order, (n,); and where each key starts, (count + 1,).
    """
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=offsets[1:])
    items = Items(key=np.ascontiguousarray(keys, np.int64), order=np.empty(len(keys), np.int64))
    run_once(sort_items, items, Starts(next=offsets[:-1].copy()), count=1)
    return items.order, offsets


def by_smallest(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Row numbers by the smallest entry of each row, from 0 to count - 1, then by row, (M,)."""
    smallest = rows[:, 0]
    for column in rows.T[1:]:
        smallest = np.minimum(smallest, column)
    return counting_sort(smallest, count)[0]
