"""What a user can give as a solid: tetrahedra or a surface, as arrays, objects and files."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.geometry.files.meshes import write_mesh
from shinari.geometry.tetrahedra.fill import tetrahedralize
from shinari.geometry.tetrahedra.lattice import lattice

BALL = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
SURFACE = np.asarray(BALL.vertices, np.float64), np.asarray(BALL.faces, np.int64)


def write_tetgen(folder: Path) -> Path:
    """Two files of TetGen; gives the .ele."""
    vertices, tetrahedra = lattice((2, 1, 1), 0.5)
    rows = "\n".join(f"{i} {x:.17g} {y:.17g} {z:.17g}" for i, (x, y, z) in enumerate(vertices))
    (folder / "box.node").write_text(f"{len(vertices)} 3 0 0\n{rows}\n")
    rows = "\n".join(f"{i} {a} {b} {c} {d}" for i, (a, b, c, d) in enumerate(tetrahedra))
    (folder / "box.ele").write_text(f"{len(tetrahedra)} 4 0\n{rows}\n")
    return folder / "box.ele"


def test_a_surface_is_filled_and_shown(tmp_path: Path) -> None:
    write_mesh(tmp_path / "ball.obj", *SURFACE)
    scene = sn.Scene()
    given = {"arrays": SURFACE, "object": BALL, "path": tmp_path / "ball.obj", "text": str(tmp_path / "ball.obj")}
    for name, mesh in given.items():
        scene.add_soft_body(mesh, cell=0.2, position=(0.0, 2.0, 0.0), name=name)
    for obj in scene.particle_objects:
        assert np.array_equal(obj.tetrahedra, scene.particle_objects[0].tetrahedra)
        assert np.allclose(obj.visual.vertices, SURFACE[0] + (0.0, 2.0, 0.0), atol=1e-12)
        assert np.array_equal(obj.visual.faces, SURFACE[1])
        bound = (obj.visual.weights[..., None] * obj.positions[obj.visual.corners]).sum(axis=1)
        assert np.allclose(bound, obj.visual.vertices, atol=1e-12)


def test_tetrahedra_that_were_made_before_are_taken_as_they_are() -> None:
    filled = tetrahedralize(*SURFACE, cell=0.2)
    scene = sn.Scene()
    scene.add_soft_body(filled, visual=BALL)
    scene.add_soft_body((filled.vertices, filled.tetrahedra))
    one, two = scene.particle_objects
    assert np.array_equal(one.tetrahedra, filled.tetrahedra)
    assert len(one.visual.vertices) == len(SURFACE[0])
    assert two.visual is None


def test_tetrahedra_come_from_files_too(tmp_path: Path) -> None:
    vertices, tetrahedra = lattice((2, 1, 1), 0.5)
    scene = sn.Scene()
    scene.add_soft_body(write_tetgen(tmp_path))
    (tmp_path / "scene.toml").write_text('[[soft_body]]\nmesh = "box.ele"\n')
    for obj in (scene.particle_objects[0], sn.load_scene(tmp_path / "scene.toml").particle_objects[0]):
        assert np.array_equal(obj.positions, vertices)
        assert np.array_equal(obj.tetrahedra, tetrahedra)
        assert obj.visual is None


def test_the_second_file_of_tetgen_must_lie_in_the_folder_too(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write_tetgen(tmp_path)
    (tmp_path / "inner" / "box.ele").write_bytes((tmp_path / "box.ele").read_bytes())
    (tmp_path / "inner" / "box.node").symlink_to(tmp_path / "box.node")
    (tmp_path / "inner" / "scene.toml").write_text('[[soft_body]]\nmesh = "box.ele"\n')
    with pytest.raises(sn.FileError, match=r"'box.node': a mesh must lie in the folder of its scene file"):
        sn.load_scene(tmp_path / "inner" / "scene.toml")


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (
            (np.zeros((4, 3)), np.zeros((1, 5), int)),
            r"expected tetrahedra of shape \(T, 4\) or faces of shape \(F, 3\)",
        ),
        ((np.eye(4, 3), [[0, 1, 2, 2]]), "a vertex repeats"),
        ((np.eye(4, 3), [[0, 1, 2, 4]]), "out of range"),
        ((np.eye(4, 3), [[0, 1, 2, 3]]), "is inverted"),
        ((np.zeros((4, 3)), [[0, 1, 2, 3]]), "has no volume"),
        ((np.eye(4, 3), [0, 1, 2, 3]), "expected tetrahedra of shape"),
        ((np.full((4, 3), np.nan), [[0, 1, 2, 3]]), "not finite"),
        (7, "expected"),
        (sn.grid(shape=(5, 5)), "surface"),
    ],
)
def test_what_is_no_solid_is_refused(mesh: object, message: str) -> None:
    with pytest.raises(sn.SceneError, match=f"^soft body 'it'.*{message}"):
        sn.Scene().add_soft_body(mesh, name="it")


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(sn.FileError, match=r"nothing.obj"):
        sn.Scene().add_soft_body(tmp_path / "nothing.obj")
    with pytest.raises(sn.FileError, match=r"unknown extension '.blend'"):
        sn.Scene().add_soft_body(tmp_path / "nothing.blend")


@pytest.mark.parametrize("add", ["add_soft_body", "add_shape_matched", "add_cloth"])
def test_a_shape_stands_for_its_surface(add):
    given = {"add_soft_body": {"cell": 0.2}, "add_shape_matched": {"spacing": 0.1, "density": 500.0}}.get(add, {})
    ball, positions = sn.Sphere(0.3), []
    for mesh in (ball, ball.surface()):
        scene = sn.Scene()
        handle = getattr(scene, add)(mesh, **given)
        positions.append(sn.Simulation(scene).positions(handle))
    np.testing.assert_array_equal(*positions)
    with pytest.raises(sn.SceneError, match="expected a shape that has an end"):
        getattr(sn.Scene(), add)(sn.Plane(), **given)
