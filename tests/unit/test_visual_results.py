"""Visual surfaces in results and checkpoints: every format shows them in place of the tetrahedra."""

from pathlib import Path

import numpy as np
import pytest
from test_files_writers import ONE_PICTURE, read_vtkhdf

import shinari as sn
from shinari.cli.info import describe
from shinari.geometry.files.meshes import read_mesh
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.io.codec import Codec, decode
from shinari.io.decode_scene import scene_node, scene_of
from shinari.io.frames import layout_of
from shinari.io.npz import read_npz

FACES = np.array([[0, 1, 2], [2, 1, 3], [3, 4, 0]])
STEPS = 4


def scene_of_three() -> sn.Scene:
    """Cloth, a soft body with a visual surface, a rope, a soft body without one."""
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3)), position=(0.0, 5.0, 0.0), name="cloth")
    vertices, tetrahedra = lattice((2, 1, 1), 0.1)
    points = np.random.default_rng(0).uniform(0.01, 0.09, (5, 3))
    scene.add_soft_body((vertices, tetrahedra), visual=(points, FACES), velocity=(1.0, 0.0, 0.0), name="jelly")
    scene.add_rope([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]], name="rope")
    scene.add_soft_body((vertices, tetrahedra), position=(0.0, 2.0, 0.0), name="plain")
    return scene


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, sn.Simulation, list[np.ndarray]]:
    """A folder with a run in every format, the simulation at its end, and the surface in each frame."""
    folder = tmp_path_factory.mktemp("run")
    simulation = sn.Simulation(scene_of_three(), substeps=2, dt=1 / 30, threads=1)
    shown = [simulation.surface("jelly")[0]]
    simulation.run(0.0, progress=False)
    from shinari.output.recorder import Recorder

    with Recorder(simulation, [folder / f"run{suffix}" for suffix in ONE_PICTURE]) as recorder:
        recorder.record()
        for _ in range(STEPS):
            simulation.step()
            recorder.record()
            shown.append(simulation.surface("jelly")[0])
    return folder, simulation, shown


def test_the_layout_draws_the_surface_and_leaves_the_particles_out() -> None:
    layout = layout_of(scene_of_three(), 30.0)
    assert [(part.name, part.kind, part.start, part.stop) for part in layout.parts] == [
        ("cloth", "mesh", 0, 9),
        ("jelly", "mesh", 35, 40),
        ("rope", "curve", 21, 23),
        ("plain", "mesh", 23, 35),
    ]
    assert (layout.particle_count, layout.vertex_count, layout.point_count) == (35, 5, 40)


def test_npz_and_vtkhdf_hold_the_particles_and_then_the_surfaces(run: tuple) -> None:
    folder, simulation, shown = run
    arrays = read_npz(folder / "run.npz")
    _, positions, velocities = read_vtkhdf(folder / "run.vtkhdf")
    start, stop = arrays["range_jelly"]
    assert int(arrays["particle_count"]) == 35
    assert np.array_equal(arrays["faces_jelly"], FACES)
    assert np.array_equal(arrays["positions"], positions)
    assert np.array_equal(arrays["velocities"], velocities)
    assert np.array_equal(positions[:, start:stop], shown)
    assert np.array_equal(positions[-1, :35], simulation.state.positions)
    # it falls as it was thrown: all of it moves at the velocity of its middle, but for rounding
    assert np.allclose(velocities[-1, start:stop], simulation.velocities("jelly").mean(axis=0), atol=1e-3)


def test_ply_and_usd_show_the_surface(run: tuple) -> None:
    folder, _, shown = run
    vertices, faces = read_mesh(folder / f"run_{STEPS:04d}.ply")
    assert len(vertices) == 9 + 5 + 2 + 12
    assert np.array_equal(vertices[9:14], shown[-1])
    assert (faces[8 : 8 + len(FACES)] == FACES + 9).all()
    pxr = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    for suffix in (".usdc", ".usda"):
        stage = pxr.Stage.Open(str(folder / f"run{suffix}"))
        mesh = UsdGeom.Mesh.Get(stage, "/World/jelly")
        assert np.array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3), FACES)
        points = mesh.GetPointsAttr()
        for index, code in enumerate(points.GetTimeSamples()):
            assert np.array_equal(np.array(points.Get(code)), shown[index])


def test_info_tells_particles_from_the_vertices_of_surfaces(run: tuple) -> None:
    folder, _, _ = run
    for name in ("run.npz", "run.vtkhdf"):
        facts = describe(folder / name)
        assert (facts["particles"], facts["vertices_of_visual_surfaces"]) == (35, 5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_checkpoint_keeps_the_surface(tmp_path: Path, precision: str) -> None:
    simulation = sn.Simulation(scene_of_three(), substeps=2, precision=precision, threads=1)
    simulation.step(2)
    simulation.save(tmp_path / "c.vtkhdf")
    loaded = sn.Simulation.load(tmp_path / "c.vtkhdf")
    for field in ("vertices", "faces", "corners", "weights"):
        mine, theirs = (getattr(s.scene.particle_objects[1].visual, field) for s in (simulation, loaded))
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)
    assert loaded.scene.particle_objects[1].material == simulation.scene.particle_objects[1].material
    for one in (simulation, loaded):
        one.step(3)
    assert loaded.state == simulation.state
    assert np.array_equal(loaded.surface("jelly")[0], simulation.surface("jelly")[0])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("corners", np.full((5, 4), 99, np.uint32)),
        ("corners", np.array([[0, 1, 2, 3]], np.uint32)),
        ("weights", np.ones((5, 3))),
        ("faces", np.array([[0, 1, 5]])),
        ("vertices", np.full((5, 3), np.nan)),
    ],
)
def test_a_surface_that_leads_out_of_its_arrays_is_refused(field: str, value: np.ndarray) -> None:
    packed = Codec()
    scene = scene_of_three()
    node = scene_node(scene, packed)
    own = getattr(scene.particle_objects[1].visual, field)
    arrays = [value if array is own else array for array in packed.arrays]
    assert sum(a is not b for a, b in zip(arrays, packed.arrays, strict=True)) == 1
    with pytest.raises(sn.SceneError, match="jelly: visual"):
        scene_of(node, lambda part: decode(part, arrays))
