"""Programs on a device: loops, conditions, lists that grow, what is copied; in the simulator of CUDA (`make cuda`)."""

import numpy as np
import pytest
from devices import in_simulator, on_device

import shinari as sn
from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute.scan import Offsets, Scan

pytestmark = on_device


class Balls(Record):
    height = Field(real)
    place = Field(real, 4)


class Entries(Record):
    item = Field(np.int64)


class Counter(Record):
    number = Field(np.int64)
    done = Field(np.int64)
    index = Field(np.int64)


@kernel
def fall(i, balls: Balls, distance: real):
    balls.height[i] -= distance


@kernel
def count_entries(i, offsets: Offsets, every: int):
    offsets.start[i] = i % every


@kernel
def fill_entries(i, offsets: Offsets, entries: Entries):
    for k in range(offsets.start[i], offsets.start[i + 1]):
        entries.item[k] = i


@kernel
def count_up(_, counter: Counter, most: int):
    counter.number[0] += 1
    counter.done[0] = counter.number[0] >= most


@kernel
def add_index(_, counter: Counter):
    counter.number[0] += counter.index[0]


def memory():
    from shinari.compute.cuda.api import device
    from shinari.compute.cuda.memory import DeviceMemory

    return DeviceMemory(device())


def programs():
    """A program of the host and one of the device."""
    from shinari.compute.cuda.program import DeviceProgram

    return Program(), DeviceProgram(memory())


def test_lists_grow_and_the_run_goes_on() -> None:
    found = []
    for p in programs():
        offsets, entries = Offsets.zeros(41), Entries.zeros(1)
        scan = Scan(offsets)
        p.launch(count_entries, offsets, 4, count=40)
        scan.record(p, 40)
        p.require(entries, scan.total)
        p.launch(fill_entries, offsets, entries, count=40)
        for _ in range(2):
            assert p.run()
        assert p.grown == 1
        found.append(entries.item.copy())
    assert np.array_equal(*found)
    assert np.array_equal(found[0][:60], np.repeat(np.arange(40), np.arange(40) % 4))


@pytest.mark.parametrize("most", [3, 100])
def test_repeat_ends_by_its_condition(most: int) -> None:
    """A short body is launched as often as it may run; before a long one Python reads whether it goes on."""
    for p in programs():
        counter = Counter.zeros(1)
        with p.repeat(most, until=(counter.done, 0)):
            for _ in range(1 if most == 3 else 3):
                p.serial(count_up, counter, 2)
        p.run()
        assert counter.number[0] == (2 if most == 3 else 3)


@pytest.mark.parametrize("length", [1, 60])
@pytest.mark.parametrize("condition", [0, 1])
def test_when_and_nested_conditions(length: int, condition: int) -> None:
    for p in programs():
        counter, flag = Counter.zeros(1), Counter.zeros(1)
        flag.done[0] = condition
        flag.index[0] = 1
        with p.when((flag.done, 0)), p.when((flag.index, 0)):
            for _ in range(length):
                p.serial(count_up, counter, 1000)
        for _ in range(2):
            p.run()
        assert counter.number[0] == 2 * length * condition


def test_loops_count_their_passes() -> None:
    for p in programs():
        counter, passes = Counter.zeros(1), Counter.zeros(1)
        passes.number[0] = 5
        with p.loop(3, index=(counter.index, 0)):
            p.serial(add_index, counter)
        with p.loop((passes.number, 0), index=(counter.index, 0)):
            p.serial(add_index, counter)
        p.run()
        assert counter.number[0] == 3 + 10


def test_stop_ends_the_run_and_the_next_one_begins_anew() -> None:
    for p in programs():
        counter = Counter.zeros(1)
        p.serial(count_up, counter, 2)
        p.stop_if((counter.done, 0))
        p.serial(count_up, counter, 2)
        assert p.run()
        assert not p.run()
        assert counter.number[0] == 3


def test_colours_and_counts_from_cells() -> None:
    for p in programs():
        balls, counter = Balls.zeros(10), Counter.zeros(1)
        counter.number[0] = 4
        p.launch(fall, balls, 1.0, count=(counter.number, 0))
        p.launch(fall, balls, 1.0, colours=[0, 3, 10])
        p.run()
        assert np.array_equal(balls.height, -1.0 - (np.arange(10) < 4))


def test_only_what_is_asked_for_is_copied() -> None:
    from shinari.compute.cuda.program import DeviceProgram

    there = memory()
    p, balls = DeviceProgram(there), Balls.zeros(2000)
    p.launch(fall, balls, 1.0, count=2000)
    p.run()
    before = list(there.copied)
    p.run()
    assert there.copied == before
    assert balls.height[7] == -2.0
    assert there.copied[1] == before[1] + balls.arrays["height"].nbytes
    p.run()
    # Python had it in its hands, so that it is brought back; the other field is not
    assert there.copied[0] == before[0] + balls.arrays["height"].nbytes
    assert balls.height[7] == -3.0


def test_few_bytes_are_brought_back_when_they_have_changed() -> None:
    from shinari.compute.cuda.program import DeviceProgram

    there = memory()
    p, balls = DeviceProgram(there), Balls.zeros(10)
    p.launch(fall, balls, 1.0, count=10)
    p.run()
    before = there.copied[0]
    assert balls.height[7] == -1.0
    p.run()
    assert there.copied[0] == before
    balls.height[7] = 5.0
    p.run()
    assert there.copied[0] == before + balls.arrays["height"].nbytes
    assert balls.height[7] == 4.0
    assert balls.height[6] == -3.0


@in_simulator
def test_a_reference_that_is_too_old_is_found() -> None:
    from shinari.compute.cuda.program import DeviceProgram

    there = memory()
    p, balls = DeviceProgram(there), Balls.zeros(10)
    kept = balls.height
    p.launch(fall, balls, 1.0, count=10)
    p.run()
    assert np.isnan(kept).all()
    kept[0] = 5.0
    with pytest.raises(sn.DeviceError, match="older than the last run"):
        p.run()


def test_arrays_that_are_replaced_are_followed() -> None:
    for p in programs():
        balls = Balls.zeros(4)
        p.launch(fall, balls, 1.0, count=4)
        p.run()
        balls.bind(height=np.full(4, 10.0, np.float32))
        p.run()
        assert np.array_equal(balls.height, np.full(4, 9.0))


def test_views_share_the_copy_of_their_owner() -> None:
    for p in programs():
        whole = np.zeros((4, 4), np.float32)
        first = Balls(height=np.zeros(4, np.float32), place=whole)
        second = Balls(height=whole.reshape(-1)[:3], place=np.zeros((3, 4), np.float32))
        p.launch(fall, first, 0.0, count=4)
        p.launch(fall, second, 1.0, count=3)
        p.run()
        assert np.array_equal(first.place[0], [-1, -1, -1, 0])


def test_rows_of_sixteen_bytes_have_to_be_aligned() -> None:
    from shinari.compute.cuda.program import DeviceProgram

    p = DeviceProgram(memory())
    place = np.zeros(9, np.float32)[1:].reshape(2, 4)
    p.launch(fall, Balls(height=np.zeros(2, np.float32), place=place), 1.0, count=2)
    with pytest.raises(sn.DeviceError, match="Balls: place: its rows do not begin at 16 bytes"):
        p.run()


def test_memory_is_given_back() -> None:
    from shinari.compute.cuda.program import DeviceProgram

    there = memory()
    p, balls = DeviceProgram(there), Balls.zeros(10)
    p.launch(fall, balls, 1.0, count=10)
    p.run()
    there.release()
    assert type(balls.arrays) is dict
    assert balls.height[0] == -1.0
