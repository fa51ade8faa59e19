"""MJCF as text that MuJoCo parses: included files in their place, and nothing in it names a file."""

import math
import os
import posixpath
from pathlib import Path
from xml.etree.ElementTree import Element

from shinari import check
from shinari.errors import FileError
from shinari.io.robots.coordinates import make_local
from shinari.io.robots.files import Files
from shinari.io.robots.meshes import FORMATS
from shinari.io.robots.source import Source, add_mesh
from shinari.io.robots.xml import described, parents, parse

LOOKS = ("texture", "skin", "layer", "visual", "statistic")
"""Elements that only say how something looks."""
SKIPPED = ("plugin", "extension", "custom")
"""Elements that are left out and listed."""
FINITE = (
    "pos", "quat", "axis", "euler", "axisangle", "xyaxes", "zaxis", "fromto", "size", "inertia", "diaginertia",
    "fullinertia", "vertex", "ref", "springref", "stiffness", "damping", "armature", "frictionloss",
    "gear", "kp", "kv", "gainprm", "biasprm",
)  # fmt: skip
"""Attributes of numbers that are finite, in MuJoCo and beyond."""
NUMBERS = (
    "range", "ctrlrange", "forcerange", "actrange", "lengthrange", "actuatorfrcrange", "springlength", "polycoef",
    "coef", "divisor", "cranklength", "dynprm", "friction", "margin", "cutoff", "radius", "qpos",
)  # fmt: skip
"""Attributes of numbers that may be infinite."""
MOST_INCLUDES, MOST_MODELS = 100, 20


def prepare_mjcf(root: Element, source: Source, models: tuple[Path, ...] = ()) -> None:
    """Make an MJCF ready for MuJoCo, and list the elements left out.

    Args:
        root: Its root.
        source: The file; gets the meshes and models.
        models: Files of the models that this one is part of.

    Raises:
        FileError: A file is missing, or may not be read; a mass is negative, or a number is not finite.
    """
    _include(root, source, set())
    folders = {"meshdir": "", "strippath": "false"}
    for compiler in root.iter("compiler"):
        folders["meshdir"] = compiler.attrib.pop("assetdir", folders["meshdir"])
        for name in folders:
            folders[name] = compiler.attrib.pop(name, folders[name])
        for name in ("texturedir", "discardvisual"):
            compiler.attrib.pop(name, None)
    _check_numbers(root, source)
    _drop_skipped(root, source)
    _mend_old(root, source)
    for element in root.iter():
        element.attrib.pop("texture", None)
        name = element.get("file")
        if name is None:
            continue
        if element.tag == "model":
            _add_model(element, source, models)
            continue
        if element.tag not in ("mesh", "hfield", "flexcomp"):
            raise FileError(
                f"{source.path}: {described(element)}: file: is not read here; expected an element <mesh>, <hfield>, "
                f"<flexcomp> or <model>"
            )
        element.attrib.setdefault("name", posixpath.splitext(posixpath.basename(name.replace("\\", "/")))[0])
        if folders["strippath"] == "true":
            name = posixpath.basename(name.replace("\\", "/"))
        folder = folders["meshdir"].replace("\\", "/")
        of_mesh = element.tag == "mesh" or (element.tag == "flexcomp" and element.get("type") == "mesh")
        if of_mesh and name.lower().endswith(FORMATS):
            element.set("file", add_mesh(source, element.tag, name, folder))
        else:
            asset = f"asset_{len(source.assets)}{posixpath.splitext(name)[1].lower()}"
            source.assets[asset] = source.files.read(element.tag, name, folder)
            element.set("file", asset)


def _check_numbers(root: Element, source: Source) -> None:
    """Refuse masses that no body has, and what is no number or not finite; text in its place is told elsewhere.

    MuJoCo takes a NaN for one number, and fails far from the element that had it.
    """
    for element, parent in parents(root).items():
        for key in ("mass", "density", *FINITE, *NUMBERS):
            try:
                values = [float(value) for value in element.get(key, "0").split()]
            except ValueError:
                continue
            if key in NUMBERS:
                wrong, expected = any(math.isnan(value) for value in values), "numbers"
            elif key in FINITE:
                wrong, expected = not _are_small(values), f"numbers up to {check.LARGEST:g}"
            else:
                wrong, expected = not _are_small(values) or min(values, default=0.0) < 0.0, "at least 0"
            if wrong:
                where = f"{source.path}: {described(element, parent)}"
                got = " ".join(f"{value:g}" for value in values)
                raise FileError(f"{where}: {key}: expected {expected}, got {got}")


def _are_small(values: list[float]) -> bool:
    return all(abs(value) <= check.LARGEST for value in values)


def _mend_old(root: Element, source: Source) -> None:
    """What older versions took and MuJoCo takes no more."""
    materials = {m.get("name") for m in root.iter("material")}
    above = parents(root)
    for element in root.iter():
        if element.tag == "inertial":
            element.attrib.setdefault("pos", "0 0 0")
        if (
            element.get("material") is not None
            and element.tag != "material"
            and element.get("material") not in materials
        ):
            # names of materials of a file that includes this one
            del element.attrib["material"]
        if element.tag == "geom" and element.get("type") == "plane":
            size = element.get("size", "0 0 1").split()
            if len(size) == 3 and float(size[2]) <= 0.0:
                size[2] = "1"
            element.set("size", " ".join(size))
    for element, parent in list(above.items()):
        if element.tag == "joint" and element.get("type") == "fixed" and parent.tag == "body":
            parent.remove(element)
    for compiler in root.iter("compiler"):
        if compiler.get("coordinate") == "global":
            make_local(root, source)
        compiler.attrib.pop("coordinate", None)


def _drop_skipped(root: Element, source: Source) -> None:
    """Remove the elements of an MJCF that are not read, and the meshes and geoms that only they describe."""
    above = parents(root)
    gone: set[str] = set()
    for child, parent in list(above.items()):
        if child.tag not in (*LOOKS, *SKIPPED) or (child.tag == "visual" and parent is not root):
            continue
        if child.tag == "plugin" and parent.tag == "mesh":
            gone.add(parent.get("name", ""))
            above[parent].remove(parent)
        elif child in list(parent):
            parent.remove(child)
        if child.tag in SKIPPED and child.tag != "custom":
            source.skip(described(child, parent))
    for child, parent in list(above.items()):
        if child.tag == "geom" and (child.get("type") == "sdf" or child.get("mesh", "") in gone - {""}):
            parent.remove(child)
            source.skip(f"{described(child, parent)}: a signed distance field of a plugin")
            _drop_empty(parent, above, source)


def _drop_empty(body: Element, above: dict[Element, Element], source: Source) -> None:
    """Remove a body of which nothing is left but its joints."""
    if body.tag == "body" and body in above and not any(e.tag in ("geom", "inertial") for e in body.iter()):
        above[body].remove(body)
        source.skip(f"{described(body)}: nothing else is left of it")


def _add_model(element: Element, source: Source, models: tuple[Path, ...]) -> None:
    """Take a model that a file names into the assets."""
    from shinari.io.robots.compile import parsed

    name = element.get("file", "")
    place = source.files.find("model", name)
    if place in models or place == Path(os.path.realpath(source.path)) or len(models) == MOST_MODELS:
        raise FileError(
            f"{source.path}: <model>: {check.short(name)} is part of itself, or of too many; leave out one of the two"
        )
    root = parse(place, source.files.read("model", name))
    child = Source(place, Files(place, source.files.package), root, assets=source.assets, names=source.names)
    child.skipped, child.repaired = source.skipped, source.repaired
    prepare_mjcf(root, child, (*models, Path(os.path.realpath(source.path))))
    parsed(child)
    asset = f"model_{len(source.assets)}.xml"
    source.assets[asset] = child.text[0].encode()
    element.attrib.setdefault("name", root.get("model", Path(name).stem))
    element.set("file", asset)


def _include(root: Element, source: Source, seen: set[str]) -> None:
    """Put the children of included files in the place of <include>."""
    for parent in list(root.iter()):
        for index, child in reversed(list(enumerate(parent))):
            if child.tag != "include":
                continue
            name = child.get("file", "")
            data = source.files.read("include", name)
            place = os.path.realpath(source.path.parent / name)
            if place in seen or len(seen) == MOST_INCLUDES or place == os.path.realpath(source.path):
                raise FileError(
                    f"{source.path}: <include>: {check.short(name)} is included twice, or is one of too many files; "
                    f"leave out one <include>"
                )
            seen.add(place)
            included = parse(source.path.parent / name, data)
            _include(included, source, seen)
            parent.remove(child)
            for offset, element in enumerate(included):
                parent.insert(index + offset, element)
