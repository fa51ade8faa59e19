"""Rigid bodies in a scene: what `add_rigid_body` makes of what it is given, and what it refuses."""

import subprocess
import sys

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.geometry.files.meshes import write_mesh
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.scene.body import Body
from shinari.shapes.base import shape_mesh
from shinari.shapes.combined_mass import compound_properties
from shinari.shapes.compound import Piece
from shinari.systems.rigid.elements import POINT_STIFFNESS

BOX = sn.Box((1.0, 2.0, 3.0))
BOX_MESH = shape_mesh(BOX)
OPEN_MESH = BOX_MESH[0], BOX_MESH[1][1:]
QUARTER = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)


def body(shape: object = BOX, **given: object) -> Body:
    """The record of a body that was added to a scene of its own."""
    scene = sn.Scene()
    return scene.bodies[scene.add_rigid_body(shape, **given).index]  # type: ignore[arg-type]


def tensor_of(found: Body) -> np.ndarray:
    """Inertia tensor in the axes of the body."""
    turn = rotation_matrix(found.axes)
    return turn @ np.diag(found.moments) @ turn.T


@pytest.mark.parametrize(
    "shape", [sn.Sphere(0.5), BOX, sn.Capsule(0.3, 1.0), sn.Cylinder(0.3, 1.0), sn.Cone(0.4, 0.8), sn.Mesh(*BOX_MESH)]
)
def test_density_times_the_solid(shape: object) -> None:
    found, unit = body(shape, density=250.0), shape.mass_properties()  # type: ignore[arg-type]
    assert found.mass == pytest.approx(250.0 * unit.mass, rel=1e-15)
    assert np.array_equal(found.centre, unit.centre)
    assert tensor_of(found) == pytest.approx(250.0 * unit.tensor, rel=1e-14)
    assert np.array_equal(found.axes, NO_ROTATION)
    assert [piece.shape for piece in found.pieces] == [shape]


def test_a_mass_scales_the_inertia() -> None:
    found = body(mass=5.0)
    assert found.mass == 5.0
    assert found.moments == pytest.approx(5.0 / 12.0 * np.array([13.0, 10.0, 5.0]), rel=1e-15)


def test_what_is_not_said_has_its_default() -> None:
    found = body()
    assert (found.mass, found.name) == (6000.0, "body")
    assert not np.concatenate([found.position, found.velocity, found.angular_velocity]).any()
    assert (found.surface.friction, found.surface.static_friction, found.surface.restitution) == (0.3, None, 0.0)
    assert (found.surface.compliance, found.rolling_friction, found.torsional_friction) == (0.0, 0.0, 0.0)
    assert (found.kinematic, found.motion, found.visual) == (False, None, None)


def test_what_is_said_is_kept() -> None:
    found = body(
        position=(1, 2, 3),
        rotation=QUARTER,
        velocity=(4, 5, 6),
        angular_velocity=(7, 8, 9),
        friction=0.5,
        static_friction=0.6,
        restitution=0.7,
        compliance=1e-6,
        rolling_friction=0.01,
        torsional_friction=0.02,
        name="block",
    )
    assert found.name == "block"
    assert (*found.position, *found.velocity, *found.angular_velocity) == tuple(range(1, 10))
    assert found.rotation == pytest.approx(QUARTER)
    assert found.surface.numbers == (0.5, 0.6, 0.7, 1e-6)
    assert (found.rolling_friction, found.torsional_friction) == (0.01, 0.02)


def test_inertia_as_moments_or_as_a_tensor() -> None:
    assert np.array_equal(body(mass=2.0, inertia=(1, 3, 2)).moments, [1.0, 3.0, 2.0])
    q = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    turn = rotation_matrix(q)
    found = body(mass=2.0, inertia=turn @ np.diag([1.0, 3.0, 2.5]) @ turn.T, centre=(0.1, 0.2, 0.3))
    assert found.moments == pytest.approx([1.0, 3.0, 2.5], rel=1e-14)
    assert found.axes == pytest.approx(q, abs=1e-14)
    assert np.array_equal(found.centre, [0.1, 0.2, 0.3])


def test_an_inertia_without_a_centre_is_about_that_of_the_shape() -> None:
    assert np.array_equal(body(sn.Cone(0.4, 0.8), mass=1.0, inertia=(1, 1, 1)).centre, [0.0, -0.2, 0.0])
    assert np.array_equal(body(None, mass=1.0, inertia=(1, 1, 1)).centre, [0.0, 0.0, 0.0])


def test_a_body_without_a_shape_touches_nothing() -> None:
    found = body(None, mass=1.0, inertia=(1, 2, 2))
    assert found.pieces == ()
    assert np.array_equal(found.moments, [1.0, 2.0, 2.0])


def test_a_compound_is_all_of_its_parts() -> None:
    parts = [sn.Sphere(0.5), (sn.Box((1, 1, 2)), (2, 0, 0)), (sn.ConvexHull(BOX_MESH[0]), (0, 5, 0), QUARTER)]
    found = body(sn.Compound(parts), density=(1.0, 2.0, 3.0))
    assert [type(piece.shape) for piece in found.pieces] == [sn.Sphere, sn.Box, sn.ConvexHull]
    assert np.array_equal(found.pieces[1].position, [2.0, 0.0, 0.0])
    assert found.pieces[2].rotation == pytest.approx(QUARTER)
    whole = compound_properties(found.pieces, [1.0, 2.0, 3.0])
    assert found.mass == whole.mass
    assert np.array_equal(found.centre, whole.centre)
    assert tensor_of(found) == pytest.approx(whole.tensor, rel=1e-12, abs=1e-12 * np.trace(whole.tensor))
    assert body(sn.Compound(parts), density=2.0).mass == compound_properties(found.pieces, [2.0] * 3).mass
    assert isinstance(sn.Compound(parts).pieces[0], Piece)


def test_a_closed_surface_in_every_form(tmp_path) -> None:
    write_mesh(tmp_path / "box.obj", *BOX_MESH)
    other = trimesh.Trimesh(*BOX_MESH, process=False)
    for given in (BOX_MESH, other, sn.Mesh(*BOX_MESH), tmp_path / "box.obj", str(tmp_path / "box.obj")):
        found = body(given)
        assert found.mass == pytest.approx(6000.0, rel=1e-14)
        assert isinstance(found.pieces[0].shape, sn.Mesh)


def test_a_mesh_away_from_its_origin_keeps_its_origin() -> None:
    found = body((BOX_MESH[0] + [10.0, 0.0, 0.0], BOX_MESH[1]), position=(1.0, 0.0, 0.0))
    assert found.centre == pytest.approx([10.0, 0.0, 0.0], abs=1e-14)
    assert np.array_equal(found.position, [1.0, 0.0, 0.0])


def test_a_kinematic_body_has_no_mass() -> None:
    held = body(kinematic=True, velocity=(1, 0, 0), angular_velocity=(0, 1, 0))
    assert held.kinematic
    assert (held.mass, *held.moments, *held.centre) == (0.0,) * 7
    assert np.array_equal(held.velocity, [1.0, 0.0, 0.0])
    swing = sn.Oscillation((0, 1, 0), (1, 0, 0), 0.5, phase=np.pi / 2)
    moved = body(motion=swing, rotation=QUARTER)
    assert (moved.kinematic, moved.motion) == (True, swing)
    assert moved.position == pytest.approx([1.0, 1.0, 0.0])
    assert body(motion=lambda time: (time, 2.0, 3.0), rotation=QUARTER).rotation == pytest.approx(QUARTER)
    assert body(None, kinematic=True).pieces == ()


def test_what_is_shown_may_be_open() -> None:
    found = body(visual=OPEN_MESH)
    assert found.visual is not None
    assert np.array_equal(found.visual[0], OPEN_MESH[0])
    assert np.array_equal(found.visual[1], OPEN_MESH[1])


def test_handles_and_names() -> None:
    scene = sn.Scene()
    first, second = scene.add_rigid_body(BOX), scene.add_rigid_body(BOX, name="lid")
    third = scene.add_rigid_body(BOX)
    assert [handle.name for handle in (first, second, third)] == ["body", "lid", "body_2"]
    assert [handle.index for handle in (first, second, third)] == [0, 1, 2]
    assert scene["lid"] is second
    assert repr(second) == "<lid: body 1>"
    with pytest.raises(sn.SceneError, match="'lid' is taken"):
        scene.add_collider(sn.Sphere(1.0), name="lid")


def test_bodies_can_pass_through_each_other_and_through_colliders() -> None:
    scene = sn.Scene()
    first, second = scene.add_rigid_body(BOX, name="a"), scene.add_rigid_body(BOX, name="b")
    held, other = scene.add_rigid_body(BOX, kinematic=True, name="c"), scene.add_collider(sn.Plane(), name="d")
    scene.ignore_contact(first, second)
    scene.ignore_contact("a", "d")
    scene.ignore_contact(held, second)
    assert scene.ignored == {frozenset("ab"), frozenset("ad"), frozenset("bc")}
    with pytest.raises(sn.SceneError, match="'c' and 'd' are colliders or kinematic bodies"):
        scene.ignore_contact(held, other)
    with pytest.raises(sn.SceneError, match="is 'a' like first"):
        scene.ignore_contact(first, first)
    joint = scene.add_joint("ball", first, second, anchor=(0, 0, 0))
    with pytest.raises(sn.SceneError, match="ignore_contact: first: expected an object"):
        scene.ignore_contact(joint, second)  # type: ignore[arg-type]


def test_a_scene_of_bodies_is_light() -> None:
    script = """
import sys
import numpy as np
import shinari as sn
scene = sn.Scene()
hull = sn.ConvexHull(np.random.default_rng(0).normal(size=(20, 3)))
scene.add_rigid_body(sn.Compound([hull, (sn.Sphere(1.0), (1, 0, 0))]))
print([name for name in ("numba", "trimesh", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=900)
    assert done.stdout.strip() == "[]"


BAD = {
    "density 0": ({"density": 0.0}, "body 'body': density: must be above 0"),
    "density nan": ({"density": np.nan}, "density: expected a finite number"),
    "density text": ({"density": "heavy"}, "density: expected a number"),
    "densities of no parts": ({"density": (1.0, 2.0)}, r"density: expected a number or shape \(1,\)"),
    "mass 0": ({"mass": 0}, "mass: must be above 0, got 0; give kinematic=True to hold a body"),
    "mass negative": ({"mass": -1.0}, "mass: must be above 0, got -1"),
    "mass nan": ({"mass": np.nan}, "mass: expected a finite number"),
    "mass infinite": ({"mass": np.inf}, "mass: expected a finite number"),
    "mass too large": ({"mass": 1e31}, "mass: must be at most 1e[+]30"),
    "inertia alone": ({"inertia": (1, 1, 1)}, "inertia: needs the mass"),
    "centre alone": ({"centre": (0, 0, 0), "mass": 1.0}, "centre: needs the mass and the inertia"),
    "inertia 0": ({"mass": 1.0, "inertia": (1, 1, 0)}, "inertia: the principal moments must be above 0"),
    "inertia negative": ({"mass": 1.0, "inertia": (1, -1, 1)}, "inertia: the principal moments must be above 0"),
    "inertia impossible": ({"mass": 1.0, "inertia": (1, 1, 3)}, "above the sum of the two others; got 1, 1, 3"),
    "inertia indefinite": (
        {"mass": 1.0, "inertia": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]},
        "principal moments must be above 0",
    ),
    "inertia not symmetric": ({"mass": 1.0, "inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "has to be symmetric"),
    "inertia shape": ({"mass": 1.0, "inertia": (1, 1)}, r"inertia: expected shape \(3,\)"),
    "inertia nan": ({"mass": 1.0, "inertia": (1, 1, np.nan)}, "inertia: not a finite number"),
    "position": ({"position": (0, 0)}, "position: expected shape"),
    "rotation": ({"rotation": (2, 0, 0, 0)}, "rotation: a rotation is a quaternion w x y z of length 1"),
    "velocity": ({"velocity": (0, np.inf, 0)}, "velocity: not a finite number"),
    "angular velocity": ({"angular_velocity": 3.0}, "angular_velocity: expected shape"),
    "friction": ({"friction": -0.1}, "friction: must be at least 0"),
    "no friction": ({"friction": None}, "friction: expected a number"),
    "static friction": ({"static_friction": 0.1}, "static_friction: 0.1 has to be at least friction"),
    "restitution": ({"restitution": 1.1}, "restitution: must be at most 1"),
    "compliance": ({"compliance": -1e-9}, "body 'body': compliance: must be at least 0"),
    "rolling": ({"rolling_friction": -1.0}, "rolling_friction: must be at least 0"),
    "torsional": ({"torsional_friction": np.nan}, "torsional_friction: expected a finite number"),
    "kinematic": ({"kinematic": 1}, "kinematic: expected one of True, False"),
    "kinematic mass": ({"kinematic": True, "mass": 1.0}, "mass: forces do not act on kinematic bodies"),
    "kinematic inertia": (
        {"motion": lambda t: (0, 0, 0), "inertia": (1, 1, 1)},
        "inertia: forces do not act on kinematic bodies",
    ),
    "motion": ({"motion": 3}, "motion: expected a function"),
    "motion pose": ({"motion": lambda t: (0, 0)}, "motion: position at t = 0 s"),
    "two motions": ({"motion": lambda t: (0, 0, 0), "velocity": (1, 0, 0)}, "velocity: the motion says how"),
    "visual": ({"visual": (BOX_MESH[0], [[0, 1, 99]])}, "visual: index 99 is out of range"),
    "name": ({"name": ""}, "name: expected a text"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values_are_refused(name: str) -> None:
    given, message = BAD[name]
    with pytest.raises(sn.SceneError, match=message):
        body(**given)


BAD_SHAPES = {
    "plane": (sn.Plane(), "a Plane has no end and no mass; add it with add_collider"),
    "container": (sn.Box((1, 1, 1), inside=True), "a Box with inside=True is solid without end"),
    "ground": (sn.Heightfield([[0, 0], [0, 0]], (1, 1)), "a Heightfield has no end"),
    "open mesh": (OPEN_MESH, r"3 edges have only one face \(holes: 1\), the first between .* a body has to be closed"),
    "open Mesh": (sn.Mesh(*OPEN_MESH), "3 edges have only one face"),
    "sheet": (sn.Mesh(*BOX_MESH, solid=False), "the mesh is a sheet, solid=False"),
    "inside out": ((BOX_MESH[0], BOX_MESH[1][:, ::-1]), "body 'body': shape: Mesh: faces: it is inside out"),
    "in a compound": (sn.Compound([sn.Sphere(1), sn.Plane()]), "body 'body': shape: part 1: a Plane has no end"),
    "a number": (5, "shape: expected a shape such as Sphere, a Compound"),
    "a list": ([sn.Sphere(1.0)], "shape: expected a shape such as Sphere, a Compound"),
    "no shape": (None, "inertia: a body without a shape needs mass and inertia"),
    "too small": (sn.Sphere(1e-12), "are out of range; look at the units"),
    "too large": (sn.Sphere(1e12), "are out of range; look at the units"),
    "overflow": (sn.Box((1e30, 1e30, 1e30)), "are out of range; look at the units"),
}


@pytest.mark.parametrize("name", BAD_SHAPES)
def test_shapes_that_are_no_body_are_refused(name: str) -> None:
    shape, message = BAD_SHAPES[name]
    with pytest.raises(sn.SceneError, match=message):
        body(shape)


def test_a_missing_mesh_file_is_named() -> None:
    with pytest.raises(sn.FileError, match=r"no_such\.obj: cannot be read"):
        body("no_such.obj")


def test_what_was_refused_leaves_no_trace() -> None:
    scene = sn.Scene()
    with pytest.raises(sn.SceneError):
        scene.add_rigid_body(BOX, mass=-1.0)
    assert (scene.bodies, scene.handles, scene.revision) == ([], {}, 0)
    assert scene.add_rigid_body(BOX).name == "body"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (5, "expected a list"),
        ([], "there are none"),
        ([5], "part 0: expected a shape"),
        ([(sn.Sphere(1.0), (0, 0))], "part 0: position: expected shape"),
        ([sn.Sphere(1.0), (sn.Sphere(1.0), (0, 0, 0), (2, 0, 0, 0))], "part 1: rotation: a rotation is"),
        ([sn.Compound([sn.Sphere(1.0)])], "part 0: expected a shape"),
    ],
)
def test_compounds_of_nothing_are_refused(parts: object, message: str) -> None:
    with pytest.raises(sn.SceneError, match=f"Compound: parts: {message}"):
        sn.Compound(parts)


def test_a_compound_is_no_collider_and_a_hull_is_one() -> None:
    scene = sn.Scene()
    with pytest.raises(sn.SceneError, match="add each part as a collider of its own"):
        scene.add_collider(sn.Compound([sn.Sphere(1.0)]))  # type: ignore[arg-type]
    scene.add_collider(sn.ConvexHull(BOX_MESH[0]))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("substeps", [2, 5, 20])
@pytest.mark.parametrize("height", [0.3, 1.0])
def test_a_perfect_bounce_keeps_the_energy_at_the_ends_of_substeps(height, substeps, precision):
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), restitution=1.0, friction=0.0)
    ball = scene.add_rigid_body(sn.Sphere(0.1), position=(0, 0.1 + height, 0), restitution=1.0, friction=0.0)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    half = 0.5 * 9.81 / 60.0 / substeps
    start, energies = 0.5 * half**2 + 9.81 * height, []
    for _ in range(600):
        sim.step()
        speed, at = sim.state.body_velocities[ball.index, 1], sim.state.body_positions[ball.index, 1] - 0.1
        energies.append(0.5 * (speed - half) ** 2 + 9.81 * at)
    # an impact misses its speed by the softness of a point, and its time by the curvature of the path in a substep
    impacts, h = 1.0 + 10.0 / (2.0 * np.sqrt(2.0 * height / 9.81)), 1.0 / 60.0 / substeps
    assert np.abs(np.array(energies) / start - 1.0).max() < impacts * (
        4.0 / POINT_STIFFNESS + 0.5 * 9.81 * h**2 / height
    )


@pytest.mark.parametrize(("substeps", "solver"), [(4, "auto"), (20, "auto"), (20, "sweeps")])
def test_a_moving_collider_carries_a_body(substeps, solver):
    """A table that starts to move at 0.22 m/s, also upwards, takes along what lies on it by friction."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((2, 2, 2)), friction=1.0, motion=lambda time: (0.2 * time, 0.1 * time, 0.0))
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.1, 1.1, 0), friction=1.0)
    sim = sn.Simulation(scene, dt=1 / 24, substeps=substeps, rigid_solver=solver)
    sim.run(1.0, progress=False)
    # it slips until friction has given it the speed, v^2 / (2 mu g)
    slip = 0.2**2 / (2.0 * 9.81)
    np.testing.assert_allclose(sim.pose(body).position, [0.3, 1.2, 0.0], atol=slip)


@pytest.mark.parametrize("number", [7, 107, 178, 304, 338, 392])
def test_a_plate_that_turns_far_in_a_substep_gains_no_energy_where_its_path_is_stopped(number):
    """It spins at 10,000 rad/s. Whole turns that were lost at a wall multiplied its energy by up to 300."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((0.3, 0.3, 0.3), inside=True), friction=0.3, restitution=1.0)
    speed = 100.0 * (1.0 + 1e-7 * number)
    velocity = speed * np.array([0.6, 0.3, -0.5]) / np.sqrt(0.7)
    scene.add_rigid_body(sn.Box((0.258, 0.006, 0.0003)), velocity=velocity, friction=0.3, restitution=1.0)
    simulation = sn.Simulation(scene, precision="float64", threads=1, substeps=20)
    least = whole = simulation.energy().kinetic
    for _ in range(60):
        simulation.step()
        energy = simulation.energy()
        now = energy.kinetic + energy.gravitational
        # symplectic Euler, m g v h / 2, doubled
        assert now - least < 9.81 / 1200 / speed * whole
        least = min(least, now)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 5.0, 1e30, 1e300])
def test_a_written_rotation_of_any_size_is_that_direction(size: float) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    body = scene.add_rigid_body(sn.Box((0.1, 0.2, 0.3)))
    sim = sn.Simulation(scene, threads=1)
    sim.state.body_rotations[0] = size * np.array([0.6, 0.0, 0.8, 0.0])
    sim.step()
    np.testing.assert_allclose(sim.pose(body).rotation, [0.6, 0.0, 0.8, 0.0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, np.nan])
def test_a_written_rotation_that_is_none_ends_as_divergence(value: float) -> None:
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((0.1, 0.2, 0.3)), name="box")
    sim = sn.Simulation(scene, threads=1)
    sim.state.body_rotations[0] = value
    with pytest.raises(sn.DivergenceError, match="'box', its pose or velocity is no finite number"):
        sim.step()
