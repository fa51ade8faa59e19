"""Scene files of rigid bodies and joints: what they make, what they refuse, and what a checkpoint keeps of it."""

import json
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.api.scene import Scene
from shinari.cli.info import describe
from shinari.geometry.files.meshes import write_mesh
from shinari.io.codec import Codec, decode
from shinari.io.decode_scene import scene_node, scene_of
from shinari.io.json_schema import json_schema
from shinari.io.scene_file import demo_scenes
from shinari.io.schema_bodies import JOINT_KINDS
from shinari.scene.body import Drive
from shinari.scene.handle import ColliderHandle
from shinari.shapes.base import shape_mesh

FULL = """
[simulation]
rigid_solver = "direct"
sleep = true

[[collider]]
name = "rock"
shape = { type = "hull", path = "meshes/box.obj" }

[[rigid_body]]
name = "crate"
shape = { type = "box", size = [1, 2, 3] }
density = 500
position = [0, 5, 0]
rotation = [0.7071067811865476, 0, 0.7071067811865476, 0]
velocity = [1, 0, 0]
angular_velocity = [0, 2, 0]
friction = 0.5
static_friction = 0.6
restitution = 0.25
compliance = 1e-8
rolling_friction = 0.01
torsional_friction = 0.02

[[rigid_body]]
name = "hammer"
density = [7800, 600]
shape = { type = "compound", parts = [
    { shape = { type = "cylinder", radius = 0.05, length = 0.2 }, position = [0, 0.5, 0], rotation = [0.8, 0, 0, 0.6] },
    { shape = { type = "capsule", radius = 0.02, length = 1.0 } },
] }

[[rigid_body]]
name = "gem"
shape = { type = "hull", points = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]] }
mass = 2.5

[[rigid_body]]
name = "cast"
shape = { type = "mesh", path = "meshes/box.obj" }
visual = "meshes/box.obj"

[[rigid_body]]
name = "weight"
mass = 3
inertia = [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]]
centre = [0, 0.5, 0]

[[rigid_body]]
name = "ball"
shape = { type = "sphere", radius = 0.1 }
mass = 1
inertia = [0.01, 0.02, 0.015]
position = [20, 0, 0]

[[rigid_body]]
name = "spike"
shape = { type = "cone", radius = 0.1, height = 0.2 }
kinematic = true
velocity = [0, 1, 0]

[[rigid_body]]
name = "lift"
shape = { type = "box", size = [1, 0.1, 1] }
motion = { type = "oscillation", centre = [0, 1, 0], amplitude = [0, 0.5, 0], frequency = 0.5 }

[[joint]]
name = "door"
kind = "hinge"
first = "crate"
second = "hammer"
anchor = [0, 4, 0]
axis = [0, 1, 0]
limits = [-1.5, inf]
limit_compliance = 1e-4
compliance = 1e-6
angular_compliance = 1e-5
damping = 0.1
motor = { type = "velocity", speed = 2, max_force = 10 }
break_force = 1000
break_torque = 200
collide = true

[[joint]]
kind = "prismatic"
first = "gem"
anchor = [0, 0, 0]
axis = [1, 0, 0]
motor = { type = "servo", target = 0.25, stiffness = 100, damping = 1 }

[[joint]]
kind = "ball"
first = "gem"
second = "cast"
anchor = [0, 0, 0]
axis = [0, 1, 0]
second_axis = [0, 1, 0]
swing_limit = 0.5
twist_limits = [-0.25, 0.25]

[[joint]]
kind = "distance"
first = "ball"
anchor = [20, 0, 0]
second_anchor = [20, 2, 0]
rest_length = 1.5
compliance = 1e-3

[[joint]]
kind = "gear"
first = "cast"
second = "weight"
axis = [0, 1, 0]
second_axis = [1, 0, 0]
ratio = -2

[[rope]]
name = "line"
points = [[0, 8, 0], [0, 7, 0], [0, 6, 0]]

[[attach]]
thing = "line"
to = { thing = "crate", place = [0, 6, 0] }
compliance = 1e-5
break_force = 50

[[attach]]
thing = "line"
index = [0, 1]
to = { thing = "gem", place = "nearest" }

[[ignore_contact]]
first = "crate"
second = "gem"

[[ignore_contact]]
first = "hammer"
second = "rock"
"""

BALL = '[[rigid_body]]\nname = "ball"\nshape = { type = "sphere", radius = 1 }\n'
TWO = BALL + '[[rigid_body]]\nname = "other"\nshape = { type = "sphere", radius = 1 }\n'


def described(folder: Path, text: str) -> Scene:
    (folder / "scene.toml").write_text(text)
    return sn.load_scene(folder / "scene.toml")


@pytest.fixture
def full(tmp_path: Path) -> Scene:
    (tmp_path / "meshes").mkdir()
    write_mesh(tmp_path / "meshes/box.obj", *shape_mesh(sn.Box((1.0, 2.0, 3.0))))
    return described(tmp_path, FULL)


def test_every_key_of_a_body_arrives(full: Scene) -> None:
    crate, hammer, gem, cast, weight, ball, spike, lift = full.bodies
    assert [body.name for body in full.bodies] == ["crate", "hammer", "gem", "cast", "weight", "ball", "spike", "lift"]
    assert crate.mass == 3000.0
    assert np.array_equal(crate.position, [0.0, 5.0, 0.0])
    assert crate.rotation == pytest.approx(np.sqrt([0.5, 0.0, 0.5, 0.0]))
    assert np.array_equal([crate.velocity, crate.angular_velocity], [[1, 0, 0], [0, 2, 0]])
    assert crate.surface.numbers == (0.5, 0.6, 0.25, 1e-8)
    assert (crate.rolling_friction, crate.torsional_friction) == (0.01, 0.02)
    assert [type(piece.shape) for piece in hammer.pieces] == [sn.Cylinder, sn.Capsule]
    assert np.array_equal(hammer.pieces[0].rotation, [0.8, 0.0, 0.0, 0.6])
    assert hammer.mass == pytest.approx(
        7800 * np.pi * 0.05**2 * 0.2 + 600 * np.pi * (0.02**2 + 4 / 3 * 0.02**3), rel=1e-14
    )
    assert isinstance(gem.pieces[0].shape, sn.ConvexHull)
    assert (gem.mass, len(gem.pieces[0].shape.loops)) == (2.5, 8)
    assert isinstance(cast.pieces[0].shape, sn.Mesh)
    assert cast.visual is not None
    assert cast.mass == pytest.approx(6000.0)
    assert (weight.pieces, weight.mass) == ((), 3.0)
    assert np.array_equal(weight.centre, [0.0, 0.5, 0.0])
    assert weight.moments == pytest.approx([2.1, 1.9, 3.0])
    assert np.array_equal(ball.moments, [0.01, 0.02, 0.015])
    assert (spike.kinematic, spike.motion, lift.kinematic) == (True, None, True)
    assert isinstance(lift.motion, sn.Oscillation)
    assert isinstance(full.colliders[0].shape, sn.ConvexHull)


def test_every_key_of_a_joint_arrives(full: Scene) -> None:
    door, slider, ball, spring, gear = full.joints
    assert (door.name, door.kind, door.first, door.second) == ("door", "hinge", 0, 1)
    assert door.twist is not None
    assert np.array_equal(door.twist, [-1.5, np.inf])
    assert (door.compliance, door.angular_compliance, door.limit_compliance, door.damping) == (1e-6, 1e-5, 1e-4, 0.1)
    assert (door.break_force, door.break_torque, door.collide) == (1000.0, 200.0, True)
    assert door.drive == Drive("velocity", 2.0, most=10.0)
    assert (slider.kind, slider.first, slider.second) == ("slider", 2, -1)
    assert slider.drive == Drive("position", 0.25, 100.0, 1.0)
    assert (ball.swing, ball.twist is not None and ball.twist.tolist()) == (0.5, [-0.25, 0.25])
    assert (spring.numbers["rest_length"], spring.compliance) == (1.5, 1e-3)
    assert gear.numbers["ratio"] == -2.0
    assert full.ignored == {frozenset(("crate", "gem")), frozenset(("hammer", "rock"))}


def test_particles_are_attached_to_bodies(full: Scene) -> None:
    tip, rest = full.body_rows
    assert (tip.body, tip.particles.tolist(), tip.lengths.tolist()) == (0, [2], [0.0])
    assert (tip.compliance, tip.break_force) == (1e-5, 50.0)
    assert tip.places == pytest.approx(np.array([[0.0, 1.0, 0.0]]))
    assert (rest.body, rest.particles.tolist()) == (2, [0, 1])
    assert rest.places == pytest.approx(np.array([[0.0, 8.0, 0.0], [0.0, 7.0, 0.0]]))


def test_info_says_what_bodies_are(full: Scene, tmp_path: Path) -> None:
    objects = describe(tmp_path / "scene.toml")["objects"]
    assert objects["crate"] == "rigid body, box, 3000 kg"
    assert objects["hammer"].startswith("rigid body, cylinder, capsule, ")
    assert objects["weight"] == "rigid body, no shape, 3 kg"
    assert objects["spike"] == "rigid body, cone, kinematic"
    assert objects["door"] == "hinge joint between crate and hammer, velocity motor"
    assert objects["joint_2"] == "ball joint between gem and cast"


def test_a_checkpoint_keeps_all_of_it(full: Scene) -> None:
    packed, again = Codec(), Codec()
    node = json.loads(json.dumps(scene_node(full, packed)))
    back = scene_of(node, lambda inner: decode(inner, packed.arrays))
    assert json.loads(json.dumps(scene_node(back, again))) == node
    assert all(np.array_equal(a, b) for a, b in zip(packed.arrays, again.arrays, strict=True))
    for name, handle in full.handles.items():
        assert type(back[name]) is type(handle)
        assert repr(back[name]) == repr(handle)
    assert isinstance(back["rock"], ColliderHandle)
    gem, again_gem = (scene.bodies[2].pieces[0].shape for scene in (full, back))
    assert isinstance(gem, sn.ConvexHull)
    assert isinstance(again_gem, sn.ConvexHull)
    assert np.array_equal(gem.vertices, again_gem.vertices)
    assert all(np.array_equal(a, b) for a, b in zip(gem.loops, again_gem.loops, strict=True))


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        ("bodies", "mass", -1.0),
        ("bodies", "mass", {"float": "nan"}),
        ("bodies", "position", 3.0),
        ("bodies", "kinematic", 7),
        ("bodies", "friction", -1.0),
        ("joints", "first", 99),
        ("joints", "second", -2),
        ("joints", "kind", "glue"),
        ("joints", "damping", -1.0),
        ("joints", "swing", 9.0),
        ("joints", "break_force", 0.0),
        ("joints", "numbers", []),
        ("body_rows", "body", 99),
        ("body_rows", "places", 1.0),
        ("body_rows", "compliance", -1.0),
    ],
)
def test_a_damaged_checkpoint_is_refused(full: Scene, record: str, field: str, value: object) -> None:
    packed = Codec()
    node = json.loads(json.dumps(scene_node(full, packed)))
    fields = node[record]["list"][0]["fields"]
    fields = fields["surface"]["fields"] if field == "friction" else fields
    assert field in fields
    fields[field] = value
    with pytest.raises((sn.SceneError, ValueError)):
        scene_of(node, lambda inner: decode(inner, packed.arrays))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BALL + "density = 0", r"Expected float > 0.0 - at \$.rigid_body\[0\].density"),
        (BALL + "density = [1, -1]", r"\$.rigid_body\[0\].density\[1\]"),
        (BALL + "density = [1, 2]", r"density: expected a number or shape \(1,\).*\$.rigid_body\[0\]"),
        (BALL + "mass = 0", r"\$.rigid_body\[0\].mass"),
        (BALL + "mass = nan", r"Expected float > 0.0 - at \$.rigid_body\[0\]"),
        (BALL + "mass = 1\ninertia = [1, 1]", r"\$.rigid_body\[0\].inertia"),
        (BALL + "mass = 1\ninertia = [1, 1, 3]", r"above the sum of the two others.*\$.rigid_body\[0\]"),
        (BALL + "mass = 1\ninertia = [1, [1, 1, 1], 3]", r"ball': inertia: .*\$.rigid_body\[0\]"),
        (BALL + "weight = 1", r"unknown field weight - at \$.rigid_body\[0\]"),
        (BALL + "restitution = 2", r"\$.rigid_body\[0\].restitution"),
        (BALL + 'visual = "../box.obj"', "a mesh must lie in the folder of its scene file"),
        (BALL + "kinematic = true\nmass = 1", r"mass: forces do not act on kinematic bodies.*\$.rigid_body\[0\]"),
        ("[[rigid_body]]", r"needs mass and inertia - at \$.rigid_body\[0\]"),
        ('[[rigid_body]]\nshape = { type = "plane" }', r"Invalid value 'plane' - at \$.rigid_body\[0\].shape.type"),
        ('[[rigid_body]]\nshape = { type = "box", size = [1, 1, 1], inside = true }', "solid without end"),
        ('[[rigid_body]]\nshape = { type = "hull" }', "points, path: exactly one of the two must be given"),
        ('[[rigid_body]]\nshape = { type = "hull", points = [[0, 0, 0]] }', r"\$.rigid_body\[0\].shape.points"),
        ('[[rigid_body]]\nshape = { type = "compound", parts = [] }', r"\$.rigid_body\[0\].shape.parts"),
        ('[[rigid_body]]\nshape = { type = "mesh", path = "no.obj" }', "no.obj: cannot be read"),
        (TWO + '[[joint]]\nkind = "glue"\nfirst = "ball"', r"Invalid enum value 'glue' - at \$.joint\[0\].kind"),
        (
            TWO + '[[joint]]\nkind = "ball"\nfirst = "bal"\nanchor = [0, 0, 0]',
            r"unknown name 'bal'; expected a rigid body.*\$.joint",
        ),
        (TWO + '[[joint]]\nkind = "hinge"\nfirst = "ball"\nanchor = [0, 0, 0]', r"axis: has to be given - at \$.joint"),
        (
            TWO + '[[joint]]\nkind = "hinge"\nfirst = "ball"\nanchor = [0, 0, 0]\naxis = [1, 0, 0]\nlimits = [1, -1]',
            r"limits: the lower, 1, is above the upper, -1 - at \$.joint\[0\]",
        ),
        (TWO + '[[joint]]\nkind = "fixed"\nfirst = "ball"\nmotor = { type = "spin" }', r"\$.joint\[0\].motor"),
        (
            TWO + '[[attach]]\nthing = "ball"\nto = { point = [0, 0, 0] }',
            "'ball' is a body or a joint and has no particles",
        ),
        (
            TWO + '[[particles]]\npositions = [[0, 9, 0]]\n[[attach]]\nthing = "particles"\nto = { thing = "ball" }',
            "'ball' is a body and has no particles; give a place",
        ),
        (TWO + '[[ignore_contact]]\nfirst = "ball"\nsecond = "ball"', "is 'ball' like first"),
    ],
)
def test_what_a_file_gets_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sn.ShinariError, match=message):
        described(tmp_path, text)


def test_an_open_mesh_is_refused_with_its_edges(tmp_path: Path) -> None:
    vertices, faces = shape_mesh(sn.Box((1.0, 1.0, 1.0)))
    write_mesh(tmp_path / "open.obj", vertices, faces[1:])
    with pytest.raises(sn.SceneError, match=r"3 edges have only one face .* - at \$.rigid_body\[0\]"):
        described(tmp_path, '[[rigid_body]]\nshape = { type = "mesh", path = "open.obj" }')


def test_the_demo_is_a_row_in_which_each_domino_reaches_the_next() -> None:
    scene = sn.load_scene(demo_scenes()["dominoes"])
    dominoes = [body for body in scene.bodies if body.name.startswith("domino")]
    height = max(size for piece in dominoes[0].pieces for size in piece.shape.size)  # type: ignore[union-attr]
    places = np.array([body.position for body in dominoes])
    gaps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert len(dominoes) == 40
    assert gaps.max() < 0.5 * height
    assert [joint.kind for joint in scene.joints] == ["distance"]


def test_the_schema_knows_bodies_and_joints() -> None:
    tables = json.loads(json.dumps(json_schema(), allow_nan=False))["$defs"]
    body, joint = tables["RigidBodyTable"]["properties"], tables["JointTable"]["properties"]
    assert all("description" in entry for entry in (*body.values(), *joint.values()))
    assert sorted(joint["kind"]["enum"]) == sorted(JOINT_KINDS)
