"""Rigid bodies in results: every format shows them where the simulation has them."""

from pathlib import Path

import numpy as np
import pytest
from test_files_writers import ONE_PICTURE, read_vtkhdf

import shinari as sn
from shinari.cli.info import describe
from shinari.geometry.motion import rotation_matrix
from shinari.io.frame_queue import frame_dtype
from shinari.io.npz import read_npz
from shinari.io.results import Body, DrawnPart, Frame, Layout
from shinari.output.recorder import Recorder
from shinari.output.writers import open_writer
from shinari.scene import body as scene_body
from shinari.scene.contact_material import ContactMaterial
from shinari.shapes.base import shape_mesh
from shinari.shapes.compound import Piece
from shinari.systems.rigid.surface import body_surface
from shinari.view.html import moving_box


def body_of(*pieces: Piece, **changes) -> scene_body.Body:
    zero, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    values = {"mass": 1.0, "centre": zero, "moments": np.ones(3), "axes": turn, "position": zero, "rotation": turn}
    values |= {"velocity": zero, "angular_velocity": zero, "surface": ContactMaterial()}
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
    parts=(DrawnPart("grains", "points", 0, 2),),
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
    for suffix in ONE_PICTURE:
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
    times, positions, velocities = read_vtkhdf(folder / "run.vtkhdf")
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


def tumbling_scene() -> sn.Scene:
    """A body whose origin is off its centre, a kinematic one, one that hangs at a joint, and a collider that moves."""
    scene = sn.Scene()
    shape = sn.Compound([(sn.Sphere(0.2), (0.5, 0.0, 0.0)), sn.Box((0.2, 0.3, 0.4))])
    scene.add_rigid_body(shape, position=(0.0, 3.0, 0.0), angular_velocity=(1.0, 2.0, 3.0), name="club")
    scene.add_rigid_body(sn.Capsule(0.1, 0.4), kinematic=True, position=(3.0, 0.0, 0.0), velocity=(0.0, 1.0, 0.0))
    arm = scene.add_rigid_body(sn.Cylinder(0.1, 0.5), position=(6.0, 0.0, 0.0), name="arm")
    scene.add_joint("hinge", arm, anchor=(6.3, 0.0, 0.0), axis=(0.0, 0.0, 1.0), name="pivot")
    scene.add_collider(sn.Box((1.0, 1.0, 1.0)), motion=circling, name="fan")
    return scene


def circling(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Round a circle of 2 m with 0.5 rad/s about y, facing its middle."""
    angle = 0.5 * time
    turn = np.array([np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0])
    return np.array([10.0 + 2.0 * np.sin(angle), 0.0, 2.0 * np.cos(angle)]), turn


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, np.ndarray]], sn.Simulation]:
    """A folder with results of every format, the state at each of their frames, and the simulation at the end."""
    path = tmp_path_factory.mktemp("run")
    simulation = sn.Simulation(tumbling_scene(), dt=1 / 60, substeps=4, threads=1)
    states = []
    with Recorder(simulation, [path / f"run{suffix}" for suffix in ONE_PICTURE], frames_per_second=60.0) as recorder:
        for _ in range(6):
            recorder.record()
            state = simulation.state
            states.append(
                {
                    "positions": state.body_positions.copy(),
                    "rotations": state.body_rotations.copy(),
                    "velocities": state.body_velocities.copy(),
                    "spins": state.body_angular_velocities.copy(),
                    "time": np.array(simulation.time),
                }
            )
            simulation.step()
    return path, states, simulation


def test_a_run_without_particles_is_written_as_the_simulation_had_it(run: tuple) -> None:
    path, states, simulation = run
    arrays = read_npz(path / "run.npz")
    assert arrays["body_names"].tolist() == ["club", "body", "arm", "fan"]
    assert arrays["body_kinds"].tolist() == ["rigid"] * 3 + ["collider"]
    assert arrays["positions"].shape == (6, 0, 3)
    for k, state in enumerate(states):
        assert np.array_equal(arrays["body_positions"][k, :3], np.float32(state["positions"]))
        assert np.array_equal(arrays["body_rotations"][k, :3], np.float32(state["rotations"]))
        assert np.array_equal(arrays["body_angular_velocities"][k, :3], np.float32(state["spins"]))
        for body, record in enumerate(simulation.scene.bodies):
            arm = rotation_matrix(state["rotations"][body]) @ record.centre
            expected = state["velocities"][body] - np.cross(state["spins"][body], arm)
            assert np.allclose(arrays["body_velocities"][k, body], expected, atol=1e-6)
        angle = 0.5 * float(state["time"])
        # differenced over a ten-thousandth of a step: to 1e-6 of an acceleration of 0.5 m/s^2
        assert np.allclose(arrays["body_velocities"][k, 3], [np.cos(angle), 0.0, -np.sin(angle)], atol=2e-6)
        assert np.allclose(arrays["body_angular_velocities"][k, 3], [0.0, 0.5, 0.0], atol=2e-6)
    turns = arrays["body_rotations"]
    assert ((turns[1:] * turns[:-1]).sum(axis=2) > 0.0).all()  # no flips that would look like whole turns


def test_the_surface_that_the_simulation_shows_is_that_of_the_results(run: tuple) -> None:
    path, states, _ = run
    import trimesh

    for k, state in enumerate(states):
        mesh = trimesh.load(path / f"run_{k:04d}.ply", process=False)
        start = 0
        for body, record in enumerate(tumbling_scene().bodies):
            vertices, _ = body_surface(record)
            expected = vertices @ rotation_matrix(state["rotations"][body]).T + state["positions"][body]
            assert np.allclose(mesh.vertices[start : start + len(vertices)], expected, atol=1e-5)
            start += len(vertices)
    simulation = sn.Simulation(tumbling_scene(), threads=1)
    vertices, faces = simulation.surface("arm")
    assert np.array_equal(faces, body_surface(simulation.scene.bodies[2])[1])
    assert np.allclose(vertices.mean(axis=0), [6.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("steps", "sleeping"), [(1, False), (40, False), (120, True)])
def test_bodies_and_joints_go_on_from_a_checkpoint_bit_by_bit(
    tmp_path: Path, steps: int, sleeping: bool, threads: int
) -> None:
    """Before and after the bodies have met the ground and each other, and when they have come to rest."""
    pytest.importorskip("h5py")
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5)
    for k in range(3):
        scene.add_rigid_body(sn.Box((0.4, 0.3, 0.5)), position=(0.03 * k, 0.2 + 0.35 * k, 0.0), name=f"box_{k}")
    arm = scene.add_rigid_body(sn.Capsule(0.1, 0.4), position=(2.0, 1.0, 0.0), name="arm")
    motor = sn.Servo(0.2, stiffness=50.0, damping=1.0, max_force=5.0)
    joint = {"anchor": (2.0, 1.3, 0.0), "axis": (0.0, 0.0, 1.0), "limits": (-0.3, 0.3), "motor": motor}
    scene.add_joint("hinge", arm, **joint, name="pivot")
    scene.add_cloth(sn.grid(shape=(4, 4), size=(0.5, 0.5)), position=(0.0, 1.6, 0.0), name="sheet")
    first = sn.Simulation(scene, substeps=5, threads=threads, sleep=sleeping)
    first.step(steps)
    first.drive("pivot", -0.2)
    first.save(tmp_path / "state.checkpoint")
    second = sn.Simulation.load(tmp_path / "state.checkpoint")
    assert first.state == second.state
    for _ in range(3):
        first.step(5)
        second.step(5)
        differing = [k for k, v in first.state.arrays().items() if not np.array_equal(v, second.state.arrays()[k])]
        assert differing == []
    assert "bodies" in "".join(first.state.arrays())
