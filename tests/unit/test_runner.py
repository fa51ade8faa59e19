"""Players: a simulation in a thread of its own, and a run that is played again."""

import threading
import time

import numpy as np
import pytest

import shinari as sn
from browser_help import until
from shinari.errors import FileError, SceneError
from shinari.io.results import DrawnPart, Frame, Layout
from shinari.view.live_player import Runner
from shinari.view.playback import Playback
from shinari.view.player import FRAME_PERIOD

PATIENCE = 60.0


def simulation() -> sn.Simulation:
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(6, 6)), position=(0.0, 1.0, 0.0), name="cloth")
    cloth.pin([0, 5])
    return sn.Simulation(scene, substeps=4)


@pytest.fixture
def runner():
    made = Runner(simulation(), "a cloth")
    yield made
    made.close()


def test_a_step_is_one_step_and_a_reset_gives_the_same_bits_again(runner):
    fresh = simulation()
    fresh.step(7)
    for _ in range(7):
        runner.step().result(PATIENCE)
    first = runner.do(lambda sim: (sim.state.frame, sim.state.positions.copy())).result(PATIENCE)
    assert runner.status == "paused"
    assert first[0] == 7
    assert np.array_equal(first[1], fresh.state.positions)
    runner.reset().result(PATIENCE)
    assert runner.generation == 1
    assert runner.do(lambda sim: sim.state.frame).result(PATIENCE) == 0
    for _ in range(7):
        runner.step().result(PATIENCE)
    assert np.array_equal(runner.do(lambda sim: sim.state.positions.copy()).result(PATIENCE), first[1])


def test_it_runs_by_itself_at_no_more_than_the_rate_of_time(runner):
    runner.step().result(PATIENCE)  # the kernels are there
    begun = time.perf_counter()
    runner.play().result(PATIENCE)
    until(lambda: runner.steps > 10, "ten steps")
    runner.pause().result(PATIENCE)
    elapsed, steps = time.perf_counter() - begun, runner.steps - 1
    assert steps <= 60 * elapsed + 1
    assert runner.do(lambda sim: sim.state.frame).result(PATIENCE) == runner.steps
    time.sleep(0.1)
    assert runner.steps == steps + 1
    until(lambda: runner.latest().time == pytest.approx(runner.steps / 60.0), "the last frame")


@pytest.mark.parametrize(("speed", "most"), [(0.5, 0.5), (4.0, 4.0)])
def test_time_goes_as_fast_as_the_speed_says(runner, speed, most):
    runner.step().result(PATIENCE)
    runner.speed = speed
    begun, before = time.perf_counter(), runner.steps
    runner.play().result(PATIENCE)
    time.sleep(0.5)
    until(lambda: runner.steps > before, "a step")
    runner.pause().result(PATIENCE)
    elapsed, steps = time.perf_counter() - begun, runner.steps - before
    assert steps <= most * 60 * elapsed + 1


def test_one_that_is_too_slow_falls_behind_and_answers_after_each_step():
    answers = []

    def drive(sim: sn.Simulation) -> None:
        steps = slow.steps
        answers.append((steps, slow.do(lambda sim: slow.steps)))
        time.sleep(3 * FRAME_PERIOD)

    slow = Runner(simulation(), before_step=drive)
    begun = time.perf_counter()
    slow.play().result(PATIENCE)
    until(lambda: len(answers) > 4, "five steps")
    took, elapsed = slow.steps, time.perf_counter() - begun
    slow.close()
    assert took <= elapsed / (3 * FRAME_PERIOD) + 1
    # what was queued during a step is done before the next one
    assert all(answer.result(PATIENCE) == steps + 1 for steps, answer in answers[:-1])


def test_what_it_owes_is_given_up(runner):
    def block(sim: sn.Simulation) -> tuple[int, float]:
        time.sleep(0.5)
        return runner.steps, time.perf_counter()

    runner.step().result(PATIENCE)
    runner.play().result(PATIENCE)
    before, begun = runner.do(block).result(PATIENCE)
    time.sleep(0.1)
    runner.pause().result(PATIENCE)
    # thirty steps were due, those of a frame are made up for
    assert runner.steps - before <= 60 * (time.perf_counter() - begun) + 4


def test_frames_come_in_time_however_many_steps_are_due():
    numbers = []

    def slow(sim: sn.Simulation) -> None:
        numbers.append(driven.wait(-1, 0.0)[0])
        time.sleep(0.6 * FRAME_PERIOD)

    driven = Runner(simulation(), before_step=slow)
    driven.speed = 16.0
    driven.play().result(PATIENCE)
    until(lambda: len(numbers) > 20, "twenty steps")
    driven.close()
    assert np.unique(numbers[1:], return_counts=True)[1].max() <= 3


def test_only_its_own_thread_touches_the_simulation(runner):
    idents = [runner.do(lambda sim: threading.get_ident()).result(PATIENCE) for _ in range(3)]
    assert len(set(idents)) == 1
    assert idents[0] != threading.get_ident()
    order = []
    last = [runner.do(lambda sim, k=k: order.append(k)) for k in range(20)][-1]
    last.result(PATIENCE)
    assert order == list(range(20))


def test_an_error_of_a_queued_function_is_its_future_s_and_nobody_else_s(runner):
    failed = runner.do(lambda sim: sim.forces("nothing"))
    with pytest.raises(SceneError, match="nothing"):
        failed.result(PATIENCE)
    assert runner.status == "paused"
    assert runner.do(lambda sim: 1).result(PATIENCE) == 1


def test_what_is_queued_is_shown_even_while_it_is_paused(runner):
    number, frame = runner.wait(0, PATIENCE)

    def lift(sim: sn.Simulation) -> None:
        sim.state.positions += (0.0, 1.0, 0.0)

    runner.do(lift).result(PATIENCE)
    later, moved = runner.wait(number, PATIENCE)
    assert later > number
    assert np.allclose(moved.positions - frame.positions, (0.0, 1.0, 0.0), atol=1e-6)


def test_frames_stay_as_they_were(runner):
    runner.step().result(PATIENCE)
    until(lambda: runner.latest().time > 0.0, "a frame")
    frame = runner.latest()
    kept = frame.positions.copy()
    for _ in range(3):
        runner.step().result(PATIENCE)
    assert np.array_equal(frame.positions, kept)
    assert len(frame.strains) == 0
    runner.measured = True
    runner.step().result(PATIENCE)
    until(lambda: len(runner.latest().strains) > 0, "a measured frame")
    assert len(runner.latest().strains) == 36


def test_a_divergence_stops_it_and_a_reset_makes_it_whole(runner):
    def explode(sim: sn.Simulation) -> None:
        sim.state.velocities[20] = np.inf

    runner.step().result(PATIENCE)
    runner.do(explode).result(PATIENCE)
    runner.play().result(PATIENCE)
    until(lambda: runner.status == "diverged", "the divergence")
    assert "'cloth'" in runner.message
    assert "no finite number" in runner.message
    runner.play().result(PATIENCE)
    assert runner.status == "diverged"
    runner.reset().result(PATIENCE)
    assert (runner.status, runner.message) == ("paused", "")
    runner.play().result(PATIENCE)
    until(lambda: runner.latest().time > 0.05, "it runs again")
    assert np.isfinite(runner.latest().positions).all()


def test_an_error_in_what_drives_it_is_told():
    def fail(sim: sn.Simulation) -> None:
        raise KeyError("motor")

    driven = Runner(simulation(), playing=True, before_step=fail)
    until(lambda: driven.status == "failed", "the error")
    assert driven.message == "KeyError: 'motor'"
    driven.close()


def test_close_ends_the_thread_and_cancels_what_waits(runner):
    runner.play().result(PATIENCE)
    # it is at work on this until it is closed
    runner.do(lambda sim: until(lambda: runner._closed, "the end"))
    waiting = runner.do(lambda sim: None)
    runner.close()
    assert waiting.cancelled()
    assert runner.status == "closed"
    assert not runner._thread.is_alive()
    assert runner.do(lambda sim: None).cancelled()
    runner.close()


@pytest.mark.parametrize("speed", [0.0, -1.0, 1000.0, float("nan")])
def test_a_speed_that_is_none_is_refused(runner, speed):
    with pytest.raises(SceneError, match="speed"):
        runner.speed = speed
    assert runner.speed == 1.0


class Cache:
    """A point that is at (k, 0, 0) in frame k of 0.02 s; those of `lost` cannot be read."""

    def __init__(self, count: int) -> None:
        self.layout = Layout((DrawnPart("point", "points", 0, 1),), (), 1, 50.0)
        self.title, self.times = "a run", 0.02 * np.arange(count)
        self.lost: set[int] = set()
        self.closed = False

    def __len__(self) -> int:
        return len(self.times)

    def frame(self, index: int) -> Frame:
        if index in self.lost:
            raise FileError("run.npz: is cut")
        point, none = np.array([[index, 0.0, 0.0]]), np.zeros((0, 3))
        return Frame(0.02 * index, point, np.zeros((1, 3)), none, np.zeros((0, 4)), none, none)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def cache():
    return Cache(6)


@pytest.fixture
def played(cache):
    made = Playback(cache)
    yield made
    made.close()
    assert cache.closed


def shown(player: Playback) -> int:
    return int(player.latest().positions[0, 0])


def test_a_cache_is_played_to_its_end_and_again(played):
    assert (played.count, played.index, shown(played)) == (6, 0, 0)
    played.play().result(PATIENCE)
    until(lambda: played.status == "paused", "the end")
    until(lambda: shown(played) == 5, "the last frame")
    played.play().result(PATIENCE)
    assert played.index < 5 or played.status == "paused"
    until(lambda: played.status == "paused", "the end again")
    played.reset().result(PATIENCE)
    until(lambda: shown(played) == 0, "the first frame")


def test_a_cache_goes_to_the_frame_that_is_asked_for(played):
    for index in (3, 0, 5):
        played.seek(index).result(PATIENCE)
        until(lambda index=index: shown(played) == index, f"frame {index}")
    played.step().result(PATIENCE)
    assert played.index == 5
    played.seek(2).result(PATIENCE)
    played.step().result(PATIENCE)
    assert played.index == 3
    for index in (-1, 6):
        with pytest.raises(SceneError, match="expected 0 to 5"):
            played.seek(index).result(PATIENCE)
    assert played.index == 3


def test_a_frame_that_is_due_in_a_thousand_years_is_waited_for():
    cache = Cache(2)
    cache.times = np.array([0.0, 3e10])
    played = Playback(cache, playing=True)
    try:
        time.sleep(0.2)
        played.seek(1).result(PATIENCE)
        assert played.index == 1
    finally:
        played.close()


def test_a_cache_without_frames_is_refused():
    with pytest.raises(SceneError, match="no frames"):
        Playback(Cache(0))


def test_a_frame_that_cannot_be_read_is_told_and_the_others_are_there(cache, played):
    # a slow machine skips frames when it plays: whichever comes after the second cannot be read
    cache.lost = {3, 4, 5}
    played.play().result(PATIENCE)
    until(lambda: played.status == "failed", "the error")
    assert played.message == "FileError: run.npz: is cut"
    assert shown(played) < 3
    played.reset().result(PATIENCE)
    assert (played.status, played.message) == ("paused", "")
    until(lambda: shown(played) == 0, "the first frame")
    cache.lost = {3}
    played.seek(3).result(PATIENCE)
    until(lambda: played.status == "failed", "the error of the frame that was asked for")
    assert shown(played) == 0
    played.reset().result(PATIENCE)
    played.seek(4).result(PATIENCE)
    until(lambda: shown(played) == 4, "a frame behind it")
