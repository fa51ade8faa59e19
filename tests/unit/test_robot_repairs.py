"""Robot files with slips: what is left out and listed, and what is repaired and told."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from robot_texts import LINK, URDF_PAIR, load, urdf, write

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")


UNKNOWN = {
    "<wheel> of link 'a'": '<robot name="r"><link name="a"><wheel/></link></robot>',
    "<audio_source>": '<robot name="r"><link name="a"/><audio_source/></robot>',
    "<contact> of link 'a'": '<robot name="r"><link name="a"><contact><friction/></contact></link></robot>',
    "<wheel>": "<mujoco><worldbody><wheel/></worldbody></mujoco>",
    "shine of <geom>": '<mujoco><worldbody><geom size="1" shine="3"/></worldbody></mujoco>',
    "glow of <option>": '<mujoco><option glow="3"/></mujoco>',
    "<extension>": '<mujoco><extension><plugin plugin="x"/></extension></mujoco>',
    "<motor> 'm'": '<mujoco><actuator><motor name="m" joint="none"/></actuator></mujoco>',
}


@pytest.mark.parametrize("told", UNKNOWN)
def test_what_is_unknown_is_left_out_and_listed(tmp_path: Path, told: str) -> None:
    _, robot = load(write(tmp_path, UNKNOWN[told]))
    assert any(line.startswith(told) for line in robot.skipped)


@pytest.mark.parametrize(
    ("given", "told", "moments"),
    [
        ('ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"', "two make less", (1.0, 1.0, 2.0)),
        ('ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"', "is zero", (2.5e-3, 2.5e-3, 2.5e-3)),
        ('ixx="0" ixy="0" ixz="1.4e-20" iyy="0" iyz="0" izz="0"', "is zero", (2.5e-3, 2.5e-3, 2.5e-3)),
        ('ixx="1" ixy="2" ixz="0" iyy="1" iyz="0" izz="3"', "has the moment -1", (3e-3, 3.0, 3.0)),
        ('ixx="nan" ixy="2" ixz="0" iyy="1" iyz="0" izz="3"', "not finite", (2.5e-3, 2.5e-3, 2.5e-3)),
    ],
)
def test_a_sloppy_inertia_becomes_the_nearest_that_a_body_has(
    tmp_path: Path, given: str, told: str, moments: tuple
) -> None:
    text = urdf().replace('<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>', f"<inertia {given}/>")
    scene, robot = load(write(tmp_path, text), fixed_base=False)
    assert told in robot.repaired[0]
    assert np.sort(scene.bodies[0].moments) == pytest.approx(moments, rel=1e-6)


def test_bounds_below_zero_and_meshes_scaled_to_nothing_are_told(tmp_path: Path) -> None:
    trimesh.creation.box().export(tmp_path / "box.stl")
    text = URDF_PAIR.format(mass="1", axis="0 0 1").replace("</joint>", '<limit effort="-3" velocity="-2"/></joint>')
    text = text.replace(
        "</link>", '<collision><geometry><mesh filename="box.stl" scale="1 0 1"/></geometry></collision></link>', 1
    )
    scene, robot = load(write(tmp_path, text))
    joint = scene.joints[robot.joints["j"].index]
    assert (joint.max_force, joint.max_speed) == (np.inf, np.inf)
    assert robot.repaired == [
        "effort of joint 'j': -3 is below 0; it has none",
        "velocity of joint 'j': -2 is below 0; it has none",
    ]
    assert robot.skipped == ["collision of link 'a': its mesh has no size"]


def test_links_without_mass_get_one(tmp_path: Path) -> None:
    """With shapes that of water; without any a thousandth of the heaviest, told in `repaired`."""
    box = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
    seen = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
    chain = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="{a}"/><child link="{b}"/></joint>'
        for k, (a, b) in enumerate([("a", "b"), ("b", "c"), ("c", "d")])
    )
    links = f'{LINK}</link><link name="b">{box}</link><link name="c">{seen}</link><link name="d"/>'
    text = f'<robot name="r">{links}{chain}</robot>'
    scene, robot = load(write(tmp_path, text))
    mass = {name: scene.bodies[handle.index].mass for name, handle in robot.bodies.items()}
    assert mass["b"] == pytest.approx(6.0, rel=1e-9)
    assert mass["c"] == pytest.approx(1.0, rel=1e-9)
    assert mass["d"] == pytest.approx(1e-3, rel=1e-9)
    assert len(robot.repaired) == 3


def test_numbers_are_read_as_they_were_meant(tmp_path: Path) -> None:
    text = f"""<robot name="r">{LINK}</link>{LINK.replace('"a"', '"b"')}</link>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1, 2, 3" rpy="0 0 0 0"/>
      <limit lower="-1.57." upper="1" effort="0" velocity="2"/><axis xyz="0 0 1"/><axis xyz="1 0 0"/></joint></robot>"""
    scene, robot = load(write(tmp_path, text))
    joint = scene.joints[robot.joints["j"].index]
    assert np.allclose(joint.twist, [-1.57, 1.0])
    assert (joint.max_force, joint.max_speed) == (np.inf, 2.0)
    assert np.allclose(robot.joints["j"].anchor, [1.0, 3.0, -2.0])
    assert np.allclose(robot.joints["j"].axis, [0.0, 1.0, 0.0])
    assert robot.skipped == ["<axis> of joint 'j'"]
    assert len(robot.repaired) == 3
