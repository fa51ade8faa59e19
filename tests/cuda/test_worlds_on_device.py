"""Many worlds on a device with kernels of the host: each has the bits that it has alone. It needs no CUDA."""

import gc

import numpy as np
import pytest
from host_device import HostDevice
from scenes import SCENES, WIND, compared

import shinari as sn
from shinari.compute.cuda import api
from shinari.solver import device_state

pytestmark = pytest.mark.filterwarnings("ignore::shinari.ContactWarning")


class Counting(HostDevice):
    """A device that counts launches."""

    launches = 0

    def play(self, key, launches):
        self.launches += len(launches)
        super().play(key, launches)


@pytest.fixture(autouse=True)
def device(monkeypatch):
    there = Counting()
    monkeypatch.setattr(api, "device", lambda: there)
    return there


def scene_of(name: str) -> tuple[sn.Scene, dict]:
    build, settings = SCENES[name]
    scene = sn.Scene(wind=WIND.get(name))
    build(scene)
    return scene, {"substeps": 2, **settings}


def same(world: sn.Simulation, alone: sn.Simulation, message: str = "") -> None:
    mine, theirs = compared(world), compared(alone)
    assert mine.keys() == theirs.keys()
    for key, values in theirs.items():
        np.testing.assert_array_equal(mine[key], values, err_msg=f"{message} {key}")
    assert world.state.frame == alone.state.frame


@pytest.mark.parametrize("name", SCENES)
def test_a_world_has_the_bits_that_it_has_alone(name) -> None:
    scene, settings = scene_of(name)
    alone = sn.Simulation(scene, device="cuda", **settings)
    worlds = sn.Worlds(scene, 3, device="cuda", **settings)
    for steps in (2, 1, 1):
        alone.step(steps)
        worlds.step(steps)
    for k in range(3):
        same(worlds.world(k), alone, f"world {k}:")
    np.testing.assert_array_equal(worlds.state.positions[-1], alone.state.positions)
    np.testing.assert_array_equal(worlds.state.body_positions[-1], alone.state.body_positions)


def falling_cloths(count: int, surfaces=False, **settings) -> tuple:
    """Cloths over balls, each with gravity, a ball and a material of its own; contacts of surfaces need Python."""
    scene = sn.Scene()
    sheet = sn.grid(shape=(5, 5), size=(0.3, 0.3))
    cloth = scene.add_cloth(
        sheet, position=(0, 0.1, 0), name="cloth", self_collision="triangles" if surfaces else False
    )
    scene.add_collider(sn.Sphere(0.08), name="ball")
    vary = {
        "gravity": [(0, -9.81 / (k + 1), 0) for k in range(count)],
        "ball.position": [(0.01 * k, 0, 0) for k in range(count)],
        "cloth.stretch_compliance": [10.0 ** (-8 + k) for k in range(count)],
    }
    return scene, sn.Worlds(scene, count, vary=vary, substeps=3, **settings), cloth


def every(worlds: sn.Worlds) -> list[dict[str, np.ndarray]]:
    return [{k: a.copy() for k, a in compared(worlds.world(w)).items()} for w in range(len(worlds))]


def equal(first: list[dict[str, np.ndarray]], second: list[dict[str, np.ndarray]], which=None) -> None:
    for w in range(len(first)) if which is None else which:
        for key, values in first[w].items():
            np.testing.assert_array_equal(values, second[w][key], err_msg=f"world {w}: {key}")


@pytest.mark.parametrize("surfaces", [False, True])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_worlds_with_parameters_have_the_bits_of_the_host(precision, surfaces) -> None:
    """Kernels are those of the host here: masks, resets, kept states and materials give the same, bit for bit."""
    runs = [falling_cloths(4, surfaces, precision=precision, device=each)[1:] for each in ("cpu", "cuda")]
    assert all(world.needs_no_python != surfaces for worlds, _ in runs for world in worlds._worlds)
    for act in (
        lambda worlds, cloth: worlds.step(4),
        lambda worlds, cloth: worlds.step(2, mask=[True, False, True, False]),
        lambda worlds, cloth: worlds.reset([1, 2]),
        lambda worlds, cloth: worlds.step(3),
        lambda worlds, cloth: worlds.keep([0, 3]),
        lambda worlds, cloth: worlds.change_material(cloth, friction=0.9, mask=[0]),
        lambda worlds, cloth: worlds.step(2),
        lambda worlds, cloth: worlds.reset(),
        lambda worlds, cloth: worlds.change(gravity=(0, -1, 0), mask=[1]),
        lambda worlds, cloth: worlds.step(2),
        lambda worlds, cloth: worlds.restore(worlds.world(2).state.copy(), mask=[0]),
        lambda worlds, cloth: worlds.step(1),
    ):
        for worlds, cloth in runs:
            act(worlds, cloth)
        equal(*(every(worlds) for worlds, _ in runs))
        np.testing.assert_array_equal(runs[0][0].times, runs[1][0].times)
    assert runs[0][0].energy().total == pytest.approx(runs[1][0].energy().total, abs=0.0)


def test_what_is_written_for_all_worlds_acts() -> None:
    runs = [falling_cloths(3, device=each)[1:] for each in ("cpu", "cuda")]
    for worlds, cloth in runs:
        worlds.step(2)
        worlds.velocities(cloth)[1, :, 0] = 0.3
        worlds.state.positions[2] += (0.0, 0.5, 0.0)
        worlds.step(3)
    equal(*(every(worlds) for worlds, _ in runs))


def test_others_read_and_write_all_worlds_on_the_device() -> None:
    """The memory of the test's device is that of the host, so that NumPy reads it by DLPack."""
    runs = [falling_cloths(3, device=each)[1:] for each in ("cpu", "cuda")]
    for worlds, _ in runs:
        worlds.step(2)
    memory = runs[1][0]._worlds[0].device.memory
    copied = memory.copied[1]
    there = runs[1][0].state.on_device("velocities")
    velocities = np.from_dlpack(there)
    assert memory.copied[1] == copied
    assert there.__cuda_array_interface__["shape"] == velocities.shape == (3, 25, 3)
    values = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_float * velocities.size).from_address(there.address))
    for each in (values.reshape(velocities.shape), runs[0][0].state.velocities):
        each[1, :, 0] = 0.25
    for worlds, _ in runs:
        worlds.step(2)
    equal(*(every(worlds) for worlds, _ in runs))
    with pytest.raises(sn.SceneError, match="velocities: on_device needs worlds with device='cuda'"):
        runs[0][0].state.on_device("velocities")


def test_launches_do_not_grow_with_worlds(device) -> None:
    """One launch of each kernel is for all worlds; a few open and close the passes of the loop over steps."""
    counts = []
    for count in (2, 7):
        worlds = falling_cloths(count, device="cuda")[1]
        worlds.step()
        before = device.launches
        worlds.step(3)
        counts.append(device.launches - before)
    assert counts[0] == counts[1] > 0
    scene = falling_cloths(2, device="cuda")[0]
    alone = sn.Simulation(scene, substeps=3, device="cuda")
    alone.step()
    before = device.launches
    alone.step(3)
    assert counts[1] <= 1.5 * (device.launches - before)


def test_copies_do_not_grow_with_worlds(monkeypatch) -> None:
    """Steps of worlds without Python copy nothing but what counts steps, and words of control."""
    # the good state is kept by the clock, and these steps may take long
    monkeypatch.setattr(device_state, "KEEP_EVERY", np.inf)
    worlds = falling_cloths(4, device="cuda")[1]
    # the cloths have come to the balls: lists have the room that they need
    worlds.step(40)
    memory = worlds._worlds[0].device.memory
    before = list(memory.copied)
    worlds.step(5)
    rows = 3 * 8 * len(worlds)
    assert memory.copied[1] - before[1] <= 3 * rows
    assert memory.copied[0] - before[0] <= 3 * rows


def two_that_meet(count: int, device: str) -> sn.Worlds:
    """Particles that meet after another time in each world: their lists of contacts grow in different steps."""
    scene = sn.Scene(gravity=(0, 0, 0))
    points = 0.05 * np.stack(np.meshgrid(range(4), range(4), range(4)), axis=-1).reshape(-1, 3)
    left = scene.add_particles(points, radius=0.02, name="left")
    scene.add_particles(np.add(points, (0.4, 0.01, 0.013)), radius=0.02, name="right")
    worlds = sn.Worlds(scene, count, substeps=2, device=device)
    for k in range(count):
        worlds.velocities(left)[k] = (3.0 + 4.0 * k, 0, 0)
    return worlds


def test_lists_grow_in_each_world_at_its_own_time(monkeypatch) -> None:
    from shinari.compute.cuda.program import DeviceProgram

    grown = []
    make_room = DeviceProgram.make_room
    monkeypatch.setattr(DeviceProgram, "make_room", lambda p, line: (grown.append(id(p)), make_room(p, line)))
    runs = [two_that_meet(4, each) for each in ("cpu", "cuda")]
    when = []
    for _ in range(8):
        for worlds in runs:
            worlds.step()
        when.append(len(set(grown)))
        grown.clear()
        equal(*map(every, runs))
    assert sum(count > 0 for count in when) > 1
    assert any(0 < count < 4 for count in when)


def test_a_world_without_memory_for_a_list_stands_still(monkeypatch) -> None:
    """The others take their steps; it goes on when there is memory."""
    from shinari.compute.cuda.program import DeviceProgram

    make_room = DeviceProgram.make_room
    runs = [two_that_meet(3, each) for each in ("cpu", "cuda")]
    worlds, refused = runs[1], worlds_program(runs[1], 1)

    def refuse(program, line):
        if program is refused():
            raise sn.MemoryLimitError("particle contact: no memory")
        make_room(program, line)

    frames = 0
    with monkeypatch.context() as patch:
        patch.setattr(DeviceProgram, "make_room", refuse)
        for _ in range(6):
            frames += 1
            try:
                worlds.step()
            except sn.MemoryLimitError as error:
                told = str(error)
                break
        else:
            pytest.fail("no list has grown")
    assert "world 1" in told
    np.testing.assert_allclose(worlds.times, np.array([frames, frames - 1, frames]) * worlds.settings.dt)
    runs[0].step(frames)
    equal(every(runs[0]), every(worlds), which=(0, 2))
    worlds._diverged[:] = False
    worlds.step(mask=[1])
    equal(every(runs[0]), every(worlds))


def worlds_program(worlds, k):
    return lambda: worlds._worlds[k].steps


@pytest.mark.parametrize("on_divergence", ["raise", "hold"])
def test_a_world_that_diverges_stands_still(on_divergence) -> None:
    runs = [falling_cloths(3, device=each, on_divergence=on_divergence)[1:] for each in ("cpu", "cuda")]
    for worlds, cloth in runs:
        worlds.step(2)
        worlds.velocities(cloth)[1, 0] = 1e38
        if on_divergence == "raise":
            with pytest.raises(sn.DivergenceError, match=r"1 of 3 stopped: world 1: frame 3"):
                worlds.step(2)
        else:
            worlds.step(2)
        assert worlds.diverged.tolist() == [False, True, False]
        worlds.step()
    equal(*(every(worlds) for worlds, _ in runs))
    for worlds, _ in runs:
        worlds.reset(worlds.diverged)
        worlds.step(2)
    equal(*(every(worlds) for worlds, _ in runs))


def test_worlds_with_grabs_go_on_beside_the_others() -> None:
    runs = [falling_cloths(3, device=each)[1:] for each in ("cpu", "cuda")]
    for worlds, cloth in runs:
        worlds.step()
        grab = worlds.world(1).grab(cloth, 3, compliance=0.0)
        grab.target = np.add(grab.target, (0, 0.02, 0))
        worlds.step(2)
        grab.release()
        worlds.step(2)
    equal(*(every(worlds) for worlds, _ in runs))


def test_origins_move() -> None:
    """A cloth that has travelled far is given a new origin, while the others go on."""
    runs = [falling_cloths(2, device=each)[1:] for each in ("cpu", "cuda")]
    for worlds, cloth in runs:
        worlds.velocities(cloth)[1, :, 0] = 2000.0
        worlds.step(4)
        assert np.abs(worlds.world(1).state.origins).max() > 32
    equal(*(every(worlds) for worlds, _ in runs))


def test_what_does_not_run_is_refused_by_name(monkeypatch) -> None:
    from shinari.systems.colliders.system import ColliderContacts

    monkeypatch.setattr(ColliderContacts, "on_device", False)
    with pytest.raises(sn.SceneError, match="device: ColliderContacts: does not run on a GPU yet"):
        falling_cloths(2, device="cuda")


def test_memory_is_given_back(device) -> None:
    worlds = falling_cloths(3, device="cuda")[1]
    worlds.step(2)
    worlds.keep()
    worlds.step()
    assert device._memory
    del worlds
    gc.collect()
    assert not device._memory


def test_binding_a_world_anew_leaves_no_memory_behind(device) -> None:
    worlds = falling_cloths(3, device="cuda")[1]
    worlds.step(2)
    sizes = []
    for _ in range(4):
        worlds.world(1)._run.bind()
        worlds.step()
        gc.collect()
        sizes.append(len(device._memory))
    assert sizes[0] == sizes[-1]
