"""Rigid bodies in results: every format shows them where the simulation has them."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.build.body_mesh import body_surface
from shinari.build.shape_mesh import shape_mesh
from shinari.cli.info import describe
from shinari.files.html import moving_box
from shinari.files.npz import read_npz
from shinari.files.results import Body, Frame, Layout, Part
from shinari.files.spool import frame_dtype
from shinari.files.vtkhdf import read_cache
from shinari.files.writers import FORMATS, open_writer
from shinari.scene import body as scene_body
from shinari.scene.body import Piece
from shinari.scene.motion import rotation_matrix
from shinari.scene.surface import Surface


def body_of(*pieces: Piece, **changes) -> scene_body.Body:
    zero, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    values = {"mass": 1.0, "centre": zero, "moments": np.ones(3), "axes": turn, "position": zero, "rotation": turn}
    values |= {"velocity": zero, "angular_velocity": zero, "surface": Surface()}
    return scene_body.Body(**{"name": "body", "pieces": pieces} | values | changes)


def test_the_surface_of_a_body_is_that_of_its_shapes_where_they_are() -> None:
    turn = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    box, ball = sn.Box((1.0, 2.0, 3.0)), sn.Sphere(0.5)
    pieces = Piece(box, np.array([1.0, 0.0, 0.0]), turn), Piece(ball, np.array([0.0, 4.0, 0.0]), np.eye(4)[0])
    vertices, faces = body_surface(body_of(*pieces))
    boxed, balled = shape_mesh(box), shape_mesh(ball)
    expected = boxed[0] @ rotation_matrix(turn).T + [1.0, 0.0, 0.0], balled[0] + [0.0, 4.0, 0.0]
    assert np.array_equal(vertices, np.concatenate(expected))
    assert np.array_equal(faces, np.concatenate([boxed[1], balled[1] + len(boxed[0])]))
    assert faces.dtype == np.int32


def test_a_body_without_shapes_has_an_empty_surface_and_a_visual_takes_the_place_of_shapes() -> None:
    vertices, faces = body_surface(body_of())
    assert (vertices.shape, faces.shape) == ((0, 3), (0, 3))
    visual = np.eye(3), np.array([[0, 1, 2]])
    shown = body_surface(body_of(Piece(sn.Sphere(1.0), np.zeros(3), np.eye(4)[0]), visual=visual))
    assert np.array_equal(shown[0], visual[0])
    assert np.array_equal(shown[1], visual[1])


CUBE = shape_mesh(sn.Box((0.2, 0.4, 0.6)))
LAYOUT = Layout(
    parts=(Part("grains", "points", 0, 2),),
    bodies=(Body("cube", *CUBE, rigid=True), Body("ground", *shape_mesh(sn.Plane())), Body("dot", *CUBE, rigid=True)),
    particle_count=2,
    frames_per_second=10.0,
)
SPIN = np.array([0.3, -0.5, 0.8])


def frame(index: int, layout: Layout = LAYOUT) -> Frame:
    """Bodies that turn evenly about an axis of their own and go evenly."""
    time = index / layout.frames_per_second
    count = len(layout.bodies)
    axes = np.roll(np.tile(SPIN, (count, 1)), np.arange(count), axis=0)
    half = 0.5 * time * np.linalg.norm(SPIN)
    turns = np.concatenate([np.full((count, 1), np.cos(half)), np.sin(half) * axes / np.linalg.norm(SPIN)], axis=1)
    speeds = np.arange(3.0 * count).reshape(count, 3)
    points = np.zeros((layout.particle_count, 3))
    return Frame(time, points, points, 1.0 + time * speeds, turns, speeds, axes)


def in_world(index: int, body: int) -> np.ndarray:
    now = frame(index)
    return LAYOUT.bodies[body].vertices @ rotation_matrix(now.body_rotations[body]).T + now.body_positions[body]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bodies")
    for suffix in FORMATS:
        with open_writer(path / f"run{suffix}", LAYOUT) as writer:
            for index in range(4):
                writer.write(frame(index))
    return path


def test_npz_has_poses_velocities_names_and_kinds(folder: Path) -> None:
    arrays = read_npz(folder / "run.npz")
    assert arrays["body_names"].tolist() == ["cube", "ground", "dot"]
    assert arrays["body_kinds"].tolist() == ["rigid", "collider", "rigid"]
    for name in ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities"):
        assert np.array_equal(arrays[name], np.float32([getattr(frame(k), name) for k in range(4)]))
    assert np.array_equal(arrays["body_vertices_cube"], np.float32(CUBE[0]))


def test_vtkhdf_has_the_surfaces_of_the_bodies_with_their_velocities(folder: Path) -> None:
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import vtk_to_numpy

    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(folder / "run.vtkhdf"))
    reader.UpdateInformation()
    points = []
    for index in range(4):
        reader.SetStep(index)
        reader.Update()
        mesh = reader.GetOutput()
        points.append(vtk_to_numpy(mesh.GetPoints().GetData()).copy())
        expected = np.concatenate([np.zeros((2, 3)), in_world(index, 0), in_world(index, 2)])
        assert np.allclose(points[-1], expected, atol=1e-6)
        cells = vtk_to_numpy(mesh.GetPolys().GetConnectivityArray()).reshape(-1, 3)
        assert np.array_equal(cells, np.concatenate([CUBE[1] + 2, CUBE[1] + 10]))
        velocities = vtk_to_numpy(mesh.GetPointData().GetArray("velocity"))
        now = frame(index)
        for body, rows in ((0, slice(2, 10)), (2, slice(10, 18))):
            arms = in_world(index, body) - now.body_positions[body]
            turning = np.cross(now.body_angular_velocities[body], arms)
            assert np.allclose(velocities[rows], now.body_velocities[body] + turning, atol=1e-5)
    times, positions, velocities = read_cache(folder / "run.vtkhdf")
    assert positions.shape == velocities.shape == (4, 2, 3)
    assert len(times) == 4


def test_usd_moves_a_mesh_for_each_body_and_each_collider(folder: Path) -> None:
    Usd, UsdGeom = pytest.importorskip("pxr.Usd"), pytest.importorskip("pxr.UsdGeom")
    stage = Usd.Stage.Open(str(folder / "run.usdc"))
    for k, body in enumerate(LAYOUT.bodies):
        points = np.array(UsdGeom.Mesh.Get(stage, f"/World/{body.name}/mesh").GetPointsAttr().Get())
        prim = UsdGeom.Xformable.Get(stage, f"/World/{body.name}")
        for index in range(4):
            matrix = np.array(prim.GetLocalTransformation(index))
            assert np.allclose(points @ matrix[:3, :3] + matrix[3, :3], in_world(index, k), atol=1e-5)
    colors = [UsdGeom.Mesh.Get(stage, f"/World/{b.name}/mesh").GetDisplayColorAttr().Get()[0] for b in LAYOUT.bodies]
    assert len({tuple(color) for color in colors}) == 3


def test_info_tells_bodies_from_colliders(folder: Path) -> None:
    for suffix in (".npz", ".vtkhdf"):
        facts = describe(folder / f"run{suffix}")
        assert facts["bodies"] == ["cube", "dot"]
        assert facts["colliders"] == ["ground"]


def test_the_camera_sees_all_of_every_rigid_body_and_not_the_scenery() -> None:
    frames = np.zeros(4, frame_dtype(LAYOUT))
    for index in range(4):
        for name in frames.dtype.names:
            frames[name][index] = getattr(frame(index), name)
    low, high = moving_box(LAYOUT, frames)
    shown = np.concatenate([in_world(k, body) for k in range(4) for body in (0, 2)] + [np.zeros((2, 3))])
    assert (low <= shown.min(axis=0)).all()
    assert (high >= shown.max(axis=0)).all()
    assert (high - low).max() < 4.0  # the patch that stands for the ground is 6 m wide
