"""Scene files: what they make, what they refuse, and the schema that describes them."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.files.meshes import write_mesh
from shinari.io import scene_schema, schema_objects
from shinari.io.json_schema import json_schema
from shinari.io.scene_file import demo_scenes, load_scene_file
from shinari.model.settings import Settings
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.objects import ParticleObject
from shinari.scene.rod_material import RodMaterial
from shinari.scene.wind import Gusts

FULL = """
[scene]
title = "all of it"
gravity = [0, -1.62, 0]
wind = { mean = [2, 0, 0], amplitude = [1, 0, 0.5], frequency = 0.7 }
air_density = 1.0
damping = 0.1

[simulation]
duration = 2
frames_per_second = 24
substeps = 7
method = "pbd"

[[particles]]
name = "dust"
positions = [[0, 3, 0], [1, 3, 0]]
mass = [1, 0]
radius = 0.01

[[cloth]]
name = "flag"
mesh = "meshes/flag.obj"
material = { density = 0.15, compression_compliance = inf, bend_model = "dihedral" }
position = [0, 1, 0]
rotation = [0.7071067811865476, 0.7071067811865476, 0, 0]
pin = [0]
pin_nearest = [[0.5, 1, 0.5]]

[[cloth]]
grid = { shape = [3, 4], size = [1, 2], diagonal = "alternating" }
material = "silk"

[[rope]]
name = "rope"
from = [0, 0, 0]
to = [0, -1, 0]
count = 5
velocity = [0.5, 0, 0]
material = { density = 0.2 }

[[rope]]
points = [[5, 0, 0], [5, 1, 0]]

[[collider]]
name = "ball"
shape = { type = "sphere", radius = 0.3 }
motion = { type = "oscillation", centre = [0, 1, 0], amplitude = [0.4, 0, 0], frequency = 0.5 }

[[collider]]
shape = { type = "box", size = [4, 4, 4], inside = true }
friction = 0.7

[[collider]]
shape = { type = "capsule", radius = 0.1, length = 1 }
motion = { type = "keyframes", times = [0, 1], positions = [[0, 0, 0], [1, 0, 0]] }

[[collider]]
shape = { type = "plane" }

[[constraint]]
type = "distance"
thing = "rope"
indices = [[0, 2], [1, 3]]
compliance = [1e-3, 2e-3]
parameters = { rest_length = 0.4 }

[[attach]]
thing = "flag"
index = 1
to = { thing = "rope" }
break_force = 30

[[attach]]
thing = "rope"
to = { point = [0, -1.5, 0] }
compliance = 1e-3

[[attach]]
thing = "dust"
to = { motion = { type = "oscillation", centre = [0.9, 3, 0], amplitude = [0, 1, 0], frequency = 1 } }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "meshes").mkdir()
    write_mesh(tmp_path / "meshes" / "flag.obj", *sn.grid(shape=(2, 2)))
    (tmp_path / "full.toml").write_text(FULL)
    from shinari.scene import materials

    monkeypatch.setitem(materials.CLOTH_PRESETS, "silk", sn.ClothMaterial(density=0.06))
    return tmp_path


def test_every_table_makes_its_thing(folder: Path) -> None:
    scene, options = load_scene_file(folder / "full.toml")
    assert list(scene.handles) == ["dust", "flag", "cloth", "rope", "rope_2", "ball", "collider",
                                   "collider_2", "collider_3"]  # fmt: skip
    assert options.settings == Settings(substeps=7, method="pbd")
    assert (options.duration, options.frames_per_second, options.title) == (2.0, 24.0, "all of it")
    assert scene.gravity.tolist() == [0, -1.62, 0]
    assert scene.wind == Gusts((2, 0, 0), (1, 0, 0.5), 0.7)
    assert scene.air_density == 1.0
    assert scene.damping == 0.1

    dust, flag, silk, rope, other = scene.particle_objects
    assert isinstance(flag, ParticleObject)
    assert dust.masses.tolist() == [1, 0]
    assert flag.material == sn.ClothMaterial(density=0.15, compression_compliance=np.inf, bend_model="dihedral")
    # a quarter turn about X takes +Z to -Y
    np.testing.assert_allclose(flag.positions[2], [-0.5, 0.5, 0.0], atol=1e-12)
    assert silk.material == sn.ClothMaterial(density=0.06)
    assert len(silk.positions) == 12
    np.testing.assert_allclose(rope.positions[:, 1], -np.linspace(0, 1, 5))
    assert rope.velocities.tolist() == [[0.5, 0, 0]] * 5
    assert len(other.positions) == 2
    assert scene.pinned == {2, 2 + 1}  # flag begins at 2: its first vertex, and the one nearest to the point

    ball, box, capsule, plane = scene.colliders
    assert ball.motion == sn.Oscillation((0, 1, 0), (0.4, 0, 0), 0.5)
    assert box.shape == sn.Box((4, 4, 4), inside=True)
    assert box.surface.friction == 0.7
    assert isinstance(capsule.motion, sn.Keyframes)
    assert plane.shape == sn.Plane()

    distance, tie, point, moving = scene.rows
    start = scene["rope"].particles.start  # type: ignore[union-attr]
    assert distance.indices.tolist() == [[start, start + 2], [start + 1, start + 3]]
    assert distance.compliance.tolist() == [1e-3, 2e-3]
    assert distance.parameters["rest_length"].ravel().tolist() == [0.4, 0.4]
    assert tie.indices.tolist() == [[3, start]]  # the rope's particle nearest to the flag's
    assert tie.break_force == 30
    assert point.indices.tolist() == [[start + 4]]  # nearest to the point
    assert moving.indices.tolist() == [[1]]  # nearest to where the motion begins
    assert callable(moving.motion)


CONTACT = """
[simulation]
contact_detection = "substep"

[[particles]]
name = "dust"
positions = [[0, 3, 0], [1, 3, 0]]
radius = [0.01, 0.02]
friction = 0.2
static_friction = 0.3
restitution = 0.4
contact_compliance = 1e-6
self_collision = true

[[cloth]]
name = "flag"
grid = { shape = [3, 3] }
material = { preset = "denim", friction = 0.4, static_friction = 0.6, restitution = 0.1, contact_compliance = 1e-7 }
self_collision = "triangles"

[[cloth]]
name = "towel"
grid = { shape = [3, 3] }
position = [0, 0.5, 0]
self_collision = "particles"

[[cloth]]
name = "sail"
grid = { shape = [3, 3] }
position = [0, 1, 0]
self_collision = false

[[rope]]
name = "line"
points = [[5, 0, 0], [5, 1, 0]]
material = { static_friction = 0.5, restitution = 0.2, contact_compliance = 2e-6 }
self_collision = true

[[collider]]
name = "ball"
shape = { type = "sphere", radius = 0.1 }
friction = 0.5
static_friction = 0.7
restitution = 0.3
contact_compliance = 3e-6

[[ignore_contact]]
first = "line"
second = "flag"

[[ignore_contact]]
first = "ball"
second = "dust"
"""


def contact_scene() -> sn.Scene:
    """What `CONTACT` says, by the Python interface."""
    scene = sn.Scene()
    laws = {"friction": 0.2, "static_friction": 0.3, "restitution": 0.4, "contact_compliance": 1e-6}
    positions = [[0, 3, 0], [1, 3, 0]]
    dust = scene.add_particles(positions, radius=[0.01, 0.02], self_collision=True, name="dust", **laws)
    denim = sn.ClothMaterial.preset("denim", friction=0.4, static_friction=0.6, restitution=0.1,
                                    contact_compliance=1e-7)  # fmt: skip
    sheet = sn.grid(shape=(3, 3))
    flag = scene.add_cloth(sheet, material=denim, self_collision="triangles", name="flag")
    scene.add_cloth(sheet, position=(0, 0.5, 0), self_collision="particles", name="towel")
    scene.add_cloth(sheet, position=(0, 1, 0), name="sail")
    line = scene.add_rope(
        [[5, 0, 0], [5, 1, 0]],
        material=sn.RopeMaterial(static_friction=0.5, restitution=0.2, contact_compliance=2e-6),
        self_collision=True,
        name="line",
    )
    ball = scene.add_collider(
        sn.Sphere(0.1), friction=0.5, static_friction=0.7, restitution=0.3, contact_compliance=3e-6, name="ball"
    )
    scene.ignore_contact(line, flag)
    scene.ignore_contact(ball, dust)
    return scene


def same_contact(first: sn.Scene, second: sn.Scene) -> bool:
    """Whether all that belongs to contact is the same in two scenes."""
    pairs = list(zip(first.particle_objects, second.particle_objects, strict=True))
    return (
        all(a.surface == b.surface and a.self_collision == b.self_collision for a, b in pairs)
        and all((a.radii == b.radii).all() and a.material == b.material for a, b in pairs)
        and [c.surface for c in first.colliders] == [c.surface for c in second.colliders]
        and first.ignored == second.ignored
    )


def test_a_file_says_all_about_contact_that_the_python_interface_does(tmp_path: Path) -> None:
    (tmp_path / "scene.toml").write_text(CONTACT)
    scene, options = load_scene_file(tmp_path / "scene.toml")
    assert options.settings == Settings(contact_detection="substep")
    assert same_contact(scene, contact_scene())
    assert [obj.self_collision for obj in scene.particle_objects] == [
        "particles",
        "triangles",
        "particles",
        None,
        "segments",
    ]
    assert scene.ignored == {frozenset(("flag", "line")), frozenset(("ball", "dust"))}


@pytest.mark.filterwarnings("ignore::shinari.errors.ContactWarning")  # the scene is written, not simulated
def test_a_checkpoint_keeps_all_about_contact(tmp_path: Path) -> None:
    simulation = sn.Simulation(contact_scene(), substeps=2, threads=1, contact_detection="substep")
    simulation.save(tmp_path / "c.vtkhdf")
    loaded = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert same_contact(loaded.scene, simulation.scene)
    assert loaded.settings == simulation.settings


def test_public_name_gives_the_scene(folder: Path) -> None:
    assert isinstance(sn.load_scene(folder / "full.toml"), sn.Scene)
    assert isinstance(sn.load_scene(str(folder / "full.toml")), sn.Scene)


def test_defaults_are_those_of_the_python_interface(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text("[[particles]]\npositions = [[0, 0, 0]]\n")
    scene, options = load_scene_file(path)
    assert options.settings == Settings()
    assert scene.wind is None
    assert scene.gravity.tolist() == sn.Scene().gravity.tolist()
    materials = (sn.ClothMaterial, sn.RopeMaterial, sn.SoftMaterial, RodMaterial, LumpMaterial)
    for record in materials:
        table = getattr(schema_objects, f"{record.__name__}Table")
        fields = {field.name for field in dataclasses.fields(record)}
        assert fields <= set(table.__struct_fields__)


# what cannot be another number; tethers and tearing exclude each other
NAMED = {
    "bend_model": "cross",
    "stretch_model": "springs",
    "model": "stvk",
    "solver": "iterative",
    "mode": "linear",
    "tear_strain": 0.75,
    "tethers": False,
}
LEFT_OUT = {"shear_modulus", "cluster_size"}  # Poisson's ratio stands in its place; two points have no clusters
MATERIALS = {
    sn.ClothMaterial: "[[cloth]]\ngrid = { shape = [2, 2] }",
    sn.RopeMaterial: "[[rope]]\npoints = [[0,0,0],[1,0,0]]",
    sn.SoftMaterial: "[[soft_body]]\nlattice = { cells = [1, 1, 1], size = 1 }",
    RodMaterial: "[[rod]]\npoints = [[0,0,0],[1,0,0]]",
    LumpMaterial: "[[shape_matched]]\npoints = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]]",
}


@pytest.mark.parametrize("kind", MATERIALS)
def test_every_field_of_a_material_can_be_given(tmp_path: Path, kind: type) -> None:
    """What a file says about a field is what the dataclass is given: numbers, truth values and names."""
    given = {
        field.name: NAMED.get(field.name, not field.default if field.type is bool else 0.375)
        for field in dataclasses.fields(kind)
        if field.name not in LEFT_OUT and (kind, field.name) != (sn.ClothMaterial, "poissons_ratio")  # springs have 1/3
    }
    text = ", ".join(f"{name} = {json.dumps(value)}" for name, value in given.items())
    (tmp_path / "scene.toml").write_text(f"{MATERIALS[kind]}\nmaterial = {{ {text} }}\npin = [0]\n")
    (thing,) = sn.load_scene(tmp_path / "scene.toml").particle_objects
    assert thing.material == kind(**given)


def test_every_setting_can_be_given_in_a_file() -> None:
    extra = {"duration", "frames_per_second"}
    fields = {field.name: field.default for field in dataclasses.fields(Settings)}
    assert set(scene_schema.SimulationTable.__struct_fields__) == set(fields) | extra
    table = scene_schema.SimulationTable()
    assert {name: getattr(table, name) for name in fields} == fields


def test_schema_describes_every_property() -> None:
    schema = json_schema()
    json.dumps(schema)
    for name, definition in schema["$defs"].items():
        assert definition["additionalProperties"] is False, name
        for key, value in definition["properties"].items():
            assert key == "type" or value.get("description"), f"{name}.{key}"


@pytest.mark.parametrize(("name", "path"), demo_scenes().items())
def test_scenes_of_the_package_load(name: str, path: Path) -> None:
    scene, options = load_scene_file(path)
    assert options.title
    assert scene.particle_count > 100 or len(scene.bodies) > 30


def test_the_kerchief_is_an_irregular_mesh_of_about_two_thousand_vertices() -> None:
    (cloth,) = sn.load_scene(demo_scenes()["kerchief"]).particle_objects
    assert 1500 < len(cloth.positions) < 2500


@pytest.mark.parametrize(
    "name",
    ["../flag.obj", "meshes/../../flag.obj", "/etc/flag.obj", "C:\\flag.obj", "\\\\host\\flag.obj", "link/flag.obj",
     "http://host/flag.obj", "~/../../flag.obj", "a\\u0000.obj"],
)  # fmt: skip
def test_meshes_outside_of_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write_mesh(tmp_path / "flag.obj", *sn.grid(shape=(2, 2)))
    (inner / "link").symlink_to(tmp_path)
    (inner / "scene.toml").write_text(f"[[cloth]]\nmesh = {json.dumps(name)}\n".replace("\\\\u", "\\u"))
    with pytest.raises(sn.FileError):
        sn.load_scene(inner / "scene.toml")


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    write_mesh(tmp_path / "flag.obj", *sn.grid(shape=(2, 2)))
    (tmp_path / "other.obj").symlink_to(tmp_path / "flag.obj")
    (tmp_path / "scene.toml").write_text('[[cloth]]\nmesh = "./other.obj"\n')
    assert sn.load_scene(tmp_path / "scene.toml").particle_count == 4


def test_gusts_stay_between_their_bounds() -> None:
    wind = Gusts((3, 0, 0), (1, 0, -2), 0.5)
    velocities = np.stack([wind(time) for time in np.linspace(0, 200, 20001)])
    departures = (velocities - [3, 0, 0]) / [1, 1, -2]
    assert np.abs(departures).max() <= 1.0
    assert departures[:, 0].max() > 0.8
    assert departures[:, 0].min() < -0.8
    assert (velocities[:, 1] == 0).all()


def test_importing_is_light() -> None:
    code = "import shinari, sys; " \
           "print(sorted({'numba', 'trimesh', 'h5py', 'cyclopts'} & set(sys.modules)))"  # fmt: skip
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip().endswith("[]")
