"""Loaded robots move as MuJoCo moves them: under gravity, and under PD control of all joints."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

SUBSTEP = 1 / 1200


def chain(count: int, joint: str, axes: str = "yxz") -> str:
    """Capsules one after the other, each on a joint about an axis of its own; masses fall from link to link."""
    text = ""
    for k in reversed(range(count)):
        axis = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[axes[k % len(axes)]]
        place = "0 0 2" if k == 0 else "0.05 0 0.3"
        size = 0.03 - 0.002 * k
        text = f"""<body pos="{place}"><joint name="j{k}" axis="{axis}" {joint}/>
          <geom type="capsule" fromto="0 0 0 0.05 0 0.3" size="{size}"/>{text}</body>"""
    return text


def legs(joint: str) -> str:
    """A free trunk with four legs of two links."""
    text = ""
    for k, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)]):
        text += f"""<body pos="{x} {y} 0"><joint name="hip{k}" axis="0 1 0" {joint}/>
          <geom type="capsule" fromto="0 0 0 0.05 0 -0.2" size="0.025"/><body pos="0.05 0 -0.2">
          <joint name="knee{k}" axis="0 1 0" {joint}/><geom type="capsule" fromto="0 0 0 -0.05 0 -0.2" size="0.02"/>
          </body></body>"""
    return f'<body pos="0 0 1"><freejoint/><geom type="box" size="0.25 0.1 0.05"/>{text}</body>'


CART = """<body pos="0 0 1"><joint name="rail" type="slide" axis="1 0 0" damping="0.5" armature="0.3"/>
  <geom type="box" size="0.1 0.1 0.1" mass="1"/><body><joint name="pole" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.02"/></body></body>"""
TWO = """<body pos="0 0 1"><joint name="pan" axis="0 0 1" armature="0.02"/><joint name="tilt" axis="0 1 0"
  armature="0.02"/><geom type="capsule" fromto="0 0 0 0.3 0.1 0.1" size="0.04"/><body pos="0.3 0.1 0.1">
  <joint name="roll" axis="1 0 0" damping="0.1"/>
  <geom type="box" size="0.05 0.1 0.02" pos="0.05 0.05 0"/></body></body>"""
ROBOTS = {
    "chain of 2": chain(2, ""),
    "chain of 4": chain(4, 'damping="0.05"', "y"),
    "chain of 6 about all axes": chain(6, 'damping="0.02" armature="0.01"'),
    "rotors": chain(5, 'armature="0.2"'),
    "springs": chain(4, 'stiffness="20" springref="20" damping="0.2"', "yx"),
    "cart and pole": CART,
    "legs": legs('damping="0.1"'),
    "legs with rotors": legs('armature="0.05"'),
    "two joints in a body": TWO,
}


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("name", ROBOTS)
def test_angles_are_those_of_mujoco(tmp_path: Path, name: str, driven: bool) -> None:
    """To 2 % of the largest range in a second."""
    text = f'<mujoco><option timestep="{SUBSTEP / 2}" integrator="implicit"><flag contact="disable"/></option>'
    text += f"<worldbody>{ROBOTS[name]}</worldbody></mujoco>"
    path = tmp_path / "robot.xml"
    path.write_text(text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    names = [model.joint(j).name for j in range(model.njnt) if model.joint(j).name]
    start = dict(zip(names, np.random.default_rng(2).uniform(-0.3, 0.3, len(names)).tolist(), strict=True))
    scene = sn.Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = sn.load_robot(path, scene, angles=start)
    assert robot.names == tuple(names)
    sim = sn.Simulation(scene, dt=20 * SUBSTEP, substeps=20, threads=1)
    angle = [int(model.joint(n).qposadr[0]) for n in names]
    speed = [int(model.joint(n).dofadr[0]) for n in names]
    data.qpos[angle] = [start[n] for n in names]
    assert np.allclose(robot.angles, data.qpos[angle], atol=1e-12)
    targets, gains = robot.angles + 0.4, (40.0, 4.0)
    if driven:
        robot.drive(targets, sn.Servo(0.0, *gains))
    ours, theirs = [], []
    for _ in range(60):
        sim.step()
        for _ in range(40):
            if driven:
                data.qfrc_applied[speed] = gains[0] * (targets - data.qpos[angle]) - gains[1] * data.qvel[speed]
            mujoco.mj_step(model, data)
        ours.append(robot.angles)
        theirs.append(data.qpos[angle].copy())
    spread = np.ptp(theirs, axis=0).max()
    rms = np.sqrt(((np.array(ours) - np.array(theirs)) ** 2).mean(axis=0)).max()
    if "legs" in name and not driven:
        # all of it falls, and nothing turns
        assert max(spread, rms) < 1e-6
        return
    assert spread > 0.1
    assert rms < 0.02 * spread
    if driven:
        assert np.abs(robot.velocities - data.qvel[speed]).max() < 0.05
