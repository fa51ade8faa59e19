"""Every public name, imported and called: signatures, keywords, shapes. The list is the one of the design document."""

import inspect

import numpy as np
import pytest

import shinari as sn

SQUARE = (np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]]), np.array([[0, 2, 1], [0, 3, 2]]))
TETRAHEDRON = (np.array([[0.0, 2, 0], [1, 2, 0], [0, 3, 0], [0, 2, 1]]), np.array([[0, 1, 2, 3]]))

KEYWORDS = {
    "add_particles": {"mass": 1.0, "velocity": None, "radius": 0.0},
    "add_constraint": {"compliance": 0.0, "stiffness": 1.0, "damping": 0.0},
    "add_cloth": {"material": ..., "self_collision": False, "position": ..., "rotation": ..., "name": ...},
    "add_rope": {"material": ...},
    "add_rod": {"material": ...},
    "add_soft_body": {"material": ...},
    "add_shape_matched": {"density": ..., "stiffness": ...},
    "add_rigid_body": {
        **dict.fromkeys(("position", "rotation", "velocity", "angular_velocity", "friction", "restitution"), ...),
        "density": 1000.0,
    },
    "add_joint": {"anchor": ..., "axis": None, "limits": None, "compliance": 0.0},
    "attach": {"compliance": 0.0, "break_force": None},
    "add_fluid": {"spacing": ..., "position": ..., "material": ...},
    "add_grains": {},
    "add_collider": {"position": ..., "rotation": ..., "friction": ..., "restitution": ..., "motion": None},
}
"""Options of the methods of a scene, with those defaults that are part of the interface."""

SIMULATION = {
    "dt": 1 / 60,
    "substeps": 20,
    "iterations": 1,
    "method": "xpbd",
    "sweep": "gauss-seidel",
    "precision": "float32",
    "threads": None,
}


def options(function: object) -> dict[str, inspect.Parameter]:
    """Keyword-only parameters of a function, by name."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in parameters.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", KEYWORDS)
def test_options_of_a_scene_are_keywords(name: str) -> None:
    found = options(getattr(sn.Scene, name))
    for option, default in KEYWORDS[name].items():
        assert option in found, option
        if default is not ...:
            assert found[option].default == default, option


def test_options_of_a_simulation() -> None:
    found = options(sn.Simulation)
    assert {name: found[name].default for name in SIMULATION} == SIMULATION
    assert "count" in inspect.signature(sn.Simulation.step).parameters
    assert {"progress", "record"} <= set(options(sn.Simulation.run))


def test_particles_constraints_cloth_and_ropes(tmp_path) -> None:
    scene = sn.Scene(gravity=(0, -9.81, 0))
    loose = scene.add_particles([[0.0, 5, 0], [1, 5, 0]], mass=1.0, velocity=(0.0, 0, 0), radius=0.01)
    scene.add_constraint("distance", [[0, 1]], compliance=1e-6, stiffness=1.0, damping=0.0)
    cloth = scene.add_cloth(
        SQUARE, material=sn.ClothMaterial(density=0.2, thickness=0.01, friction=0.3), position=(0, 1, 0),
        rotation=(1, 0, 0, 0), self_collision=False, name="sheet",
    )  # fmt: skip
    rope = scene.add_rope([[3.0, 1, 0], [3, 1, 1], [3, 1, 2]], material=sn.RopeMaterial())
    rod = scene.add_rod(
        [[5.0, 1, 0], [5, 1, 0.5], [5, 1, 1]],
        material=sn.RodMaterial(radius=0.01, density=1000, youngs_modulus=1e6, shear_modulus=4e5),
    )
    scene.add_collider(sn.Plane(normal=(0, 1, 0), offset=-1.0), friction=0.5, restitution=0.1, motion=None)
    scene.attach((loose, 0), (rope, 0), compliance=1e-4, break_force=None)
    assert loose.particles == range(2)
    assert cloth.particles == range(2, 6)
    assert cloth.nearest((0.1, 1, 0.1)) == 0
    corners = cloth.where(lambda x: x[:, 0] < 0.5)
    cloth.pin(corners)
    rod.pin([0])

    sim = sn.Simulation(
        scene, dt=1 / 60, substeps=2, iterations=1, method="xpbd", sweep="gauss-seidel", precision="float64",
        threads=1,
    )  # fmt: skip
    sim.step()
    sim.step(count=2)
    sim.run(1 / 30, progress=False)
    assert sim.time == pytest.approx(5 / 60)
    count = 2 + 4 + 3 + 3
    assert sim.state.positions.shape == sim.state.velocities.shape == (count, 3)
    assert sim.positions(cloth).shape == (4, 3)
    energy = sim.energy()
    assert energy.total == pytest.approx(energy.kinetic + energy.gravitational + energy.elastic)
    assert np.shape(sim.momentum()) == np.shape(sim.angular_momentum()) == (3,)
    assert sim.residual().blocks["distance"].largest >= 0.0
    assert np.ndim(sim.forces("distance")) == 1
    assert sim.forces(cloth).shape == (3,)

    # views can be written, and pinned particles follow
    start = np.array(sim.state.positions[2])
    sim.state.positions[2] += (0.0, 0.25, 0.0)
    sim.state.velocities[0] = (0.0, 0.0, 0.0)
    sim.step()
    assert sim.state.positions[2] == pytest.approx(start + np.array([0.0, 0.25, 0.0]))

    sim.save(tmp_path / "run.ckpt")
    again = sn.Simulation.load(tmp_path / "run.ckpt")
    sim.step()
    again.step()
    assert np.array_equal(sim.state.positions, again.state.positions)


def test_bodies_joints_and_contacts() -> None:
    scene = sn.Scene()
    box = scene.add_rigid_body(
        sn.Box((1, 1, 1)), density=1000, position=(0, 0.5, 0), rotation=(1, 0, 0, 0), velocity=(0, 0, 0),
        angular_velocity=(0, 0, 0), friction=0.5, restitution=0.0,
    )  # fmt: skip
    door = scene.add_rigid_body(sn.Box((0.2, 1, 1)), position=(5, 3, 0))
    joint = scene.add_joint("hinge", door, None, anchor=(5, 3, 0), axis=(0, 1, 0), limits=(-1.0, 1.0), compliance=0.0)
    scene.attach((door, (5, 3, 0.5)), (scene.add_particles([[5.0, 2, 0.5]]), 0))
    scene.add_collider(sn.Plane())
    sim = sn.Simulation(scene, substeps=4)
    for _ in range(10):
        sim.step()
    state = sim.state
    assert state.body_positions.shape == state.body_velocities.shape == state.body_angular_velocities.shape == (2, 3)
    assert state.body_rotations.shape == (2, 4)
    load = sim.forces(joint)
    assert np.shape(load.force) == np.shape(load.torque) == (3,)
    # the plane carries the box: its weight, within the precision of a resting contact
    assert sim.forces(box)[1] == pytest.approx(9.81e3, rel=1e-2)
    contacts = sim.contacts()
    number = len(contacts.positions)
    assert contacts.positions.shape == contacts.normals.shape == contacts.forces.shape == (number, 3)
    assert len(contacts.first) == len(contacts.second) == number
    assert number > 0


def test_soft_bodies_lumps_fluids_and_grains() -> None:
    scene = sn.Scene()
    soft = scene.add_soft_body(
        TETRAHEDRON, material=sn.SoftMaterial(density=1000, youngs_modulus=1e5, poissons_ratio=0.45)
    )
    points = np.stack(np.meshgrid(*[[0.0, 0.1]] * 3), axis=-1).reshape(-1, 3) + np.array([4.0, 2.0, 0.0])
    lump = scene.add_shape_matched(points, density=1000, stiffness=1.0)
    fluid = scene.add_fluid(
        sn.Box((0.4, 0.4, 0.4)), spacing=0.1, position=(8, 0.5, 0),
        material=sn.FluidMaterial(rest_density=1000, viscosity=0.01),
    )  # fmt: skip
    grains = scene.add_grains(np.array([[12.0, 1, 0], [12.0, 2, 0]]), radius=0.1)
    scene.add_collider(sn.Box((40, 10, 10), inside=True), position=(8, 4, 0))
    sim = sn.Simulation(scene, substeps=2)
    sim.step()
    assert sim.positions(soft).shape == (4, 3)
    assert sim.positions(lump).shape == (8, 3)
    assert sim.positions(grains).shape == (2, 3)
    assert sim.densities(fluid).shape == (len(fluid.particles),)


def test_shapes() -> None:
    shapes = [
        sn.Sphere(radius=0.5),
        sn.Box(size=(1, 2, 3)),
        sn.Box((1, 1, 1), inside=True),
        sn.Capsule(radius=0.1, length=1.0),
        sn.Cylinder(radius=0.1, length=1.0),
        sn.Plane(normal=(0, 1, 0), offset=0.0),
        sn.Mesh(*TETRAHEDRON[:1], faces=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])),
    ]
    scene = sn.Scene()
    for shape in shapes:
        scene.add_collider(shape)
    scene.add_rigid_body(sn.Compound([sn.Sphere(0.1), sn.Box((1, 0.1, 0.1))]))


def test_scene_files_and_registration(tmp_path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[[particles]]\npositions = [[0.0, 1.0, 0.0]]\n")
    assert sn.load_scene(path) is not None
    names = list(inspect.signature(sn.register).parameters)
    assert names[0] == "name"
    assert {"points", "parameters", "evaluate", "rest"} <= set(names)


def test_options_of_a_sweep() -> None:
    names = list(inspect.signature(sn.sweep).parameters)
    assert names[:4] == ["base", "parameters", "measures", "folder"]
    defaults = {"sample": None, "seed": 0, "on": "local", "threads": 1, "time_limit": None, "record": None}
    found = options(sn.sweep)
    assert {name: found[name].default for name in defaults} == defaults
    assert {"column", "table", "rows", "failed", "counts"} <= set(dir(sn.Study))


def test_errors() -> None:
    for error, builtin in (
        (sn.SceneError, ValueError), (sn.FileError, OSError), (sn.DivergenceError, ArithmeticError),
        (sn.MissingExtraError, ImportError), (sn.SweepError, RuntimeError),
    ):  # fmt: skip
        assert issubclass(error, sn.ShinariError)
        assert issubclass(error, builtin)


def test_exported_names_exist() -> None:
    for name in sn.__all__:
        assert getattr(sn, name) is not None
