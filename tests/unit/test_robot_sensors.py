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


FEET = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body name="table" pos="0 0 .2"><freejoint/><geom name="top" type="box" size=".3 .2 .02" mass="2"/>
  <geom name="left" type="sphere" size=".03" pos="-.2 0 -.17" mass=".1"/>
  <geom name="right" type="sphere" size=".03" pos=".2 .1 -.17" mass=".1"/>
  <geom name="rear" type="sphere" size=".03" pos=".2 -.1 -.17" mass=".1"/>
  <site name="zone" type="box" size=".1 .3 .05" pos=".2 0 -.2"/></body>
  <body name="cup" pos=".1 .02 .27"><freejoint/><geom name="cup" type="box" size=".05 .04 .05" mass="1"/></body>
  </worldbody><sensor>
  <contact name="left" geom1="left" data="found force pos normal"/>
  <contact name="pair" geom1="floor" body2="table" reduce="netforce" data="found force torque dist pos normal tangent"/>
  <contact name="cup" subtree1="cup" subtree2="table" num="6" data="found dist normal"/>
  <contact name="floor" body2="world" reduce="netforce" data="found force"/>
  <contact name="zone" site="zone" num="3" data="found"/><contact name="any" reduce="netforce" data="found"/>
  <contact name="most" geom2="floor" reduce="maxforce" num="2" data="force normal tangent"/>
  <contact name="none" geom1="left" geom2="cup" data="found force"/></sensor></mujoco>"""


def test_contacts_are_those_of_mujoco(tmp_path: Path) -> None:
    """A table on three round feet, with a cup: by geoms of one body, bodies, subtrees and a site; forces at rest."""
    scene, robot = load(tmp_path, FEET)
    assert not [told for told in robot.skipped if "sensor" in told]
    sim = sn.Simulation(scene, substeps=10, precision="float64", threads=1)
    sim.run(1.0, progress=False)
    model = mujoco.MjModel.from_xml_string(FEET)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1500)
    mujoco.mj_forward(model, data)
    found = {name: sensor.read() for name, sensor in robot.sensors.items()}
    expected = {name: np.array(data.sensor(name).data) for name in robot.sensors}
    assert all(found[name].shape == expected[name].shape for name in found)
    for name in ("zone", "none"):
        assert np.array_equal(found[name], expected[name]), name
    assert found["any"] == found["pair"][0] + found["cup"][0]

    def turned(values: np.ndarray, *starts: int) -> np.ndarray:
        values = values.copy()
        for start in starts:
            values[start : start + 3] = UPRIGHT @ values[start : start + 3]
        return values

    # MuJoCo's floor gives way by 0.1 mm
    assert found["left"] == pytest.approx(turned(expected["left"], 4, 7), abs=1e-3 * 15.0)
    pair = turned(expected["pair"], 1, 4, 8)
    assert found["pair"][:11] == pytest.approx(pair[:11], abs=2e-3)
    assert np.array_equal(found["pair"][11:], [1, 0, 0, 0, 1, 0])
    assert found["cup"][2:5] == pytest.approx((0, -1, 0), abs=1e-6)
    assert found["floor"][1:] == pytest.approx((0, -3.3 * 9.81, 0), abs=1e-3)
    most = found["most"].reshape(2, 9)
    assert most[:, 0] == pytest.approx(expected["most"].reshape(2, 9)[:, 0], rel=1e-3)
    assert np.allclose(most[:, 3:6], (0, -1, 0))
    assert np.allclose((most[:, 3:6] * most[:, 6:]).sum(axis=1), 0.0)


@PRECISIONS
def test_limits_are_told_where_they_hold(tmp_path: Path, precision: str) -> None:
    """A bar that falls onto its limit, and a ball on a cord: 0 before, then the rate, at rest hardly exceeded."""
    text = """<mujoco><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0" range="-90 20"/>
      <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/></body><site name="wall" pos="2 0 1"/>
      <body pos="2 0 .6"><joint type="slide" axis="0 0 1"/><geom size=".05"/><site name="eye"/></body></worldbody>
      <tendon><spatial name="cord" range="0 .5"><site site="wall"/><site site="eye"/></spatial></tendon>
      <sensor><jointlimitpos name="p" joint="j"/><jointlimitvel name="v" joint="j"/>
      <tendonlimitpos name="tp" tendon="cord"/><tendonlimitvel name="tv" tendon="cord"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene, substeps=10, precision=precision, sleep=False)
    sim.step()
    assert [robot.sensors[name].read()[0] for name in ("p", "v", "tp", "tv")] == [0.0] * 4
    sim.run(2.0, progress=False)
    assert robot.joints["j"].angle == pytest.approx(np.radians(20.0), abs=1e-5)
    assert robot.tendons["cord"].length == pytest.approx(0.5, abs=1e-5)
    for name in ("p", "tp"):
        assert -1e-5 < robot.sensors[name].read()[0] <= 0.0
    # towards the limit is negative, as the rate of the gap
    sim.state.body_angular_velocities[0] = (0, 0, -3.0)
    assert robot.sensors["v"].read()[0] == pytest.approx(-robot.joints["j"].velocity, abs=1e-6)
    assert abs(robot.sensors["v"].read()[0]) == pytest.approx(3.0, rel=1e-6)


def test_energies_are_those_of_mujoco(tmp_path: Path) -> None:
    """Rotors, springs of joints and tendons, several joints in a body; the sum is what drives and damping leave."""
    text = """<mujoco><option timestep="1e-4"/><worldbody><site name="wall" pos=".5 0 1.2"/><body pos="0 0 1">
      <joint name="a" axis="0 1 0" armature=".02" stiffness="3" springref="20"/><joint name="b" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><body pos=".3 0 0"><joint name="c" axis="1 1 0"/>
      <geom type="box" size=".1 .05 .02" pos=".1 .03 0"/><site name="tip" pos=".2 0 0"/></body></body></worldbody>
      <tendon><spatial stiffness="40" springlength=".2"><site site="wall"/><site site="tip"/></spatial></tendon>
      <sensor><e_potential name="p"/><e_kinetic name="k"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene, dt=1 / 1000, substeps=20, precision="float64", threads=1)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for steps in (0, 100, 200):
        sim.step(steps)
        mujoco.mj_step(model, data, 10 * steps)
        mujoco.mj_forward(model, data)
        found = [robot.sensors[name].read()[0] for name in ("p", "k")]
        expected = [data.sensor(name).data[0] for name in ("p", "k")]
        assert found == pytest.approx(expected, rel=5e-3, abs=1e-9), steps
    assert found[1] > 0.1


def test_a_site_knows_what_is_within_and_a_cutoff_bounds_numbers(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><site name="gate" type="cylinder" size=".1 .3" pos="0 0 1" euler="0 90 0"/>
      <body name="in" pos=".25 0 1.05"><freejoint/><geom name="g" size=".01"/></body>
      <body name="out" pos="0 0 1.25"><freejoint/><geom size=".01"/><site name="s"/></body></worldbody><sensor>
      <insidesite name="1" site="gate" objtype="body" objname="in"/>
      <insidesite name="0" site="gate" objtype="site" objname="s"/><insidesite name="g" site="gate" objtype="geom"
      objname="g"/><framepos name="p" objtype="site" objname="s" cutoff=".5"/>
      </sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene)
    assert [robot.sensors[name].read()[0] for name in ("1", "0", "g")] == [1.0, 0.0, 1.0]
    assert robot.sensors["p"].read() == pytest.approx((0, 0.5, 0))
    sim.run(0.3, progress=False)
    assert robot.sensors["1"].read()[0] == 0.0


def test_sensors_of_an_arm_that_falls_read_what_mujoco_reads(tmp_path: Path) -> None:
    """After a tenth of a second, turned upright; velocities to the first order of the step."""
    text = """<mujoco><option timestep="1e-4"/><worldbody><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>
      <geom type="box" size="0.2 0.05 0.02" pos="0.2 0 0"/><body name="b" pos="0.4 0 0"><joint name="k" axis="1 0 0"/>
      <geom type="box" size="0.05 0.1 0.02" pos="0 0.1 0"/><site name="s" pos="0.1 0.2 0" euler="0 30 40"/></body>
      </body></worldbody><sensor><jointpos name="q" joint="j"/><jointvel name="v" joint="k"/>
      <framepos name="p" objtype="site" objname="s"/><framequat name="r" objtype="site" objname="s"/>
      <gyro name="g" site="s"/>
      <velocimeter name="w" site="s"/><framelinvel name="l" objtype="body" objname="b"/>
      <frameangvel name="o" objtype="xbody" objname="a"/></sensor>
      </mujoco>"""
    scene, robot = load(tmp_path, text)
    assert robot.skipped == []
    sim = sn.Simulation(scene, dt=1 / 1000, substeps=10, threads=1)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    sim.step(100)
    for _ in range(1000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    for name, sensor in robot.sensors.items():
        found, expected = sensor.read(), np.array(data.sensor(name).data)
        if sensor.kind == "framequat":
            found = UPRIGHT.T @ rotation_matrix(found)
            expected = rotation_matrix(expected)
        elif sensor.kind.startswith("frame"):
            expected = UPRIGHT @ expected
        assert np.allclose(found, expected, rtol=0, atol=2e-3), sensor.kind


@pytest.mark.filterwarnings("ignore::shinari.RobotWarning")
def test_sensors_of_forces_read_what_mujoco_reads(tmp_path: Path) -> None:
    """An arm that a servo, a muscle and a tendon hold, and a ball on a pad, at rest."""
    text = """<mujoco><option timestep="5e-4"/><worldbody><site name="w" pos="0 .1 1.3"/>
      <geom type="box" size=".2 .2 .05" pos="2 0 0"/>
      <body name="pad" pos="2 0 .1"><geom type="box" size=".1 .1 .05" mass="2"/><joint type="slide" axis="0 0 1"/>
      <site name="skin" type="box" size=".2 .2 .02" pos="0 0 .05"/>
      <site name="off" type="sphere" size=".03" pos=".09 .09 .05"/></body>
      <body pos="2 0 .2"><freejoint/><geom size=".05" mass=".5"/></body>
      <body name="a" pos="0 0 1"><joint name="j" axis="0 1 0" damping="2"/>
      <geom type="box" size="0.2 0.05 0.02" pos="0.2 0 0" mass="1" contype="0" conaffinity="0"/>
      <site name="h" pos=".2 0 .02"/>
      <body name="b" pos="0.4 0 0"><geom type="box" size="0.05 0.1 0.02" pos="0 0.1 0" mass="2"/>
      <site name="s" pos="0.1 0.2 0" euler="0 30 40"/></body>
      <body name="c" pos=".4 0 0"><joint name="k" type="slide" axis="1 0 0" damping="9"/>
      <geom size=".02" mass=".3" contype="0" conaffinity="0"/><site name="m" euler="10 20 30"/></body></body>
      </worldbody>
      <tendon><spatial name="t"><site site="w"/><site site="h"/></spatial></tendon>
      <actuator><position name="p" joint="j" kp="80" gear="2"/><muscle name="u" joint="j" force="5" lengthrange="-2 2"/>
      <motor name="d" tendon="t" gear="-1"/><position name="q" joint="k" kp="50"/></actuator>
      <sensor><force name="f" site="s"/><torque name="o" site="s"/><force name="g" site="m"/><torque name="e" site="m"/>
      <actuatorfrc name="ap" actuator="p"/><actuatorfrc name="au" actuator="u"/><actuatorfrc name="ad" actuator="d"/>
      <actuatorpos name="lp" actuator="p"/><actuatorvel name="vp" actuator="p"/><actuatorpos name="ld" actuator="d"/>
      <jointactuatorfrc name="jf" joint="j"/><tendonactuatorfrc name="tf" tendon="t"/>
      <tendonpos name="tp" tendon="t"/><tendonvel name="tv" tendon="t"/><touch name="feel" site="skin"/>
      <touch name="nothing" site="off"/><framexaxis name="x" objtype="site" objname="s"/>
      <framezaxis name="z" objtype="site" objname="s"/><user name="no" dim="1"/></sensor></mujoco>"""
    scene, robot = load(tmp_path, text)
    told = [line for line in robot.skipped if "sensor" in line]
    kinds = {"jf": "jointactuatorfrc", "no": "user"}
    assert told == [f"sensor {name!r}: {kind} of this object is not read" for name, kind in kinds.items()]
    sim = sn.Simulation(scene, substeps=10, threads=1, precision="float64")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    commands = [0.1, 0.5, 3.0, 0.02]
    robot.command(commands)
    data.ctrl[:] = commands
    sim.run(4.0, progress=False)
    for _ in range(8000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    for name, sensor in robot.sensors.items():
        found, expected = sensor.read(), np.array(data.sensor(name).data)
        if sensor.kind in ("framexaxis", "framezaxis"):
            expected = UPRIGHT @ expected
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-3 * max(1.0, np.abs(expected).max())), name
    assert robot.sensors["feel"].read()[0] == pytest.approx(0.5 * 9.81, rel=1e-3)
    # without actuators of tendons the force at a joint is that of its own
    for part in ('<motor name="d" tendon="t" gear="-1"/>', '<actuatorfrc name="ad" actuator="d"/>',
                 '<actuatorpos name="ld" actuator="d"/>'):  # fmt: skip
        text = text.replace(part, "")
    scene, robot = load(tmp_path, text)
    sim = sn.Simulation(scene, precision="float64")
    robot.command([0.1, 0.5, 0.02])
    sim.step(10)
    forces = [2.0 * robot.sensors["ap"].read()[0], robot.sensors["au"].read()[0]]
    assert robot.sensors["jf"].read()[0] == pytest.approx(sum(forces))
