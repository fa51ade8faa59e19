"""Scene files of fluids, emitters, sinks and grains: what they make and what they refuse."""

import json
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.cli.info import describe
from shinari.files.json_schema import json_schema
from shinari.files.meshes import write_mesh
from shinari.scene.fluid_material import Sampling
from shinari.scene.grain_material import GrainMaterial

FULL = """
[[collider]]
name = "tank"
shape = { type = "box", size = [0.6, 1.0, 0.4], inside = true }
position = [0, 0.5, 0]

[[rigid_body]]
name = "block"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
position = [0, 0.05, 0]

[[fluid]]
name = "water"
container = "tank"
fill_to = 0.2
spacing = 0.05
support = 2.5
kernel = "cubic-spline"
boundary = "particles"
material = "water"

[[fluid]]
name = "drop"
shape = { type = "sphere", radius = 0.1 }
spacing = 0.05
support = 2.5
kernel = "cubic-spline"
boundary = "particles"
position = [0.1, 0.6, 0]
velocity = [0, -1, 0]
material = { preset = "oil", xsph = 0.2, surface_tension = 0.03, tensile_power = 2, cohesive = true }
pin_nearest = [[0.1, 0.6, 0]]

[[fluid]]
mesh = "block.obj"
spacing = 0.05
support = 2.5
kernel = "cubic-spline"
boundary = "particles"
position = [-0.1, 0.6, 0]
fill_to = 0.6

[[fluid]]
points = [[0, 0.9, 0], [0.05, 0.9, 0]]
spacing = 0.05
support = 2.5
kernel = "cubic-spline"
boundary = "particles"
rotation = [0.7071067811865476, 0, 0, 0.7071067811865476]

[[emitter]]
name = "faucet"
fluid = "drop"
limit = 100
radius = 0.1
position = [0, 0.8, 0]
direction = [1, 0, 0]
speed = 2.0
start = 0.5
stop = 1.5
recycle = true
motion = { type = "oscillation", centre = [0, 0.8, 0], amplitude = [0.1, 0, 0], frequency = 1 }

[[emitter]]
limit = 50
size = [0.1, 0.2]
rate = 0.01
position = [0.1, 0.8, 0]
spacing = 0.05
support = 2.5
kernel = "cubic-spline"
boundary = "particles"
material = { rest_density = 900 }

[[sink]]
name = "drain"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
position = [0.25, 0.05, 0]

[[grains]]
name = "sand"
points = [[0, 0, 0], [0, 0.1, 0]]
radius = 0.01
packing = "lattice"
material = { preset = "sand", friction = 0.8 }
position = [-0.2, 0.8, 0]

[[grains]]
points = [[-0.2, 0.7, 0], [-0.2, 0.65, 0]]
radius = 0.01
spread = 0.2
material = "gravel"

[[ignore_contact]]
first = "sand"
second = "drop"
"""

FLUID = '[[fluid]]\nname = "f"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import trimesh

    box = trimesh.creation.box((0.1, 0.2, 0.1))
    write_mesh(tmp_path / "block.obj", np.asarray(box.vertices), np.asarray(box.faces))
    write_mesh(tmp_path / "open.obj", np.asarray(box.vertices), np.asarray(box.faces)[1:])
    (tmp_path / "full.toml").write_text(FULL)
    return tmp_path


def test_every_table_makes_its_thing(folder: Path) -> None:
    scene = sn.load_scene(folder / "full.toml")
    water, drop, block, pair, faucet, nozzle, sand, gravel = scene.groups
    assert [group.kind for group in scene.groups] == ["fluid"] * 6 + ["grains"] * 2
    assert {group.sampling for group in scene.groups[:6]} == {Sampling(0.05, 2.5, "cubic-spline", 3, "particles")}
    # 12 x 4 x 8 particles, but for those in the block or nearer to it than half a spacing
    assert len(water.positions) == 384 - 2 * 2 * 2
    assert water.material == sn.FluidMaterial.preset("water")
    assert drop.material == sn.FluidMaterial.preset(
        "oil", xsph=0.2, surface_tension=0.03, tensile_power=2, cohesive=True
    )
    assert (drop.velocities == [0, -1, 0]).all()
    np.testing.assert_allclose(drop.positions.mean(axis=0), [0.1, 0.6, 0], atol=1e-12)
    assert len(scene.pinned) == 1
    assert len(block.positions) == 2 * 2 * 2  # up to the middle of four layers
    np.testing.assert_allclose(pair.positions, [[-0.9, 0, 0], [-0.9, 0.05, 0]], atol=1e-12)
    assert faucet.material == drop.material
    assert (faucet.emitter.speed, faucet.emitter.start, faucet.emitter.stop) == (2.0, 0.5, 1.5)
    assert faucet.emitter.recycle
    assert isinstance(faucet.emitter.motion, sn.Oscillation)
    assert nozzle.material == sn.FluidMaterial(rest_density=900.0)
    assert len(nozzle.emitter.places) == 8
    assert nozzle.emitter.speed == pytest.approx(0.01 / (8 * 0.05**2))
    (drain,) = scene.sinks
    assert (drain.name, drain.shape) == ("drain", sn.Box((0.1, 0.1, 0.1)))
    assert sand.material == GrainMaterial.preset("sand", friction=0.8)
    np.testing.assert_allclose(sand.positions, [[-0.2, 0.8, 0], [-0.2, 0.9, 0]])
    assert gravel.material == GrainMaterial.preset("gravel")
    assert len(set(gravel.radii)) == 2
    assert scene.ignored == {("drop", "sand")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FLUID + "spacing = 0.1\n", r"fluid 'f': shape, mesh, container, points: exactly one of them .*\$.fluid\[0\]"),
        (FLUID + 'spacing = 0.1\nmesh = "block.obj"\ncontainer = "f"\n', "exactly one of them"),
        (FLUID + 'mesh = "block.obj"\n', r"missing required field spacing - at \$.fluid\[0\]"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0\n', r"Expected float > 0.0 - at \$.fluid\[0\].spacing"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.15\n', "spacing: 0.15 m is larger than the mesh"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\nsupport = 0.1\n', r"Expected float >= 1.2 - at \$.*support"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\nkernel = "gauss"\n', r"Invalid enum value 'gauss'.*\.kernel"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\ndimensions = 4\n', r"Invalid enum value 4 - at .*dimensions"),
        (FLUID + 'mesh = "open.obj"\nspacing = 0.05\n', "'f': mesh: .*only a closed mesh can be filled"),
        (FLUID + 'spacing = 0.1\ncontainer = "cup"\n', "nothing is called 'cup'"),
        ('[[rope]]\nname = "r"\npoints = [[0, 0, 0], [1, 0, 0]]\n' + FLUID + 'spacing = 0.1\ncontainer = "r"\n',
         "container: 'r' is no collider or rigid body"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\nmaterial = { viscosity = -1 }\n', r">= 0.0 - at .*viscosity"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\nmaterial = "wine"\n', "preset 'wine' is unknown; known are"),
        (FLUID + 'mesh = "block.obj"\nspacing = 0.05\nmass = 1\n', r"unknown field mass - at \$.fluid\[0\]"),
        (FLUID + "points = [[0, 0, 0], [0, 0, 0.1]]\nspacing = 0.1\ndimensions = 2\n", "all lie in a plane of"),
        (FLUID + "points = [[0, 0, 0], [0, 0, 0]]\nspacing = 0.1\n", "points: 0 and 1 are in the same place"),
        ("[[emitter]]\nlimit = 10\nradius = 0.1\nspeed = 1\n", r"spacing: give it, or the fluid.*\$.emitter\[0\]"),
        ("[[emitter]]\nlimit = 0\nradius = 0.1\nspeed = 1\n", r">= 1 - at \$.emitter\[0\].limit"),
        ("[[sink]]\nposition = [0, 0, 0]\n", r"missing required field shape - at \$.sink\[0\]"),
        ("[[grains]]\nradius = 0.1\n", r"shape, mesh, points: exactly one of them.*\$.grains\[0\]"),
        ("[[grains]]\npoints = [[0, 0, 0]]\nradius = -1\n", r"> 0.0 - at \$.grains\[0\].radius"),
    ],
)  # fmt: skip
def test_what_is_refused(folder: Path, text: str, message: str) -> None:
    path = folder / "bad.toml"
    path.write_text(text)
    with pytest.raises(sn.SceneError, match=message):
        sn.load_scene(path)


def test_info_and_schema_name_them(folder: Path) -> None:
    things = describe(folder / "full.toml")["things"]
    assert things["water"] == "fluid, 376 particles at 0.05 m, 0.12475 kg each"
    assert things["faucet"] == "emitter of a fluid, at most 100 particles at 0.05 m, 0.11375 kg each"
    assert things["drain"] == "sink, box"
    assert things["sand"] == "grains, 2 particles"
    schema = json.loads(json.dumps(json_schema()))["$defs"]
    for table in ("FluidTable", "EmitterTable", "SinkTable", "GrainsTable", "FluidMaterialTable", "GrainMaterialTable"):
        for key, entry in schema[table]["properties"].items():
            assert "description" in entry, (table, key)
    assert schema["FluidTable"]["required"] == ["spacing"]
