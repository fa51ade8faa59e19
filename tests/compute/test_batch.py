"""Programs side by side: each does what it does alone, also where lists grow, runs stop or memory runs out."""

import numpy as np
import pytest

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.batch import Batch, record_copy
from shinari.errors import MemoryLimitError


class Numbers(Record):
    value = Field(np.int64)


class Cells(Record):
    needed = Field(np.int64)
    stop = Field(np.int64)
    passes = Field(np.int64)


@kernel
def begin_pass(_, cells: Cells):
    cells.passes[0] += 1
    cells.needed[0] = cells.needed[0] + cells.needed[0]


@kernel
def write_number(i, numbers: Numbers):
    numbers.value[i] = i


def growing(first: int, passes: int = 3) -> tuple[Program, Numbers, Cells]:
    """A list that doubles in each pass."""
    numbers, cells, program = Numbers.zeros(0), Cells.zeros(1), Program()
    cells.needed[0] = first
    with program.loop(passes):
        program.serial(begin_pass, cells)
        program.require(numbers, (cells.needed, 0), "numbers: {count} rows")
        program.launch(write_number, numbers, count=(cells.needed, 0))
        program.stop_if((cells.stop, 0))
    return program, numbers, cells


@pytest.mark.parametrize("threads", [1, 2])
def test_lists_grow_in_each_program_on_its_own(threads):
    made = [growing(first) for first in (1, 7, 30, 500)]
    batch = Batch(len(made))
    for k, (program, _, _) in enumerate(made):
        batch.put({k: program})
    stopped, errors = batch.run(np.arange(4), threads)
    assert not len(stopped)
    assert not errors
    for first, (_, numbers, cells) in zip((1, 7, 30, 500), made, strict=True):
        assert cells.passes[0] == 3
        assert cells.needed[0] == 8 * first
        np.testing.assert_array_equal(numbers.value[: 8 * first], np.arange(8 * first))


def test_only_those_that_are_chosen_run_and_one_that_stops_begins_anew():
    made = [growing(2) for _ in range(3)]
    batch = Batch(3)
    for k, (program, _, _) in enumerate(made):
        batch.put({k: program})
    made[2][2].stop[0] = 1
    stopped, errors = batch.run(np.array([0, 2]), 2)
    np.testing.assert_array_equal(stopped, [2])
    assert not errors
    assert [cells.passes[0] for _, _, cells in made] == [3, 0, 1]
    made[2][2].stop[0] = 0
    stopped, _ = batch.run(np.array([2]), 2)
    assert not len(stopped)
    assert made[2][2].passes[0] == 4


def test_a_list_without_memory_ends_its_program_alone():
    made = [growing(3), growing(1 << 60, 1), growing(4)]
    batch = Batch(3)
    for k, (program, _, _) in enumerate(made):
        batch.put({k: program})
    stopped, errors = batch.run(np.arange(3), 1)
    assert not len(stopped)
    assert list(errors) == [1]
    assert isinstance(errors[1], MemoryLimitError)
    assert [cells.passes[0] for _, _, cells in made] == [3, 1, 3]


@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.int64])
def test_arrays_of_any_type_are_copied(dtype):
    source = np.random.default_rng(0).integers(0, 2, (37, 3)).astype(dtype)
    target, program = np.zeros_like(source), Program()
    record_copy(program, source, target)
    program.run()
    np.testing.assert_array_equal(source, target)
