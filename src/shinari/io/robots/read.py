"""Reads a robot file of either kind."""

import os
from xml.etree.ElementTree import Element

from shinari import check
from shinari.errors import FileError
from shinari.io.robots.files import Files
from shinari.io.robots.mjcf import prepare_mjcf
from shinari.io.robots.source import Source
from shinari.io.robots.urdf import prepare_urdf
from shinari.io.robots.xml import parse


def read_source(path: str | os.PathLike, package: str | os.PathLike | None) -> Source:
    """Read a robot file and all that belongs to it.

    Args:
        path: URDF or MJCF file.
        package: Folder for which `package://name` stands; None: it is sought, see `Files`.

    Raises:
        FileError: A file is missing, no XML, of neither kind or names a file outside of its folders.
    """
    path = check.path("robot", "path", path)
    if package is not None:
        package = check.path("robot", "package", package)
    root = parse(path)
    source = Source(path, Files(path, package), root)
    if root.tag == "robot":
        source.urdf = True
        if any(_is_macro(element, path.suffix == ".xacro") for element in root.iter()):
            raise FileError(f"{path}: has xacro macros; expand them first: xacro {path.name} > robot.urdf")
        prepare_urdf(root, source)
    elif root.tag == "mujoco":
        prepare_mjcf(root, source)
    else:
        raise FileError(f"{path}: is neither URDF nor MJCF: its root is <{root.tag}>, expected <robot> or <mujoco>")
    return source


def _is_macro(element: Element, values: bool) -> bool:
    """Whether an element has to be expanded by xacro, by its names or also by its values."""
    named = any("xacro" in name for name in (element.tag, *element.attrib))
    return named or (values and any("${" in value or "$(" in value for value in element.attrib.values()))
