"""Programs and memory of a device with kernels of the host: all scenes have the bits of the host. It needs no CUDA."""

import numpy as np
import pytest
from host_device import HostDevice
from scenes import SCENES, assert_agree, compared, start

import shinari as sn
from shinari.compute.cuda import api

pytestmark = pytest.mark.filterwarnings("ignore::shinari.ContactWarning")


@pytest.fixture(autouse=True)
def host_device(monkeypatch):
    monkeypatch.setattr(api, "device", HostDevice)


def assert_same_bits(first: sn.Simulation, second: sn.Simulation) -> None:
    """Both states are the same; arrays that grow may differ in room."""
    mine, theirs = compared(first), compared(second)
    assert mine.keys() == theirs.keys()
    for name, values in mine.items():
        assert np.array_equal(values, theirs[name], equal_nan=True), name


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", SCENES)
def test_scenes_have_the_bits_of_the_host(name, precision) -> None:
    host, device = (start(name, precision=precision, substeps=4, device=each) for each in ("cpu", "cuda"))
    for _ in range(4):
        host.step()
        device.step()
        assert len(host.contacts().positions) == len(device.contacts().positions)
    if any(block.type.lanes for block in host.model.blocks.values()):
        # the host solves sixteen rows at a time, a device one: another order of the same arithmetic
        assert_agree(host, device)
        return
    assert_same_bits(host, device)
    assert device.energy() == host.energy()
    assert np.array_equal(device.point_strains(), host.point_strains())


def pile(scene: sn.Scene) -> None:
    """A cloth that falls on bodies among grains, above a fluid in a box: lists grow."""
    scene.add_collider(sn.Box((1.0, 1.0, 1.0), inside=True), position=(0, 0.5, 0))
    scene.add_fluid(sn.Box((0.4, 0.1, 0.4)), spacing=0.04, position=(0, 0.06, 0))
    for k in range(3):
        scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.02 * k, 0.3 + 0.11 * k, 0))
    scene.add_grains(sn.Box((0.2, 0.1, 0.2)), radius=0.02, position=(0.2, 0.3, 0.2))
    material = sn.ClothMaterial(thickness=0.01)
    cloth = sn.grid(shape=(9, 9), size=(0.5, 0.5))
    scene.add_cloth(cloth, material=material, position=(0, 0.65, 0), self_collision="triangles")


def test_a_pile_has_the_bits_of_the_host() -> None:
    runs = []
    for each in ("cpu", "cuda"):
        scene = sn.Scene()
        pile(scene)
        runs.append(sn.Simulation(scene, substeps=4, device=each))
        runs[-1].step(12)
    assert_same_bits(*runs)
    assert len(runs[0].contacts().positions) > 10


def test_changes_while_it_runs() -> None:
    runs = []
    for each in ("cpu", "cuda"):
        scene = sn.Scene()
        cloth = scene.add_cloth(sn.grid(shape=(6, 6)))
        cloth.pin([0, 5])
        simulation = sn.Simulation(scene, substeps=4, device=each)
        simulation.step(2)
        simulation.pin(cloth, [30])
        simulation.step(2)
        simulation.change(substeps=6, damping=0.5)
        simulation.step(2)
        simulation.change_material(cloth, stretch_compliance=1e-4)
        simulation.unpin(cloth, [0])
        simulation.step(2)
        runs.append(simulation)
    assert_same_bits(*runs)


def test_a_checkpoint_goes_on(tmp_path) -> None:
    pytest.importorskip("h5py")
    simulation = start("cloth_on_sphere", device="cuda")
    simulation.step(2)
    simulation.save(tmp_path / "c.vtkhdf")
    again = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert again.settings.device == "cuda"
    simulation.step(2)
    again.step(2)
    assert_same_bits(simulation, again)


def test_recorders_read_each_frame(tmp_path) -> None:
    paths = []
    for each in ("cpu", "cuda"):
        simulation = start("cloth_on_sphere", device=each)
        simulation.run(0.1, record=tmp_path / f"{each}.npz", progress=False)
        paths.append(tmp_path / f"{each}.npz")
    first, second = (dict(np.load(path, allow_pickle=False)) for path in paths)
    assert first.keys() == second.keys()
    for name, values in first.items():
        if values.dtype.kind == "f":
            assert np.array_equal(values, second[name], equal_nan=True), name
