"""Many worlds: each has the bits that it has alone, whatever the others do."""

import copy
import warnings

import numpy as np
import pytest
from late_contact_scenes import SCENES
from world_scenes import cloth_over, swinging

import shinari as sn
from shinari.scene.joint_handle import JointHandle

STEPS = 6


def quiet(build, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(*arguments, **options)


def scene_of(name: str) -> tuple[sn.Scene, dict]:
    return SCENES[name]()


def same(world: sn.Simulation, alone: sn.Simulation, message: str = "") -> None:
    """All arrays of both states have the same bits."""
    mine, theirs = world.state.arrays(), alone.state.arrays()
    assert mine.keys() == theirs.keys()
    for key, values in theirs.items():
        np.testing.assert_array_equal(mine[key], values, err_msg=f"{message} {key}")
    assert world.state == alone.state


@pytest.mark.parametrize("count", [1, 7, 64])
@pytest.mark.parametrize("name", SCENES)
def test_a_world_has_the_bits_that_it_has_alone(name, count):
    scene, settings = scene_of(name)
    alone = quiet(sn.Simulation, scene, threads=1, **settings)
    worlds = quiet(sn.Worlds, scene, count, threads=2, **settings)
    # several steps in a call, and one by one
    for steps in (4, 1, 1):
        quiet(alone.step, steps)
        quiet(worlds.step, steps)
    for k in {0, count // 2, count - 1}:
        same(worlds.world(k), alone, f"world {k}:")
    np.testing.assert_array_equal(worlds.state.positions[-1], alone.state.positions)
    np.testing.assert_array_equal(worlds.state.body_positions[-1], alone.state.body_positions)


@pytest.mark.parametrize("name", SCENES)
def test_a_reset_brings_back_the_start_and_leaves_others_alone(name):
    scene, settings = scene_of(name)
    alone = quiet(sn.Simulation, scene, threads=1, **settings)
    worlds = quiet(sn.Worlds, scene, 3, threads=1, **settings)
    quiet(worlds.step, STEPS)
    kept = {k: {key: values.copy() for key, values in worlds.world(k).state.arrays().items()} for k in (0, 2)}
    worlds.reset([False, True, False])
    for k, arrays in kept.items():
        for key, values in worlds.world(k).state.arrays().items():
            np.testing.assert_array_equal(values, arrays[key], err_msg=f"world {k}: {key}")
    np.testing.assert_array_equal(worlds.times > 0.0, [True, False, True])
    same(worlds.world(1), alone, "after reset:")
    # the others are half a run ahead: each goes on as it would alone
    quiet(worlds.step, STEPS)
    quiet(alone.step, STEPS)
    same(worlds.world(1), alone, "world 1:")
    quiet(alone.step, STEPS)
    same(worlds.world(0), alone, "world 0:")
    same(worlds.world(2), alone, "world 2:")


@pytest.mark.parametrize("name", SCENES)
def test_a_reset_brings_back_a_state_that_was_kept(name):
    """Also one that another simulation has reached; then all worlds go on as it does."""
    scene, settings = scene_of(name)
    alone = quiet(sn.Simulation, scene, threads=1, **settings)
    quiet(alone.step, 3)
    reached = alone.state.copy()
    worlds = quiet(sn.Worlds, scene, 3, threads=1, **settings)
    worlds.restore(reached, mask=[0, 2])
    worlds.keep([0, 2])
    quiet(worlds.step, 4)
    worlds.reset()
    np.testing.assert_allclose(worlds.times, [alone.time, 0.0, alone.time])
    alone.restore(reached)
    quiet(worlds.step, STEPS)
    quiet(alone.step, STEPS)
    same(worlds.world(0), alone)
    same(worlds.world(2), alone)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_parameters_differ_from_world_to_world(precision):
    """Each world has the bits of a simulation of a scene that was built with its values."""
    gravity, places = [-9.81, -3.7, -1.62], [(0, 0, 0), (0.03, 0, 0), (0, 0.01, 0.02)]
    compliances = [1e-6, 1e-4, 1e-8]
    scene, _ = cloth_over()
    vary = {
        "gravity": [(0, g, 0) for g in gravity],
        "ball.position": places,
        "cloth.stretch_compliance": compliances,
    }
    worlds = sn.Worlds(scene, 3, vary=vary, precision=precision, substeps=5)
    worlds.step(15)
    for k in range(3):
        alone = sn.Simulation(
            cloth_over(places[k], gravity[k], compliances[k])[0], precision=precision, substeps=5, threads=1
        )
        alone.step(15)
        same(worlds.world(k), alone, f"world {k}:")
    worlds.reset()
    worlds.step(15)
    same(worlds.world(2), alone, "again:")


def test_masses_and_frictions_differ_from_world_to_world():
    def box(mass, friction):
        scene = sn.Scene()
        scene.add_collider(sn.Plane((0, 1, 0)), friction=friction, name="floor")
        scene.add_rigid_body(
            sn.Box((1, 1, 1)), density=mass, position=(0, 0.5, 0), velocity=(3, 0, 0), name="box", friction=0.5
        )
        return scene

    masses, frictions = [1000.0, 500.0], [0.5, 0.25]
    worlds = sn.Worlds(box(1000.0, 0.5), 2, vary={"box.mass": masses, "floor.friction": frictions})
    worlds.step(20)
    for k in range(2):
        alone = sn.Simulation(box(masses[k], frictions[k]), threads=1)
        alone.step(20)
        np.testing.assert_allclose(worlds.state.body_positions[k], alone.state.body_positions, rtol=1e-12)
    # Coulomb with the geometric mean of both coefficients: v = v0 - friction g t
    speed = 3.0 - np.sqrt(0.5 * np.array(frictions)) * 9.81 * worlds.times
    np.testing.assert_allclose(worlds.state.body_velocities[:, 0, 0], speed, rtol=0.02)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("given", [{}, {"mass": 3.7}, {"density": 123.0}])
def test_a_varied_mass_is_that_of_a_body_with_that_mass_to_the_bit(tmp_path, given, saved):
    """Principal axes of a body without symmetry, whatever mass it had; also once it has been in a file."""
    shape = sn.Compound([sn.Box((1, 2, 3)), (sn.Sphere(0.7), (0.6, 0.9, 1.1))])

    def tumbling(**heft):
        scene = sn.Scene()
        scene.add_collider(sn.Plane((0, 1, 0)))
        turn = sn.rotation(axis=(1, 2, 3), angle=0.4)
        scene.add_rigid_body(shape, position=(0, 3, 0), rotation=turn, angular_velocity=(3, 1, 2), name="body", **heft)
        return scene

    masses, scene = [0.3, 1.1, 7.3, 1e3 / 3.0], tumbling(**given)
    if saved:
        pytest.importorskip("h5py")
        sn.Simulation(scene, threads=1).save(tmp_path / "scene.h5")
        scene = sn.Simulation.load(tmp_path / "scene.h5").scene
    worlds = sn.Worlds(scene, len(masses), vary={"body.mass": masses}, precision="float64")
    worlds.step(30)
    for k, mass in enumerate(masses):
        alone = sn.Simulation(tumbling(mass=mass), threads=1, precision="float64")
        alone.step(30)
        assert worlds.world(k).state == alone.state


@pytest.mark.parametrize(
    "vary",
    [
        {"box.mass": [1.0, 2.0]},
        {"cloth.mass": [0.1, 0.2], "cloth.friction": [0.1, 0.2]},
        {"loose.mass": [0.1, 0.2]},
        {"floor.friction": [0.1, 0.2]},
        {"floor.position": [(0, 0, 0), (0, 0.1, 0)], "gravity": [(0, -9.81, 0), (0, -1.6, 0)]},
    ],
    ids=str,
)
def test_a_world_that_was_saved_goes_on_with_the_same_bits(vary, tmp_path):
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), name="floor")
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.2, 0), name="box")
    scene.add_cloth(sn.grid(shape=(5, 5), size=(0.3, 0.3)), position=(0, 0.35, 0), name="cloth")
    scene.add_particles([[1, 0.3, 0], [1.2, 0.2, 0]], radius=0.05, name="loose")
    worlds = sn.Worlds(scene, 2, vary=vary, substeps=5)
    worlds.step(10)
    worlds.world(1).save(tmp_path / "world.h5")
    resumed = sn.Simulation.load(tmp_path / "world.h5")
    worlds.step(10)
    resumed.step(10)
    same(worlds.world(1), resumed)


def test_what_is_written_to_the_states_acts():
    """Free fall from heights and with speeds of each world's own: y = y0 + v t - g t (t + h) / 2."""
    scene = sn.Scene()
    ball = scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    worlds = sn.Worlds(scene, 5, substeps=4, precision="float64")
    heights, speeds = np.linspace(1.0, 9.0, 5), np.linspace(-2.0, 2.0, 5)
    worlds.positions(ball)[:, 0, 1] = heights
    worlds.velocities(ball)[:, 0, 1] = speeds
    worlds.step(30)
    t, h = worlds.times, worlds.settings.substep
    np.testing.assert_allclose(
        worlds.positions(ball)[:, 0, 1], heights + speeds * t - 9.81 * t * (t + h) / 2, rtol=1e-9
    )
    energy = worlds.energy()
    assert energy.total.shape == (5,)
    np.testing.assert_allclose(energy.kinetic, 0.5 * (speeds - 9.81 * t) ** 2, rtol=1e-9)
    worlds.state.velocities = 0.0 * worlds.state.velocities
    np.testing.assert_array_equal(worlds.energy().kinetic, 0.0)


def test_motors_and_pins_are_those_of_each_world():
    scene = sn.Scene(gravity=(0, 0, 0))
    wheel = scene.add_rigid_body(sn.Cylinder(0.2, 0.1), density=500)
    axle = scene.add_joint("hinge", wheel, None, anchor=(0, 0, 0), axis=(0, 1, 0))
    worlds = sn.Worlds(scene, 4)
    speeds = np.array([1.0, -2.0, 0.5, 3.0])
    worlds.drive(axle, [sn.VelocityMotor(s, 1e6) for s in speeds])
    worlds.step(5)
    np.testing.assert_allclose(worlds.joint_coordinates([axle])[1][:, 0], speeds, rtol=1e-6)
    worlds.drive(axle, np.array([7.0]), mask=[2])
    worlds.step(2)
    np.testing.assert_allclose(worlds.joint_coordinates([axle])[1][:, 0], [1.0, -2.0, 7.0, 3.0], rtol=1e-6)
    worlds.reset([0])
    worlds.step()
    assert worlds.joint_coordinates([axle])[1][0, 0] == 0.0


def test_a_change_in_one_world_leaves_the_others_alone():
    scene, cloth = cloth_over()
    worlds, plain = sn.Worlds(scene, 3), sn.Worlds(scene, 3)
    worlds.step(3)
    plain.step(3)
    worlds.change(mask=[1], gravity=(0, 0, 0))
    worlds.change_material(cloth, mask=[2], stretch_compliance=1e-3)
    alone = sn.Simulation(scene, threads=1)
    alone.step(3)
    alone.change(gravity=(0, 0, 0))
    for each in (worlds, plain, alone):
        each.step(6)
    same(worlds.world(0), plain.world(0))
    same(worlds.world(1), alone)
    assert worlds.world(2).material(cloth).stretch_compliance == 1e-3
    # a reset keeps the material
    worlds.reset([2])
    worlds.step(9)
    fresh = sn.Simulation(cloth_over(compliance=1e-3)[0], threads=1)
    fresh.step(9)
    same(worlds.world(2), fresh)


def test_a_grab_in_one_world_leaves_the_others_alone():
    scene, cloth = cloth_over()
    worlds = sn.Worlds(scene, 2)
    alone = sn.Simulation(scene, threads=1)
    held, same_grab = worlds.world(1).grab(cloth, 40), alone.grab(cloth, 40)
    held.target = same_grab.target = (0, 0.3, 0)
    worlds.step(8)
    alone.step(8)
    same(worlds.world(1), alone)
    assert held.active
    assert same_grab.active
    worlds.reset()
    assert not held.active
    worlds.step(8)
    same(worlds.world(0), worlds.world(1))


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("name", ["cloth on a ball", "boxes", "water"])
def test_one_world_that_diverges_takes_no_other_down(name, holds):
    scene, settings = scene_of(name)
    worlds = quiet(sn.Worlds, scene, 4, on_divergence="hold" if holds else "raise", **settings)
    alone = quiet(sn.Simulation, scene, threads=1, **settings)
    worlds.step(2)
    alone.step(2)
    simulation = worlds.world(2)
    if scene.particle_count:
        simulation.state.velocities[0] = np.inf
    else:
        simulation.state.body_velocities[0] = np.inf
    before = worlds.times[2]
    if holds:
        worlds.step(3)
    else:
        with pytest.raises(sn.DivergenceError, match="1 of 4 stopped: world 2: "):
            worlds.step(3)
    alone.step(3)
    np.testing.assert_array_equal(worlds.diverged, [False, False, True, False])
    for k in (0, 1, 3):
        same(worlds.world(k), alone)
    # it stands still until it is reset
    worlds.step()
    alone.step()
    assert worlds.times[2] == before
    same(worlds.world(3), alone)
    worlds.reset(worlds.diverged)
    assert not worlds.diverged.any()
    worlds.step(6)
    same(worlds.world(2), alone)


def test_masked_steps_and_a_world_stepped_alone():
    scene, _ = cloth_over()
    worlds, alone = sn.Worlds(scene, 3), sn.Simulation(scene, threads=1)
    worlds.step(4, mask=[True, False, True])
    worlds.world(1).step(4)
    alone.step(4)
    for k in range(3):
        same(worlds.world(k), alone)
    np.testing.assert_allclose(worlds.times, 4 / 60)


def test_far_from_their_origin_worlds_move_it_as_alone():
    """In single precision an origin moves along after 64 m, between two steps of one call."""
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_cloth(sn.grid(shape=(3, 3), size=(0.2, 0.2)))
    worlds, alone = sn.Worlds(scene, 3), sn.Simulation(scene, threads=1)
    for each in (worlds.state, alone.state):
        each.velocities[..., 0] = 600.0
    worlds.state.velocities[1] = 0.0
    worlds.step(40)
    alone.step(40)
    assert abs(alone.state.origins[0, 0]) > 64.0
    same(worlds.world(2), alone)
    np.testing.assert_allclose(worlds.times, 40 / 60)


def test_results_do_not_depend_on_threads():
    scene, _ = cloth_over()
    one, two = sn.Worlds(scene, 9, threads=1), sn.Worlds(scene, 9, threads=2)
    for each in (one, two):
        each.state.velocities[...] = 0.1 * np.arange(9)[:, None, None]
        each.step(12)
    np.testing.assert_array_equal(one.state.positions, two.state.positions)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("bodies", [0, 3])
def test_interrupted_steps_are_whole_or_undone_to_the_bit(monkeypatch, bodies, count):
    """An interrupt comes when the compiled steps are over, or while a list waits for room, or an origin to move."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_rope(np.linspace([62.0, 0.3, 0.3], [62.6, 0.4, 0.3], 20), velocity=(40.0, 0.0, 0.0))
    for k in range(bodies):
        scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.02 * k, 0.05 + 0.12 * k, 0.0))
    worlds, others = (sn.Worlds(scene, 2, threads=1) for _ in range(2))
    program = worlds._steps._batch._run
    assert worlds._worlds[0].needs_no_python == (bodies == 0)

    def interrupted(threads):
        type(program).run(program, threads)
        raise KeyboardInterrupt

    for _ in range(12):
        with monkeypatch.context() as patch:
            patch.setattr(program, "run", interrupted)
            with pytest.raises(KeyboardInterrupt):
                worlds.step(count)
        for k, taken in enumerate((worlds.times - others.times) / worlds.settings.dt):
            others.step(round(taken), mask=[k])
        for _ in range(2):
            assert all(worlds.world(k).state == others.world(k).state for k in range(2))
            worlds.step()
            others.step()


def test_handles_drive_a_simulation_of_the_scene_of_a_world():
    scene = swinging()
    sim = quiet(sn.Simulation, sn.Worlds(scene, 2, vary={"box.mass": [1.0, 2.0]}).world(1).initial_scene)
    hinge = scene["hinge"]
    assert isinstance(hinge, JointHandle)
    hinge.drive(sn.Servo(1.0, 100.0, 10.0))
    assert hinge.motor == sim.bodies.motor("hinge")
    sim.step(3)
    assert hinge.angle == sim.joint("hinge").angle != 0.0


@pytest.mark.parametrize("of", ["world", "changed"])
def test_the_scene_of_a_world_takes_no_objects_and_its_copy_does(of):
    """Its lists are those of the scene of the worlds, which would have half of a new object."""
    scene = swinging()
    if of == "world":
        shared = sn.Worlds(scene, 2, vary={"box.mass": [1.0, 2.0]}).world(1).initial_scene
    else:
        sim = sn.Simulation(scene)
        sim.change(gravity=(0.0, 0.0, 0.0))
        shared = sim.described
    additions = {
        "rope: scene: is that of a simulation": lambda to: to.add_rope([(0, 2, 0), (1, 2, 0)], name="other"),
        "collider: scene": lambda to: to.add_collider(sn.Plane()),
        "pin: scene": lambda to: to.pin([0]),
        "attach: scene": lambda to: to.attach((to["rope"], 0), (to["box"], (0.0, 0.0, 0.0))),
        "distance: scene": lambda to: to.add_constraint("distance", [(0, 2)]),
        "ignore_contact: scene": lambda to: to.ignore_contact("rope", "box"),
    }
    names, revision = list(scene.handles), scene.revision
    for message, add in additions.items():
        with pytest.raises(sn.SceneError, match=message):
            add(shared)
    assert (list(scene.handles), scene.revision, scene.pinned) == (names, revision, set())
    own = copy.copy(shared)
    for add in additions.values():
        add(own)
    hinge, sim = own["hinge"], quiet(sn.Simulation, own)
    assert isinstance(hinge, JointHandle)
    hinge.drive(sn.Servo(1.0, 100.0, 10.0))
    assert sim.bodies.motor("hinge") is not None
    assert "other" not in scene.handles
    if of == "world":
        assert own.bodies[0].mass == 2.0
