"""Scene files of fluids, emitters, sinks and grains: what they make and what they refuse."""

import json
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.cli.info import describe
from shinari.geometry.files.meshes import write_mesh
from shinari.io.codec import Codec, decode
from shinari.io.decode_scene import scene_node, scene_of
from shinari.io.json_schema import json_schema
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
shape = { type = "box", size = [0.1, 0.1, 0.1] }
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
    water, drop, block, pair, faucet, nozzle, sand, gravel = scene.particle_objects
    assert [obj.kind for obj in scene.particle_objects] == ["fluid"] * 6 + ["grains"] * 2
    assert {obj.sampling for obj in scene.particle_objects[:6]} == {Sampling(0.05, 2.5, "cubic-spline", 3, "particles")}
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
    assert len(sand.positions) == 125
    assert gravel.material == GrainMaterial.preset("gravel")
    assert len(set(gravel.radii)) == 2
    assert scene.ignored == {frozenset(("drop", "sand"))}


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
        (FLUID + 'spacing = 0.1\ncontainer = "cup"\n', "unknown name 'cup'"),
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
    objects = describe(folder / "full.toml")["objects"]
    assert objects["water"] == "fluid, 376 particles at 0.05 m, 0.12475 kg each"
    assert objects["faucet"] == "emitter of a fluid, at most 100 particles at 0.05 m, 0.11375 kg each"
    assert objects["drain"] == "sink, box"
    assert objects["sand"] == "grains, 125 particles"
    schema = json.loads(json.dumps(json_schema()))["$defs"]
    for table in ("FluidTable", "EmitterTable", "SinkTable", "GrainsTable", "FluidMaterialTable", "GrainMaterialTable"):
        for key, entry in schema[table]["properties"].items():
            assert "description" in entry, (table, key)
    assert schema["FluidTable"]["required"] == ["spacing"]


@pytest.fixture
def full(folder: Path) -> sn.Scene:
    return sn.load_scene(folder / "full.toml")


def test_a_checkpoint_keeps_all_of_it(full: sn.Scene) -> None:
    packed, again = Codec(), Codec()
    node = json.loads(json.dumps(scene_node(full, packed)))
    back = scene_of(node, lambda inner: decode(inner, packed.arrays))
    assert json.loads(json.dumps(scene_node(back, again))) == node
    assert all(np.array_equal(a, b) for a, b in zip(packed.arrays, again.arrays, strict=True))
    assert [group.sampling for group in back.particle_objects] == [group.sampling for group in full.particle_objects]
    assert [group.material for group in back.particle_objects] == [group.material for group in full.particle_objects]
    for name, handle in full.handles.items():
        assert repr(back[name]) == repr(handle)


def named(full: sn.Scene, name: str) -> int:
    return [group.name for group in full.particle_objects].index(name)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("water", "sampling", "spacing"), 0.06),
        (("water", "sampling", "support"), 9.0),
        (("water", "sampling", "kernel"), "gauss"),
        (("water", "sampling", "dimensions"), 5),
        (("water", "sampling", "boundary"), 1),
        (("water", "material", "rest_density"), 400.0),
        (("water", "material", "viscosity"), -1.0),
        (("water", "material", "cohesive"), 3),
        (("water", "kind"), "grains"),
        (("water", "kind"), "cloth"),
        (("water", "sampling"), None),
        (("water", "material"), None),
        (("sand", "kind"), "fluid"),
        (("sand", "material"), None),
        (("sand", "material", "density"), 0.0),
        (("faucet", "emitter", "speed"), -2.0),
        (("faucet", "emitter", "speed"), 3.0),
        (("faucet", "emitter", "start"), -1.0),
        (("faucet", "emitter", "stop"), 0.1),
        (("faucet", "emitter", "recycle"), 1),
        (("faucet", "emitter", "places"), 1.0),
        (("faucet", "emitter"), "tap"),
        (("drain", "shape"), None),
        (("drain", "position"), 1.0),
        (("drain", "rotation"), None),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_checkpoint_changed_by_hand_is_refused(full: sn.Scene, path: tuple[str, ...], value: object) -> None:
    packed = Codec()
    node = json.loads(json.dumps(scene_node(full, packed)))
    name, *within, field = path
    record = node["sinks"]["list"][0] if name == "drain" else node["groups"]["list"][named(full, name)]
    for key in within:
        record = record["fields"][key]
    assert field in record["fields"]
    record["fields"][field] = value
    with pytest.raises((sn.SceneError, ValueError)):
        scene_of(node, lambda inner: decode(inner, packed.arrays))


def flowing() -> sn.Scene:
    """A tank with two fluids, a drop, a faucet, a drain and sand: enough particles for two threads."""
    scene = sn.Scene()
    tank = scene.add_collider(sn.Box((0.6, 1.0, 0.4), inside=True), position=(0, 0.5, 0))
    scene.add_fluid(tank, spacing=0.03, fill_to=0.25, material=sn.FluidMaterial.preset("oil"), name="oil")
    scene.add_fluid(sn.Sphere(0.1), spacing=0.03, position=(0, 0.45, 0), velocity=(0, -1, 0), name="drop")
    scene.add_emitter("oil", limit=300, radius=0.06, position=(0.15, 0.8, 0.05), speed=2.0, name="faucet")
    scene.add_sink(sn.Box((0.1, 0.1, 0.1)), position=(-0.25, 0.05, 0), name="drain")
    points = np.indices((3, 3, 3)).reshape(3, -1).T * 0.021 + [0.15, 0.4, 0.1]
    scene.add_grains(points, radius=0.01, name="sand")
    return scene


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_flowing_scene_goes_on_bit_by_bit_on_any_number_of_threads(tmp_path: Path, precision: str) -> None:
    ends = []
    for threads in (1, 2):
        run = sn.Simulation(flowing(), substeps=3, precision=precision, threads=threads)
        assert len(run.scene["oil"]) > 2000
        run.step(3)
        run.save(tmp_path / "c.vtkhdf")
        run.step(2)
        resumed = sn.Simulation.load(tmp_path / "c.vtkhdf")
        resumed.step(2)
        assert resumed.state == run.state
        assert run.sunk("drain") > 0
        assert resumed.sunk("drain") == run.sunk("drain")
        for name in ("oil", "drop", "faucet"):
            assert np.array_equal(resumed.densities(name), run.densities(name))
            assert np.array_equal(resumed.pressures(name), run.pressures(name))
        ends.append(run.state.copy())
    assert ends[0] == ends[1]
