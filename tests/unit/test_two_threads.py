"""One simulation and two threads: while one takes steps the other is refused, with the reason, and then is not."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import shinari as sn

RIGHT = "another thread is taking steps"
ACTS: dict[str, Callable[[sn.Simulation], object]] = {
    "step": lambda sim: sim.step(),
    "pin": lambda sim: sim.pin("line", 0),
    "restore": lambda sim: sim.restore(sim.state.copy()),
    "change": lambda sim: sim.change(damping=0.1),
    "energy": lambda sim: sim.energy(),
    "contacts": lambda sim: sim.contacts(),
    "forces": lambda sim: sim.forces("distance"),
    "rays": lambda sim: sim.cast_rays([(0.0, 2.0, 0.0)], [(0.0, -1.0, 0.0)]),
    "grab": lambda sim: sim.grab("line", 1),
}


def scene_of(motion: Callable) -> sn.Scene:
    scene = sn.Scene()
    scene.add_rope([[0, 1, 0], [1, 1, 0], [2, 1, 0]], name="line")
    scene.add_collider(sn.Sphere(0.1), motion=motion)
    return scene


class Gate:
    """A motion that holds its step up on demand."""

    def __init__(self) -> None:
        self.reached, self.go, self.on = threading.Event(), threading.Event(), False

    def __call__(self, time: float) -> tuple[float, float, float]:
        if self.on:
            self.reached.set()
            assert self.go.wait(60.0)
        return 0.0, -time, 0.0


@contextmanager
def held(gate: Gate, step: Callable[[], None]) -> Iterator[None]:
    """Within it another thread is in a step."""
    gate.on = True
    thread = threading.Thread(target=step)
    thread.start()
    assert gate.reached.wait(60.0)
    try:
        yield
    finally:
        gate.on = False
        gate.go.set()
        thread.join(60.0)


@pytest.mark.parametrize("name", ACTS)
def test_another_thread_is_refused_while_one_steps(name):
    gate = Gate()
    sim, alone = sn.Simulation(scene_of(gate), threads=1), sn.Simulation(scene_of(Gate()), threads=1)
    with held(gate, lambda: sim.step(3)), pytest.raises(sn.SceneError, match=RIGHT):
        ACTS[name](sim)
    alone.step(3)
    assert sim.state == alone.state
    ACTS[name](sim)


def test_worlds_are_stepped_by_one_thread(monkeypatch):
    gate = Gate()
    worlds = sn.Worlds(scene_of(gate), 2, threads=1)
    with held(gate, lambda: worlds.step(2, mask=[0])):
        for act in (
            lambda: worlds.step(mask=[1]),
            worlds.reset,
            worlds.keep,
            worlds.energy,
            lambda: worlds.world(1).step(),
            lambda: worlds.change(damping=0.1),
        ):
            with pytest.raises(sn.SceneError, match=RIGHT):
                act()
    worlds.step(2, mask=[1])
    assert np.array_equal(worlds.positions("line")[0], worlds.positions("line")[1])


def test_threads_in_turn_and_side_by_side():
    """Bits are those of one thread, for a simulation that goes from thread to thread, and for two at once."""
    expected = sn.Simulation(scene_of(Gate()), threads=1)
    expected.step(40)
    sims = [sn.Simulation(scene_of(Gate()), threads=1) for _ in range(2)]
    for _ in range(4):
        threads = [threading.Thread(target=sim.step, args=(10,)) for sim in sims]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(sim.state == expected.state for sim in sims)


def test_steps_that_follow_each_other_are_not_mixed():
    """Of two threads that both want many steps one gets them, or one after the other."""
    sim, refused = sn.Simulation(scene_of(Gate()), threads=1), []

    def want() -> None:
        for _ in range(200):
            try:
                sim.step(3)
            except sn.SceneError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sim.state.frame == 3 * (400 - len(refused))
    assert all(RIGHT in text for text in refused)
    alone = sn.Simulation(scene_of(Gate()), threads=1)
    alone.step(sim.state.frame)
    assert sim.state == alone.state
