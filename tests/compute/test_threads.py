"""The team of threads: it is shared, it is not needed, and no bit depends on it."""

import os
import threading
import time

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Field, Program, Record, kernel, real
from shinari.compute import threads as team_module
from shinari.compute.threads import LANES, Team, begin_of, processors, team
from shinari.model.state import State

two = pytest.mark.skipif(processors() < 2, reason="there is one processor")


class Numbers(Record):
    value = Field(real)
    done = Field(np.int64)


@kernel
def count(i, numbers: Numbers):
    numbers.value[i] = numbers.value[i] * np.float32(0.999) + np.float32(i)
    numbers.done[i] += 1


def counted(threads: int, passes: int = 50, items: int = 5003) -> np.ndarray:
    numbers = Numbers.zeros(items)
    p = Program()
    with p.loop(passes):
        p.launch(count, numbers, count=items, grain=16)
    p.run(threads)
    assert (numbers.done == passes).all()
    return numbers.value


def in_threads(count: int, work) -> list:
    """What `work(k)` gives in so many Python threads at once."""
    results: list = [None] * count
    start = threading.Barrier(count)

    def call(k: int) -> None:
        start.wait()
        try:
            results[k] = work(k)
        except BaseException as error:
            results[k] = error

    crowd = [threading.Thread(target=call, args=[k]) for k in range(count)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def sheet(threads: int) -> sn.Simulation:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(31, 29)), material=sn.ClothMaterial(thickness=0.01)).pin([0, 30])
    scene.add_collider(sn.Sphere(0.2), position=(0, -0.25, 0))
    return sn.Simulation(scene, threads=threads, substeps=3)


def stepped(threads: int) -> State:
    simulation = sheet(threads)
    for _ in range(6):
        simulation.step(2)
    return simulation.state


def test_two_simulations_in_two_python_threads():
    """Each as alone, whoever has the team."""
    alone = stepped(1)
    assert stepped(2) == alone
    for wanted in ([1, 1], [1, 2], [2, 2], [2, 1, 2, 2]):
        for state in in_threads(len(wanted), lambda k, wanted=wanted: stepped(wanted[k])):
            assert state == alone


def test_one_simulation_after_the_other_in_several_python_threads():
    """A simulation belongs to no thread: one after the other may step it."""
    simulation = sheet(2)
    for _ in range(6):
        in_threads(1, lambda _: simulation.step(2))
    assert simulation.state == stepped(1)


@two
def test_a_busy_team():
    """While somebody else has the team a run uses one thread, waits for nobody, and gives the same."""
    crew, expected = team(), counted(1)
    assert crew.acquire(2) == 2
    try:
        assert crew.acquire(2) == 1
        np.testing.assert_array_equal(counted(2), expected)
    finally:
        crew.release()
    assert crew.acquire(2) == 2
    crew.release()
    np.testing.assert_array_equal(counted(2), expected)


@two
def test_the_team_is_free_after_an_error(monkeypatch):
    class Full(Record):
        value = Field(np.int64)

    wanted, full = Numbers.zeros(1), Full.zeros(1)
    wanted.done[0] = 1 << 20
    p = Program()
    p.require(full, (wanted.done, 0))
    monkeypatch.setattr(Full, "grow", lambda self, rows: (_ for _ in ()).throw(MemoryError("no room")))
    with pytest.raises(MemoryError, match="no room"):
        p.run(2)
    assert team().acquire(2) == 2
    team().release()


@two
def test_threads_wake_up_again():
    """After a pause in which all of them have fallen asleep."""
    crew, expected = team(), counted(1)
    for _ in range(3):
        np.testing.assert_array_equal(counted(2), expected)
        until = threading.Event()
        while not crew._asleep[1:].all():
            until.wait(0.001)


@two
def test_more_threads_than_processors():
    """Threads that the system does not schedule take no part, and nobody waits for them."""
    assert os.cpu_count()
    crew, expected = Team(8), counted(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team_module, "_team", crew)
        for wanted in (2, 3, 8):
            np.testing.assert_array_equal(counted(wanted), expected)


@pytest.mark.parametrize(("given", "expected"), [("1", 1), (" 1 ", 1), ("", None), ("100000", None)])
def test_the_variable_lowers_the_number(monkeypatch, given, expected):
    monkeypatch.delenv("SHINARI_NUM_THREADS", raising=False)
    every = processors()
    monkeypatch.setenv("SHINARI_NUM_THREADS", given)
    assert processors() == (expected or every)


@two
def test_threads_help_in_runs_of_long_launches():
    """A launch of some milliseconds is no reason for the others to fall asleep, nor to be thought useless."""
    items = 2_000_000
    numbers, crew = Numbers.zeros(items), team()
    p = Program()
    with p.loop(6):
        p.launch(count, numbers, count=items, grain=1024)
    helped, end = 0, time.monotonic() + 60.0
    # on a busy machine it takes a while until the system schedules both
    while not helped and time.monotonic() < end:
        for _ in range(5):
            p.run(2)
            helped += bool(crew.pool.word[team_module.HELPED, 0])
    assert helped


@two
def test_threads_that_find_nothing_to_do_are_left_alone():
    numbers = Numbers.zeros(100)
    p = Program()
    p.launch(count, numbers, count=100, grain=1024)  # one thread has it all
    for _ in range(10):
        p.run(2)
    assert p._in_vain == 7
    assert (numbers.done == 10).all()


@pytest.mark.parametrize("items", [1, 7, 8 * LANES - 1, 8 * LANES, 5003])
def test_parts_cover_all_items_and_keep_what_vector_loops_take(items):
    begins = [int(begin_of(part, 8, items)) for part in range(9)]
    assert (begins[0], begins[-1]) == (0, items)
    assert begins == sorted(begins)
    if items >= 8 * LANES:
        assert all(begin % LANES == 0 for begin in begins[:-1])
        assert np.diff(begins).min() > 0
