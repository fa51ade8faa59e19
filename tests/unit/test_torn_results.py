"""What has torn is not drawn, in every format."""

from pathlib import Path

import numpy as np
import pytest
from test_exchange import Glb
from test_files_writers import ONE_PICTURE

import shinari as sn
from shinari.geometry.files.meshes import read_mesh
from shinari.geometry.tetrahedra.check import FACES, boundary_faces, exposed_faces
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.io.frames import frame_of, layout_of
from shinari.io.npz import read_npz
from shinari.io.results import DrawnPart, Layout
from shinari.output.recorder import Recorder

STEPS = 10


def tearing_scene() -> sn.Scene:
    """A sheet, a rope and two soft bodies whose ends fly apart, and a sheet that holds."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    grid = sn.grid(shape=(7, 3))
    scene.add_cloth(grid, position=(0, 9, 0), name="whole")
    pull = 8.0 * np.sign(grid[0] * (1, 0, 0))
    scene.add_cloth(
        grid, material=sn.ClothMaterial(stretch_compliance=1e-2, tear_strain=0.2), velocity=pull, name="sheet"
    )
    points = np.linspace((0.0, 2.0, 0.0), (1.0, 2.0, 0.0), 6)
    speeds = np.where(np.arange(6)[:, None] < 3, -8.0, 8.0) * (1, 0, 0)
    scene.add_rope(
        points, material=sn.RopeMaterial(stretch_compliance=1e-2, tear_strain=0.2), velocity=speeds, name="rope"
    )
    vertices, tetrahedra = lattice((4, 1, 1), 0.25)
    apart = np.where(vertices[:, :1] > 0.5, 6.0, -6.0) * (1, 0, 0)
    material = sn.SoftMaterial(youngs_modulus=1e4, tear_strain=0.2)
    scene.add_soft_body((vertices, tetrahedra), material=material, velocity=apart, position=(0, 4, 0), name="bare")
    blob = np.random.default_rng(0).uniform((0.0, 0.05, 0.05), (1.0, 0.2, 0.2), (90, 3))
    scene.add_soft_body((vertices, tetrahedra), visual=(blob, np.arange(90).reshape(-1, 3)), material=material,
                        velocity=apart, position=(0, 6, 0), name="dressed")  # fmt: skip
    return scene


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sn.Simulation, list[np.ndarray], list[dict]]:
    """A folder with a run in every format, the simulation, and what is drawn and `surface` gives in each frame."""
    folder = tmp_path_factory.mktemp("torn")
    simulation = sn.Simulation(tearing_scene(), threads=1, dt=1 / 30)
    drawn, surfaces = [], []
    # point caches hold meshes that stay as they are, and refuse a sheet that can tear
    formats = [suffix for suffix in ONE_PICTURE if suffix not in (".pc2", ".mdd")]
    with Recorder(simulation, [folder / f"run{suffix}" for suffix in formats]) as recorder:
        for step in range(STEPS + 1):
            if step:
                simulation.step()
            recorder.record()
            drawn.append(frame_of(simulation).drawn)
            surfaces.append({name: simulation.surface(name)[1] for name in ("sheet", "bare", "dressed")})
    return folder, simulation, drawn, surfaces


def rows(faces: np.ndarray) -> list[list[int]]:
    """Faces in an order of their own, each from its smallest corner on."""
    faces = np.array([np.roll(face, -int(np.argmin(face))) for face in faces])
    return sorted(faces.tolist())


def test_frames_draw_what_the_simulation_says_is_left(run: tuple) -> None:
    _, simulation, drawn, surfaces = run
    layout = layout_of(simulation.scene, 30.0)
    parts = {part.name: part for part in layout.parts}
    assert [name for name, part in parts.items() if part.varies] == ["sheet", "rope", "bare", "dressed"]
    for there, surface in zip(drawn, surfaces, strict=True):
        for name, faces in surface.items():
            assert rows(parts[name].faces[there[layout.varying[name]]]) == rows(faces)
    for name, where in layout.varying.items():
        assert drawn[0][where].any()
        assert (drawn[-1][where] != drawn[0][where]).any(), f"{name} did not tear"
    assert drawn[0][layout.varying["rope"]].all()


def test_npz(run: tuple) -> None:
    folder, simulation, drawn, _ = run
    arrays = read_npz(folder / "run.npz")
    layout = layout_of(simulation.scene, 30.0)
    for name, where in layout.varying.items():
        assert np.array_equal(arrays[f"drawn_{name}"], np.array(drawn)[:, where])
    assert "drawn_whole" not in arrays


def test_ply_has_the_faces_that_are_left(run: tuple) -> None:
    folder, simulation, drawn, _ = run
    layout = layout_of(simulation.scene, 30.0)
    for index in (0, STEPS):
        _, faces = read_mesh(folder / f"run_{index:04d}.ply")
        meshes = [where for name, where in layout.varying.items() if name != "rope"]
        assert len(faces) == 24 + sum(int(drawn[index][where].sum()) for where in meshes)


def test_usd_samples_the_faces_and_the_segments_that_are_left(run: tuple) -> None:
    usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    folder, simulation, drawn, surfaces = run
    where = layout_of(simulation.scene, 30.0).varying["rope"]
    for suffix in (".usdc", ".usda"):
        stage = usd.Stage.Open(str(folder / f"run{suffix}"))
        for index in (0, STEPS):
            for name in ("sheet", "bare", "dressed"):
                mesh = UsdGeom.Mesh.Get(stage, f"/World/{name}")
                faces = np.array(mesh.GetFaceVertexIndicesAttr().Get(index)).reshape(-1, 3)
                assert rows(faces) == rows(surfaces[index][name])
                assert len(mesh.GetFaceVertexCountsAttr().Get(index)) == len(faces)
            rope = UsdGeom.BasisCurves.Get(stage, "/World/rope")
            count = int(drawn[index][where].sum())
            assert list(rope.GetCurveVertexCountsAttr().Get(index)) == [2] * count
            assert len(rope.GetPointsAttr().Get(index)) == 2 * count


def test_paraview_sees_the_cells_that_are_left(run: tuple) -> None:
    vtk = pytest.importorskip("vtk")
    folder, simulation, drawn, surfaces = run
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(folder / "run.vtkhdf"))
    reader.UpdateInformation()
    layout = layout_of(simulation.scene, 30.0)
    starts = {part.name: part.start for part in layout.parts}
    for index in range(STEPS + 1):
        reader.SetStep(index)
        reader.Update()
        data = reader.GetOutput()
        polygons = [data.GetPolys().GetCellSize(k) for k in range(data.GetNumberOfPolys())]
        assert polygons == [3] * (24 + sum(len(faces) for faces in surfaces[index].values()))
        from vtk.util.numpy_support import vtk_to_numpy

        corners = vtk_to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3)
        for name, faces in surfaces[index].items():
            stop = next(part.stop for part in layout.parts if part.name == name)
            own = corners[(corners[:, 0] >= starts[name]) & (corners[:, 0] < stop)]
            assert rows(own - starts[name]) == rows(faces)
        segments = sum(data.GetLines().GetCellSize(k) - 1 for k in range(data.GetNumberOfLines()))
        assert segments == int(drawn[index][layout.varying["rope"]].sum())


def test_in_gltf_what_is_not_there_has_no_size(run: tuple) -> None:
    folder, simulation, drawn, _ = run
    glb, positions = Glb(folder / "run.glb"), read_npz(folder / "run.npz")["positions"]
    layout = layout_of(simulation.scene, 30.0)
    for part in layout.parts[1:]:
        mesh = glb.mesh(part.name)
        corners = 2 if part.faces is None else 3
        cells = glb.values(mesh["indices"]).reshape(-1, corners)
        assert mesh["mode"] == {2: 1, 3: 4}[corners]
        given = np.arange(part.element_count)[:, None] + np.arange(2) if part.faces is None else part.faces
        kept = 0
        for index in range(STEPS + 1):
            names = ["POSITION"] if corners == 2 else ["POSITION", "NORMAL"]
            values = [glb.values(mesh["attributes"][name]) for name in names]
            if index:
                values = [v + glb.values(mesh["targets"][index - 1][n]) for v, n in zip(values, names, strict=True)]
            shown = values[0][cells]
            sizes = np.abs(shown - shown[:, :1]).max(axis=(1, 2))
            expected = positions[index, part.start : part.stop][given[drawn[index][layout.varying[part.name]]]]
            found, wanted = (np.sort(p.reshape(-1, 3 * corners), axis=0) for p in (shown[sizes > 1e-4], expected))
            assert np.allclose(found, wanted, atol=1e-5)
            assert corners == 2 or np.allclose(np.linalg.norm(values[1], axis=1), 1.0, atol=1e-5)
            kept += len(found) < len(cells)
        assert kept > 0
    sheet = glb.mesh("sheet")
    assert len(glb.values(sheet["attributes"]["POSITION"])) < 3 * 24, "triangles that stay share their vertices"


def test_the_player_holds_the_run(run: tuple) -> None:
    assert (run[0] / "run.html").stat().st_size > 100_000


@pytest.mark.parametrize("seed", range(3))
def test_exposed_faces_are_the_boundary_of_what_is_present(seed: int) -> None:
    _, tetrahedra = lattice((3, 2, 2), 0.5)
    present = np.random.default_rng(seed).random(len(tetrahedra)) < 0.7
    exposed = tetrahedra[:, FACES].reshape(-1, 3)[exposed_faces(tetrahedra, present)]
    assert rows(exposed) == rows(boundary_faces(tetrahedra[present]))


def test_a_fluid_is_made_of_points() -> None:
    with pytest.raises(sn.SceneError, match="part 'a': fluid: a fluid is made of points, the kind is 'curve'"):
        Layout((DrawnPart("a", "curve", 0, 1, fluid=True),), (), 1, 30.0)
