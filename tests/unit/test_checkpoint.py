"""Checkpoints: a run that is saved and resumed has the bits of one that was not."""

import dataclasses
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import shape_kernels
import trimesh

import shinari as sn
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.io import checkpoint
from shinari.io.codec import Codec, decode
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.rod_material import RodMaterial
from shinari.scene.wind import Gusts
from shinari.shapes.base import shape_mesh
from shinari.solver.bound_systems import BoundSystems


def rich_scene(**changes: object) -> sn.Scene:
    """Everything that a checkpoint has to carry: wind, damping, a moving collider, drivers, rows that have let go."""
    scene = sn.Scene(wind=Gusts((2, 0, 0), (1, 0, 0.5), 0.7), damping=0.1, **changes)  # type: ignore[arg-type]
    material = sn.ClothMaterial(damping=0.01, compression_compliance=1e-2)
    cloth = scene.add_cloth(sn.grid(shape=(8, 8)), material=material, position=(0.3, 1.0, 0.0), name="cloth")
    rope = scene.add_rope(np.linspace((0.0, 0.5, 0.0), (0.1, -0.5, 0.0), 6), name="rope")
    cloth.pin([0, 7])
    scene.attach((cloth, 60), (rope, 0))
    scene.attach((cloth, 40), (5.0, 5.0, 5.0), compliance=1e-2, break_force=0.5)
    scene.attach((cloth, 33), sn.Oscillation((0.3, 1.0, 0.0), (0.2, 0.0, 0.0), 1.0), compliance=1e-3)
    scene.add_collider(sn.Sphere(0.2), motion=sn.Keyframes([0.0, 1.0], [[0.3, 0, 0], [0.3, 1, 0]]))  # type: ignore[arg-type]
    scene.add_collider(sn.Box((9.0, 9.0, 9.0), inside=True), friction=0.6)
    return scene


def solids_scene() -> sn.Scene:
    """A soft body with a surface that is shown, rods, lumps, a balloon, and attachments to places on them."""
    scene = sn.Scene()
    blob = trimesh.creation.icosphere(subdivisions=2, radius=0.2)
    blob = np.asarray(blob.vertices), np.asarray(blob.faces)
    jelly = scene.add_soft_body(
        lattice((3, 2, 2), 0.1),
        visual=(0.3 * blob[0] + 0.1, blob[1]),
        material=sn.SoftMaterial(youngs_modulus=2e4, damping=0.01),
        position=(0.0, 1.0, 0.0),
        name="jelly",
    )
    scene.add_soft_body(lattice((1, 1, 1), 0.2), material=sn.SoftMaterial(model="corotated"), position=(3, 1, 0))
    wire = scene.add_rod(np.linspace((0.3, 1.3, 0.0), (1.0, 1.3, 0.0), 8), material=RodMaterial(radius=0.002))
    turns = np.linspace(0.0, 2.0 * np.pi, 9)[:-1]
    ring = scene.add_rod(0.3 * np.stack([np.cos(turns), 0 * turns, np.sin(turns)], 1) + (0, 3, 0), closed=True)
    wire.clamp([0])
    wire.pin([0])
    scene.add_shape_matched(blob, density=500.0, spacing=0.1, position=(0.0, 0.25, 0.0), name="stone")
    points = np.indices((4, 3, 3)).reshape(3, -1).T * 0.05 + (1.5, 0.2, 0.0)
    clay = LumpMaterial(stiffness=0.6, mode="linear", cluster_size=0.12, yield_strain=0.01, creep=20.0)
    scene.add_shape_matched(points, material=clay, velocity=(0.0, -3.0, 0.0), name="clay")
    balloon = scene.add_cloth(blob, position=(2.3, 0.5, 0.0), name="balloon")
    scene.add_volume(balloon, ratio=1.2, compliance=1e-7)
    scene.attach((wire, 7), (jelly, np.array([0.3, 1.2, 0.1])), compliance=1e-3, reach=2.0)
    scene.attach((ring, [0, 3]), (balloon, [1, 2]), break_force=0.05)
    scene.add_collider(sn.Plane(), friction=0.4)
    return scene


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("checkpoint") / "c.vtkhdf"
    simulation = sn.Simulation(rich_scene(), substeps=4, iterations=2, threads=1)
    simulation.step(3)
    simulation.save(path)
    return path


@pytest.fixture
def copy(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(saved, tmp_path / "copy.vtkhdf"))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("sweep", ["gauss-seidel", "jacobi"])
def test_ten_and_ten_steps_are_twenty(tmp_path: Path, precision: str, sweep: str) -> None:
    settings = {"precision": precision, "sweep": sweep, "substeps": 4, "iterations": 2, "threads": 1}
    straight = sn.Simulation(rich_scene(), **settings)  # type: ignore[arg-type]
    straight.step(20)
    first = sn.Simulation(rich_scene(), **settings)  # type: ignore[arg-type]
    first.step(10)
    first.advance(0.4 * first.settings.dt)
    assert any(rows.any() for rows in first.state.broken.values())
    first.save(tmp_path / "c.vtkhdf")
    second = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert second.state == first.state
    assert second.settings == first.settings
    assert second.left_over == first.left_over
    assert list(second.scene.handles) == list(first.scene.handles)
    second.step(10)
    assert second.state == straight.state
    assert second.time == straight.time


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_solids_and_their_parts_go_on_bit_by_bit(tmp_path: Path, precision: str) -> None:
    straight, first = (sn.Simulation(solids_scene(), precision=precision, substeps=8, threads=1) for _ in range(2))
    straight.step(16)
    first.step(8)
    assert len(first.state.system_arrays) >= 4
    first.save(tmp_path / "c.vtkhdf")
    second = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert second.state == first.state
    for mine, theirs in zip(first.scene.particle_objects, second.scene.particle_objects, strict=True):
        assert type(mine.visual) is type(theirs.visual)
        assert mine.material == theirs.material
    second.step(8)
    assert second.state == straight.state
    for name in ("jelly", "stone"):
        assert np.array_equal(second.surface(name)[0], straight.surface(name)[0])


def test_what_was_written_to_the_state_is_kept(tmp_path: Path) -> None:
    pair = [sn.Simulation(rich_scene(), substeps=2, threads=1) for _ in range(2)]
    for simulation in pair:
        simulation.step(2)
        simulation.positions("cloth")[0] += 0.1
    pair[0].save(tmp_path / "c.h5")
    loaded = sn.Simulation.load(tmp_path / "c.h5")
    for simulation in (loaded, pair[1]):
        simulation.step(2)
    assert loaded.state == pair[1].state


@pytest.mark.parametrize("shape", [
    sn.ConvexHull(np.random.default_rng(0).normal(size=(20, 3))),
    sn.Box((0.2, 0.2, 0.2)).as_mesh,
], ids=["hull", "mesh"])  # fmt: skip
def test_bodies_that_share_a_shape_go_on_bit_by_bit(tmp_path: Path, shape: sn.Shape) -> None:
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    for k in range(3):
        scene.add_rigid_body(shape, position=(0.0, 3.0 + 6.0 * k, 0.0))
    sim = sn.Simulation(scene)
    sim.step(20)
    sim.save(tmp_path / "shared.ckpt")
    again = sn.Simulation.load(tmp_path / "shared.ckpt")
    for one in (sim, again):
        one.step(20)
    assert np.array_equal(sim.state.body_positions, again.state.body_positions)


def test_functions_need_the_scene(tmp_path: Path) -> None:
    def sway(time: float) -> tuple[float, float, float]:
        return (0.3 + 0.1 * time, 1.0, 0.0)

    def build() -> sn.Scene:
        scene = rich_scene()
        scene.attach((scene["cloth"], 20), sway, compliance=1e-3)
        return scene

    simulation = sn.Simulation(build(), substeps=2, threads=1)
    simulation.step(2)
    simulation.save(tmp_path / "c.vtkhdf")
    with pytest.raises(sn.SceneError, match=r"sway.*scene="):
        sn.Simulation.load(tmp_path / "c.vtkhdf")
    loaded = sn.Simulation.load(tmp_path / "c.vtkhdf", scene=build())
    loaded.step(2)
    simulation.step(2)
    assert loaded.state == simulation.state


def test_another_scene_is_refused(saved: Path) -> None:
    scene = rich_scene()
    scene.pin([13])
    with pytest.raises(sn.SceneError, match="not the one that was saved"):
        sn.Simulation.load(saved, scene=scene)
    with pytest.raises(sn.SceneError, match="not the one that was saved"):
        sn.Simulation.load(saved, scene=rich_scene(gravity=(0, -9.8, 0)))
    sn.Simulation.load(saved, scene=rich_scene())


def test_restore_makes_broken_rows_whole_again() -> None:
    simulation = sn.Simulation(rich_scene(), substeps=4, threads=1)
    before = simulation.state.copy()
    simulation.step(3)
    after = simulation.state.copy()
    simulation.restore(before)
    simulation.step(3)
    assert simulation.state == after
    assert isinstance(simulation._bound, BoundSystems)


def test_paraview_opens_it(saved: Path) -> None:
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(saved))
    reader.Update()
    points = vtk_to_numpy(reader.GetOutput().GetPoints().GetData())
    np.testing.assert_allclose(points, sn.Simulation.load(saved).state.positions, atol=1e-6)


def test_describe(saved: Path) -> None:
    facts = checkpoint.describe(saved)
    assert facts["frame"] == 3
    assert facts["things"] == ["cloth", "rope", "collider", "collider_2"]
    assert facts["functions"] == []
    assert facts["version"] == sn.__version__


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_cut_short(copy: Path, part: float) -> None:
    data = copy.read_bytes()
    copy.write_bytes(data[: int(part * len(data))])
    with pytest.raises(sn.FileError, match="cut short"):
        sn.Simulation.load(copy)


@pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.95])
def test_a_changed_byte(copy: Path, place: float) -> None:
    data = bytearray(copy.read_bytes())
    data[int(place * len(data))] ^= 1
    copy.write_bytes(data)
    with pytest.raises(sn.FileError, match="bytes have changed"):
        sn.Simulation.load(copy)


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(sn.FileError, match="No such file"):
        sn.Simulation.load(tmp_path / "none.vtkhdf")
    (tmp_path / "text.vtkhdf").write_text("hello")
    with pytest.raises(sn.FileError, match="no HDF5 file"):
        sn.Simulation.load(tmp_path / "text.vtkhdf")
    (tmp_path / "empty.vtkhdf").touch()
    with pytest.raises(sn.FileError, match="no HDF5 file"):
        sn.Simulation.load(tmp_path / "empty.vtkhdf")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["data"] = np.arange(3)
    with pytest.raises(sn.FileError, match="without one"):
        sn.Simulation.load(tmp_path / "other.h5")
    with pytest.raises(sn.FileError):
        sn.Simulation.load(tmp_path)


def reseal(path: Path, change) -> None:  # type: ignore[no-untyped-def]
    """Change the content of a checkpoint as its author could."""
    data = path.read_bytes()
    path.write_bytes(data[: -checkpoint._SEAL_LENGTH])
    with h5py.File(path, "r+") as file:
        change(file["checkpoint"])
    checkpoint._seal(path)


def test_another_format(copy: Path) -> None:
    reseal(copy, lambda group: group.attrs.__setitem__("format", 99))
    with pytest.raises(sn.FileError, match=r"format 99, written by shinari 0"):
        sn.Simulation.load(copy)


def test_another_model(copy: Path) -> None:
    reseal(copy, lambda group: group.attrs.__setitem__("digest", "0" * 64))
    with pytest.raises(sn.FileError, match="builds another model"):
        sn.Simulation.load(copy)


def test_a_forged_index_does_not_reach_the_solver(copy: Path) -> None:
    def forge(group: h5py.Group) -> None:
        for dataset in group["arrays"].values():
            if dataset.dtype.kind == "i":
                dataset[...] = 10**6

    reseal(copy, forge)
    with pytest.raises(sn.FileError, match="damaged"):
        sn.Simulation.load(copy)


def test_a_forged_scene_is_refused(copy: Path) -> None:
    def forge(group: h5py.Group) -> None:
        del group["scene"]
        text = b'{"groups": {"record": "Path", "fields": {}}}'
        group.create_dataset("scene", data=np.frombuffer(text, np.uint8))

    reseal(copy, forge)
    with pytest.raises(sn.FileError, match="damaged"):
        sn.Simulation.load(copy)


def test_missing_parts(copy: Path) -> None:
    reseal(copy, lambda group: group.__delitem__("state/positions"))
    with pytest.raises(sn.FileError, match="damaged"):
        sn.Simulation.load(copy)


def test_an_earlier_file_survives_a_failed_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = sn.Simulation(rich_scene(), substeps=2, threads=1)
    simulation.save(tmp_path / "c.vtkhdf")
    before = (tmp_path / "c.vtkhdf").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "_seal", full)
    with pytest.raises(sn.FileError, match="No space left"):
        simulation.save(tmp_path / "c.vtkhdf")
    assert (tmp_path / "c.vtkhdf").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c.vtkhdf"]
    with pytest.raises(sn.FileError):
        simulation.save(tmp_path / "c.vtkhdf" / "below.vtkhdf")


def test_pack_returns_what_it_was_given() -> None:
    value = {
        "a": (1, 2.5, "text", None, True),
        "b": [float("inf"), -float("inf")],
        3: sn.Oscillation((0, 0, 0), (1, 0, 0), 2.0),
        "material": sn.ClothMaterial(compression_compliance=np.inf),
        "array": np.arange(6, dtype=np.int32).reshape(2, 3),
    }
    packed = Codec()
    node = packed.encode(value)
    back = decode(node, packed.arrays)
    np.testing.assert_array_equal(back.pop("array"), value.pop("array"))  # type: ignore[arg-type]
    assert back == value
    assert packed.functions == []


@pytest.mark.parametrize(
    "node",
    [{"record": "Scene", "fields": {}}, {"record": "Sphere"}, {"array": 0}, {"array": -1}, {"array": True}, {"x": 1},
     {}, [1], {"function": "f"}, {"float": 1, "array": 0}],
)  # fmt: skip
def test_unpack_refuses_what_it_does_not_know(node: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        decode(node, [])


@pytest.mark.parametrize(
    "shape", [sn.Sphere(0.5), sn.Capsule(0.5, 2.0), sn.Box((1, 2, 3)), sn.Box((1, 2, 3), inside=True)], ids=repr
)
@pytest.mark.parametrize("segments", [8, 30, 32])
def test_shape_meshes_are_closed_and_lie_on_the_surface(shape: object, segments: int) -> None:
    vertices, faces = shape_mesh(shape, segments=segments)  # type: ignore[arg-type]
    assert np.abs(shape_kernels.distances(shape, vertices)).max() < 1e-12
    pairs = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert set(np.unique(pairs, axis=0, return_counts=True)[1]) == {2}
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert (volume < 0) == getattr(shape, "inside", False)


def test_fields_of_the_records_are_packable() -> None:
    for record in (sn.Sphere(1.0), sn.Plane(), sn.RopeMaterial(), Gusts((1, 0, 0))):
        packed = Codec()
        assert decode(packed.encode(record), packed.arrays) == record
        assert dataclasses.is_dataclass(record)
