"""Memory that cannot be had ends in an error that keeps the last good state."""

import subprocess
import sys

import numpy as np
import pytest

import shinari as sn
from shinari import memory_limit
from shinari.compute import Record


@pytest.fixture
def little(monkeypatch):
    """Call it to leave so many bytes, and to look at every request."""

    def leave(size):
        monkeypatch.setattr(memory_limit, "LARGE", 0)
        monkeypatch.setattr(memory_limit, "available_memory", lambda: size)

    return leave


def test_there_is_memory():
    available = memory_limit.available_memory()
    assert available is None or 2**20 < available < 2**50


def test_requests_above_what_is_there_are_refused(little):
    little(1000)
    memory_limit.require_memory(800, "a list")
    with pytest.raises(sn.MemoryLimitError, match="a list: they need 0 MiB of memory, available are 0 MiB") as error:
        memory_limit.require_memory(801, "a list")
    assert isinstance(error.value, MemoryError)
    assert isinstance(error.value, sn.ShinariError)


def test_small_requests_do_not_ask_the_system(monkeypatch):
    monkeypatch.setattr(memory_limit, "available_memory", lambda: pytest.fail("asked"))
    memory_limit.require_memory(memory_limit.LARGE - 1, "a list")


def test_limits_of_the_process_and_of_control_groups_count(monkeypatch, tmp_path):
    proc, groups = tmp_path / "proc", tmp_path / "groups"
    inner = groups / "outer" / "inner"
    (proc / "self").mkdir(parents=True)
    inner.mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 900 kB\nMemAvailable: 800 kB\n")
    (proc / "self" / "statm").write_text("10 5 1 1 0 5 0\n")
    (proc / "self" / "cgroup").write_text("0::/outer/inner\n")
    monkeypatch.setattr(memory_limit, "_PROC", proc)
    monkeypatch.setattr(memory_limit, "_GROUPS", groups)
    monkeypatch.setattr(memory_limit, "_limits", list)
    assert memory_limit.available_memory() == 800 * 1024
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text("500000\n")
    (inner.parent / "memory.current").write_text("200000\n")
    (inner.parent / "memory.stat").write_text("anon 1\ninactive_file 50000\n")
    assert memory_limit.available_memory() == 350000
    old = groups / "memory" / "box"
    old.mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("3:cpu:/x\n4:memory:/box\n")
    (old / "memory.limit_in_bytes").write_text("300000\n")
    (old / "memory.usage_in_bytes").write_text("100000\n")
    (old / "memory.stat").write_text("total_inactive_file 0\n")
    assert memory_limit.available_memory() == 200000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_limit_on_address_space_counts():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "from shinari.memory_limit import available_memory, require_memory\n"
        "from shinari.errors import MemoryLimitError\n"
        "left = available_memory()\n"
        "assert 2**24 < left < 2**31, left\n"
        "try: require_memory(2**31, 'a list')\n"
        "except MemoryLimitError as error: print('refused', error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert result.stdout.startswith("refused a list: they need 2.00 GiB"), result.stderr


def boxes():
    scene = sn.Scene()
    for k in range(27):
        scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.3 * (k % 3), 0.3 * (k // 9), 0.3 * (k // 3 % 3)))
    return scene, "body_velocities"


def grains():
    scene = sn.Scene()
    scene.add_grains(sn.Box((0.5, 0.5, 0.5)), radius=0.05)
    return scene, "velocities"


def sheets():
    scene = sn.Scene()
    for height in (0.0, 0.3):
        scene.add_cloth(sn.grid(shape=(8, 8)), position=(0, height, 0), self_collision="triangles")
    return scene, "velocities"


def drops():
    scene = sn.Scene()
    scene.add_fluid(sn.Box((0.5, 0.5, 0.5)), spacing=0.06)
    return scene, "velocities"


def seen(state):
    """What a user sees of a state."""
    names = (
        "positions",
        "velocities",
        "body_positions",
        "body_rotations",
        "body_velocities",
        "body_angular_velocities",
    )
    return [np.array(getattr(state, name)) for name in names]


@pytest.mark.parametrize("make", [boxes, grains, sheets, drops])
def test_a_step_without_memory_keeps_the_last_good_state(make, little, monkeypatch):
    scene, field = make()
    sim, twin = (sn.Simulation(scene, substeps=4, threads=1) for _ in range(2))
    sim.step(2)
    twin.step(2)
    before = sim.state.copy()
    original = np.array(getattr(sim.state, field))
    rng = np.random.default_rng(0)
    with monkeypatch.context() as patch:
        patch.setattr(memory_limit, "LARGE", 0)
        patch.setattr(memory_limit, "available_memory", lambda: 50)
        # a simulation that goes on from a state has no lists yet
        sim.restore(before)
        getattr(sim.state, field)[...] += 20.0 * rng.normal(size=original.shape)
        asked = seen(sim.state)
        with pytest.raises(sn.MemoryLimitError, match="available are"):
            sim.step(3)
        assert all(np.array_equal(now, then) for now, then in zip(seen(sim.state), asked, strict=True))
        assert sim.state.frame == 2
    sim.restore(before)
    twin.restore(before)
    sim.step(2)
    twin.step(2)
    assert sim.state == twin.state


def grow_until(patch, most):
    """Let lists grow so often, and then fail as where no memory is left; gives the names of those that grew."""
    grew, grow = [], Record.grow

    def grow_or_fail(self, rows):
        if len(grew) == most:
            np.zeros(2**55)
        grew.append(type(self).__name__)
        grow(self, rows)

    patch.setattr(Record, "grow", grow_or_fail)
    return grew


@pytest.mark.parametrize("make", [boxes, grains, sheets, drops])
def test_an_allocation_that_fails_in_the_middle_of_a_step_keeps_the_last_good_state(make, monkeypatch):
    """Limits that nobody asked about are met when the first, or the last, list of a step grows."""
    scene, field = make()
    sim, twin = (sn.Simulation(scene, substeps=4, threads=1) for _ in range(2))
    sim.step(2)
    before = sim.state.copy()
    shift = 20.0 * np.random.default_rng(0).normal(size=getattr(sim.state, field).shape)

    def start(simulation):
        # a simulation that goes on from a state has no lists yet
        simulation.restore(before)
        getattr(simulation.state, field)[...] += shift

    start(twin)
    with monkeypatch.context() as patch:
        grew = grow_until(patch, -1)
        twin.step()
        most = len(grew)
    assert most > 0
    for failing in {0, most - 1}:
        start(sim)
        asked = seen(sim.state)
        with monkeypatch.context() as patch:
            grew = grow_until(patch, failing)
            with pytest.raises(
                sn.MemoryLimitError, match=r"simulation: step: memory ran out in frame 3: Unable to all"
            ):
                sim.step()
        assert len(grew) == failing
        assert all(np.array_equal(now, then) for now, then in zip(seen(sim.state), asked, strict=True))
        assert sim.state.frame == 2
        sim.step()
        assert sim.state == twin.state
