"""Small robot files for tests: their texts, and how they are written and loaded."""

import warnings
from pathlib import Path

import shinari as sn

LINK = '<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'

URDF_PAIR = (
    f'<robot name="r">{LINK}</link>{LINK.replace(chr(34) + "a", chr(34) + "b").replace("1", "{mass}", 1)}</link>'
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="{axis}"/></joint></robot>'
)


def urdf(geometry: str = "", role: str = "collision") -> str:
    shape = f"<{role}><geometry>{geometry}</geometry></{role}>" if geometry else ""
    return f'<robot name="r">{LINK}{shape}</link></robot>'


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
