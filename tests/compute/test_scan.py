"""Sums and maxima in blocks."""

import numpy as np
import pytest

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.scan import Offsets, Scan

CHUNK = Program.scan_chunk

SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 17]


class Count(Record):
    """One row."""

    items = Field(np.int64)


@pytest.mark.parametrize("items", SIZES)
@pytest.mark.parametrize("from_cell", [False, True])
def test_a_scan_is_the_cumulative_sum(items, from_cell):
    counts = np.random.default_rng(items).integers(0, 9, items)
    offsets, number = Offsets.zeros(6 * CHUNK), Count.zeros(1)
    offsets.start[:items] = counts
    scan, p = Scan(offsets), Program()
    number.items[0] = items
    scan.record(p, (number.items, 0) if from_cell else items)
    p.run(threads=2)
    assert np.array_equal(offsets.start[: items + 1], np.concatenate([[0], np.cumsum(counts)]))
    assert scan.total[0][0] == counts.sum()


@kernel
def count_two(i, offsets: Offsets):
    offsets.start[i] = 2


@pytest.mark.parametrize("items", SIZES)
def test_offsets_grow_with_a_number_that_kernels_write(items):
    offsets, number = Offsets.zeros(0), Count.zeros(1)
    scan, p = Scan(offsets), Program()
    scan.make_room(p, (number.items, 0))
    p.launch(count_two, offsets, count=(number.items, 0))
    scan.record(p, (number.items, 0))
    for number.items[0] in (items // 2, items):
        p.run(threads=2)
        assert np.array_equal(offsets.start[: number.items[0] + 1], 2 * np.arange(number.items[0] + 1))


@kernel
def write_one(i, offsets: Offsets):
    """One entry for each item."""
    offsets.start[i] = 1


def test_a_scan_makes_room_for_a_list_and_goes_on():
    class Entries(Record):
        value = Field(np.int64)

    offsets, entries = Offsets.zeros(1001), Entries.zeros(10)
    scan, p = Scan(offsets), Program()
    p.launch(write_one, offsets, count=1000)
    scan.record(p, 1000)
    p.require(entries, scan.total)
    p.run()
    assert p.grown == 1
    assert len(entries) >= 1000
