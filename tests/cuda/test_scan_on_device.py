"""Scans on a device: sums in levels of blocks of 64, which are those of one thread, whatever the number of items."""

import numpy as np
import pytest
from devices import on_device
from host_device import HostDevice

from shinari.compute import Field, Record
from shinari.compute.cuda.memory import DeviceMemory
from shinari.compute.cuda.placed import shape
from shinari.compute.cuda.program import DeviceProgram
from shinari.compute.program import MOST_ROWS
from shinari.compute.scan import Offsets, Scan

CHUNK = DeviceProgram.scan_chunk
SIZES = [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 1000, CHUNK**2 - 1, CHUNK**2, CHUNK**2 + 1, 10_000]
LARGE = [99_999, 100_000, CHUNK**3 + 1]


class Count(Record):
    """One row."""

    items = Field(np.int64)


def assert_sums(memory: DeviceMemory, items: int, from_cell: bool, room: int) -> None:
    """Offsets are the cumulative sums of random counts, in two runs, in a list that may have to grow."""
    generator = np.random.default_rng(items)
    offsets, number, p = Offsets.zeros(room), Count.zeros(1), DeviceProgram(memory)
    scan = Scan(offsets)
    number.items[0] = items
    cell = (number.items, 0) if from_cell else items
    if from_cell:
        scan.make_room(p, cell)
        assert p.run() or items == 0
        p = DeviceProgram(memory)
    scan.record(p, cell)
    for _ in range(2):
        counts = generator.integers(0, MOST_ROWS // max(items, 1), items)
        offsets.start[:items] = counts
        assert p.run()
        assert np.array_equal(offsets.start[: items + 1], np.concatenate([[0], np.cumsum(counts)]))
        assert scan.total[0][0] == counts.sum()


@pytest.mark.parametrize("from_cell", [False, True])
@pytest.mark.parametrize("items", SIZES + LARGE)
def test_sums_are_those_of_one_thread(items, from_cell) -> None:
    assert_sums(DeviceMemory(HostDevice()), items, from_cell, items + 1)


@on_device
@pytest.mark.parametrize("from_cell", [False, True])
@pytest.mark.parametrize("items", [*SIZES, 100_000])
def test_sums_in_the_simulator(items, from_cell) -> None:
    from shinari.compute.cuda.api import device

    assert_sums(DeviceMemory(device()), items, from_cell, 1 if from_cell else items + 1)


@pytest.mark.parametrize("items", [100, 10_000, 1_000_000])
def test_a_sum_that_is_too_large_for_a_list_is_told(items) -> None:
    """Counts whose sum is a little more than a list may have, and those whose blocks are more."""
    offsets, p = Offsets.zeros(items + 1), DeviceProgram(DeviceMemory(HostDevice()))
    scan = Scan(offsets)
    scan.record(p, items)
    for each in (MOST_ROWS // items + 1, 1 << 30):
        offsets.start[:items] = each
        assert p.run()
        assert scan.total[0][0] > MOST_ROWS


@pytest.mark.parametrize("items", [10_000, 1_000_000])
def test_no_thread_adds_many_numbers(items) -> None:
    """Blocks are as many as it takes, and the last thread has as few to add as the others."""
    played = []

    class Noting(HostDevice):
        def play(self, key, launches):
            played.extend(launches)
            super().play(key, launches)

    offsets, p = Offsets.zeros(items + 1), DeviceProgram(DeviceMemory(Noting()))
    scan = Scan(offsets)
    scan.record(p, items)
    assert p.run()
    extent, numbers = scan._levels
    assert extent.count[-1] <= CHUNK
    assert [len(each) for each in numbers[1:]] == extent.count[1:].tolist()
    assert len(played) == 2 * len(numbers) - 1
    assert played[0][1:3] == shape(-(-items // CHUNK), 1)
