"""Bodies on which a part of gravity acts: what MuJoCo calls `gravcomp`."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn

G = 9.81
SCALES = (1.0, 0.5, 0.0, -1.0)


def balls(**options) -> sn.Scene:
    scene = sn.Scene(**options)
    for k, scale in enumerate(SCALES):
        scene.add_rigid_body(sn.Sphere(0.1), position=(k, 2.0, 0.0), gravity_scale=scale, name=f"ball {scale:g}")
    return scene


def test_bodies_fall_by_their_part_of_gravity():
    sim = sn.Simulation(balls(), substeps=10)
    before, h = sim.energy().total, sim.settings.substep
    sim.step(30)
    time, mass = sim.time, np.array([body.mass for body in sim.scene.bodies])
    np.testing.assert_allclose(sim.state.body_velocities[:, 1], -G * time * np.array(SCALES), rtol=1e-11)
    # a substep moves by its last velocity, which loses m a^2 h t / 2 of the energy of a fall
    lost = (mass * (G * np.array(SCALES)) ** 2).sum() * h * time / 2.0
    assert before - sim.energy().total == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
def test_the_floor_and_the_ceiling_carry_that_part(solver):
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_collider(sn.Plane((0.0, -1.0, 0.0), -1.0), name="ceiling")
    heavy = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.0, 0.1, 0.0), gravity_scale=0.25)
    light = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(1.0, 0.9, 0.0), gravity_scale=-0.5)
    floating = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(2.0, 0.5, 0.0), gravity_scale=0.0)
    sim = sn.Simulation(scene, substeps=10, rigid_solver=solver)
    sim.step(60)
    weight = G * scene.bodies[0].mass
    np.testing.assert_allclose(sim.forces(heavy), (0.0, 0.25 * weight, 0.0), atol=1e-6 * weight)
    np.testing.assert_allclose(sim.forces(light), (0.0, -0.5 * weight, 0.0), atol=1e-6 * weight)
    np.testing.assert_array_equal(sim.pose(floating).position, (2.0, 0.5, 0.0))


def bouncing(gravity: float, scale: float, other: float) -> sn.Simulation:
    """Two balls that meet above a floor, without loss."""
    scene = sn.Scene(gravity=(0.0, -gravity, 0.0))
    scene.add_collider(sn.Plane(), restitution=1.0)
    for x, s in ((0.0, scale), (0.8, other)):
        options = {"velocity": (1.0 - 2.5 * x, 0.0, 0.0), "friction": 0.0, "restitution": 1.0, "gravity_scale": s}
        scene.add_rigid_body(sn.Sphere(0.1), position=(x, 0.5, 0.0), **options)
    return sn.Simulation(scene, substeps=20, sleep=False)


def test_balls_bounce_as_in_that_gravity():
    scaled, alone = bouncing(G, 0.5, 0.5), bouncing(0.5 * G, 1.0, 1.0)
    for _ in range(60):
        scaled.step()
        alone.step()
    np.testing.assert_allclose(scaled.state.body_positions, alone.state.body_positions, atol=1e-6)
    assert scaled.energy().total == pytest.approx(alone.energy().total, rel=1e-6)


@pytest.mark.parametrize("scales", [(1.0, 0.0), (0.6, 0.4), (0.25, 0.75)])
def test_impacts_of_bodies_with_other_parts_keep_energy_and_momentum(scales):
    sim = bouncing(G, *scales)
    energy, momentum = sim.energy().total, sim.momentum()[0]
    for _ in range(30):
        sim.step()
        # m a^2 h t / 2 of each fall, 0.3 %, comes and goes at a bounce
        assert sim.energy().total == pytest.approx(energy, rel=4e-3)
    assert sim.state.body_velocities[0, 0] < 0.5  # they have met
    assert sim.momentum()[0] == pytest.approx(momentum, abs=1e-9)


def test_worlds_checkpoints_and_scene_files_have_it(tmp_path: Path):
    scene = balls()
    scene.add_collider(sn.Plane())
    worlds = sn.Worlds(scene, 2, vary={"ball 0.5.mass": [1.0, 2.0]}, substeps=5)
    sim = sn.Simulation(scene, substeps=5)
    worlds.step(20)
    sim.step(20)
    np.testing.assert_array_equal(worlds.state.body_velocities[1, 2:], sim.state.body_velocities[2:])
    assert worlds.state.body_velocities[1, 1, 1] == sim.state.body_velocities[1, 1]
    sim.save(tmp_path / "run.h5")
    again = sn.Simulation.load(tmp_path / "run.h5")
    for each in (sim, again):
        each.step(20)
    np.testing.assert_array_equal(again.state.body_positions, sim.state.body_positions)
    file = tmp_path / "scene.toml"
    file.write_text('[[rigid_body]]\nname = "kite"\ngravity_scale = -0.25\nshape = { type = "sphere", radius = 0.1 }\n')
    kite = sn.Simulation(sn.load_scene(file), substeps=5)
    kite.step(60)
    assert kite.state.body_velocities[0, 1] == pytest.approx(0.25 * G, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gravity_scale": np.nan}, "gravity_scale: "),
        ({"gravity_scale": -1.5}, "gravity_scale: must be at least -1"),
        ({"gravity_scale": "none"}, "gravity_scale: expected a number"),
        ({"gravity_scale": 0.0, "kinematic": True}, "gravity_scale: gravity does not act on kinematic bodies"),
    ],
)
def test_bad_parts_are_refused(options, message):
    with pytest.raises(sn.SceneError, match=message):
        sn.Scene().add_rigid_body(sn.Sphere(0.1), **options)


ARM = """
<mujoco><option timestep="0.0005"/><worldbody>
<body name="a" pos="0 0 1" gravcomp="0.7"><joint name="j0" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".04" mass="2"/>
  <body name="b" pos=".5 0 0" gravcomp="{part}"><joint name="j1" axis="0 1 0" damping="0.1"/>
    <joint name="j2" axis="1 0 0" damping=".1"/><geom type="box" size=".2 .05 .03" pos=".2 .1 0" mass="1"/></body>
</body>
<body name="c" pos="2 0 1" gravcomp="0.25"><freejoint/><geom size=".1" mass="2"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("part", [0.0, 1.3])
def test_a_robot_moves_as_in_mujoco(tmp_path: Path, part: float):
    mujoco = pytest.importorskip("mujoco")
    text = ARM.format(part=part)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 800)
    (tmp_path / "arm.xml").write_text(text)
    scene = sn.Scene()
    robot = sn.load_robot(tmp_path / "arm.xml", scene)
    assert robot.skipped == []
    sim = sn.Simulation(scene, dt=0.01, substeps=20)
    sim.step(40)
    # both are of first order in steps of 0.5 ms
    np.testing.assert_allclose(robot.angles, data.qpos[:3], atol=4e-3)
    np.testing.assert_allclose(sim.pose(robot.bodies["c"]).position[1], data.qpos[5], atol=1e-9)


def test_a_robot_whose_weight_is_carried_stays(tmp_path: Path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(ARM.format(part=1.0).replace('gravcomp="0.7"', 'gravcomp="1"'))
    scene = sn.Scene()
    robot = sn.load_robot(tmp_path / "arm.xml", scene)
    sim = sn.Simulation(scene, substeps=10)
    sim.step(60)
    np.testing.assert_allclose(robot.angles, 0.0, atol=1e-12)


def test_what_no_actuator_carries_is_told(tmp_path: Path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(ARM.format(part=1.0).replace('name="j1"', 'name="j1" actuatorgravcomp="true"'))
    with pytest.warns(sn.RobotWarning, match="actuatorgravcomp"):
        robot = sn.load_robot(tmp_path / "arm.xml", sn.Scene())
    assert robot.skipped == ["joint 'j1': actuatorgravcomp: no actuator counts or limits what carries their bodies"]
    flag = '><flag spring="disable" damper="disable"/></option><worldbody>'
    off = ARM.format(part=1.0).replace("/><worldbody>", flag)
    (tmp_path / "arm.xml").write_text(off)
    scene = sn.Scene()
    sn.load_robot(tmp_path / "arm.xml", scene)
    assert {body.gravity_scale for body in scene.bodies} == {1.0}
