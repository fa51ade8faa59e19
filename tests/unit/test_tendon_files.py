"""Tendons, couplings and media of robot files: lengths and motion as in MuJoCo."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")


@pytest.mark.parametrize("shape", ["cylinder", "sphere"])
@pytest.mark.parametrize("side", ["none", "outside", "inside"])
def test_lengths_around_and_through_shapes_are_those_of_mujoco(tmp_path: Path, shape: str, side: str) -> None:
    """40 tendons of random ends, shapes and sides in one file."""
    rng = np.random.default_rng(11)
    count, parts, tendons = 40, [], []
    for k in range(count):
        radius = rng.uniform(0.1, 0.5)
        p, q, s = (_away_from_z(rng, shape == "cylinder") for _ in range(3))
        p, q = (radius * rng.uniform(1.05, 3.0) * v for v in (p, q))
        s = radius * rng.uniform(*((1.05, 3.0) if side == "outside" else (0.1, 0.6))) * s
        if side == "inside":
            s[2] *= 0.3
        parts += [f'<site name="{n}{k}" pos="{v[0]} {v[1]} {v[2]}"/>' for n, v in (("p", p), ("s", s))]
        parts.append(f'<geom name="g{k}" type="{shape}" size="{radius} 1" contype="0" conaffinity="0"/>')
        parts.append(f'<body name="b{k}" pos="{q[0]} {q[1]} {q[2]}"><freejoint/><geom size=".01"/>')
        parts.append(f'<site name="q{k}"/></body>')
        told = "" if side == "none" else f'sidesite="s{k}"'
        tendons.append(f'<spatial name="t{k}" stiffness="1"><site site="p{k}"/><geom geom="g{k}" {told}/>')
        tendons.append(f'<site site="q{k}"/></spatial>')
    text = f"<mujoco><worldbody>{''.join(parts)}</worldbody><tendon>{''.join(tendons)}</tendon></mujoco>"
    path, scene = tmp_path / "robot.xml", sn.Scene()
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = sn.load_robot(path, scene)
        sim = sn.Simulation(scene)
    assert [told for told in robot.skipped if "within" in told or "straight" in told] == []
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = [robot.tendons[f"t{k}"].length for k in range(count)]
    assert found == pytest.approx(data.ten_length.tolist(), abs=1e-7)
    straight = [np.linalg.norm(data.site(f"p{k}").xpos - data.site(f"q{k}").xpos) for k in range(count)]
    assert (np.array(found) > np.array(straight) + 1e-6).sum() > 5
    assert sim.time == 0.0


def _away_from_z(rng: np.random.Generator, across: bool) -> np.ndarray:
    """A random vector of length 1, across z or at all."""
    v = rng.normal(size=3)
    return v / np.linalg.norm(v[:2] if across else v)


TENDONS = """<mujoco><option timestep="0.0005" integrator="implicit"><flag contact="disable"/></option><worldbody>
  <site name="wall" pos="-0.3 0 1.2"/><site name="within" pos="0 0 1.31"/>
  <geom name="drum" type="cylinder" size="0.1 0.2" pos="0 0 1.3" euler="90 0 0"/>
  <body pos="0 0 1"><joint name="ja" axis="0 1 0" damping="0.1"/>
    <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
    <site name="a" pos="0.35 0 0.04"/><body pos="0.4 0 0"><joint name="jb" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/><site name="b" pos="0.25 0 0.03"/>
      <geom name="ball" size="0.04" pos="0 0 0.05"/></body></body>
  <body pos="1 0 1"><joint name="jc" type="slide" axis="0 0 1" damping="1"/><geom size="0.05"/>
    <site name="c"/></body></worldbody>{}</mujoco>"""


CASES = {
    "fixed spring": '<tendon><fixed name="t" stiffness="30" springlength="0.2" damping="1"><joint joint="ja" coef="1"/>'
    '<joint joint="jb" coef="-0.5"/></fixed></tendon>',
    "around a cylinder": '<tendon><spatial name="t" stiffness="100" damping="3" springlength="0.5"><site site="wall"/>'
    '<geom geom="drum"/><site site="a"/><geom geom="ball"/><site site="b"/></spatial></tendon>',
    "pulley": '<tendon><spatial name="t" stiffness="20" damping="2" springlength="0.8"><site site="wall"/>'
    '<site site="b"/><pulley divisor="2"/><site site="b"/><site site="c"/></spatial></tendon>',
    "slack": '<tendon><spatial name="t" stiffness="300" damping="2" springlength="0.1 1.05"><site site="wall"/>'
    '<site site="b"/></spatial></tendon>',
    "pulled": '<tendon><spatial name="t"><site site="wall"/><site site="b"/></spatial></tendon>'
    '<actuator><motor name="m" tendon="t" gear="-20"/></actuator>',
    "through a cylinder": '<tendon><spatial name="t" stiffness="100" damping="3" springlength="0.5"><site site="wall"/>'
    '<geom geom="drum" sidesite="within"/><site site="a"/></spatial></tendon>',
    # between trees MuJoCo leaves out how the mass couples them
    "armature": '<tendon><fixed name="t" armature="0.3"><joint joint="ja" coef="1"/>'
    '<joint joint="jb" coef="2"/></fixed></tendon>',
}


@pytest.mark.parametrize("case", CASES)
def test_robots_with_tendons_move_as_in_mujoco(tmp_path: Path, case: str) -> None:
    """To 2 % of the range of each joint in a second."""
    text = TENDONS.format(CASES[case])
    path = tmp_path / "robot.xml"
    path.write_text(text)
    model = mujoco.MjModel.from_xml_string(text)
    data, scene = mujoco.MjData(model), sn.Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = sn.load_robot(path, scene)
    sim = sn.Simulation(scene, substeps=30, threads=1)
    assert not any("tendon" in told for told in robot.skipped)
    mujoco.mj_forward(model, data)
    assert robot.tendons["t"].length == pytest.approx(float(data.ten_length[0]), abs=1e-12)
    if case == "pulled":
        robot.command({"m": 1.0})
        data.ctrl[:] = 1.0
    ours, theirs = [], []
    for k in range(60):
        sim.step()
        while data.time < (k + 1) / 60 - 1e-9:
            mujoco.mj_step(model, data)
        ours.append(robot.angles)
        theirs.append(data.qpos.copy())
    spread = np.maximum(np.ptp(theirs, axis=0), 0.05)
    assert (np.sqrt(((np.array(ours) - np.array(theirs)) ** 2).mean(axis=0)) < 0.02 * spread).all()
    length = robot.tendons["t"].length
    assert length == pytest.approx(float(data.ten_length[0]), abs=0.02 * max(1.0, abs(length)))


def test_a_polynomial_of_a_file_starts_where_it_is_met(tmp_path: Path) -> None:
    cam = '<joint name="cam" joint1="jc" joint2="ja" polycoef="0.1 0.2 0.3 0 0"/>'
    text = TENDONS.replace('name="drum"', 'name="drum" contype="1"').format(f"<equality>{cam}</equality>")
    path = tmp_path / "robot.xml"
    path.write_text(text)
    scene = sn.Scene(gravity=(0, 0, 0))
    with pytest.warns(sn.RobotWarning, match="drum"):
        robot = sn.load_robot(path, scene, angles={"ja": 0.5})
    assert robot.followers == {"jc": "ja"}
    law = lambda q: 0.1 + 0.2 * q + 0.3 * q * q  # noqa: E731
    assert robot.joints["jc"].angle == pytest.approx(law(0.5))
    sim = sn.Simulation(scene, substeps=20)
    robot.joints["jc"].drive(sn.ForceMotor(2.0))
    sim.run(0.2, progress=False)
    assert robot.joints["ja"].angle > 0.55
    assert robot.joints["jc"].angle == pytest.approx(law(robot.joints["ja"].angle), abs=1e-5)
    with pytest.raises(sn.SceneError, match=r"joint 'jc' follows 'ja', which puts it at"):
        sn.load_robot(path, sn.Scene(), angles={"jc": 0.9})
    held = '<joint name="stop" joint1="jc" polycoef="0.1 0 0 0 0"/>'
    path.write_text(TENDONS.format(f"<equality>{held}</equality>"))
    with pytest.raises(sn.SceneError, match=r"joint 'jc' is held by coupling 'stop', .*; leave its angle out"):
        sn.load_robot(path, sn.Scene(), angles={"jc": 0.9})


def test_the_medium_of_a_file_drags_as_in_mujoco(tmp_path: Path) -> None:
    """A plate that falls askew and turns: to 1 % of its path in a second."""
    text = """<mujoco><option density="1.2" viscosity="2e-5" wind="1 0 0" timestep="0.0005"/><worldbody>
      <body name="b" pos="0 0 5" euler="20 30 0"><freejoint/>
      <geom type="box" size="0.05 0.06 0.002" density="50"/></body>
      </worldbody></mujoco>"""
    path = tmp_path / "plate.xml"
    path.write_text(text)
    model = mujoco.MjModel.from_xml_string(text)
    data, scene = mujoco.MjData(model), sn.Scene()
    robot = sn.load_robot(path, scene)
    assert robot.skipped == []
    sim = sn.Simulation(scene, substeps=40)
    mujoco.mj_step(model, data, 2000)
    sim.run(1.0, progress=False)
    upright = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    path_length = 5.0 - float(data.qpos[2])
    assert path_length < 4.8  # 4.9 in a vacuum
    pose = sim.pose(robot.bodies["b"])
    assert np.abs(pose.position - upright @ data.qpos[:3]).max() < 0.01 * path_length
    assert np.abs(rotation_matrix(pose.rotation) - upright @ data.xmat[1].reshape(3, 3)).max() < 0.05
