"""URDF as text that MuJoCo parses: its own elements only, and nothing in it names a file."""

import math
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from shinari import check
from shinari.errors import FileError
from shinari.io.robots.inertia import repaired
from shinari.io.robots.source import Source, add_mesh
from shinari.io.robots.xml import described

CHILDREN = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry"),
    "geometry": ("box", "sphere", "cylinder", "capsule", "mesh"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    "material": ("color", "texture"),
}
"""Elements that are read, by that in which they stand."""
SEVERAL = ("robot", "link")
"""Elements that have several children of a kind; others count once."""
JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical", "ball")
AXIAL = ("revolute", "continuous", "prismatic", "planar")
"""Joints with an axis."""
QUIET = ("collision_checking", "verbose", "texture")
"""Elements that say nothing about motion or looks that are kept, and are left out without a word."""
NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mesh": {"scale": 3},
    "box": {"size": 3},
    "limit": {"lower": 1, "upper": 1, "effort": 1, "velocity": 1},
    "dynamics": {"damping": 1, "friction": 1},
}
"""How many numbers attributes have."""
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
WORLD = "world"
"""What stands still, where joints name it without a link of that name."""
TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def prepare_urdf(root: Element, source: Source) -> None:
    """Make a URDF ready for MuJoCo, and list the elements left out.

    Raises:
        FileError: It names a file that may not be read, a mass is negative, a joint has no such link or no axis, or
            joints follow each other.
    """
    _drop_unknown(root, source)
    _clean_numbers(root, source)
    links = list(root.findall("link"))
    if not links:
        links = [ElementTree.SubElement(root, "link", {"name": "world"})]
        source.skip("<robot>: it has no link")
    _rename_twins(root, source)
    source.colours = _colours(root)
    sloppy: dict[str, list[str]] = {}
    for link in links:
        _prepare_meshes(link, source)
        told = _prepare_inertial(link, source)
        if told is not None:
            sloppy.setdefault(told, []).append(repr(link.get("name", "?")))
    for told, found in sloppy.items():
        source.repair(f"inertia of link{'s' * (len(found) > 1)} {', '.join(found)}: {told}")
    names = {link.get("name", "") for link in links}
    if WORLD not in names and any(parent.get("link") == WORLD for parent in root.iterfind("joint/parent")):
        # other readers know it without being told
        ElementTree.SubElement(root, "link", {"name": WORLD})
        names.add(WORLD)
        source.repair(f"link {WORLD!r}: joints name it and it is not there; it stands still")
    for joint in root.findall("joint"):
        _prepare_joint(joint, names, source)
    _check_tree(root, source)
    _check_mimics(source)
    for parent in list(root.iter()):
        for material in parent.findall("material"):
            parent.remove(material)
    compiler = {"fusestatic": "false", "discardvisual": "false", "strippath": "false", "balanceinertia": "true"}
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", compiler)


def _clean_numbers(root: Element, source: Source) -> None:
    """Numbers without what stands between or after them; limits that cross are none."""
    for element in root.iter():
        for key, count in NUMBERS.get(element.tag, {}).items():
            text = element.get(key)
            if text is None or _clean(text, count):
                continue
            found = re.findall(NUMBER, text)[:count]
            if len(found) < count:
                if element.tag == "axis":  # refused by its joint
                    continue
                del element.attrib[key]
                source.repair(f"{key} of <{element.tag}>: {check.short(text)} is not {count} numbers; left out")
            else:
                element.set(key, " ".join(found))
                source.repair(f"{key} of <{element.tag}>: {check.short(text)} is read as {' '.join(found)}")
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and float(limit.get("lower", 0.0)) > float(limit.get("upper", 0.0)):
            source.repair(f"limits of joint {joint.get('name')!r}: the lower is above the upper; it has none")
            limit.attrib.pop("lower", None)
            limit.attrib.pop("upper", None)


def _clean(text: str, count: int) -> bool:
    parts = text.split()
    try:
        return len(parts) == count and all(np.isfinite(float(part)) for part in parts)
    except ValueError:
        return False


def _drop_unknown(root: Element, source: Source) -> None:
    todo = [root]
    while todo:
        parent = todo.pop()
        known = CHILDREN.get(parent.tag, ())
        for child in list(parent):
            again = parent.tag not in SEVERAL and child in parent.findall(child.tag)[1:]
            if child.tag in known and not again:
                todo.append(child)
                continue
            parent.remove(child)
            if child.tag not in QUIET:
                source.skip(described(child, parent))


def _rename_twins(root: Element, source: Source) -> None:
    """Joints of one name get names of their own; links have to differ, since joints name them."""
    for kind in ("link", "joint"):
        seen: set[str] = set()
        for element in root.findall(kind):
            name = element.get("name")
            if not name:
                name = f"{kind}_{len(seen) + 1}"
                element.set("name", name)
            if name in seen:
                if kind == "link":
                    raise FileError(f"{source.path}: <link> {name!r}: is there twice; give each link a name of its own")
                number = 2
                while f"{name}_{number}" in seen:
                    number += 1
                element.set("name", f"{name}_{number}")
                source.skip(f"second joint of the name {name!r}: called {name}_{number}")
            seen.add(element.get("name", ""))


def _colours(root: Element) -> dict[str, list[tuple[float, ...] | None]]:
    """Colour of each visual of each link, in their order."""
    known = {m.get("name", ""): m for m in root.iter("material") if m.find("color") is not None}
    result: dict[str, list[tuple[float, ...] | None]] = {}
    for link in root.findall("link"):
        result[link.get("name", "")] = [_colour(visual.find("material"), known) for visual in link.findall("visual")]
    return result


def _colour(material: Element | None, known: dict[str, Element]) -> tuple[float, ...] | None:
    if material is None:
        return None
    color = material.find("color")
    if color is None:
        named = known.get(material.get("name", ""))
        color = None if named is None else named.find("color")
    try:
        numbers = [float(n) for n in ("" if color is None else color.get("rgba", "")).split()]
    except ValueError:
        return None
    return tuple(min(max(n, 0.0), 1.0) for n in (*numbers, 1.0)[:4]) if len(numbers) in (3, 4) else None


def _prepare_meshes(link: Element, source: Source) -> None:
    """Take the meshes of a link into the source; a visual whose mesh cannot be had is left out."""
    colours = source.colours[link.get("name", "")]
    for index, visual in reversed(list(enumerate(link.findall("visual")))):
        geometry = visual.find("geometry")
        if geometry is None or len(geometry) == 0 or _is_empty(geometry[0]):
            link.remove(visual)
            del colours[index]
            continue
        mesh = geometry.find("mesh")
        if mesh is None:
            continue
        try:
            mesh.set("filename", add_mesh(source, "mesh", mesh.get("filename", "")))
        except FileError as error:
            told = str(error).removeprefix(f"{source.path}: ")
            source.skip(f"visual of link {check.short(link.get('name', '?'))}: {told}")
            link.remove(visual)
            del colours[index]
    for collision in link.findall("collision"):
        geometry = collision.find("geometry")
        if geometry is None or len(geometry) == 0 or _is_empty(geometry[0]):
            link.remove(collision)
            if geometry is not None and len(geometry):
                source.skip(
                    f"collision of link {check.short(link.get('name', '?'))}: its {geometry[0].tag} has no size"
                )
            continue
        mesh = geometry.find("mesh")
        if mesh is not None:
            mesh.set("filename", add_mesh(source, "mesh", mesh.get("filename", "")))


def _is_empty(shape: Element) -> bool:
    """Whether a shape has a size of zero; the scale of a mesh may be negative."""
    sizes = [shape.get(key, "1") for key in SIZES.get(shape.tag, ())] + shape.get("size", "1").split()
    try:
        flat = any(float(scale) == 0.0 for scale in shape.get("scale", "1").split())
        return flat or any(float(size) <= 0.0 for size in sizes)
    except ValueError:
        return False


def _prepare_inertial(link: Element, source: Source) -> str | None:
    """Repair a sloppy tensor, and say what was wrong; an inertial without mass is as none."""
    inertial = link.find("inertial")
    if inertial is None:
        return None
    name = link.get("name", "?")
    element, tensor = inertial.find("mass"), inertial.find("inertia")
    mass = _number(element, "value", source, name) if element is not None else 0.0
    if not 0.0 <= mass < math.inf:
        raise FileError(
            f"{source.path}: <mass> of link {name!r}: is {mass:g} kg; expected a number above 0, or 0 for a link that "
            f"has none"
        )
    if mass == 0.0:
        link.remove(inertial)
        return None
    if tensor is None:
        tensor = ElementTree.SubElement(inertial, "inertia")
    xx, xy, xz, yy, yz, zz = (_number(tensor, key, source, name) for key in TENSOR)
    given = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    better = repaired(given, mass)
    if better is not None:
        given = better[0]
    for key, (row, column) in zip(TENSOR, ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)), strict=True):
        tensor.set(key, repr(float(given[row, column])))
    return None if better is None else better[1]


def _number(element: Element, key: str, source: Source, name: str) -> float:
    text = element.get(key, "0")
    try:
        return float(text)
    except ValueError:
        owner = "joint" if element.tag in ("limit", "mimic") else "link"
        raise FileError(
            f"{source.path}: <{element.tag}> of {owner} {name!r}: {key}: expected a number, got {check.short(text)}"
        ) from None


def _prepare_joint(joint: Element, links: set[str], source: Source) -> None:
    name, kind = joint.get("name", "?"), joint.get("type", "")
    if kind not in JOINTS:
        raise FileError(
            f"{source.path}: <joint> {name!r}: type: expected one of {', '.join(JOINTS)}, got {check.short(kind)}"
        )
    ends = []
    for tag in ("parent", "child"):
        end = joint.find(tag)
        link = None if end is None else end.get("link")
        if link not in links:
            raise FileError(
                f"{source.path}: <{tag}> of joint {name!r}: there is no link {check.short(link)}; known are "
                f"{check.names(links, link)}"
            )
        ends.append(link)
    axis = joint.find("axis")
    if axis is not None and kind not in AXIAL:
        joint.remove(axis)
    elif axis is not None and not _is_direction(axis.get("xyz", "")):
        got = check.short(axis.get("xyz"))
        raise FileError(f"{source.path}: <axis> of joint {name!r}: xyz: expected a direction, got {got}")
    if kind in ("spherical", "ball") and joint.find("limit") is not None:
        joint.remove(joint.find("limit"))  # type: ignore[arg-type]
        source.skip(f"limit of ball joint {name!r}")
    if kind == "fixed":
        source.fixed[ends[1]] = name
    mimic = joint.find("mimic")
    if mimic is not None:
        joint.remove(mimic)
        if not mimic.get("multiplier"):
            mimic.set("multiplier", "1")
        law = []
        for key in ("multiplier", "offset"):
            law.append(_number(mimic, key, source, name))
            if not math.isfinite(law[-1]):
                raise FileError(
                    f"{source.path}: <mimic> of joint {name!r}: {key}: expected a finite number, got {law[-1]}"
                )
        source.mimics[name] = (mimic.get("joint", ""), law[0], law[1])
    _prepare_bounds(joint, name, source)


def _prepare_bounds(joint: Element, name: str, source: Source) -> None:
    """Effort and velocity of a joint that are above 0; 0 means that none is told."""
    limit = joint.find("limit")
    if limit is not None:
        for key in ("effort", "velocity"):
            most = _number(limit, key, source, name)
            if most < 0.0:
                source.repair(f"{key} of joint {name!r}: {most:g} is below 0; it has none")
            if most <= 0.0:
                limit.attrib.pop(key, None)
            elif key == "velocity":
                source.fastest[name] = most


def _is_direction(vector: str) -> bool:
    return _clean(vector, 3) and any(float(number) != 0.0 for number in vector.split())


def _check_tree(root: Element, source: Source) -> None:
    """Each link has one joint above it, and following them ends."""
    above: dict[str, tuple[str, str]] = {}
    for joint in root.findall("joint"):
        parent, child = (joint.find(tag) for tag in ("parent", "child"))
        assert parent is not None  # checked above
        assert child is not None
        link, name = child.get("link", ""), joint.get("name", "?")
        if link in above:
            raise FileError(
                f"{source.path}: <joint> {name!r}: link {link!r} already is the child of joint {above[link][1]!r}; a "
                f"URDF is a tree: close the loop with scene.add_joint after loading, or with <equality> in MJCF"
            )
        above[link] = parent.get("link", ""), name
    for link in above:
        seen = {link}
        at = link
        while at in above:
            at, name = above[at]
            if at in seen:
                raise FileError(
                    f"{source.path}: <joint> {name!r}: its links carry each other in a ring; a URDF is a tree: close "
                    f"the loop with scene.add_joint after loading, or with <equality> in MJCF"
                )
            seen.add(at)


def _check_mimics(source: Source) -> None:
    """Following the joints that a joint follows ends: in a ring none of them leads."""
    for first in source.mimics:
        ring = [first]
        while (leader := source.mimics.get(ring[-1], ("",))[0]) in source.mimics and leader not in ring:
            ring.append(leader)
        if leader == first:
            names = ", ".join(map(repr, ring))
            told = f"joint {names}: it follows itself" if len(ring) == 1 else f"joints {names}: they follow each other"
            raise FileError(f"{source.path}: <mimic> of {told}; leave it out of the joint that leads")
