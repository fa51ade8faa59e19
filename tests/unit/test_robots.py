"""Robots from URDF and MJCF: the same bodies, joints and poses as MuJoCo has, turned upright."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import quaternion_product, rotation_matrix

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
ARM = """
<robot name="arm">
  <material name="grey"><color rgba="1 1 1 1"/></material>
  <link name="base">
    <inertial><origin xyz="0 0 0.1"/><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>
  </link>
  <link name="upper">
    <inertial>
      <origin xyz="0.02 0 0.25" rpy="0.1 0.2 0.3"/><mass value="2"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><sphere radius="0.06"/></geometry><material name="grey"/></visual>
    <collision><origin xyz="0 0 0.25"/><geometry><cylinder radius="0.05" length="0.5"/></geometry></collision>
  </link>
  <link name="flange"/>
  <link name="tool">
    <inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.2" rpy="0 0.3 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.2" friction="0.1"/>
  </joint>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="flange"/><origin xyz="0 0 0.5"/></joint>
  <joint name="grip" type="fixed"><parent link="flange"/><child link="tool"/><origin xyz="0 0 0.1"/></joint>
</robot>
"""
MIXED = """
<mujoco model="mixed">
  <default><joint damping="0.3"/><geom friction="0.7 0.02 0.001"/></default>
  <asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1  1 1 0"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="4 4 4" pos="0 0 -1" condim="1"/>
    <body name="trunk" pos="0.1 0.2 1.25" euler="10 20 30">
      <freejoint/>
      <geom type="capsule" fromto="0 0.1 0.2 0 0 -0.2" size="0.05"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0" euler="0 40 0"/>
      <body name="hip" pos="0 0 -0.2" quat="0.9 0.1 0 0.3">
        <joint name="swing" axis="1 2 0" pos="0.1 0 0" range="-50 80"/>
        <joint name="lift" axis="0 0 1" type="slide" range="-0.1 0.4" stiffness="20" springref="0.05"/>
        <geom type="cylinder" fromto="0 0 0 0.1 0 -0.45" size="0.05"/>
        <body name="foot" pos="0 0 -0.5">
          <joint name="ankle" type="ball"/>
          <geom type="mesh" mesh="wedge"/>
        </body>
      </body>
    </body>
    <body name="table" pos="5 0 0"><geom name="top" type="cylinder" size="0.5 0.05"/></body>
  </worldbody>
</mujoco>
"""


def write(folder: Path, text: str, name: str = "") -> Path:
    path = folder / (name or ("robot.urdf" if "<robot" in text else "robot.xml"))
    path.write_text(text)
    return path


def load(path: Path, scene: sn.Scene | None = None, **options) -> tuple[sn.Scene, sn.Robot]:
    scene = scene or sn.Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.RobotWarning)
        return scene, sn.load_robot(path, scene, **options)


def tensor(body) -> np.ndarray:
    """Inertia about the centre of mass in world axes."""
    turn = rotation_matrix(quaternion_product(body.rotation, body.axes))
    return turn @ np.diag(body.moments) @ turn.T


def centre(body) -> np.ndarray:
    return body.position + rotation_matrix(body.rotation) @ body.centre


@pytest.mark.parametrize(("angle", "place"), [(0.0, (0, 0, 0)), (0.7, (1, -2, 3)), (-0.9, (10, 0, 0))])
def test_an_arm_stands_where_its_joints_say(tmp_path: Path, angle: float, place: tuple) -> None:
    spin = np.array([0.6, 0.0, 0.8, 0.0])
    path = write(tmp_path, ARM)
    scene, robot = load(path, angles={"shoulder": angle}, position=place, rotation=spin)
    turn = rotation_matrix(spin) @ UPRIGHT
    total = 0.3 + angle
    along = np.array([np.sin(total), 0.0, np.cos(total)])
    upper, tool = (scene.bodies[robot.bodies[name].index] for name in ("upper", "tool"))
    assert np.allclose(upper.position, place + turn @ [0.0, 0.0, 0.2], rtol=0, atol=1e-12)
    assert np.allclose(tool.position, place + turn @ (np.array([0.0, 0.0, 0.2]) + 0.6 * along), rtol=0, atol=1e-12)
    about_y = np.array([[np.cos(total), 0, np.sin(total)], [0, 1, 0], [-np.sin(total), 0, np.cos(total)]])
    assert np.allclose(rotation_matrix(upper.rotation), turn @ about_y, rtol=0, atol=1e-12)
    joint = scene.joints[robot.joints["shoulder"].index]
    assert (joint.kind, joint.first, joint.second) == ("hinge", robot.bodies["upper"].index, robot.bodies["base"].index)
    assert np.allclose(joint.twist, [-1.0, 2.0], rtol=0, atol=1e-12)
    assert joint.damping == 0.2
    axis = rotation_matrix(quaternion_product(upper.rotation, joint.frames[0]))[:, 0]
    assert np.allclose(axis, turn @ [0.0, 1.0, 0.0], rtol=0, atol=1e-12)


def test_masses_and_inertias_of_a_urdf_are_those_that_it_gives(tmp_path: Path) -> None:
    scene, robot = load(write(tmp_path, ARM), fixed_base=False)
    assert list(robot.bodies) == ["base", "upper", "tool"]
    assert [scene.bodies[h.index].mass for h in robot.bodies.values()] == pytest.approx([3.0, 2.0, 0.5], rel=1e-12)
    upper = scene.bodies[robot.bodies["upper"].index]
    a, b, c = 0.1, 0.2, 0.3  # roll, pitch, yaw: about x, then y, then z
    turn = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    turn = turn @ [[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]]
    turn = turn @ [[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]]
    given = np.array([[0.1, 0.01, 0.0], [0.01, 0.2, 0.0], [0.0, 0.0, 0.15]])
    world = rotation_matrix(upper.rotation)
    assert np.allclose(tensor(upper), world @ turn @ given @ turn.T @ world.T, rtol=0, atol=1e-12)
    assert np.allclose(upper.centre, [0.02, 0.0, 0.25], rtol=0, atol=1e-12)


@pytest.mark.parametrize("density", [None, 1000.0])
def test_bodies_are_those_that_mujoco_has(tmp_path: Path, density: float | None) -> None:
    """Poses, masses, centres and inertias, with a density from our own shapes; the file has no masses either."""
    scene, robot = load(write(tmp_path, MIXED), density=density)
    model = mujoco.MjModel.from_xml_string(MIXED)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    for name, handle in robot.bodies.items():
        body, k = scene.bodies[handle.index], model.body(name).id
        assert np.allclose(body.position, UPRIGHT @ data.xpos[k], rtol=0, atol=1e-12)
        assert np.allclose(rotation_matrix(body.rotation), UPRIGHT @ data.xmat[k].reshape(3, 3), rtol=0, atol=1e-12)
        if name == "table":
            assert body.kinematic
            continue
        parts = [body]
        if name == "hip":
            parts.append(next(other for other in scene.bodies if other.name == "mixed/swing_carrier"))
            assert parts[1].mass == pytest.approx(1e-3 * model.body_mass[k], rel=1e-6)
        # MuJoCo keeps the vertices of meshes in single precision
        close = {"rtol": 1e-6 if name == "foot" and density else 1e-11, "atol": 1e-12}
        assert np.isclose(sum(part.mass for part in parts), model.body_mass[k], **close)
        axes = UPRIGHT @ data.ximat[k].reshape(3, 3)
        expected = axes @ np.diag(model.body_inertia[k]) @ axes.T
        found = np.sum([tensor(part) for part in parts], axis=0)
        assert np.abs(found - expected).max() <= close["rtol"] * np.abs(expected).max() + 1e-12
        for part in parts:
            assert np.allclose(centre(part), UPRIGHT @ data.xipos[k], rtol=0, atol=1e-6 if name == "foot" else 1e-12)


def test_joints_are_where_mujoco_has_them_in_the_same_order(tmp_path: Path) -> None:
    scene, robot = load(write(tmp_path, MIXED), angles={"swing": 0.5, "lift": 0.3})
    model = mujoco.MjModel.from_xml_string(MIXED)
    data = mujoco.MjData(model)
    data.joint("swing").qpos[:], data.joint("lift").qpos[:] = 0.5, 0.3
    mujoco.mj_kinematics(model, data)
    kinds = {name: scene.joints[handle.index].kind for name, handle in robot.joints.items()}
    assert kinds == {"swing": "hinge", "lift": "slider", "ankle": "ball"}
    for name, handle in robot.joints.items():
        joint, k = scene.joints[handle.index], model.joint(name).id
        for body, place, frame in zip((joint.first, joint.second), joint.places, joint.frames, strict=True):
            here = scene.bodies[body]
            anchor = here.position + rotation_matrix(here.rotation) @ place
            if name == "lift" and body == joint.second:
                anchor += 0.3 * UPRIGHT @ data.xaxis[k]
            assert np.allclose(anchor, UPRIGHT @ data.xanchor[k], rtol=0, atol=1e-12)
            if name != "ankle":
                axis = rotation_matrix(quaternion_product(here.rotation, frame))[:, 0]
                assert np.allclose(axis, UPRIGHT @ data.xaxis[k], rtol=0, atol=1e-12)
    swing, lift, ankle = (scene.joints[robot.joints[name].index] for name in ("swing", "lift", "ankle"))
    names = [body.name for body in scene.bodies]
    assert names[swing.first] == names[lift.second] == "mixed/swing_carrier"
    assert names[swing.second] == "mixed/trunk"
    assert names[lift.first] == names[ankle.second] == "mixed/hip"
    assert np.allclose(swing.twist, np.radians([-50.0, 80.0]), rtol=0, atol=1e-12)
    assert np.allclose(lift.travel, [-0.1, 0.4], rtol=0, atol=1e-12)
    assert (lift.drive, lift.stiffness) == (None, 20.0)
    assert lift.rest == pytest.approx(0.05, abs=1e-12)
    assert (swing.start, lift.start) == (0.5, 0.3)


def test_joints_that_start_outside_their_limits_are_moved_to_them(tmp_path: Path) -> None:
    text = ARM.replace('lower="-1" upper="2"', 'lower="-2" upper="-1"')
    scene, robot = load(write(tmp_path, text))
    assert robot.repaired == ["joints that started outside their limits: moved shoulder 0 to -1"]
    assert scene.joints[robot.joints["shoulder"].index].start == -1.0
    _, robot = load(write(tmp_path, text), scene, angles={"shoulder": -1.5})
    assert np.allclose(scene.joints[robot.joints["shoulder"].index].twist, [-2.0, -1.0])
    with pytest.raises(
        sn.SceneError, match=r"'shoulder' starts at 1, outside .* -2 to -1; give angles=\{'shoulder': -1.5"
    ):
        load(write(tmp_path, text), scene, angles={"shoulder": 1.0})
    with pytest.raises(sn.SceneError, match=r"angles: 'elbow' is no hinge or slide of it; known are shoulder"):
        load(write(tmp_path, text), scene, angles={"elbow": 1.0})
    with pytest.raises(sn.SceneError, match=r"angles: shoulder"):
        load(write(tmp_path, text), scene, angles={"shoulder": float("nan")})


def test_actuators_become_motors(tmp_path: Path) -> None:
    joints = "".join(
        f'<body name="b{k}" pos="{k} 0 0"><joint name="j{k}" actuatorfrcrange="-7 7" {extra}/><geom size="0.1"/></body>'
        for k, extra in enumerate(["", "", "", 'stiffness="4" springref="30"', 'ref="20"', ""])
    )
    text = f"""<mujoco><worldbody>{joints}</worldbody><tendon><fixed name="t"><joint joint="j3" coef="2"/>
      <joint joint="j5" coef="-1"/></fixed></tendon><actuator>
      <position name="p" joint="j0" kp="20" kv="2" forcerange="-3 3" gear="2"/><velocity joint="j0" kv="0.5"/>
      <velocity name="v" joint="j1" kv="3"/>
      <motor name="m" joint="j2" gear="4" forcerange="-1 1"/>
      <position name="q" joint="j4" kp="5" ctrlrange="0.1 0.5"/>
      <motor name="pull" tendon="t" gear="3"/>
      <muscle name="biceps" joint="j1"/>
    </actuator></mujoco>"""
    scene, robot = load(write(tmp_path, text))
    found = [scene.joints[robot.joints[f"j{k}"].index] for k in range(6)]
    drives = [joint.drive for joint in found]
    assert (drives[0].kind, drives[0].target, drives[0].stiffness, drives[0].damping) == ("position", 0.0, 80.0, 8.5)
    assert drives[0].most == 7.0
    assert (drives[1].kind, drives[1].stiffness, drives[1].damping, drives[1].most) == ("position", 0.0, 3.0, 7.0)
    assert (drives[2].kind, drives[2].target, drives[2].most) == ("force", 0.0, 4.0)
    assert (found[3].stiffness, found[3].rest) == (4.0, pytest.approx(np.radians(30.0), rel=1e-12))
    assert drives[4].target == pytest.approx(0.1, rel=1e-12)
    assert (drives[3], drives[5]) == (None, None)
    assert scene.tendons[robot.tendons["t"].index].drive.kind == "force"
    assert list(robot.actuators) == ["p", "actuator_2", "v", "m", "q", "pull", "biceps"]
    assert (robot.actuators["pull"].target, robot.actuators["pull"].gain) == ("t", 3.0)
    assert any("actuator 'biceps'" in told for told in robot.skipped)


def test_what_is_skipped_is_listed_and_warned_of(tmp_path: Path) -> None:
    equality = '<equality><weld name="glue" body1="foot" body2="table" active="false"/></equality>'
    rest = '<option density="1.2" viscosity="1e-5"/><sensor><user name="reads" dim="1"/></sensor></mujoco>'
    text = MIXED.replace("</mujoco>", equality + rest)
    told = r"robot\.xml: skipped: .*glue.*reads"
    with pytest.warns(sn.RobotWarning, match=told) as caught:
        robot = sn.load_robot(write(tmp_path, text), sn.Scene())
    assert caught[0].filename == __file__
    assert len(robot.skipped) == 2
    assert robot.bodies
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sn.load_robot(write(tmp_path, MIXED), sn.Scene()).skipped == []


def test_named_targets_arrays_and_commands(tmp_path: Path) -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0"
      range="-60 60"/><geom size="0.1" pos="0 0 0.2"/><body name="b" pos="0 0 0.4"><joint name="jb" type="slide"
      axis="0 0 1"/><geom size="0.1"/></body></body></worldbody>
      <actuator><position name="pa" joint="ja" kp="30" kv="6"/><motor name="mb" joint="jb" gear="2" ctrlrange="-1 1"/>
      </actuator><keyframe><key name="up" qpos="0.4 0.1"/></keyframe></mujoco>"""
    scene, robot = load(write(tmp_path, text), sn.Scene(gravity=(0, 0, 0)))
    assert robot.names == ("ja", "jb")
    assert np.allclose(robot.limits, [[-np.pi / 3, np.pi / 3], [-np.inf, np.inf]])
    assert robot.poses == {"up": {"ja": 0.4, "jb": 0.1}}
    assert np.array_equal(robot.angles, [0.0, 0.0])
    sim = sn.Simulation(scene, substeps=10, threads=1)
    robot.drive("up", sn.Servo(0, 600, 100))
    sim.run(3.0, progress=False)
    assert np.allclose(robot.angles, [0.4, 0.1], atol=1e-5)
    robot.drive([0.2, 0.0])
    sim.run(3.0, progress=False)
    assert np.allclose(robot.angles, [0.2, 0.0], atol=1e-5)
    assert np.allclose(robot.velocities, 0.0, atol=1e-4)
    robot.command({"pa": -0.3, "mb": 5.0})
    assert robot.joints["jb"].motor == sn.ForceMotor(2.0)
    sim.step()
    assert robot.loads[1] == pytest.approx(2.0, rel=1e-2)
    robot.drive({"jb": None, "ja": sn.Servo(0.1)})
    assert (robot.joints["jb"].motor, robot.joints["ja"].motor) == (None, sn.Servo(0.1))
    for bad, told in (
        ({"jc": 1.0}, "there is no 'jc'; known are ja, jb"),
        ([1.0], r"targets: expected shape \(2,\)"),
        ("down", "there is no pose 'down'; known are up"),
        ({"ja": 2.0}, "target: 2 is outside its limits"),
        ([0.1, float("nan")], "targets"),
    ):
        with pytest.raises(sn.SceneError, match=told):
            robot.drive(bad)
    with pytest.raises(sn.SceneError, match="commands: there is no 'ja'; known are pa, mb"):
        robot.command({"ja": 1.0})


def test_a_coupling_a_tendon_and_an_actuator_of_one_name_are_all_there(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></body></worldbody>
      <equality><joint name="x" joint1="b" joint2="a"/></equality>
      <tendon><fixed name="x" stiffness="3"><joint joint="a" coef="2"/></fixed></tendon>
      <actuator><motor name="x" tendon="x"/><general name="x_tendon" joint="a" dyntype="filter"/></actuator></mujoco>"""
    scene, robot = load(write(tmp_path, text))
    assert list(robot.tendons) == ["x", "x_tendon", "x_tendon_actuator"]
    assert robot.actuators["x"].target == "x_tendon"
    assert len({handle.index for handle in robot.tendons.values()}) == 3
    sim = sn.Simulation(scene)
    robot.command({"x": 2.0, "x_tendon": 0.5})
    assert robot.tendons["x_tendon"].motor == sn.ForceMotor(2.0)
    sim.step()
    assert robot.actuators["x_tendon"].handle.activation > 0.0


def test_a_joint_that_follows_is_moved_by_its_leader(tmp_path: Path) -> None:
    extra = """<link name="finger"><inertial><mass value="0.1"/>
      <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="finger" type="continuous"><parent link="tool"/><child link="finger"/><axis xyz="0 1 0"/>
      <mimic joint="shoulder" multiplier="-0.5" offset="0.1"/></joint></robot>"""
    scene, robot = load(write(tmp_path, ARM.replace("</robot>", extra)))
    assert robot.followers == {"finger": "shoulder"}
    assert scene.joints[robot.joints["finger"].index].start == pytest.approx(0.1 - 0.5 * robot.joints["shoulder"].angle)
    assert not any("finger" in told for told in robot.skipped)
    with pytest.raises(sn.SceneError, match="there is no simulation"):
        robot.drive({"shoulder": 0.4}, sn.Servo(0, 10, 1))
    sim = sn.Simulation(scene)
    robot.drive(np.array([0.4, 7.0]), sn.Servo(0, 10, 1))
    assert robot.joints["finger"].motor is None
    sim.run(0.2, progress=False)
    assert abs(robot.joints["shoulder"].angle) > 0.05
    assert robot.joints["finger"].angle == pytest.approx(0.1 - 0.5 * robot.joints["shoulder"].angle, abs=1e-5)


def test_links_without_mass_are_merged_and_fixed_joints_keep_their_names(tmp_path: Path) -> None:
    scene, robot = load(write(tmp_path, ARM))
    assert list(robot.joints) == ["shoulder", "grip"]
    grip = scene.joints[robot.joints["grip"].index]
    assert (grip.kind, grip.first, grip.second) == ("fixed", robot.bodies["tool"].index, robot.bodies["upper"].index)
    assert robot.skipped == ["body 'flange': it has no mass; merged into 'upper'"]
    assert scene.joints[robot.joints["shoulder"].index].dry_friction == 0.1


def test_shapes_of_links_without_mass_go_to_what_carries_them(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="a" pos="0 0 1" euler="0 90 0"><freejoint/><geom size="0.1"/>
      <body name="b" pos="0 0 2" euler="90 0 0"><geom type="box" size="1 2 3" pos="1 0 0" mass="0"/></body>
    </body></worldbody></mujoco>"""
    scene, _ = load(write(tmp_path, text))
    (body,) = scene.bodies
    assert [type(piece.shape) for piece in body.pieces] == [sn.Sphere, sn.Box]
    assert np.allclose(body.pieces[1].position, [1.0, 0.0, 2.0])
    assert np.allclose(np.abs(rotation_matrix(body.pieces[1].rotation) @ [1.0, 2.0, 3.0]), [1.0, 3.0, 2.0])
    assert body.mass == pytest.approx(model_mass(text), rel=1e-12)


def model_mass(text: str) -> float:
    return float(mujoco.MjModel.from_xml_string(text).body_mass.sum())


def test_a_massless_link_with_a_joint_moves_with_what_is_fixed_to_it(tmp_path: Path) -> None:
    text = ARM.replace('<child link="upper"/>', '<child link="turret"/>').replace(
        "</robot>",
        """<link name="turret"/><joint name="hold" type="fixed"><parent link="turret"/><child link="upper"/></joint>
        </robot>""",
    )
    scene, robot = load(write(tmp_path, text))
    joint = scene.joints[robot.joints["shoulder"].index]
    assert (joint.kind, joint.first) == ("hinge", robot.bodies["upper"].index)
    assert list(robot.joints) == ["shoulder", "grip"]


@pytest.mark.parametrize(("fixed_base", "kinematic"), [(None, True), (True, True), (False, False)])
def test_the_base_of_a_urdf_is_fixed_unless_asked(tmp_path: Path, fixed_base: bool | None, kinematic: bool) -> None:
    scene, robot = load(write(tmp_path, ARM), fixed_base=fixed_base)
    assert scene.bodies[robot.bodies["base"].index].kinematic == kinematic
    assert all(joint.second != -1 for joint in scene.joints)


@pytest.mark.parametrize(
    ("fixed_base", "standing"), [(None, ["table"]), (True, ["trunk", "table"]), (False, ["table"])]
)
def test_the_base_of_an_mjcf_is_as_its_joints_say(tmp_path: Path, fixed_base: bool | None, standing: list) -> None:
    scene, robot = load(write(tmp_path, MIXED), fixed_base=fixed_base)
    assert [name for name, handle in robot.bodies.items() if scene.bodies[handle.index].kinematic] == standing


def test_the_world_of_an_mjcf_becomes_colliders(tmp_path: Path) -> None:
    scene, robot = load(write(tmp_path, MIXED), position=(0.0, 2.0, 0.0))
    assert list(robot.colliders) == ["floor"]
    (floor,) = scene.colliders
    assert np.allclose(rotation_matrix(floor.rotation) @ floor.shape.normal, [0.0, 1.0, 0.0])
    assert np.allclose(floor.position, [0.0, 1.0, 0.0])
    assert floor.surface.friction == 0.0


def test_bodies_pass_through_each_other_as_in_the_file(tmp_path: Path) -> None:
    text = """<mujoco model="m"><worldbody><geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="1"/>
      <body name="a"><freejoint/><geom size="0.1"/><body name="b"><joint/><geom size="0.1"/>
        <body name="c"><joint/><geom size="0.1"/><body name="d"><geom size="0.1"/></body></body></body></body>
      <body name="e"><freejoint/><geom size="0.1" contype="4" conaffinity="4"/></body>
      <body name="f"><freejoint/><geom size="0.1" contype="0"/></body>
      </worldbody><contact><exclude body1="a" body2="f"/></contact></mujoco>"""
    scene, _ = load(write(tmp_path, text))
    names = {tuple(sorted(name.removeprefix("m/") for name in pair)) for pair in scene.ignored}
    joined = {("a", "b"), ("b", "c"), ("b", "d"), ("c", "d")}
    masked = {(other, "e") for other in "abcd"} | {("e", "f"), ("e", "floor"), ("f", "floor")}
    assert names == joined | masked | {("a", "f")}


def test_friction_of_a_body_is_that_of_its_geoms(tmp_path: Path) -> None:
    geoms = '<geom size="0.1" friction="0.4 0.03 0.002" condim="{}"/>'
    for axes, expected in ((1, (0.0, 0.0, 0.0)), (3, (0.4, 0.0, 0.0)), (4, (0.4, 0.03, 0.0)), (6, (0.4, 0.03, 0.002))):
        text = f"<mujoco><worldbody><body><freejoint/>{geoms.format(axes)}</body></worldbody></mujoco>"
        scene, _ = load(write(tmp_path, text))
        body = scene.bodies[0]
        assert (body.surface.friction, body.torsional_friction, body.rolling_friction) == expected


def test_two_robots_of_one_file_have_names_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, ARM)
    scene, first = load(path)
    _, second = load(path, scene)
    _, third = load(path, scene, name="left")
    assert [robot.name for robot in (first, second, third)] == ["arm", "arm_2", "left"]
    assert scene["arm_2/tool"] is second.bodies["tool"]
    assert scene["left/shoulder"] is third.joints["shoulder"]


def test_a_joint_may_have_the_name_of_a_body(tmp_path: Path) -> None:
    scene, robot = load(write(tmp_path, ARM.replace('name="shoulder"', 'name="upper"')))
    assert scene["arm/upper"] is robot.bodies["upper"]
    assert scene["arm/upper_joint"] is robot.joints["upper"]


def test_a_robot_that_cannot_be_simulated_leaves_the_scene_as_it_was(tmp_path: Path) -> None:
    text = ARM.replace('<mass value="0.5"/>', '<mass value="1e40"/>')
    scene = sn.Scene()
    with pytest.raises(sn.SceneError, match=r"arm/tool"):
        load(write(tmp_path, text), scene)
    assert (scene.bodies, scene.joints, scene.handles, scene.ignored) == ([], [], {}, set())


@pytest.mark.parametrize(
    "bad", [{"density": 0.0}, {"fixed_base": 1.5}, {"position": (0, 0)}, {"rotation": (2, 0, 0, 0)}]
)
def test_bad_arguments_are_refused(tmp_path: Path, bad: dict) -> None:
    with pytest.raises(sn.SceneError, match=next(iter(bad))):
        load(write(tmp_path, ARM), **bad)
    with pytest.raises(sn.SceneError, match="scene"):
        sn.load_robot(write(tmp_path, ARM), None)  # type: ignore[arg-type]


def test_without_mujoco_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(sn.MissingExtraError, match=r"\[robot\]"):
        load(write(tmp_path, ARM))


@pytest.mark.parametrize(
    ("law", "problem"),
    [
        ('multiplier="nan"', "multiplier: expected a finite number, got nan"),
        ('offset="inf"', "offset: expected a finite number, got inf"),
        ('offset="far"', "offset: expected a number, got 'far'"),
    ],
)
def test_a_law_of_a_follower_that_is_no_number_is_refused_by_its_joint(law: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM.replace("<dynamics", f'<mimic joint="other" {law}/><dynamics'))
    with pytest.raises(sn.FileError, match=f"<mimic> of joint 'shoulder': {problem}"):
        sn.load_robot(path, sn.Scene())


@pytest.mark.parametrize(
    ("leaders", "problem"),
    [
        ({"shoulder": "finger", "finger": "shoulder"}, "joints 'shoulder', 'finger': they follow each other"),
        ({"finger": "finger"}, "joint 'finger': it follows itself"),
    ],
)
def test_joints_that_follow_each_other_are_refused(leaders: dict[str, str], problem: str, tmp_path: Path) -> None:
    mimics = {name: f'<mimic joint="{leader}"/>' for name, leader in leaders.items()}
    extra = f"""<link name="finger"><inertial><mass value="0.1"/>
      <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="finger" type="continuous"><parent link="tool"/><child link="finger"/><axis xyz="0 1 0"/>
      {mimics["finger"]}</joint></robot>"""
    text = ARM.replace("<dynamics", f"{mimics.get('shoulder', '')}<dynamics").replace("</robot>", extra)
    with pytest.raises(sn.FileError, match=f"<mimic> of {problem}; leave it out of the joint that leads"):
        sn.load_robot(write(tmp_path, text), sn.Scene())
