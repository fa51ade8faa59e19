"""Loops of MJCF robots that welds, connections and tendons close."""

import warnings
from pathlib import Path

import pytest

import shinari as sn

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

LOOP = """<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02"/>
    <body name="b" pos="0 0 0.4"><joint name="jb" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.6 0 0" size="0.02"/><site name="end" pos="0.6 0 0"/></body></body>
  <body name="c" pos="0.6 0 1"><joint name="jc" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02"/><site name="tip" pos="0 0 0.4"/></body>
  <site name="wall" pos="2 0 1"/><body name="d" pos="1.5 0 1"><freejoint/><geom size="0.1"/><site name="eye"/></body>
  </worldbody>{}</mujoco>"""


def load(folder: Path, inside: str) -> tuple[sn.Scene, sn.Robot]:
    """The loop with some elements more."""
    path, scene = folder / "robot.xml", sn.Scene()
    path.write_text(LOOP.format(inside))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.RobotWarning)
        return scene, sn.load_robot(path, scene)


@pytest.mark.parametrize("kind", ["body1='b' body2='c' anchor='0.6 0 0'", "site1='end' site2='tip'"])
def test_a_connection_closes_a_parallelogram(tmp_path: Path, kind: str) -> None:
    """Its cranks keep the same angle, and the coupler stays level; the ends at the pin overlap, and may."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        passing = "<contact><exclude body1='b' body2='c'/></contact>"
        scene, robot = load(tmp_path, f"{passing}<equality><connect name='pin' {kind}/></equality>")
        assert robot.joints["pin"].kind == "ball"
        sim = sn.Simulation(scene, substeps=10, threads=1)
    robot.joints["ja"].drive(sn.ForceMotor(3.0))
    sim.run(0.3, progress=False)
    assert robot.joints["ja"].angle > 0.8
    assert robot.joints["jc"].angle == pytest.approx(robot.joints["ja"].angle, abs=1e-4)
    assert robot.joints["jb"].angle == pytest.approx(-robot.joints["ja"].angle, abs=1e-4)


def test_welds_and_connections_that_cannot_be_are_listed(tmp_path: Path) -> None:
    equalities = """<weld name="glue" body1="c" body2="d"/><connect name="far" site1="end" site2="eye"/>
      <connect name="same" body1="world" body2="world" anchor="0 0 0"/>"""
    scene, robot = load(tmp_path, f"<equality>{equalities}</equality>")
    assert robot.joints["glue"].kind == "fixed"
    assert {scene.joints[robot.joints["glue"].index].first, scene.joints[robot.joints["glue"].index].second} == {
        robot.bodies["c"].index,
        robot.bodies["d"].index,
    }
    assert any("'far': at the start its ends are" in told for told in robot.skipped)
    assert any("'same'" in told for told in robot.skipped)


def test_straight_tendons_become_ropes_and_springs(tmp_path: Path) -> None:
    """The ball swings on a rope of 0.7 m, or hangs on a spring: m g / k longer than its rest."""
    tendons = """<tendon><spatial name="rope" range="0 0.7"><site site="wall"/><site site="eye"/></spatial>
      <spatial name="spring" stiffness="2000" damping="100" springlength="0.4"><site site="wall"/><site site="eye"/>
      </spatial></tendon>"""
    scene, robot = load(tmp_path, tendons)
    rope, spring = robot.tendons["rope"], robot.tendons["spring"]
    assert scene.tendons[rope.index].limits == (0.0, 0.7)
    assert scene.tendons[spring.index].slack == (0.4, 0.4)
    assert not any("tendon" in told for told in robot.skipped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.ContactWarning)
        sim = sn.Simulation(scene, substeps=10, threads=1)
    sim.run(4.0, progress=False)
    weight = scene.bodies[robot.bodies["d"].index].mass * 9.81
    assert spring.length == pytest.approx(min(0.4 + weight / 2000.0, 0.7), rel=2e-2)
