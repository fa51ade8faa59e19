"""A robot file as text that MuJoCo may parse: nothing in it names a file any more, and what is not read is taken out.

Included files are put in their place, and meshes become assets in memory with names of our own, so that no path in the
file is ever opened by the parser. A file from outside can name no file beyond its folder.
"""

import os
import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from shinari import check
from shinari.errors import FileError
from shinari.partial_files import reason

MESHES = (".stl", ".obj", ".msh")
"""Formats of meshes that MuJoCo reads."""
DEEPEST = 200
"""Levels of elements; more are taken for damage."""
MOST_INCLUDES = 100

URDF_TAGS = frozenset(
    (
        *("robot", "link", "inertial", "origin", "mass", "inertia", "visual", "collision", "geometry", "box", "sphere"),
        *("cylinder", "capsule", "mesh", "joint", "parent", "child", "axis", "limit", "dynamics", "mujoco", "compiler"),
    )
)
URDF_LOOKS = ("material",)
URDF_SKIPPED = ("transmission", "gazebo", "ros2_control", "mimic", "safety_controller", "calibration", "sensor")
MJCF_LOOKS = ("texture", "skin", "layer")
MJCF_SKIPPED = ("deformable", "flexcomp")
MJCF_REFUSED = ("model", "attach", "plugin", "extension")
MJCF_FILES = ("mesh", "hfield")


@dataclass
class Source:
    """A robot file, read.

    Attributes:
        path: The file.
        xml: Text for MuJoCo.
        urdf: Whether it is URDF, else MJCF.
        assets: Meshes that the text names.
        fixed: Name of the joint that fixes a link to its parent, by the name of the link; MuJoCo forgets it.
        skipped: What was taken out, in words.
    """

    path: Path
    xml: str = ""
    urdf: bool = False
    assets: dict[str, bytes] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def read_source(path: str | os.PathLike, package: str | os.PathLike | None) -> Source:
    """Read a robot file and all that belongs to it.

    Args:
        path: URDF or MJCF file.
        package: Folder for which `package://name` stands in a URDF; None: that of the file.

    Raises:
        FileError: A file is missing, no XML, of neither kind, has an unknown tag or names a file outside its folder.
    """
    path = check.path("robot", "path", path)
    if package is not None:
        package = check.path("robot", "package", package)
    source = Source(path)
    root = _parse(source.path)
    files = _Files(source, package)
    if root.tag == "robot":
        source.urdf = True
        _prepare_urdf(root, source, files)
    elif root.tag == "mujoco":
        _prepare_mjcf(root, source, files)
    else:
        raise FileError(f"{path}: is neither URDF nor MJCF: its root is <{root.tag}>, expected <robot> or <mujoco>")
    try:
        source.xml = ElementTree.tostring(root, encoding="unicode")
    except RecursionError:
        raise FileError(f"{path}: its elements are nested too deep") from None
    return source


class _Files:
    """Reads the files that a robot file names."""

    def __init__(self, source: Source, package: Path | None) -> None:
        self._source = source
        self._folder = source.path.parent
        self._package = package or self._folder

    def read(self, tag: str, name: str, folder: str = "") -> bytes:
        """Bytes of a file that a tag names, relative to a folder beside the robot file."""
        path = self._source.path
        base, rest = self._folder, posixpath.join(folder, name.replace("\\", "/"))
        if name.startswith("package://"):
            base, rest = self._package, name.removeprefix("package://").partition("/")[2]
        elif "://" in name or ":" in rest:
            raise FileError(f"{path}: <{tag}>: cannot read {check.short(name)}; expected a path beside the file")
        file = Path(os.path.realpath(base / posixpath.normpath(rest)))
        allowed = {Path(os.path.realpath(self._package)), Path(os.path.realpath(self._folder))}
        if posixpath.isabs(rest) or not any(file.is_relative_to(root) for root in allowed):
            raise FileError(
                f"{path}: <{tag}>: names the file {check.short(name)}, which lies outside the folder of the robot"
            )
        try:
            return file.read_bytes()
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: <{tag}>: the file {check.short(name)} cannot be read: {reason(error)}") from error

    def add_mesh(self, tag: str, name: str, folder: str = "") -> str:
        """Name of the asset that a mesh becomes."""
        asset = f"asset_{len(self._source.assets)}{posixpath.splitext(name)[1].lower()}"
        self._source.assets[asset] = self.read(tag, name, folder)
        return asset


def _parse(path: Path, data: bytes | None = None) -> Element:
    """Root of an XML file without declarations of its own: those can hide other files and grow without bound."""
    depth = 0

    def refuse(*_: object) -> None:
        raise FileError(f"{path}: has a document type declaration, which a robot does not need")

    def enter(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise FileError(f"{path}: its elements are nested more than {DEEPEST} deep")

    def leave(_: str) -> None:
        nonlocal depth
        depth -= 1

    try:
        data = path.read_bytes() if data is None else data
        scanner = expat.ParserCreate()
        scanner.StartDoctypeDeclHandler, scanner.StartElementHandler, scanner.EndElementHandler = refuse, enter, leave
        scanner.Parse(data, True)
        return ElementTree.fromstring(data)
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise FileError(f"{path}: is no XML: {error}") from error


def _prepare_urdf(root: Element, source: Source, files: _Files) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (*URDF_LOOKS, *URDF_SKIPPED):
                parent.remove(child)
                if child.tag in URDF_SKIPPED:
                    where = f" of {parent.tag} {parent.get('name', '?')!r}" if parent is not root else ""
                    source.skipped.append(f"<{child.tag}>{where}")
    for element in root.iter():
        if element.tag not in URDF_TAGS:
            raise FileError(f"{source.path}: <{element.tag}>: unknown tag of a URDF")
    for link in root.iter("link"):
        _drop_unread_visuals(link, source, files)
    for mesh in root.iter("mesh"):
        mesh.set("filename", files.add_mesh("mesh", mesh.get("filename", "")))
    for joint in root.iter("joint"):
        child = joint.find("child")
        if joint.get("type") == "fixed" and child is not None:
            source.fixed[child.get("link", "")] = joint.get("name", "")
    for extension in root.findall("mujoco"):
        root.remove(extension)
        source.skipped.append("<mujoco>, options for another engine")
    compiler = {"fusestatic": "false", "discardvisual": "false", "strippath": "false"}
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", compiler)


def _drop_unread_visuals(link: Element, source: Source, files: _Files) -> None:
    """Remove the visuals of a link whose meshes are in formats that are not read."""
    for visual in list(link.iter("visual")):
        mesh = next(visual.iter("mesh"), None)
        if mesh is not None and not mesh.get("filename", "").lower().endswith(MESHES):
            files.read("mesh", mesh.get("filename", ""))
            file, name = check.short(mesh.get("filename")), check.short(link.get("name", "?"))
            source.skipped.append(f"visual mesh {file} of link {name}: not {', '.join(MESHES)}")
            link.remove(visual)


def _prepare_mjcf(root: Element, source: Source, files: _Files) -> None:
    _include(root, source, files, set())
    folders = {"meshdir": "", "strippath": "false"}
    for compiler in root.iter("compiler"):
        folders["meshdir"] = compiler.attrib.pop("assetdir", folders["meshdir"])
        for name in folders:
            folders[name] = compiler.attrib.pop(name, folders[name])
        for name in ("texturedir", "discardvisual"):
            compiler.attrib.pop(name, None)
    _drop_skipped(root, source)
    for element in root.iter():
        if element.tag == "material":
            element.attrib.pop("texture", None)
        name = element.get("file")
        if name is None:
            continue
        if element.tag not in MJCF_FILES:
            raise FileError(f"{source.path}: <{element.tag}>: file: is not supported")
        element.attrib.setdefault("name", posixpath.splitext(posixpath.basename(name.replace("\\", "/")))[0])
        if folders["strippath"] == "true":
            name = posixpath.basename(name.replace("\\", "/"))
        element.set("file", files.add_mesh(element.tag, name, folders["meshdir"].replace("\\", "/")))


def _drop_skipped(root: Element, source: Source) -> None:
    """Remove the elements of an MJCF that are not read.

    Raises:
        FileError: One of them may not be left out.
    """
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in MJCF_REFUSED:
                raise FileError(f"{source.path}: <{child.tag}>: is not supported")
            if child.tag in (*MJCF_LOOKS, *MJCF_SKIPPED):
                parent.remove(child)
                if child.tag in MJCF_SKIPPED:
                    source.skipped.append(f"<{child.tag}> {child.get('name', '')!r}")


def _include(root: Element, source: Source, files: _Files, seen: set[str]) -> None:
    """Put the children of included files in the place of <include>."""
    for parent in list(root.iter()):
        for index, child in reversed(list(enumerate(parent))):
            if child.tag != "include":
                continue
            name = child.get("file", "")
            data = files.read("include", name)
            place = os.path.realpath(source.path.parent / name)
            if place in seen or len(seen) == MOST_INCLUDES:
                raise FileError(
                    f"{source.path}: <include>: {check.short(name)} is included twice, or is one of too many files"
                )
            seen.add(place)
            included = _parse(source.path.parent / name, data)
            _include(included, source, files, seen)
            parent.remove(child)
            for offset, element in enumerate(included):
                parent.insert(index + offset, element)
