"""MuJoCo's reading of a robot file; what it does not know is left out and listed, what it cannot use is mended."""

import re
import warnings
from typing import Any
from xml.etree.ElementTree import Element

from shinari.errors import FileError, require
from shinari.geometry.files.meshes import EXTENSIONS
from shinari.io.robots.inertia import GYRATION
from shinari.io.robots.meshes import THICKNESS, rewritten
from shinari.io.robots.ranges import seek_ranges
from shinari.io.robots.source import Source
from shinari.io.robots.xml import described, parents
from shinari.partial_files import reason

MOST_MENDED = 300
"""Tries until a file is given up."""
DISPENSABLE = ("sensor", "actuator", "tendon", "equality", "contact", "keyframe", "tuple", "deformable")
"""Sections whose elements may be left out one by one."""
SETTINGS = ("option", "compiler", "size", "flag", "visual", "statistic")
"""Elements of which a value that is not known is left out."""
FLEXIBLE = ("flexcomp", "flex")
WATER = 1000.0
"""Density of links of which no mass is told [kg/m^3]."""
LIGHT = 1e-3
"""Mass of a link without shapes, as part of the heaviest one."""


def compiled(source: Source) -> tuple[Any, Any]:
    """The robot as MuJoCo's description and its compiled model.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        FileError: MuJoCo refuses the file for something that cannot be left out.
    """
    spec, model = _tried(source, lambda spec: (spec, spec.compile()))
    muscles = seek_ranges(model) if source.no_ranges else []
    if muscles:
        source.repair(f"lengths of muscles {', '.join(muscles)}: MuJoCo finds none; those of random postures are taken")
    return spec, model


def parsed(source: Source) -> None:
    """Leave out what MuJoCo does not know of a model that becomes part of another.

    Raises:
        FileError: MuJoCo refuses the file for something that cannot be left out.
    """
    _tried(source, lambda spec: (spec, spec.compile()))


def _tried(source: Source, use: Any) -> Any:
    mujoco = require("mujoco", "robot")
    for _ in range(MOST_MENDED):
        text, lines = source.text
        try:
            models = {name: data for name, data in source.assets.items() if name.endswith(".xml")}
            meshes = {name: data for name, data in source.assets.items() if name not in models}
            # meshes of flexible parts are read with the text, others when it is compiled
            with warnings.catch_warnings():
                # of what MuJoCo would do with it
                warnings.simplefilter("ignore")
                spec = mujoco.MjSpec.from_string(text, include=source.assets, assets=meshes)
                _give_masses(spec, source, mujoco)
                return use(spec)
        except Exception as error:  # the boundary to MuJoCo
            if not _mended(source, reason(error), lines):
                raise FileError(f"{source.path}: cannot be read as a robot: {_told(error)}") from error
    raise FileError(f"{source.path}: cannot be read as a robot: more than {MOST_MENDED} of its elements are unknown")


def _mended(source: Source, told: str, lines: dict[int, Element]) -> bool:
    """Leave out or mend what an error tells of; whether there was something to mend."""
    mended = _mended_without_element(source, told)
    if mended is not None:
        return mended
    element = _element_of(source, told, lines)
    if element is None:
        return False
    above = parents(source.root)
    parent = above.get(element)
    attribute = re.search(r"unrecognized attribute: '([^']*)'", told)
    if attribute is not None:
        return _drop_attribute(source, element, parent, attribute[1])
    if parent is None:
        return False
    if "unrecognized" not in told:
        if _flexcomp(element, above) is not None:
            return _mend_flexcomp(source, element, above, told)
        element, parent = _part_of_section(element, parent, above)
    if "unrecognized element" in told or parent.tag in DISPENSABLE or element.tag == "exclude":
        why = "" if "unrecognized" in told else f": {_told(ValueError(told))}"
        parent.remove(element)
        source.skip(described(element, parent) + why)
        return True
    key = _unknown_value(element, told)
    if element.tag in SETTINGS and key is not None:
        return _drop_attribute(source, element, parent, key)
    return _drop_repeated(source, element, parent, told)


def _drop_repeated(source: Source, element: Element, parent: Element, told: str) -> bool:
    """Leave out all but the first of the elements of a kind of which there may be one."""
    unique = re.search(r"unique element '([^']*)'", told)
    if unique is not None:
        for again in element.findall(unique[1])[1:]:
            element.remove(again)
            source.skip(f"{described(again, element)}: there is more than one")
        return True
    if "repeated element" in told:
        parent.remove(element)
        source.skip(f"{described(element, parent)}: there is more than one")
        return True
    return False


def _mended_without_element(source: Source, told: str) -> bool | None:
    """Mend tensors, meshes and lengths of muscles; None where an error tells of none of these."""
    if "must satisfy A + B" in told or "inertia must be positive" in told:
        return _balance(source, _name_in(told))
    if "mesh" in told and ("volume is too small" in told or "inertia" in told) and _name_in(told):
        return _make_shell(source, _name_in(told))
    if re.search("length ?range", told, re.IGNORECASE):
        return _leave_ranges(source)
    return True if _mend_mesh(source, told) else None


def _name_in(told: str) -> str:
    """The name of an element in an error."""
    found = re.search(r"element name '([^']*)'", told, re.IGNORECASE)
    return found[1] if found else ""


def _element_of(source: Source, told: str, lines: dict[int, Element]) -> Element | None:
    """The element that an error tells of, by its line, its name or its number in a section."""
    name = _name_in(told)
    line = re.search(r"line (\d+)", told)
    element = lines.get(int(line[1])) if line else None
    if element is None and "flex" in told:
        element = next((e for e in source.root.iter() if e.tag in FLEXIBLE and e.get("name", "") == name), None)
    missing = re.search(r"not found in (\w+) (\d+)", told)
    if element is None and missing is not None:
        section = source.root.findall(missing[1])
        parts = [part for found in section for part in found]
        element = parts[int(missing[2])] if int(missing[2]) < len(parts) else None
    return element


def _unknown_value(element: Element, told: str) -> str | None:
    """The attribute of an element that has a value that is not known."""
    keyword = re.search(r"(?:invalid keyword|bad format in attribute|.*attribute): '([^']*)'", told)
    return None if keyword is None else next((k for k, v in element.attrib.items() if keyword[1] in (k, v)), None)


def _flexcomp(element: Element, above: dict[Element, Element]) -> Element | None:
    """The flexible part that an element is, or that it belongs to."""
    while element.tag != "flexcomp" and element in above:
        element = above[element]
    return element if element.tag == "flexcomp" else None


def _mend_flexcomp(source: Source, element: Element, above: dict[Element, Element], told: str) -> bool:
    """Leave out a value of a flexible part that is not known, or all of the part.

    Edges that are held in a mode that is not known keep their lengths.
    """
    part, key = _flexcomp(element, above), _unknown_value(element, told)
    assert part is not None
    if element is part or key is None:
        above[part].remove(part)
        source.skip(f"{described(part)}: {_told(ValueError(told))}")
        return True
    value = element.attrib.pop(key)
    if (element.tag, key) == ("edge", "equality"):
        element.set(key, "true")
    source.skip(f"{key} {value!r} of <{element.tag}> of {described(part)}")
    return True


def _part_of_section(element: Element, parent: Element, above: dict[Element, Element]) -> tuple[Element, Element]:
    """The part of a section that may be left out in which an element stands, and that section; else as given."""
    part, section = element, parent
    while section.tag not in DISPENSABLE and section in above:
        part, section = section, above[section]
    return (part, section) if section.tag in DISPENSABLE else (element, parent)


def _drop_attribute(source: Source, element: Element, parent: Element | None, key: str) -> bool:
    if element.attrib.pop(key, None) is None:
        return False
    source.skip(f"{key} of {described(element, parent)}")
    return True


def _balance(source: Source, name: str) -> bool:
    """Let a tensor that no body has be averaged."""
    if source.balanced:
        return False
    source.balanced = True
    source.repair(f"inertia of body {name!r}: no body has such moments; its mean is taken")
    return True


def _leave_ranges(source: Source) -> bool:
    """Do without the lengths of muscles that the file does not give."""
    if source.no_ranges:
        return False
    source.no_ranges = True
    return True


def _mend_mesh(source: Source, told: str) -> bool:
    """Write a mesh anew with its triangles alone, or give one that is flat a thickness."""
    found = re.search(r"asset_\d+\.\w+|asset_\d+", told)
    if found is None:
        return False
    asset = found[0]
    name = next((found for found in source.assets if found == asset or found.rpartition(".")[0] == asset), None)
    if name is None or name in source.written or not name.endswith(EXTENSIONS):
        return False
    flat = "coplanar" in told or "volume is too small" in told
    file = next((place for place, found in source.names.items() if found == name), source.path)
    source.assets[name] = rewritten(file, name, source.assets[name], flat)
    source.written.add(name)
    if flat:
        source.repair(f"mesh {file.name!r}: it is flat; it is made {1e3 * THICKNESS:g} mm thick")
    return True


def _make_shell(source: Source, name: str) -> bool:
    """Weigh a mesh that encloses no volume by its surface."""
    if name in source.shells:
        return False
    source.shells.add(name)
    return True


def _give_masses(spec: Any, source: Source, mujoco: Any) -> None:
    """Settings of a description before it is compiled, and the masses of links that have none."""
    if source.no_ranges:
        # lengths of muscles, which are found by simulation
        spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE
    # some integrators refuse some flexible parts; none of them acts here
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    for flex in spec.flexes:
        flex.passive = 0
    if source.balanced:
        spec.compiler.balanceinertia = True
    for mesh in spec.meshes:
        if mesh.name in source.shells:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    if not source.urdf:
        return
    heaviest = max((body.mass for body in spec.bodies), default=0.0)
    for body in spec.bodies:
        if body.explicitinertial or not body.joints or _carries_mass(body):
            continue
        if body.geoms:
            for geom in body.geoms:
                geom.density, geom.mass = WATER, float("nan")
            source.repair(f"link {body.name!r}: moves and has no mass; its shapes get that of water")
        else:
            body.mass = LIGHT * (heaviest or 1.0)
            body.inertia = [body.mass * GYRATION**2] * 3
            body.ipos, body.iquat, body.explicitinertial = [0.0] * 3, [1.0, 0.0, 0.0, 0.0], True
            source.repair(f"link {body.name!r}: moves and has neither mass nor shapes; it gets {body.mass:.3g} kg")


def _carries_mass(body: Any) -> bool:
    """Whether something with a mass is fixed to a body."""
    fixed = [child for child in body.bodies if not child.joints]
    solid = [any(geom.contype or geom.conaffinity for geom in child.geoms) for child in fixed]
    return any(child.mass > 0.0 or heavy or _carries_mass(child) for child, heavy in zip(fixed, solid, strict=True))


def _told(error: Exception) -> str:
    """What MuJoCo says in one line, without line numbers: those are of a text that the user has not seen."""
    text = re.sub(r",? *(line|row) number ?= ?\d+|, (line|row) \d+|, id \d+", "", reason(error), flags=re.IGNORECASE)
    return "; ".join(part.strip() for part in text.splitlines() if part.strip())
