"""Sensors of MJCF robots: closed forms, and MuJoCo."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns the world of files, Z up, to that of scenes."""
PRECISIONS = pytest.mark.parametrize("precision", ["float64", "float32"])


def load(tmp_path: Path, text: str) -> tuple:
    path = tmp_path / "robot.xml"
    path.write_text(text)
    scene = sn.Scene(air_density=0.0)
    return scene, sn.load_robot(path, scene)


@PRECISIONS
def test_an_accelerometer_at_rest_shows_gravity_and_in_free_fall_nothing(tmp_path: Path, precision: str) -> None:
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .1"><freejoint/>
      <geom type="box" size=".1 .1 .1"/><site name="a" pos=".05 .02 .08" euler="30 50 10"/></body>
      <body pos="3 0 90"><freejoint/><geom type="box" size=".1 .2 .3"/>
      <site name="b" pos=".1 .1 .2"/></body></worldbody>
      <sensor><accelerometer name="rest" site="a"/><accelerometer name="fall" site="b"/>
      <framelinacc name="lin" objtype="site" objname="a"/><frameangacc name="ang" objtype="site" objname="a"/>
      <clock name="t"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene, substeps=10, precision=precision, sleep=False)
    assert np.array_equal(robot.sensors["ang"].read(), np.zeros(3))
    sim.run(1.0, progress=False)
    turn = np.zeros(9)
    model = mujoco.MjModel.from_xml_string(text)
    mujoco.mju_quat2Mat(turn, model.site_quat[0])
    assert robot.sensors["rest"].read() == pytest.approx(turn.reshape(3, 3).T @ (0, 0, 9.81), abs=2e-3)
    assert robot.sensors["lin"].read() == pytest.approx((0, 9.81, 0), abs=2e-3)
    assert robot.sensors["ang"].read() == pytest.approx((0, 0, 0), abs=2e-2)
    assert robot.sensors["fall"].read() == pytest.approx((0, 0, 0), abs=1e-6)
    assert robot.sensors["t"].read() == pytest.approx([sim.time], abs=1e-12)


@PRECISIONS
@pytest.mark.parametrize(("speed", "radius"), [(2.0, 0.3), (-5.0, 0.8), (9.0, 0.15)])
def test_an_accelerometer_on_a_turning_arm_shows_its_centripetal_acceleration(
    tmp_path: Path, speed: float, radius: float, precision: str
) -> None:
    """omega^2 r towards the axis beside gravity, at constant speed; r times the angular acceleration as it spins up.

    Means of a substep h: to omega h / 2 of it.
    """
    text = f"""<mujoco><worldbody><body><joint name="j" axis="0 0 1"/><geom type="box" size=".4 .05 .02" mass="1"/>
      <site name="s" pos="{radius} 0 0"/></body></worldbody><actuator><motor name="m" joint="j"/></actuator>
      <sensor><accelerometer name="a" site="s"/><frameangacc name="w" objtype="site" objname="s"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    sim = sn.Simulation(scene, substeps=20, precision=precision)
    robot.drive({"j": sn.VelocityMotor(speed)})
    sim.run(0.5, progress=False)
    size, h = speed**2 * radius, sim.settings.substep
    found = robot.sensors["a"].read()
    assert found == pytest.approx((-size, 0.0, 9.81), abs=size * abs(speed) * h + 1e-3)
    robot.drive({"j": sn.ForceMotor(0.2)})
    sim.step()
    inertia = (0.8**2 + 0.1**2) / 12.0
    assert robot.sensors["w"].read()[1] == pytest.approx(0.2 / inertia, rel=1e-3)
    assert robot.sensors["a"].read()[1] == pytest.approx(0.2 / inertia * radius, abs=2.0 * size * abs(speed) * h + 1e-3)


def test_sensors_read_what_mujoco_reads(tmp_path: Path) -> None:
    """A tree with a ball joint and a free base that tumbles; all frames, also from others and the world."""
    text = """<mujoco><option timestep="5e-5" magnetic=".2 -.5 .3"/><worldbody>
      <site name="w" pos=".3 .1 .2" euler="10 20 30"/>
      <body name="a" pos="0 0 1"><freejoint/><geom name="g" type="box" size=".2 .05 .02" pos=".2 0 0" euler="0 10 0"/>
      <site name="p" pos=".1 .1 0" euler="40 0 10"/>
      <body name="b" pos=".4 0 0" euler="10 0 20"><joint name="k" type="ball"/>
      <geom type="box" size=".05 .1 .02" pos="0 .1 0"/><site name="s" pos=".1 .2 0" euler="0 30 40"/>
      <body name="c" pos="0 .2 0"><joint name="l" axis="1 0 1"/><geom type="capsule" size=".03 .1" pos=".1 0 .1"/>
      </body></body></body></worldbody><sensor>
      <accelerometer name="1" site="s"/><magnetometer name="2" site="s"/>
      <framelinacc name="3" objtype="body" objname="c"/>
      <frameangacc name="4" objtype="xbody" objname="b"/><ballquat name="5" joint="k"/><ballangvel name="6" joint="k"/>
      <subtreecom name="7" body="b"/><subtreelinvel name="8" body="a"/><subtreeangmom name="9" body="b"/>
      <framepos name="10" objtype="site" objname="s" reftype="site" refname="p"/>
      <framequat name="11" objtype="body" objname="c" reftype="site" refname="w"/>
      <framelinvel name="12" objtype="site" objname="s" reftype="xbody" refname="a"/>
      <frameangvel name="13" objtype="site" objname="s" reftype="site" refname="p"/>
      <framezaxis name="14" objtype="geom" objname="g" reftype="body" refname="c"/>
      <framelinvel name="15" objtype="geom" objname="g" reftype="site" refname="w"/>
      <framepos name="16" objtype="geom" objname="g"/><clock name="17"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene, dt=1 / 1000, substeps=20, threads=1, precision="float64")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    # angular velocities of a free body are in its own axes there
    data.qvel[:] = (0.1, 0.3, -0.2, 1.0, 2.0, -1.5, 1.0, -2.0, 0.7, 1.3)
    mujoco.mj_forward(model, data)
    for name, handle in robot.bodies.items():
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, model.body(name).id, velocity, 0)
        sim.state.body_angular_velocities[handle.index] = UPRIGHT @ velocity[:3]
        sim.state.body_velocities[handle.index] = UPRIGHT @ velocity[3:]
    sim.step(200)
    mujoco.mj_step(model, data, 4000)
    mujoco.mj_forward(model, data)
    worldly = {"3", "4", "7", "8", "9", "16"}
    for name, sensor in robot.sensors.items():
        found, expected = sensor.read(), np.array(data.sensor(name).data)
        if sensor.kind in ("framequat", "ballquat"):
            found, expected = rotation_matrix(found), rotation_matrix(expected)
        elif name in worldly:
            expected = UPRIGHT @ expected
        size = max(1.0, float(np.abs(expected).max()))
        assert np.allclose(found, expected, rtol=0, atol=5e-3 * size), (name, sensor.kind, found, expected)
