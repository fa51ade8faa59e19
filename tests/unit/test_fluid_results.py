"""What result files hold of fluids: the particles that are there, their velocities and densities; and their surface."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from test_files_writers import read_vtkhdf

import shinari as sn
from shinari.io.frames import frame_of, layout_of
from shinari.io.npz import read_npz
from shinari.systems.fluid.surface_mesh import reconstruct

S = 0.02
STEPS = 12


def scene_with_two_fluids() -> sn.Scene:
    """A block that falls, a faucet that begins later and fills up, and a ball."""
    scene = sn.Scene()
    material = sn.FluidMaterial(rest_density=800.0)
    block = scene.add_fluid(
        lattice((4, 4, 4)) + np.array([0.3, 0.2, 0.0]),
        spacing=S,
        material=material,
        kernel="cubic-spline",
        name="block",
    )
    scene.add_emitter(block, limit=60, radius=2 * S, speed=1.0, position=(0, 0.5, 0), start=0.1, name="tap")
    scene.add_rigid_body(sn.Sphere(0.05), position=(-0.3, 0.5, 0.0), name="ball")
    return scene


def lattice(counts: tuple[int, int, int]) -> np.ndarray:
    axes = [np.arange(count) + 0.5 for count in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3) * S


def quiet(simulation: sn.Simulation, steps: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.FluidWarning)
        simulation.step(steps)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list]:
    """Files of a run, and its frames."""
    folder = tmp_path_factory.mktemp("fluids")
    simulation = sn.Simulation(scene_with_two_fluids(), dt=1 / 30, substeps=2, threads=1)
    frames = []

    def keep(simulation: sn.Simulation) -> None:
        frame = frame_of(simulation)
        frames.append({name: np.array(getattr(frame, name)) for name in ("positions", "velocities", "densities")})
        frames[-1]["there"] = simulation.active("tap")

    from shinari.output.recorder import Recorder

    names = [folder / f"run.{suffix}" for suffix in ("npz", "ply", "usda", "html", "vtkhdf")]
    with warnings.catch_warnings(), Recorder(simulation, names) as recorder:
        warnings.simplefilter("ignore", sn.FluidWarning)
        for _ in range(STEPS):
            recorder.record()
            keep(simulation)
            simulation.step()
    assert {int(frame["there"].sum()) for frame in frames} >= {0, 60}
    return folder, frames


def test_the_layout_says_what_flows() -> None:
    scene = scene_with_two_fluids()
    block, tap = layout_of(scene, 30.0).parts
    assert (block.fluid, block.varies, tap.fluid, tap.varies) == (True, False, True, True)
    scene.add_sink(sn.Plane((0, 1, 0), -1.0))
    assert all(part.varies for part in layout_of(scene, 30.0).parts)


def test_a_container_is_seen_into() -> None:
    scene = scene_with_two_fluids()
    scene.add_collider(sn.Box((2.0, 2.0, 2.0), inside=True))
    scene.add_collider(sn.Box((1.0, 0.1, 1.0)), position=(0.0, -0.5, 0.0))
    scene.add_collider(sn.Plane(offset=-1.0))
    assert [body.hollow for body in layout_of(scene, 30.0).bodies] == [False, True, False, False]


def test_npz(run: tuple[Path, list]) -> None:
    folder, frames = run
    arrays = read_npz(folder / "run.npz")
    assert arrays["density_block"].shape == (STEPS, 64)
    assert arrays["density_tap"].shape == arrays["drawn_tap"].shape == (STEPS, 60)
    for index, frame in enumerate(frames):
        assert np.array_equal(arrays["drawn_tap"][index], frame["there"])
        assert np.allclose(arrays["density_block"][index], frame["densities"][:64])
        assert np.array_equal(arrays["velocities"][index], frame["velocities"].astype(np.float32))
    # a lattice of these four layers has its density in the middle, and none has more
    assert 0.97 < arrays["density_block"].max() / 800.0 < 1.1
    assert (arrays["density_tap"][~arrays["drawn_tap"]] == 0.0).all()


def test_ply_has_the_particles_that_are_there(run: tuple[Path, list]) -> None:
    folder, frames = run
    for index, frame in enumerate(frames):
        data = (folder / f"run_{index:04d}.ply").read_bytes()
        header, body = data.split(b"end_header\n", 1)
        lines = header.decode().split("\n")
        count = int(next(line for line in lines if line.startswith("element vertex")).split()[-1])
        assert [line.split()[-1] for line in lines if line.startswith("property float")] == [
            "x", "y", "z", "vx", "vy", "vz", "density"
        ]  # fmt: skip
        assert [line.split()[-1] for line in lines if line.startswith("property uchar")] == ["red", "green", "blue"]
        record = np.dtype([("numbers", "<f4", 7), ("color", "u1", 3)])
        rows = np.frombuffer(body, record, count)["numbers"]
        points = np.concatenate([np.ones(64, bool), frame["there"]])
        shown = int(points.sum())
        assert np.array_equal(rows[:shown, :3], frame["positions"][points].astype(np.float32))
        assert np.array_equal(rows[:shown, 3:6], frame["velocities"][points].astype(np.float32))
        assert np.allclose(rows[:shown, 6], frame["densities"][points])
        # the ball falls as a whole
        fall = -9.81 * index / 30
        assert np.allclose(rows[shown:, 3:], [0.0, fall, 0.0, 0.0], atol=1e-4)
        mesh = trimesh.load(folder / f"run_{index:04d}.ply", process=False)
        assert len(mesh.vertices) == count or len(mesh.faces) > 0


def test_usd_has_velocities_and_densities(run: tuple[Path, list]) -> None:
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom  # type: ignore[import-not-found]

    folder, frames = run
    stage = Usd.Stage.Open(str(folder / "run.usda"))
    tap = UsdGeom.Points(stage.GetPrimAtPath("/World/tap"))
    density = UsdGeom.PrimvarsAPI(tap).GetPrimvar("density")
    for index, frame in enumerate(frames):
        there = frame["there"]
        for attribute, name in ((tap.GetPointsAttr(), "positions"), (tap.GetVelocitiesAttr(), "velocities")):
            values = np.array(attribute.Get(index)).reshape(-1, 3)
            assert np.allclose(values, frame[name][64:][there], atol=1e-6)
        assert np.allclose(np.array(density.Get(index)), frame["densities"][64:][there], rtol=1e-6)
    block = UsdGeom.Points(stage.GetPrimAtPath("/World/block"))
    assert len(block.GetPointsAttr().Get(0)) == 64


def test_vtkhdf_opens_with_the_particles_that_are_there(run: tuple[Path, list]) -> None:
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    folder, frames = run
    positions = read_vtkhdf(folder / "run.vtkhdf")[1]
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(folder / "run.vtkhdf"))
    for index, frame in enumerate(frames):
        assert np.array_equal(positions[index], frame["positions"].astype(np.float32))
        reader.SetStep(index)
        reader.Update()
        output = reader.GetOutput()
        cells = vtk_to_numpy(output.GetVerts().GetConnectivityArray())
        expected = np.flatnonzero(np.concatenate([np.ones(64, bool), frame["there"]]))
        assert np.array_equal(cells, expected)
        densities = vtk_to_numpy(output.GetPointData().GetArray("density"))
        assert np.allclose(densities[:124], frame["densities"])
        assert (densities[124:] == 0.0).all()


def test_html_is_a_page(run: tuple[Path, list]) -> None:
    pytest.importorskip("viser")
    assert (run[0] / "run.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")


@pytest.mark.parametrize("counts", [(6, 6, 6), (12, 8, 10), (20, 3, 20)])
@pytest.mark.parametrize("resolution", [0.5, 0.25])
def test_the_surface_of_a_block_holds_its_volume(counts: tuple[int, int, int], resolution: float) -> None:
    pytest.importorskip("pysplashsurf")
    points = lattice(counts) + np.random.default_rng(3).normal(size=(np.prod(counts), 3)) * 0.05 * S
    for smoothing in (0, 10):
        vertices, faces = reconstruct(points, S, resolution=resolution, smoothing=smoothing)
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        assert mesh.is_watertight
        assert abs(mesh.volume / (np.prod(counts) * S**3) - 1.0) < 0.1


def test_the_surface_of_a_simulation() -> None:
    pytest.importorskip("pysplashsurf")
    scene = sn.Scene()
    tank = sn.Box((10 * S, 1.0, 8 * S), inside=True)
    scene.add_collider(tank, position=(0.0, 0.5, 0.0))
    pool = scene.add_fluid(sn.Box((10 * S, 8 * S, 8 * S)), spacing=S, kernel="cubic-spline", position=(0.0, 0.08, 0.0))
    simulation = sn.Simulation(scene, substeps=4)
    volume = scene.particle_objects[0].masses.sum() / 1000.0
    for steps in (0, 30):  # where it was put, and settled
        quiet(simulation, steps)
        vertices, faces = simulation.fluid_surface(pool)
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        assert mesh.is_watertight
        assert abs(mesh.volume / volume - 1.0) < 0.1
    simulation = sn.Simulation(scene_with_two_fluids(), substeps=1)
    assert [len(array) for array in simulation.fluid_surface("tap")] == [0, 0]
    with pytest.raises(sn.SceneError, match="handle: expected an object with particles"):
        simulation.fluid_surface("ball")
    with pytest.raises(sn.SceneError, match="fluid_surface: resolution: must be at most 1"):
        simulation.fluid_surface("block", resolution=2.0)
    with pytest.raises(sn.SceneError, match="fluid_surface: smoothing: expected a whole number"):
        simulation.fluid_surface("block", smoothing=0.5)


def test_a_rope_has_no_surface_of_a_fluid() -> None:
    scene = sn.Scene()
    rope = scene.add_rope(np.eye(3))
    with pytest.raises(sn.SceneError, match="fluid_surface: 'rope': is a rope; expected a fluid"):
        sn.Simulation(scene, substeps=1).fluid_surface(rope)


def test_without_the_extra_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("shinari.errors.importlib.import_module", missing)
    with pytest.raises(sn.MissingExtraError, match=r"pip install 'shinari\[surface\]'"):
        reconstruct(np.zeros((1, 3)), S)


@pytest.mark.parametrize("suffix", ["ply", "usda", "html"])
def test_fluids_drawn_by_their_surface(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pysplashsurf")
    from shinari.output.recorder import Recorder

    simulation = sn.Simulation(scene_with_two_fluids(), dt=1 / 30, substeps=2, threads=1)
    with Recorder(simulation, [tmp_path / f"run.{suffix}"], surface=True) as recorder:
        for _ in range(6):
            recorder.record()
            quiet(simulation, 1)
    if suffix == "html":
        assert (tmp_path / "run.html").stat().st_size > 1e5
        return
    for index in (0, 5):
        block, tap = surfaces_of(tmp_path, suffix, index)
        assert block.is_watertight
        assert abs(block.volume - 64 * S**3) < 0.2 * 64 * S**3
        assert (len(tap.faces) > 0) == (index == 5)
        assert tap.is_watertight or index == 0


def surfaces_of(folder: Path, suffix: str, index: int) -> list[trimesh.Trimesh]:
    """Surfaces of the block and of what came out of the tap."""
    if suffix == "ply":
        whole = trimesh.load(folder / f"run_{index:04d}.ply", process=False)
        whole.merge_vertices()
        parts = [part for part in whole.split() if part.bounds[1, 0] > -0.2]
        blocks = [part for part in parts if part.bounds[0, 0] > 0.2]
        taps = [part for part in parts if part.bounds[1, 0] < 0.2]
        assert len(blocks) == 1
        return [blocks[0], trimesh.util.concatenate(taps) if taps else trimesh.Trimesh()]
    pxr = pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom  # type: ignore[import-not-found]

    assert pxr is not None
    stage = Usd.Stage.Open(str(folder / "run.usda"))
    found = []
    for name in ("block", "tap"):
        mesh = UsdGeom.Mesh(stage.GetPrimAtPath(f"/World/{name}"))
        vertices = np.array(mesh.GetPointsAttr().Get(index)).reshape(-1, 3)
        faces = np.array(mesh.GetFaceVertexIndicesAttr().Get(index)).reshape(-1, 3)
        assert len(mesh.GetFaceVertexCountsAttr().Get(index)) == len(faces)
        found.append(trimesh.Trimesh(vertices, faces, process=False))
    return found


def test_the_extra_is_asked_for_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from shinari.output.recorder import Recorder

    def missing(name: str) -> None:
        raise ImportError(name)

    simulation = sn.Simulation(scene_with_two_fluids(), substeps=1)
    monkeypatch.setattr("shinari.errors.importlib.import_module", missing)
    with pytest.raises(sn.MissingExtraError, match=r"shinari\[surface\]"):
        Recorder(simulation, [tmp_path / "run.ply"], surface=True)
    assert not list(tmp_path.iterdir())
