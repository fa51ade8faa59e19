"""Robot files are data from outside: what they name is found in their folder or refused, and never run or opened."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import trimesh
from robot_texts import URDF_PAIR, load, urdf, write

import shinari as sn
from shinari.io.robots.read import read_source

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")


MJCF_BALL = '<mujoco><worldbody><body name="q"><joint/><geom size=".1" {}/></body></worldbody></mujoco>'
MJCF_HINGE = (
    '<mujoco><worldbody><body><joint name="j" {}/><geom size=".1"/></body></worldbody>'
    '<actuator><motor name="m" joint="j" {}/></actuator></mujoco>'
)


def mjcf(asset: str = "", geom: str = '<geom size="1"/>', head: str = "") -> str:
    return f"<mujoco>{head}<asset>{asset}</asset><worldbody><body><freejoint/>{geom}</body></worldbody></mujoco>"


def step_shape(scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A closed prism over an L, which its convex hull is not."""
    outline = scale * np.array([[0, 0], [0.4, 0], [0.4, 0.2], [0.2, 0.2], [0.2, 0.4], [0, 0.4]])
    vertices = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (0.0, 0.2 * scale)])
    top = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    sides = [f for k in range(6) for f in ([k, (k + 1) % 6, (k + 1) % 6 + 6], [k, (k + 1) % 6 + 6, k + 6])]
    faces = [*(face[::-1] for face in top), *([c + 6 for c in face] for face in top), *sides]
    return vertices, np.array(faces)


@pytest.mark.parametrize("suffix", ["stl", "obj"])
@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_of_a_mesh_the_hull_touches_and_the_mesh_is_seen(tmp_path: Path, suffix: str, kind: str) -> None:
    vertices, faces = step_shape()
    data = trimesh.Trimesh(vertices, faces, process=False).export(file_type=suffix)
    write(tmp_path, data, f"meshes/part.{suffix}")
    if kind == "urdf":
        path = write(tmp_path, urdf(f'<mesh filename="package://r/meshes/part.{suffix}" scale="2 2 2"/>'))
    else:
        asset = f'<mesh name="m" file="part.{suffix}" scale="2 2 2"/>'
        geom = '<geom type="mesh" mesh="m" density="500"/>'
        path = write(tmp_path, mjcf(asset, geom, '<compiler meshdir="meshes"/>'))
    scene, robot = load(path, fixed_base=False)
    assert robot.skipped == []
    (body,) = scene.bodies
    (piece,) = body.pieces
    assert isinstance(piece.shape, sn.ConvexHull)
    hull = trimesh.Trimesh(*step_shape(2.0)).convex_hull.volume
    assert trimesh.Trimesh(piece.shape.vertices, piece.shape.faces).volume == pytest.approx(hull, rel=1e-6)
    seen, triangles = body.visual
    assert trimesh.Trimesh(seen, triangles).volume == pytest.approx(8.0 * 0.2 * 0.12, rel=1e-6)
    order = np.lexsort(np.unique(seen.round(5), axis=0).T)
    expected = np.unique(step_shape(2.0)[0].round(5), axis=0)
    assert np.allclose(np.unique(seen.round(5), axis=0)[order], expected[np.lexsort(expected.T)], atol=1e-5)


def test_visual_meshes_of_another_format_are_listed_and_solid_ones_refused(tmp_path: Path) -> None:
    write(tmp_path, "what is this", "part.step")
    _, robot = load(write(tmp_path, urdf('<mesh filename="part.step"/>', "visual")))
    (told,) = robot.skipped
    assert "visual of link 'a'" in told
    assert "its format is not read; expected one of .obj" in told
    with pytest.raises(sn.FileError, match=r"robot\.urdf: <mesh>: .*part\.step: its format is not read"):
        load(write(tmp_path, urdf('<mesh filename="part.step"/>')))


NAMES = ["nothing.stl", "../secret.stl", "/etc/passwd.stl", "sub/../../secret.stl", "link.stl", "a\\..\\..\\secret.stl"]
NAMES += ["file:///etc/passwd.stl", "http://example.org/a.stl", "package://x/../../secret.stl", "C:/a.stl", ""]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["collision", "visual", "mjcf", "meshdir", "hfield", "include"])
def test_no_file_outside_the_folder_is_read(tmp_path: Path, name: str, kind: str) -> None:
    """It is there and could be read, but not through a robot file."""
    cube = trimesh.creation.box().export(file_type="stl")
    write(tmp_path, cube, "secret.stl")
    folder = tmp_path / "robot"
    folder.mkdir()
    os.symlink(tmp_path / "secret.stl", folder / "link.stl")
    if kind in ("collision", "visual"):
        text = urdf(f'<mesh filename="{name}"/>', kind)
    elif kind == "mjcf":
        text = mjcf(f'<mesh name="m" file="{name}"/>')
    elif kind == "meshdir":
        head, _, tail = name.rpartition("/")
        text = mjcf(f'<mesh name="m" file="{tail}"/>', head=f'<compiler assetdir="{head}"/>')
    elif kind == "hfield":
        text = mjcf(f'<hfield name="m" size="1 1 1 1" file="{name}"/>')
    else:
        text = mjcf(head=f'<include file="{name}"/>')
    if kind == "visual":
        # what is only to be seen is left out, and so not read either
        assert read_source(write(folder, text), None).assets == {}
        (told,) = load(write(folder, text))[1].skipped
        assert "outside" in told or "cannot" in told
        return
    with pytest.raises(sn.FileError, match=r"robot\.(urdf|xml): <(mesh|hfield|include)>: .*(outside|cannot)"):
        load(write(folder, text))


def test_an_absolute_path_is_read_where_a_relative_one_would_be(tmp_path: Path) -> None:
    folder, meshes = tmp_path / "robot", tmp_path / "meshes"
    for where in folder, meshes:
        where.mkdir()
        trimesh.creation.box().export(where / "box.stl")
    for where, package in (folder, None), (meshes, meshes):
        path = write(folder, urdf(f'<mesh filename="{where / "box.stl"}"/>'))
        assert len(read_source(path, package).assets) == 1
    with pytest.raises(sn.FileError, match="outside the folder of the robot"):
        read_source(path, None)


@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000, f"package://{'b' * 5000}/x"])
def test_a_name_too_long_for_a_file_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(sn.FileError, match=r"<mesh>: the file .* cannot be read") as told:
        read_source(write(tmp_path, urdf(f'<mesh filename="{name}"/>')), None)
    assert len(str(told.value)) < 1000


def test_a_package_is_a_folder_that_is_given_or_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name above the file, beside a folder above it, by its package.xml, or in ROS_PACKAGE_PATH."""
    write(tmp_path, trimesh.creation.box().export(file_type="stl"), "meshes/part.stl")
    path = write(tmp_path, urdf('<mesh filename="package://r/meshes/part.stl"/>'), "urdf/robot.urdf")
    with pytest.raises(sn.FileError, match=r"package://r/meshes/part\.stl.*No such file"):
        load(path)
    scene, _ = load(path, package=tmp_path)
    assert len(scene.bodies[0].pieces) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "other"))
    write(tmp_path, trimesh.creation.box().export(file_type="stl"), "other/r/meshes/part.stl")
    assert len(load(path)[0].bodies) == 1
    slashed = write(tmp_path, urdf('<mesh filename="package:///r/meshes/part.stl"/>'), "urdf/slashed.urdf")
    assert len(load(slashed)[0].bodies) == 1
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    write(tmp_path, "<package><name> r </name></package>", "package.xml")
    assert len(load(path)[0].bodies) == 1
    for place in ("ws/r/urdf/robot.urdf", "ws/bot/robot.urdf"):
        write(tmp_path, trimesh.creation.box().export(file_type="stl"), "ws/r/meshes/part.stl")
        text = urdf('<mesh filename="package://r/meshes/part.stl"/>')
        assert len(load(write(tmp_path, text, place))[0].bodies) == 1
    with pytest.raises(sn.FileError, match="outside"):
        load(write(tmp_path, urdf('<mesh filename="package://r/../../secret.stl"/>'), "ws/r/urdf/robot.urdf"))
    relative = write(tmp_path, urdf('<mesh filename="../meshes/part.stl"/>'), "arm/robot.urdf")
    assert len(load(relative, package=tmp_path)[0].bodies) == 1


def test_a_path_may_begin_with_the_name_of_a_folder_above(tmp_path: Path) -> None:
    cube = trimesh.creation.box().export(file_type="stl")
    write(tmp_path, cube, "kitchen/mug/hull.stl")
    write(tmp_path, cube, "kitchen/hull.stl")
    for name in ("mug/hull.stl", "kitchen/mug/hull.stl"):
        assert len(load(write(tmp_path, urdf(f'<mesh filename="{name}"/>'), "kitchen/mug/a.urdf"))[0].bodies) == 1
    with pytest.raises(sn.FileError, match="outside"):
        load(write(tmp_path, urdf('<mesh filename="kitchen/hull.stl"/>'), "kitchen/mug/a.urdf"))


def test_a_body_that_is_fixed_to_another_may_have_no_inertia(tmp_path: Path) -> None:
    button = '<body name="button" pos=".1 0 0"><inertial pos="0 0 0" mass=".002" diaginertia="0 0 0"/></body>'
    text = f'<mujoco><worldbody><body name="b"><joint/><geom size=".1"/>{button}</body></worldbody></mujoco>'
    scene, robot = load(write(tmp_path, text))
    assert scene.bodies[robot.bodies["button"].index].moments == pytest.approx([0.002 * 0.05**2] * 3)
    assert any("'button': is zero" in told for told in robot.repaired)


def test_an_inertia_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    inertia = '<inertial pos="0 0 0" mass="{}" diaginertia="1 1 1"/>'
    body = f'<body name="b"><joint/>{inertia.format(2)}{inertia.format(3)}<geom size="1"/></body>'
    scene, robot = load(write(tmp_path, f"<mujoco><worldbody>{body}</worldbody></mujoco>"))
    assert scene.bodies[0].mass == 2.0
    assert any("inertial" in told for told in robot.skipped)


@pytest.mark.parametrize("folder", ["urdf", "mjcf", "Robots"])
def test_meshes_may_lie_beside_the_folder_of_descriptions(tmp_path: Path, folder: str) -> None:
    cube = trimesh.creation.box().export(file_type="stl")
    write(tmp_path, cube, "arm/meshes/part.stl")
    write(tmp_path, cube, "secret.stl")
    near = write(tmp_path, urdf('<mesh filename="../meshes/part.stl"/>'), f"arm/{folder}/robot.urdf")
    assert len(load(near)[0].bodies[0].pieces) == 1
    far = write(tmp_path, urdf('<mesh filename="../../secret.stl"/>'), f"arm/{folder}/robot.urdf")
    with pytest.raises(sn.FileError, match="outside"):
        load(far)


def test_included_files_take_the_place_of_their_tag(tmp_path: Path) -> None:
    write(tmp_path, '<mujoco><body name="b"><joint name="j"/><geom size="0.1"/></body></mujoco>', "parts/link.xml")
    write(tmp_path, '<mujocoinclude><include file="parts/link.xml"/></mujocoinclude>', "all.xml")
    text = '<mujoco><worldbody><include file="all.xml"/></worldbody></mujoco>'
    _, robot = load(write(tmp_path, text))
    assert list(robot.joints) == ["j"]
    write(tmp_path, '<mujoco><include file="robot.xml"/><include file="parts/link.xml"/></mujoco>', "all.xml")
    with pytest.raises(sn.FileError, match="included twice"):
        load(write(tmp_path, text))


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><mujoco model="&b;"/>'
BAD = {
    "no XML": "<mujoco",
    "neither URDF nor MJCF": "<sdf/>",
    "document type": BOMB,
    "document  type": '<!DOCTYPE x SYSTEM "file:///etc/passwd"><robot name="r"/>',
    "nested more than": "<mujoco><worldbody>" + "<body>" * 300 + "</body>" * 300 + "</worldbody></mujoco>",
    "bad format in attribute": '<mujoco><worldbody><body pos="a b c"/></worldbody></mujoco>',
    "<model>: the file 'a.xml' cannot be read": mjcf('<model file="a.xml"/>'),
    "<model>: 'robot.xml' is part of itself": mjcf('<model name="m" file="robot.xml"/>'),
    "<composite>: file: is not read": mjcf(geom='<geom size="1"/><composite file="x"/>'),
    "<mass> of link 'a': is -1 kg; expected a number above 0": urdf().replace('mass value="1"', 'mass value="-1"'),
    "<mass> of link 'a': value: expected a number, got 'x'": urdf().replace('mass value="1"', 'mass value="x"'),
    "xacro macros; expand": '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="a"/></robot>',
    "<parent> of joint 'j': there is no link 'b'; known are a": urdf().replace(
        "</robot>", '<joint name="j" type="fixed"><parent link="b"/><child link="a"/></joint></robot>'
    ),
    "<joint> 'j': type: expected one of .* got 'bent'": urdf().replace(
        "</robot>", '<joint name="j" type="bent"><parent link="a"/><child link="a"/></joint></robot>'
    ),
    "<joint> 'j': its links carry each other in a ring": urdf().replace(
        "</robot>", '<joint name="j" type="fixed"><parent link="a"/><child link="a"/></joint></robot>'
    ),
    "<link> 'a': is there twice": urdf().replace("</robot>", '<link name="a"/></robot>'),
    "mass and inertia of moving bodies": "<mujoco><worldbody><body name='k'><joint/></body></worldbody></mujoco>",
}


@pytest.mark.parametrize("told", BAD)
def test_a_file_that_is_no_robot_is_refused_with_the_reason(tmp_path: Path, told: str) -> None:
    with pytest.raises(sn.FileError, match=rf"robot\.(urdf|xml).*{told.replace('  ', ' ')}") as caught:
        load(write(tmp_path, BAD[told]))
    assert "line 1" not in str(caught.value) or "XML" in str(caught.value)


def test_a_world_that_is_not_there_stands_still(tmp_path: Path) -> None:
    joint = (
        '<joint name="j" type="revolute"><parent link="world"/><child link="a"/><limit lower="-1" upper="1"/></joint>'
    )
    scene, robot = load(write(tmp_path, urdf().replace("</robot>", f"{joint}</robot>")))
    assert robot.names == ("j",)
    assert len(scene.bodies) == 1
    assert "link 'world': joints name it" in robot.repaired[0]


def test_a_file_with_macros_of_old_style_is_to_be_expanded(tmp_path: Path) -> None:
    path = write(tmp_path, '<robot name="a"><include filename="$(find arm)/arm.xacro"/></robot>', "arm.urdf.xacro")
    with pytest.raises(sn.FileError, match=r"expand them first: xacro arm\.urdf\.xacro > robot\.urdf"):
        load(path)


@pytest.mark.parametrize("path", [None, 3, "<mujoco/>", "missing.urdf", "."])
def test_a_path_that_is_none_is_refused(path: object) -> None:
    with pytest.raises(sn.FileError, match=r"robot|cannot be read"):
        load(path)  # type: ignore[arg-type]


def test_what_belongs_to_other_programs_is_listed(tmp_path: Path) -> None:
    text = urdf().replace(
        "</robot>",
        '<gazebo reference="a"><anything/></gazebo><transmission name="t"/><mujoco><compiler/></mujoco></robot>',
    )
    _, robot = load(write(tmp_path, text))
    assert robot.skipped == ["<gazebo>", "<transmission> 't'", "<mujoco>"]


def test_the_text_for_the_parser_names_no_file(tmp_path: Path) -> None:
    write(tmp_path, trimesh.creation.box().export(file_type="stl"), "meshes/part.stl")
    asset = '<texture name="t" file="x.png" type="2d"/><material name="m" texture="t"/><mesh file="part.stl"/>'
    geom = '<geom type="mesh" mesh="part" material="m"/>'
    path = write(tmp_path, mjcf(asset, geom, '<compiler meshdir="meshes" texturedir="y"/>'))
    source = read_source(path, None)
    assert list(source.assets) == ["asset_0.stl"]
    text, lines = source.text
    assert "part.stl" not in text
    assert "x.png" not in text
    assert all(f"<{element.tag}" in text.splitlines()[line - 1] for line, element in lines.items())
    assert len(load(path)[0].bodies) == 1


@pytest.mark.parametrize("suffix", ["dae", "glb", "ply"])
def test_meshes_of_other_programs(tmp_path: Path, suffix: str) -> None:
    vertices, faces = step_shape()
    if suffix == "dae":
        data = collada(vertices, faces)
    else:
        data = trimesh.Trimesh(vertices, faces, process=False).export(file_type=suffix)
    write(tmp_path, data, f"part.{suffix}")
    scene, robot = load(write(tmp_path, urdf(f'<mesh filename="part.{suffix}"/>')), fixed_base=False)
    assert robot.skipped == []
    seen, triangles = scene.bodies[0].visual
    assert trimesh.Trimesh(seen, triangles).volume == pytest.approx(0.2 * 0.12, rel=1e-5)
    assert np.allclose(seen.min(axis=0), vertices.min(axis=0), atol=1e-6)


def collada(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    """The mesh in centimetres, in a node that turns it, as polygons with normals."""
    turned = 100.0 * np.stack([vertices[:, 1], -vertices[:, 0], vertices[:, 2]], axis=1)
    numbers = " ".join(f"{v:.9g}" for v in turned.ravel())
    corners = " ".join(f"{i} 0" for i in faces.ravel())
    return f"""<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
      <asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
      <library_geometries><geometry id="g"><mesh>
        <source id="p"><float_array id="pa" count="{turned.size}">{numbers}</float_array><technique_common>
          <accessor source="#pa" count="{len(turned)}" stride="3"/></technique_common></source>
        <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <polylist count="{len(faces)}"><input semantic="VERTEX" source="#v" offset="0"/>
          <input semantic="NORMAL" source="#p" offset="1"/><vcount>{"3 " * len(faces)}</vcount><p>{corners}</p>
        </polylist>
      </mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="s"><node id="n"><rotate>0 0 1 90</rotate>
        <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
      <scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


def test_a_model_in_a_model_is_attached_and_replicated(tmp_path: Path) -> None:
    body = '<body name="b"><wheel/><joint name="j"/><geom size="0.1"/></body>'
    write(tmp_path, f'<mujoco model="c"><worldbody>{body}</worldbody></mujoco>', "parts/child.xml")
    text = """<mujoco><asset><model name="m" file="parts/child.xml"/></asset><worldbody>
      <body><attach model="m" body="b" prefix="p_"/></body>
      <replicate count="3" offset="1 0 0"><body><freejoint/><geom size="0.1"/></body></replicate>
      </worldbody></mujoco>"""
    scene, robot = load(write(tmp_path, text))
    assert list(robot.joints) == ["p_j"]
    assert "<wheel> of body 'b'" in robot.skipped
    assert sum(not body.kinematic for body in scene.bodies) == 4


def test_places_in_the_world_become_local(tmp_path: Path) -> None:
    text = """<mujoco><compiler coordinate="global"/><worldbody><body name="a"><joint name="j" pos="0 0 2"/>
      <geom type="capsule" fromto="0 0 2 0 0 1" size="0.05"/><body name="b"><joint name="k" pos="0 0 1"/>
      <geom type="sphere" pos="0 0 0.5" size="0.1"/></body></body></worldbody></mujoco>"""
    _, robot = load(write(tmp_path, text))
    assert np.allclose(robot.joints["j"].anchor, [0, 2, 0])
    assert np.allclose(robot.joints["k"].anchor, [0, 1, 0])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (URDF_PAIR.format(mass="nan", axis="0 0 1"), "<mass> of link 'b': is nan kg; expected a number above 0"),
        (URDF_PAIR.format(mass="1", axis="0 0 0"), "<axis> of joint 'j': xyz: expected a direction, got '0 0 0'"),
        (URDF_PAIR.format(mass="1", axis="nan 0 1"), "<axis> of joint 'j': xyz: expected a direction, got 'nan 0 1'"),
        (MJCF_BALL.format('mass="-1"'), "<geom> of body 'q': mass: expected at least 0, got -1"),
        (MJCF_BALL.format('density="nan"'), "<geom> of body 'q': density: expected at least 0, got nan"),
        (MJCF_BALL.format('pos="0 nan 1"'), "<geom> of body 'q': pos: expected numbers up to 1e+30, got 0 nan 1"),
        (MJCF_BALL.format('pos="0 1e308 0"'), "<geom> of body 'q': pos: expected numbers up to 1e+30, got 0 1e+308 0"),
        (MJCF_BALL.format('euler="0 0 inf"'), "<geom> of body 'q': euler: expected numbers up to 1e+30, got 0 0 inf"),
        (MJCF_HINGE.format('range="nan 1"', ""), "<joint> 'j': range: expected numbers, got nan 1"),
        (MJCF_HINGE.format("", 'ctrlrange="-1 nan"'), "<motor> 'm': ctrlrange: expected numbers, got -1 nan"),
        (MJCF_HINGE.format("", 'forcerange="nan nan"'), "<motor> 'm': forcerange: expected numbers, got nan nan"),
    ],
)
def test_bad_numbers_are_refused_by_their_element(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(sn.FileError, match=re.escape(f"{path}: {told}")):
        sn.load_robot(path, sn.Scene())


def test_unknown_parts_of_a_robot_are_named_with_those_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(URDF_PAIR.format(mass="1", axis="0 0 1"))
    robot = sn.load_robot(path, sn.Scene())
    with pytest.raises(sn.SceneError, match="robot 'r': joints: there is no 'elbow'; known are j"):
        robot.joints["elbow"]
    with pytest.raises(sn.SceneError, match="robot 'r': sensors: there is no 'gyro'; known are none"):
        robot.sensors["gyro"]
    assert "elbow" not in robot.joints
    assert robot.joints.get("elbow") is None


def test_links_of_a_urdf_that_start_in_each_other_pass_through_each_other(tmp_path: Path) -> None:
    """The hand reaches into the base, and the tool only touches it; in an MJCF both are in contact, as in MuJoCo."""
    links, joints = "", ""
    places = {"base": (0.0, 0.2), "arm": (0.5, 0.1), "hand": (0.16, 0.2), "tool": (-0.2, 0.2)}
    for name, (x, size) in places.items():
        geometry = f'<geometry><box size="{size} 0.1 0.1"/></geometry>'
        mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        links += f'<link name="{name}">{mass}<collision><origin xyz="{x} 0 0"/>{geometry}</collision></link>'
    for parent, child in (("base", "arm"), ("arm", "hand"), ("arm", "tool")):
        joints += f'<joint name="{child}" type="continuous"><parent link="{parent}"/><child link="{child}"/></joint>'
    scene, robot = load(write(tmp_path, f'<robot name="r">{links}{joints}</robot>'))
    (told,) = [text for text in robot.repaired if "lie in each other" in text]
    assert told.endswith("'base' and 'hand' by 0.04 m")
    pairs = {tuple(sorted(pair)) for pair in scene.ignored}
    assert ("r/base", "r/hand") in pairs
    assert ("r/base", "r/tool") not in pairs
    sn.Simulation(scene)
    bodies = "".join(
        f'<body name="{name}"><joint/><geom type="box" pos="{x} 0 0" size="{0.5 * size} .05 .05"/>'
        for name, (x, size) in list(places.items())[1:3]
    )
    base = '<body name="base"><geom type="box" size=".1 .05 .05"/>'
    scene, robot = load(write(tmp_path, f"<mujoco><worldbody>{base}{bodies}</body></body></body></worldbody></mujoco>"))
    assert robot.repaired == []
    assert ("robot/base", "robot/hand") not in {tuple(sorted(pair)) for pair in scene.ignored}
    with pytest.warns(sn.ContactWarning, match="overlap at the start, by 0.04 m"):
        sn.Simulation(scene)
