"""Fields that a kernel reads and writes, and kernels that the host runs between launches of a device."""

from typing import Any

import numpy as np
import pytest
from host_device import HostDevice

from shinari.compute import Field, Program, Record, function, kernel
from shinari.compute.cuda.field_use import fields_of
from shinari.compute.cuda.memory import DeviceMemory
from shinari.compute.cuda.program import DeviceProgram


class Heap(Record):
    """Rows."""

    size = Field(np.int64)
    place = Field(np.int64)
    pair = Field(np.int64, 2)
    other = Field(np.int64)


class Sums(Record):
    """One row."""

    total = Field(np.int64)
    most = Field(np.int64)


@function
def largest(heap, i, most):
    """The larger one of a size and another number."""
    return max(heap.size[i], most)


@function
def put(heap, i, value):
    """Write a place."""
    heap.place[i] = value


@function
def first(column):
    """The first element of a field."""
    return column[0]


@kernel(in_order=True)
def place_rows(_, heap: Heap, sums: Sums, start: int):
    """Where each row begins, each behind the one before."""
    at = start
    for i in range(len(heap)):
        heap.place[i], size = at, heap.size[i]
        at += size
    sums.total[0] = at


@kernel
def use_callees(i, heap: Heap, sums: Sums):
    """Through functions."""
    put(heap, i, largest(heap, i, sums.most[0]))
    sums.total[0] += first(heap.other)


@kernel
def add_columns(i, heap: Heap):
    """Rows of two columns."""
    heap.pair[i, 1] += heap.pair[i, 0]


@kernel
def double(i, heap: Heap):
    """Twice the size."""
    heap.size[i] *= 2


@kernel
def count_up(_, sums: Sums):
    """One more."""
    sums.most[0] += 1


def test_fields_are_found_in_the_source_and_in_functions() -> None:
    assert fields_of(place_rows) == [{"place": True, "size": False}, {"total": True}, {}]
    # a field that is handed on counts as written
    assert fields_of(use_callees) == [{"place": True, "size": False, "other": True}, {"most": False, "total": True}]
    assert fields_of(add_columns) == [{"pair": True}]


def test_without_a_source_all_fields_count() -> None:
    scope: dict[str, Any] = {"kernel": kernel, "Heap": Heap}
    exec("@kernel\ndef made(i, heap: Heap):\n    heap.size[i] = 1\n", scope)
    assert fields_of(scope["made"]) == [dict.fromkeys(Heap.fields, True)]


@pytest.mark.parametrize("runs", [1, 3])
def test_the_host_runs_kernels_in_order_between_launches(runs) -> None:
    device, found = HostDevice(), []
    for make in (Program, lambda: DeviceProgram(DeviceMemory(device))):
        heap, sums = Heap.zeros(100), Sums.zeros(1)
        heap.size[...] = np.arange(100)
        p = make()
        with p.loop(3):
            p.launch(double, heap, count=100)
            p.serial(place_rows, heap, sums, 5)
            # two beside each other: the second finds what the first has written
            p.serial(place_rows, heap, sums, 7)
            p.serial(count_up, sums)
            p.launch(use_callees, heap, sums, count=1)
        with p.when((sums.most, 0)):
            p.serial(place_rows, heap, sums, 1)
        for _ in range(runs):
            p.run()
        found.append([heap.size.copy(), heap.place.copy(), sums.total[0], sums.most[0]])
    for host, there in zip(*found, strict=True):
        assert np.array_equal(host, there)
    assert found[0][1][0] == 1
    assert found[0][3] == 3 * runs


def test_what_is_closed_does_not_run_on_the_host() -> None:
    heap, sums = Heap.zeros(4), Sums.zeros(1)
    p = DeviceProgram(DeviceMemory(HostDevice()))
    p.launch(double, heap, count=4)
    with p.when((sums.most, 0)):
        p.serial(place_rows, heap, sums, 9)
    p.run()
    assert sums.total[0] == 0
    sums.most[0] = 1
    p.run()
    assert sums.total[0] == 9
