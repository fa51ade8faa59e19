"""Files of MuJoCo 2 that give all places in the world, in place of the axes of the body."""

from xml.etree.ElementTree import Element

import numpy as np

from shinari.errors import FileError
from shinari.io.robots.source import Source
from shinari.io.robots.xml import described

TURNED = ("quat", "euler", "axisangle", "xyaxes", "zaxis")
PLACED = ("geom", "joint", "site", "inertial", "camera", "light", "freejoint")


def make_local(root: Element, source: Source) -> None:
    """Give the places of bodies, and of what they carry, in the axes of their parent.

    A body without a place is where its inertial or first geom is.

    Raises:
        FileError: A body is turned, so that more than places would change.
    """
    for world in root.iter("worldbody"):
        for body in world.findall("body"):
            _localise(body, np.zeros(3), source)


def _localise(body: Element, origin: np.ndarray, source: Source) -> None:
    if any(key in body.attrib for key in TURNED):
        raise FileError(
            f"{source.path}: <compiler> coordinate: global, and {described(body)} is turned; save the file with "
            f"MuJoCo 2.3.3 or older, which makes it local"
        )
    here = _place(body)
    body.set("pos", _text(here - origin))
    for child in body:
        if child.tag == "body":
            _localise(child, here, source)
        elif child.tag in PLACED:
            if "fromto" in child.attrib:
                ends = np.array(child.get("fromto", "").split(), np.float64)
                child.set("fromto", _text(ends - np.tile(here, 2)))
            elif "pos" in child.attrib:
                child.set("pos", _text(np.array(child.get("pos", "").split(), np.float64) - here))


def _place(body: Element) -> np.ndarray:
    if "pos" in body.attrib:
        return np.array(body.get("pos", "").split(), np.float64)
    for tag in ("inertial", "geom"):
        for child in body.findall(tag):
            if "fromto" in child.attrib:
                return np.array(child.get("fromto", "").split(), np.float64).reshape(2, 3).mean(axis=0)
            if "pos" in child.attrib:
                return np.array(child.get("pos", "").split(), np.float64)
    return np.zeros(3)


def _text(numbers: np.ndarray) -> str:
    return " ".join(repr(float(n)) for n in numbers)
