"""A binary heap of items whose distances may fall while they are in it: for shortest paths and fronts."""

import numpy as np

from shinari.compute import Field, Record, function, shared


class Heap(Record):
    """Items, and the heap of those that wait, K rows."""

    entry = Field(np.int64, doc="the heap: items, the first is the nearest")
    place = Field(np.int64, doc="where an item stands in the heap, or -1")
    distance = Field(np.float64, unit="m")
    rank = Field(np.int64, doc="decides between items of equal distance")


def empty_heap(count: int) -> Heap:
    """A heap for so many items, infinitely far and none of them in it; the rank of an item is its number."""
    return Heap(
        entry=np.zeros(count, np.int64),
        place=np.full(count, -1),
        distance=np.full(count, np.inf),
        rank=np.arange(count),
    )


@function
def is_before(heap, a, b):
    """Whether item a comes before item b."""
    near, far = heap.distance[a], heap.distance[b]
    return near < far or (near == far and heap.rank[a] < heap.rank[b])


@shared
def raise_item(heap: Heap, size: int, item: int) -> int:
    """Put an item into a heap of a size, or move it up after its distance fell; returns the new size."""
    at = heap.place[item]
    if at < 0:
        at = size
        size += 1
    while at > 0:
        up = heap.entry[(at - 1) // 2]
        if is_before(heap, up, item):
            break
        heap.entry[at] = up
        heap.place[up] = at
        at = (at - 1) // 2
    heap.entry[at] = item
    heap.place[item] = at
    return size


@shared
def drop_first(heap: Heap, size: int) -> int:
    """Take the first item out of a heap of a size; returns the new size."""
    heap.place[heap.entry[0]] = -1
    size -= 1
    if size > 0:
        item, at = heap.entry[size], 0
        while 2 * at + 1 < size:
            down = 2 * at + 1
            if down + 1 < size and is_before(heap, heap.entry[down + 1], heap.entry[down]):
                down += 1
            other = heap.entry[down]
            if is_before(heap, item, other):
                break
            heap.entry[at] = other
            heap.place[other] = at
            at = down
        heap.entry[at] = item
        heap.place[item] = at
    return size
