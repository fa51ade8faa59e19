"""Robot files are data from outside: what they name is found in their folder or refused, and never run or opened."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.io.robots.source import read_source

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

LINK = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def urdf(geometry: str = "", role: str = "collision") -> str:
    shape = f"<{role}><geometry>{geometry}</geometry></{role}>" if geometry else ""
    return f'<robot name="r">{LINK}{shape}</link></robot>'


def mjcf(asset: str = "", geom: str = '<geom size="1"/>', head: str = "") -> str:
    return f"<mujoco>{head}<asset>{asset}</asset><worldbody><body><freejoint/>{geom}</body></worldbody></mujoco>"


def write(folder: Path, text: str | bytes, name: str = "") -> Path:
    data = text.encode() if isinstance(text, str) else text
    path = folder / (name or ("robot.urdf" if b"<robot" in data else "robot.xml"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def load(path: Path, **options) -> tuple[sn.Scene, sn.Robot]:
    scene = sn.Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.RobotWarning)
        return scene, sn.load_robot(path, scene, **options)


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
    write(tmp_path, "<COLLADA/>", "part.dae")
    _, robot = load(write(tmp_path, urdf('<mesh filename="part.dae"/>', "visual")))
    assert robot.skipped == ["visual mesh 'part.dae' of link 'a': not .stl, .obj, .msh"]
    with pytest.raises(sn.FileError, match=r"robot\.urdf: cannot be read as a robot"):
        load(write(tmp_path, urdf('<mesh filename="part.dae"/>')))


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
    with pytest.raises(sn.FileError, match=r"robot\.(urdf|xml): <(mesh|hfield|include)>: .*(outside|cannot)"):
        load(write(folder, text))


def test_a_package_is_a_folder_that_is_given(tmp_path: Path) -> None:
    write(tmp_path, trimesh.creation.box().export(file_type="stl"), "meshes/part.stl")
    path = write(tmp_path, urdf('<mesh filename="package://r/meshes/part.stl"/>'), "urdf/robot.urdf")
    with pytest.raises(sn.FileError, match=r"package://r/meshes/part\.stl.*No such file"):
        load(path)
    scene, _ = load(path, package=tmp_path)
    assert len(scene.bodies[0].pieces) == 1
    relative = write(tmp_path, urdf('<mesh filename="../meshes/part.stl"/>'), "urdf/robot.urdf")
    assert len(load(relative, package=tmp_path)[0].bodies) == 1


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
    "<wheel>: unknown tag": '<robot name="r"><link name="a"><wheel/></link></robot>',
    "unrecognized element; Element 'wheel'": "<mujoco><worldbody><wheel/></worldbody></mujoco>",
    "bad format in attribute": '<mujoco><worldbody><body pos="a b c"/></worldbody></mujoco>',
    "<model>: is not supported": mjcf('<model file="a.xml"/>'),
    "<extension>: is not supported": mjcf(head='<extension><plugin plugin="x"/></extension>'),
    "<composite>: file: is not supported": mjcf(geom='<geom size="1"/><composite file="x"/>'),
    "mass and inertia of moving bodies": "<mujoco><worldbody><body name='k'><joint/></body></worldbody></mujoco>",
}


@pytest.mark.parametrize("told", BAD)
def test_a_file_that_is_no_robot_is_refused_with_the_reason(tmp_path: Path, told: str) -> None:
    with pytest.raises(sn.FileError, match=rf"robot\.(urdf|xml).*{told.replace('  ', ' ')}") as caught:
        load(write(tmp_path, BAD[told]))
    assert "line 1" not in str(caught.value) or "XML" in str(caught.value)


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
    assert robot.skipped == ["<gazebo>", "<transmission>", "<mujoco>, options for another engine"]


def test_the_text_for_the_parser_names_no_file(tmp_path: Path) -> None:
    write(tmp_path, trimesh.creation.box().export(file_type="stl"), "meshes/part.stl")
    asset = '<texture name="t" file="x.png" type="2d"/><material name="m" texture="t"/><mesh file="part.stl"/>'
    geom = '<geom type="mesh" mesh="part" material="m"/>'
    path = write(tmp_path, mjcf(asset, geom, '<compiler meshdir="meshes" texturedir="y"/>'))
    source = read_source(path, None)
    assert list(source.assets) == ["asset_0.stl"]
    assert "part.stl" not in source.xml
    assert "x.png" not in source.xml
    assert len(load(path)[0].bodies) == 1
