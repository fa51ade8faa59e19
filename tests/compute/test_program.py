"""Programs: order, loops, conditions, lists that grow, threads."""

import numpy as np
import pytest

from shinari import memory_limit
from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute.program import run_once
from shinari.errors import MemoryLimitError


class Cells(Record):
    value = Field(np.int64)


class List(Record):
    item = Field(np.int64)


class Points(Record):
    x = Field(real)


@kernel
def push(_, log: Cells, mark: np.int64):
    """Append a mark to a log whose first cell counts."""
    log.value[0] += 1
    log.value[log.value[0]] = mark


@kernel
def count_down(_, cells: Cells):
    cells.value[0] -= 1
    cells.value[1] = 1 if cells.value[0] <= 0 else 0


def test_loops_conditions_and_order():
    log, cells = Cells.zeros(64), Cells.zeros(4)
    cells.value[...] = 3, 0, 0, 1
    index = np.zeros(1, np.int64)
    p = Program()
    p.serial(push, log, 1)
    with p.loop(2, index=(index, 0)):
        p.serial(push, log, 2)
        with p.loop((cells.value, 3)):
            p.serial(push, log, 3)
        with p.when((cells.value, 2)):
            p.serial(push, log, 4)
        with p.when((index, 0)):
            p.serial(push, log, 5)
    with p.repeat(10, until=(cells.value, 1)):
        p.serial(count_down, cells)
        p.serial(push, log, 6)
    p.serial(push, log, 7)
    expected = [1, 2, 3, 2, 3, 5, 6, 6, 6, 7]
    assert p.run()
    assert log.value[1 : 1 + log.value[0]].tolist() == expected
    # a second run begins anew
    log.value[...], cells.value[...] = 0, [3, 0, 1, 2]
    assert p.run()
    assert log.value[1 : 1 + log.value[0]].tolist() == [1, 2, 3, 3, 4, 2, 3, 3, 4, 5, 6, 6, 6, 7]


def test_a_repeat_ends_at_its_limit():
    log, cells = Cells.zeros(16), Cells.zeros(2)
    cells.value[0] = 1000
    p = Program()
    with p.loop(2), p.repeat(3, until=(cells.value, 1)):
        p.serial(count_down, cells)
        p.serial(push, log, 1)
    p.run()
    assert log.value[0] == 6


def test_a_program_that_stops_begins_anew():
    log, cells = Cells.zeros(16), Cells.zeros(2)
    p = Program()
    with p.loop(3):
        p.serial(push, log, 1)
        p.stop_if((cells.value, 0))
    cells.value[0] = 1
    assert not p.run()
    assert log.value[0] == 1
    cells.value[0] = 0
    assert p.run()
    assert log.value[0] == 4


@kernel
def measure(i, cells: Cells, points: Points):
    cells.value[i] = np.int64(points.x[i])


@kernel
def scan(_, cells: Cells, total: Cells, count: np.int64):
    value = 0
    for i in range(count):
        here = cells.value[i]
        cells.value[i] = value
        value += here
    total.value[0] = value


@kernel
def fill(i, cells: Cells, points: Points, found: List):
    for k in range(np.int64(points.x[i])):
        found.item[cells.value[i] + k] = 100 * i + k


@kernel
def advance(i, points: Points):
    points.x[i] += np.float32(1.0)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_list_that_outgrows_its_room_is_filled_as_one_that_never_did(threads):
    def results(room):
        points, cells, total, found = Points.zeros(500), Cells.zeros(500), Cells.zeros(1), List.zeros(room)
        points.x[...] = np.arange(500) % 7
        p = Program()
        with p.loop(4):
            p.launch(measure, cells, points, count=500)
            p.serial(scan, cells, total, 500)
            p.require(found, (total.value, 0))
            p.launch(fill, cells, points, found, count=500, grain=16)
            p.launch(advance, points, count=500)
        p.run(threads)
        return p.grown, total.value[0], found.item[: total.value[0]].copy()

    grown, total, items = results(room=1)
    never, same_total, same = results(room=100_000)
    assert grown > 1
    assert never == 0
    assert total == same_total == sum(i % 7 + 3 for i in range(500))
    np.testing.assert_array_equal(items, same)


def test_a_list_that_another_program_has_grown_keeps_its_room():
    total, found = Cells.zeros(1), Points.zeros(4)
    programs = [Program(), Program()]
    for p in programs:
        p.require(found, (total.value, 0))
    total.value[0] = 100
    assert programs[0].run()
    room = len(found)
    assert programs[1].run()
    assert room >= 100
    assert len(found) == room
    assert programs[1].grown == 0


@kernel
def mix(i, points: Points, h: real):
    x = points.x[i]
    for _ in range(50):
        x = x + h * (np.float32(1.0) - x * x)
    points.x[i] = x


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_the_number_of_threads_does_not_change_bits(precision):
    rng = np.random.default_rng(3)
    start = rng.random(20_000).astype(precision)
    results = []
    for threads in (1, 2, 7):
        points = Points(precision, x=start.copy())
        p = Program()
        with p.loop(20):
            p.launch(mix, points, 0.01, count=20_000, grain=64)
            p.launch(mix, points, 0.02, colours=[0, 5, 9_000, 9_001, 20_000], grain=64)
        for _ in range(20):
            p.run(threads)
        results.append(points.x)
    assert not np.array_equal(results[0], start)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_programs_run_in_several_python_threads_at_once():
    import threading

    def work(out, k):
        points = Points.zeros(10_000)
        points.x[...] = np.linspace(0, 1, 10_000) * (k + 1)
        p = Program()
        with p.loop(10):
            p.launch(mix, points, 0.01, count=10_000, grain=64)
        for _ in range(20):
            p.run(4)
        out[k] = points.x

    alone, together = {}, {}
    for k in range(4):
        work(alone, k)
    crowd = [threading.Thread(target=work, args=(together, k)) for k in range(4)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    for k in range(4):
        np.testing.assert_array_equal(alone[k], together[k])


def test_a_program_that_runs_records_no_more():
    p = Program()
    log = Cells.zeros(4)
    p.serial(push, log, 1)
    p.run()
    with pytest.raises(RuntimeError, match="record all launches"):
        p.serial(push, log, 2)


def test_a_launch_needs_a_count_or_colours():
    with pytest.raises(TypeError, match="push: expected either a count or colours"):
        Program().launch(push, Cells.zeros(1), 1)
    with pytest.raises(TypeError, match="cell: got int32; expected int64"):
        Program().launch(push, Cells.zeros(1), 1, count=(np.zeros(1, np.int32), 0))
    with pytest.raises(TypeError, match="push: colours: got int32; expected int64"):
        Program().launch(push, Cells.zeros(1), 1, colours=np.zeros(3, np.int32))


@kernel
def number(i, points: Points):
    points.x[i] = i


def test_a_kernel_runs_once_over_all_items():
    points = Points.zeros(1000, np.float64)
    run_once(number, points, count=1000, threads=2, grain=100)
    assert np.array_equal(points.x, np.arange(1000.0))


def test_a_list_for_which_there_is_no_memory_ends_the_run(monkeypatch):
    """The message names the list, and the next run begins anew."""
    log, items, cells = Cells.zeros(8), List.zeros(0), Cells.zeros(1)
    cells.value[0] = 1000
    p = Program()
    with p.loop(3):
        p.serial(push, log, 1)
        p.require(items, (cells.value, 0), "bodies: {count} pairs", 100)
    monkeypatch.setattr(memory_limit, "LARGE", 0)
    monkeypatch.setattr(memory_limit, "available_memory", lambda: 100_000)
    with pytest.raises(MemoryLimitError, match="bodies: 1000 pairs: they need"):
        p.run()
    cells.value[0], log.value[...] = 800, 0
    assert p.run()
    assert log.value[0] == 3
    assert len(items) == 1200


def test_a_list_longer_than_rows_can_be_numbered_ends_the_run():
    items, cells = List.zeros(0), Cells.zeros(1)
    cells.value[0] = 1 << 31
    p = Program()
    p.require(items, (cells.value, 0), "bodies: {count} pairs", 0)
    with pytest.raises(MemoryLimitError, match="bodies: 2147483648 pairs; accepted are at most 2147483646"):
        p.run()
    assert len(items) == 0


@kernel
def double(i, values: Points):
    values.x[i] = np.float32(2.0) * values.x[i]


def test_a_run_that_is_interrupted_where_a_list_grows_begins_anew(monkeypatch):
    """Ctrl-C arrives where Python runs: in the second pass of a loop."""
    values, grown, cell = Points.zeros(1), List.zeros(1), np.zeros(1, np.int64)
    values.x[0] = 1.0
    p = Program()
    with p.loop(3, index=(cell, 0)):
        p.launch(double, values, count=1)
        p.require(grown, (cell, 0))

    def interrupted(self, rows):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(List, "grow", interrupted)
        with pytest.raises(KeyboardInterrupt):
            p.run()
    assert values.x[0] == 8.0
    values.x[0] = 1.0
    p.run()
    assert values.x[0] == 8.0


def test_a_launch_of_no_items_needs_no_kernel(monkeypatch):
    monkeypatch.setattr(double, "_natives", {})
    p = Program()
    p.launch(double, Points.zeros(0), count=0)
    p.run()
    assert double._natives == {}
