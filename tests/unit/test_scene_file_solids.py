"""Scene files of soft bodies, rods, shape matched lumps and what attaches them: what they make and what they refuse."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.cli.info import describe
from shinari.geometry.files.meshes import write_mesh
from shinari.io.frames import layout_of
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.rod_material import RodMaterial

FULL = """
[[soft_body]]
name = "beam"
lattice = { cells = [4, 1, 1], size = 0.1 }
material = { preset = "rubber", youngs_modulus = 1e5, poissons_ratio = 0.3, model = "neo_hookean", damping = 0.01 }
position = [0, 1, 0]
pin_nearest = [[0, 1, 0]]

[[soft_body]]
name = "ball"
mesh = "ball.obj"
cell = 0.2
material = "jelly"
self_collision = "triangles"
velocity = [1, 0, 0]
position = [0, 3, 0]

[[soft_body]]
name = "shown"
lattice = { cells = [2, 2, 2], size = 0.5, split = 6 }
visual = "meshes/small.obj"
position = [5, 0, 0]
rotation = [0.7071067811865476, 0, 0.7071067811865476, 0]

[[rod]]
name = "wire"
from = [10, 0, 0]
to = [11, 0, 0]
count = 6
material = { preset = "steel wire", radius = 0.001 }
rest_curvature = [0, 0.5, 0]
point_masses = [0, 0, 0, 0, 0, 0.25]
pin = [0]
clamp = [0, 1]

[[rod]]
name = "ring"
points = [[0, 5, 0], [1, 5, 0], [1, 5, 1], [0, 5, 1]]
closed = true
self_collision = true
material = "nylon line"

[[shape_matched]]
name = "stone"
mesh = "ball.obj"
spacing = 0.2
material = { preset = "stone", friction = 0.9 }
position = [0, 8, 0]

[[shape_matched]]
name = "clay"
points = [[0, 20, 0], [0.1, 20, 0], [0, 20.1, 0], [0, 20, 0.1], [0.1, 20, 0.1]]
density = 1500
stiffness = 0.7
material = "clay"
radius = 0.04
clusters = [[0, 1, 2, 3], [1, 2, 3, 4]]
velocity = [0, -1, 0]

[[volume]]
thing = "ball"
ratio = 1.1
compliance = 1e-6

[[attach]]
thing = "wire"
index = [4, 5]
to = { point = [11, 1, 0] }

[[attach]]
thing = "wire"
index = 5
to = { thing = "shown", place = [6.0, 0.5, -0.4] }
compliance = 1e-4

[[attach]]
thing = "ring"
to = { thing = "beam", place = [0.4, 1.1, 0.05] }

[[attach]]
thing = "ring"
index = [0, 2]
to = { thing = "wire", index = [1, 2] }
break_force = 20

[[attach]]
thing = "ring"
index = [1, 3]
to = { thing = "beam", place = "nearest" }
reach = 9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import trimesh

    (tmp_path / "meshes").mkdir()
    ball = trimesh.creation.icosphere(subdivisions=2, radius=0.5)
    write_mesh(tmp_path / "ball.obj", np.asarray(ball.vertices), np.asarray(ball.faces))
    small = trimesh.creation.icosphere(subdivisions=1, radius=0.3)
    write_mesh(tmp_path / "meshes" / "small.obj", np.asarray(small.vertices) + 0.5, np.asarray(small.faces))
    return tmp_path


def test_every_table_makes_its_thing(folder: Path) -> None:
    (folder / "full.toml").write_text(FULL)
    scene = sn.load_scene(folder / "full.toml")
    beam, ball, shown, wire, ring, stone, clay = scene.particle_objects
    assert [obj.kind for obj in scene.particle_objects] == ["soft", "soft", "soft", "rod", "rod", "lump", "lump"]
    assert len(beam.tetrahedra) == 20
    assert beam.material == sn.SoftMaterial.preset("rubber", youngs_modulus=1e5, poissons_ratio=0.3, damping=0.01)
    assert beam.visual is None
    assert ball.material == sn.SoftMaterial.preset("jelly")
    assert (ball.velocities == [1, 0, 0]).all()
    assert ball.self_collision == "triangles"
    assert len(ball.visual.vertices) == 162
    assert len(shown.tetrahedra) == 48
    assert len(shown.visual.vertices) == 42
    # a quarter turn about Y takes +X to -Z
    np.testing.assert_allclose(shown.visual.vertices.mean(axis=0), [5.5, 0.5, -0.5], atol=1e-9)
    assert wire.material == RodMaterial.preset("steel wire", radius=0.001)
    assert ring.rod.closed
    assert ring.self_collision == "segments"
    assert stone.material == LumpMaterial.preset("stone", friction=0.9)
    assert len(stone.visual.vertices) == 162
    np.testing.assert_allclose(stone.positions.mean(axis=0), [0, 8, 0], atol=1e-3)
    assert clay.material == LumpMaterial.preset("clay", density=1500, stiffness=0.7)
    assert clay.clusters.offsets.tolist() == [0, 4, 8]
    assert (clay.radii == 0.04).all()
    assert (clay.velocities == [0, -1, 0]).all()
    (volume,) = scene.volumes
    assert (volume.object_name, volume.compliance) == ("ball", 1e-6)
    start = scene["wire"].particles.start
    assert scene.pinned == {0, start}
    assert scene.clamped == {0, 1}
    assert np.abs(wire.rod.rest - [1, 0, 0, 0]).max() > 0.01
    assert wire.masses[-1] > 0.25 > wire.masses[-2]

    point, place, edge, pair, weld = scene.rows
    assert point.indices.tolist() == [[start + 4], [start + 5]]
    assert place.indices[0, 0] == start + 5
    assert place.indices.shape == (1, 5)
    assert edge.indices[0, 0] == scene["ring"].particles.start  # the nearest of the ring to the place
    assert pair.indices.tolist() == [[start + 6, start + 1], [start + 8, start + 2]]
    assert pair.break_force == 20
    assert weld.indices.shape == (2, 5)


def test_info_describes_them(folder: Path) -> None:
    (folder / "full.toml").write_text(FULL)
    objects = describe(folder / "full.toml")["objects"]
    assert objects["beam"] == "soft, 20 particles, 20 tetrahedra, 36 triangles"
    assert objects["ring"] == "rod, 4 particles, 4 segments"
    assert objects["clay"] == "lump, 5 particles, 2 clusters"
    assert objects["stone"].endswith("1 clusters, shown by a surface of 162 vertices, 320 triangles")
    assert objects["shown"].endswith("shown by a surface of 42 vertices, 80 triangles")


def test_a_file_makes_the_scene_that_python_makes(folder: Path) -> None:
    text = (
        "[[soft_body]]\nlattice = { cells = [4, 1, 1], size = 0.1 }\n[[rod]]\nfrom = [2,0,0]\nto = [3,0,0]\ncount = 5"
    )
    (folder / "scene.toml").write_text(text)
    from shinari.geometry.tetrahedra.lattice import lattice

    scene = sn.Scene()
    scene.add_soft_body(lattice((4, 1, 1), 0.1))
    scene.add_rod(np.linspace((2, 0, 0), (3, 0, 0), 5))
    one, two = (sn.Simulation(s, substeps=2, threads=1) for s in (scene, sn.load_scene(folder / "scene.toml")))
    for simulation in (one, two):
        simulation.step(2)
    assert one.state == two.state
    assert [part.kind for part in layout_of(scene, 30.0).parts] == ["mesh", "curve"]


BOX = "lattice = { cells = [1, 1, 1], size = 1 }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"[[soft_body]]\n{BOX}\nmaterial = {{ density = 0 }}",
            r"Expected float > 0.0 - at \$.soft_body\[0\].material.density",
        ),
        (f"[[soft_body]]\n{BOX}\nmaterial = {{ poissons_ratio = 0.5 }}", r"\$.soft_body\[0\].material.poissons_ratio"),
        (f"[[soft_body]]\n{BOX}\nmaterial = {{ youngs_modulus = -1 }}", r"\$.soft_body\[0\].material.youngs_modulus"),
        (
            f'[[soft_body]]\n{BOX}\nmaterial = {{ model = "stiff" }}',
            r"Invalid enum value 'stiff' - at .*material.model",
        ),
        (
            f'[[soft_body]]\n{BOX}\nmaterial = "jam"',
            r"preset 'jam' is unknown; known are .*jelly.* at \$.soft_body\[0\]",
        ),
        (f"[[soft_body]]\n{BOX}\nmaterial = {{ colour = 1 }}", "unknown field colour"),
        (f'[[soft_body]]\n{BOX}\nmesh = "ball.obj"', "soft body: mesh, lattice: exactly one"),
        ("[[soft_body]]\nname = 'x'", r"soft body 'x': mesh, lattice: exactly one .* - at \$.soft_body\[0\]"),
        (f"[[soft_body]]\n{BOX}\ncell = 0.1", "soft body 'soft': cell: is the size of tetrahedra that fill a surface"),
        (f"[[soft_body]]\n{BOX}\nvisual = 'ball.obj'\n", None),
        ("[[soft_body]]\nlattice = { cells = [1, 1, 0], size = 1 }", r">= 1 - at \$.soft_body\[0\].lattice.cells\[2\]"),
        ("[[soft_body]]\nlattice = { cells = [9999, 9999, 9999], size = 1 }", "more than 4194304 cells"),
        (f"[[soft_body]]\n{BOX}\nvisual = '../ball.obj'", "must lie in the folder of its scene file"),
        (f"[[soft_body]]\n{BOX}\nposition = [0, 1]", r"soft_body\[0\].position"),
        (f"[[soft_body]]\n{BOX}\npin = [8]", r"pin: index 8 is out of range 0 .. 7 - at \$.soft_body\[0\]"),
        (f"[[soft_body]]\n{BOX}\nself_collision = 'particles'", r"\$.soft_body\[0\].self_collision"),
        ("[[soft_body]]\nmesh = 'sheet.obj'", r"soft body 'soft': faces: the surface .* - at \$.soft_body\[0\]"),
        ("[[rod]]\nfrom = [0,0,0]\nto = [1,0,0]", "rod: points: give either points, or from, to and count"),
        ("[[rod]]\npoints = [[0,0,0],[1,0,0],[1,0,0]]", r"points: 1 and 2 are the same point - at \$.rod\[0\]"),
        ("[[rod]]\npoints = [[0,0,0],[1,0,0]]\nmaterial = { radius = 0 }", r"> 0.0 - at \$.rod\[0\].material.radius"),
        ("[[rod]]\npoints = [[0,0,0],[1,0,0]]\nclamp = [1]", r"clamp: index 1 is out of range 0 .. 0 - at \$.rod\[0\]"),
        ("[[rod]]\npoints = [[0,0,0],[1,0,0]]\nmaterial = { shear_modulus = 1.0, poissons_ratio = 0.3 }", "not both"),
        ("[[shape_matched]]\nname = 'x'", r"shape matched 'x': mesh, points: exactly one .* at \$.shape_matched\[0\]"),
        ("[[shape_matched]]\nmesh = 'sheet.obj'", r"- at \$.shape_matched\[0\]"),
        ("[[shape_matched]]\npoints = [[0,0,0]]\nstiffness = 2", r"<= 1.0 - at \$.shape_matched\[0\].stiffness"),
        ("[[shape_matched]]\npoints = [[0,0,0]]\nmaterial = { density = 0 }", r"shape_matched\[0\].material.density"),
        ("[[shape_matched]]\npoints = [[0,0,0]]\nmaterial = { mode = 'soft' }", "Invalid enum value 'soft'"),
        ("[[shape_matched]]\npoints = [[0,0,0],[1,0,0]]\nclusters = [[]]", r"cluster.* - at \$.shape_matched\[0\]"),
        (f"[[soft_body]]\n{BOX}\n[[volume]]\nthing = 'soft'\nratio = 0", r"> 0.0 - at \$.volume\[0\].ratio"),
        ("[[rod]]\npoints = [[0,0,0],[1,0,0]]\n[[volume]]\nthing = 'rod'", r"has no faces, .* - at \$.volume\[0\]"),
        (
            "[[rod]]\npoints = [[0,0,0],[1,0,0]]\nname = 'r'\n[[attach]]\nthing = 'r'\nto = { point = [0,0,0] }\n"
            "index = [0, 2]",
            r"thing: index 2 is out of range 0 .. 1 - at \$.attach\[0\]",
        ),
        (
            "[[rod]]\npoints = [[0,0,0],[1,0,0]]\nname = 'r'\n[[attach]]\nthing = 'r'\nto = { point = [0,0,0], place = "
            "[0,0,0] }",
            r"to: index, nearest and place are of an object - at \$.attach\[0\]",
        ),
        (
            f"[[rod]]\npoints = [[0,0,0],[1,0,0]]\nname = 'r'\n[[soft_body]]\nname = 's'\n{BOX}\n[[attach]]\n"
            "thing = 'r'\nto = { thing = 's', place = 'nearest' }",
            "thing: which particle of 'r' is not said",
        ),
        (
            f"[[rod]]\npoints = [[0,0,0],[1,0,0]]\nname = 'r'\n[[soft_body]]\nname = 's'\n{BOX}\n[[attach]]\n"
            "thing = 'r'\nindex = 0\nto = { thing = 's', place = [9,9,9] }",
            r"out of reach: .* is 13.* m from 's', .* - at \$.attach\[0\]",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(folder: Path, text: str, message: str | None) -> None:
    write_mesh(folder / "sheet.obj", *sn.grid(shape=(3, 3)))
    (folder / "scene.toml").write_text(text)
    if message is None:  # partly outside, but near enough
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sn.load_scene(folder / "scene.toml")
        return
    with pytest.raises(sn.ShinariError, match=message):
        sn.load_scene(folder / "scene.toml")
