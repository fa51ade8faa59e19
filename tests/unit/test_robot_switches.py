"""What an MJCF switches off does not act, what is not read is told, and forces with one-sided limits are MuJoCo's."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

ARM = """<mujoco><option integrator="implicitfast" timestep="2e-4">{flag}</option><worldbody>
<body name="a" pos="0 0 1" {body}><joint name="e" axis="0 1 0" {e}/><geom size=".02" type="capsule"
fromto="0 0 0 .3 0 0" mass="1" contype="0" conaffinity="0" {geom}/><body name="b" pos=".3 0 0">
<joint name="f" axis="0 .3 1" {f}/>
<geom type="box" size=".1 .02 .04" pos=".1 0 0" mass=".4" contype="0" conaffinity="0"/></body></body>{more}
</worldbody>{rest}</mujoco>"""
SPRINGS = {"e": 'damping=".3" stiffness="30" springref=".4"', "f": 'damping=".1" stiffness="4"'}
CLAMPED = (
    '<actuator><motor joint="e" gear="2" ctrlrange="-1 1" ctrllimited="true"/>'
    '<position joint="f" kp="5" kv=".3" damping=".2"/></actuator>'
)
MOTIONS = {
    "springs": {"flag": '<flag spring="disable"/>', **SPRINGS, "rest": CLAMPED},
    "dampers": {"flag": '<flag damper="disable"/>', **SPRINGS, "rest": CLAMPED},
    "limits of commands": {"flag": '<flag clampctrl="disable"/>', **SPRINGS, "rest": CLAMPED},
    "limits": {"flag": '<flag limit="disable"/>', "e": 'damping=".3" range="-20 30"', "rest": CLAMPED},
    "friction": {"flag": '<flag frictionloss="disable"/>', "e": 'damping=".3" frictionloss="2"', "rest": CLAMPED},
    "constraints": {
        "flag": '<flag constraint="disable"/>',
        "e": 'damping=".3" frictionloss="2" range="-20 30"',
        "rest": CLAMPED + '<equality><joint joint1="e" joint2="f"/></equality>',
    },
    "one-sided forces": {
        "e": 'damping=".05"',
        "f": 'damping=".02"',
        "rest": '<actuator><motor joint="e" gear="-2" forcerange="-3 0"/>'
        '<velocity joint="f" kv="2" forcerange="-.5 3" gear="3"/></actuator>',
    },
    "one-sided forces of a servo": {
        "e": 'damping=".4"',
        "f": 'damping=".1"',
        "rest": '<actuator><motor joint="e" gear="2" forcerange="0 2"/>'
        '<position joint="f" kp="5" kv=".3" forcerange="-.5 3"/></actuator>',
    },
}


BARE = dict.fromkeys(("flag", "body", "e", "f", "geom", "more", "rest"), "")
FREE = '<body name="c" pos="2 0 1">%s<geom size=".1" mass="1"/></body>'


def load(folder: Path, gravity: float = -9.81, **parts: str) -> tuple[sn.Scene, sn.Robot]:
    path, scene = folder / "robot.xml", sn.Scene(gravity=(0, gravity, 0))
    path.write_text(ARM.format(**{**BARE, **parts}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.RobotWarning)
        return scene, sn.load_robot(path, scene)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("case", MOTIONS)
def test_a_robot_with_switches_moves_as_in_mujoco(tmp_path: Path, case: str, precision: str) -> None:
    """Within 1.2 % of its range (rms) over a second: both are of first order in their time step."""
    scene, robot = load(tmp_path, -9.81, **MOTIONS[case])
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data, sim = mujoco.MjData(model), sn.Simulation(scene, substeps=40, precision=precision, threads=1)
    theirs, ours = [], []
    for step in range(60):
        commands = [3.0 * np.sin(0.1 * step), np.cos(step / 12)]
        data.ctrl[:] = commands
        robot.command(commands)
        while data.time < (step + 1) / 60 - 1e-9:
            mujoco.mj_step(model, data)
        sim.step()
        theirs.append(data.qpos.copy())
        ours.append(robot.angles)
    error = np.sqrt(np.mean((np.array(ours) - theirs) ** 2, axis=0)) / np.ptp(theirs, axis=0)
    assert (error < 0.012).all(), error


@pytest.mark.parametrize("flag", ['<flag actuation="disable"/>', ""])
def test_actuators_that_are_switched_off_are_left_out(tmp_path: Path, flag: str) -> None:
    """By the flag all of them, else those of the group; here the second one is in no group that is disabled."""
    rest = '<actuator><motor name="m" joint="e" group="2"/><motor name="n" joint="f"/></actuator>'
    groups = "" if flag else '<option actuatorgroupdisable="2"/>'
    _, robot = load(tmp_path, flag=flag, rest=rest + groups)
    assert list(robot.actuators) == ([] if flag else ["n"])
    assert robot.skipped[0] == "actuator 'm': the file disables it"


@pytest.mark.parametrize("weld", ["", 'torquescale="0"', 'relpose="-2 0 0 .70711 .70711 0 0"'])
def test_welds_hold_what_they_hold_in_the_file(tmp_path: Path, weld: str) -> None:
    """One without moments is a ball joint; one that would turn its ends at the start is told."""
    rest = f'<equality><weld name="w" body1="c" body2="a" {weld}/></equality>'
    _, robot = load(tmp_path, more=FREE % "<freejoint/>", rest=rest)
    if "relpose" in weld:
        assert "w" not in robot.joints
        assert robot.skipped == [
            "equality 'w': at the start it is turned by 1.57 rad; joints here hold from the start on"
        ]
    else:
        assert robot.joints["w"].kind == ("ball" if weld else "fixed")
        assert not robot.skipped


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"body": 'gravcomp="2.5"'}, "body 'a': gravcomp: their whole weight acts"),
        ({"e": 'stiffness="3 2"'}, "joint 'e': the part of their stiffness that changes with the angle"),
        (
            {"e": 'damping="3 2"', "f": 'damping="1 1"'},
            "joint 'e' and 1 more: the part of their damping that changes with",
        ),
        ({"geom": 'surfacevel="1 0 0"'}, "geom 'a': surfacevel: their surfaces do not move"),
        ({"more": FREE % '<joint name="g" type="free" damping="2"/>'}, "damping of free joint 'g'"),
        ({"more": FREE % '<joint name="g" type="free" armature="2"/>'}, "armature of free joint 'g'"),
        ({"more": FREE % '<joint name="g" type="free" frictionloss="2"/>'}, "dry friction of free joint 'g'"),
        ({"more": FREE % '<joint name="g" type="free" stiffness="2"/>'}, "spring of free joint 'g'"),
        ({"flag": '<flag filterparent="disable"/>'}, "filterparent of <flag>"),
        ({"flag": '<flag gravity="disable"/>'}, "gravity [0.0, 0.0, 0.0]: that of the scene acts"),
        ({"rest": '<option gravity="0 0 -1.62"/>'}, "gravity [0.0, 0.0, -1.62]: that of the scene acts"),
        ({"e": 'actuatorfrcrange="-1 5"'}, "joint 'e': the larger of the limits -1 and 5 of its force"),
        (
            {"rest": '<tendon><fixed name="t" actuatorfrcrange="-1 1"><joint joint="e" coef="1"/></fixed></tendon>'},
            "tendon 't': actuatorfrcrange",
        ),
    ],
)
def test_what_is_not_read_is_told(tmp_path: Path, parts: dict[str, str], told: str) -> None:
    _, robot = load(tmp_path, -9.81, **parts)
    assert len(robot.skipped) == 1
    assert robot.skipped[0].startswith(told)


@pytest.mark.parametrize("gravity", [-9.81, -1.62, 0.0])
def test_gravity_of_a_file_that_is_that_of_the_scene_is_not_told(tmp_path: Path, gravity: float) -> None:
    _, robot = load(tmp_path, gravity, rest=f'<option gravity="0 0 {gravity}"/>')
    assert not robot.skipped
    assert not load(tmp_path, gravity)[1].skipped
