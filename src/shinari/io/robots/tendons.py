"""Tendons of a compiled robot: over joints, through sites and around geoms."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shinari.io.robots.laws import extras_of
from shinari.io.robots.mechanism import Mechanism, first_of
from shinari.scene.tendon import Pulley, Via, Wrap

JOINT, PULLEY, SITE, SPHERE, CYLINDER = 1, 2, 3, 4, 5
"""Kinds of what a tendon goes over."""
TENDON_OBJECT = 18
"""Kind of a tendon where a sensor names one."""
AT_TENDON = 3
"""Actuators that act on a tendon."""


@dataclass
class Found:
    """A tendon as `Scene.add_tendon` takes it.

    Attributes:
        name: Its name.
        path: Points, shapes and pulleys, with numbers of bodies of the compiled model.
        joints: Numbers of joints, and what they count.
        options: Other arguments.
    """

    name: str
    path: list[Via | Wrap | Pulley] = field(default_factory=list)
    joints: dict[int, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def tendon_name(model: Any, index: int) -> str:
    """Name of a tendon, or one by its number."""
    return model.tendon(index).name or f"tendon_{index + 1}"


def tendons_of(m: Mechanism, point: Callable[[Any], np.ndarray], turn: np.ndarray) -> list[Found]:
    """The tendons that do something: with a spring, damping, friction, mass, limits, an actuator or a sensor.

    Args:
        m: The robot.
        point: Where a place of the file is in the scene.
        turn: Matrix that turns directions of the file to those of the scene.
    """
    model = m.model
    pulled = {
        int(model.actuator_trnid[a, 0])
        for a in range(len(model.actuator_trntype))
        if int(model.actuator_trntype[a]) == AT_TENDON
    }
    measured = np.array(model.sensor_objid)[np.array(model.sensor_objtype) == TENDON_OBJECT]
    pulled |= set(measured.astype(int).tolist())
    result = []
    for index in range(int(model.ntendon)):
        options = _options(m, index)
        if options or index in pulled:
            found = Found(tendon_name(model, index), options=options)
            if _set_path(m, index, found, point, turn):
                result.append(found)
    return result


def _options(m: Mechanism, index: int) -> dict[str, Any]:
    model, label = m.model, f"tendon {tendon_name(m.model, index)!r}"
    stiffness = first_of(model.tendon_stiffness[index])
    damping, mass = extras_of(model, (AT_TENDON,), index)
    given = {
        "stiffness": stiffness,
        "damping": first_of(model.tendon_damping[index]) + damping,
        "dry_friction": first_of(model.tendon_frictionloss[index]),
        "mass": first_of(model.tendon_armature[index]) + mass,
    }
    result: dict[str, Any] = {key: value for key, value in given.items() if value > 0.0}
    for what in ("stiffness", "damping"):
        terms = getattr(model, f"tendon_{what}poly", None)
        if what in result and terms is not None and np.any(np.asarray(terms)[index]):
            m.skipped.append(f"{label}: the part of its {what} that changes with its length or speed")
    if stiffness > 0.0:
        result["rest_length"] = tuple(float(bound) for bound in model.tendon_lengthspring[index])
    if model.tendon_limited[index]:
        low, high = (float(bound) for bound in model.tendon_range[index])
        length = float(m.data.ten_length[index])
        slack = 1e-9 * max(1.0, abs(length))
        if low - slack <= length <= high + slack:
            result["limits"] = (low, high)
        else:
            m.skipped.append(f"{label}: its limits; its length {length:.4g} starts outside {low:g} to {high:g}")
    return result


def _set_path(m: Mechanism, index: int, found: Found, point: Callable, turn: np.ndarray) -> bool:
    """Set what a tendon goes over; whether that can be had."""
    model, first = m.model, int(m.model.tendon_adr[index])
    around: Wrap | None = None
    before: np.ndarray | None = None
    for k in range(first, first + int(model.tendon_num[index])):
        kind, target, value = int(model.wrap_type[k]), int(model.wrap_objid[k]), float(model.wrap_prm[k])
        if kind == JOINT:
            found.joints[target] = found.joints.get(target, 0.0) + value
        elif kind == PULLEY:
            found.path.append(Pulley(value))
            before = around = None
        elif kind == SITE:
            place = np.array(m.data.site_xpos[target])
            if around is not None and before is not None and not _lies_within(around, (before, place), m, found.name):
                found.path.append(_placed(around, point, turn))
            found.path.append(Via(int(model.site_bodyid[target]), point(place)))
            before, around = place, None
        elif kind in (SPHERE, CYLINDER):
            around = _shape(model, m, target, kind == CYLINDER, int(value), found.name)
        else:
            m.skipped.append(f"tendon {found.name!r}: it goes over something that is not read")
            return False
    return True


def _shape(model: Any, m: Mechanism, geom: int, cylinder: bool, site: int, name: str) -> Wrap:
    """A geom that a tendon goes around, in the world of the file."""
    centre, axis = np.array(m.data.geom_xpos[geom]), np.array(m.data.geom_xmat[geom]).reshape(3, 3)[:, 2]
    radius = float(model.geom_size[geom, 0])
    side = Via(int(model.site_bodyid[site]), np.array(m.data.site_xpos[site])) if site >= 0 else None
    body = int(model.geom_bodyid[geom])
    # inside is told by the distance from the centre, of cylinders too
    through = side is not None and float(np.linalg.norm(side.place - centre)) < radius
    wrap = Wrap(body, radius, centre, axis if cylinder else None, None if through else side, through)
    if wrap.side is not None and _away(wrap, wrap.side.place) < radius:
        m.skipped.append(f"tendon {name!r}: its side site lies within the cylinder that it goes around, off its middle")
        return replace(wrap, side=None)
    return wrap


def _away(wrap: Wrap, place: np.ndarray) -> float:
    """Distance of a place from the centre or axis of a shape [m]."""
    away = place - wrap.position
    return float(np.linalg.norm(away if wrap.axis is None else away - (away @ wrap.axis) * wrap.axis))


def _lies_within(wrap: Wrap, places: tuple[np.ndarray, np.ndarray], m: Mechanism, name: str) -> bool:
    """Whether an end lies in the shape, around which the tendon then does not go."""
    if all(_away(wrap, place) >= wrap.radius for place in places):
        return False
    m.skipped.append(f"tendon {name!r}: a site lies within the geom that it goes around; it goes straight there")
    return True


def _placed(wrap: Wrap, point: Callable, turn: np.ndarray) -> Wrap:
    """A shape in the scene."""
    axis = None if wrap.axis is None else turn @ wrap.axis
    side = None if wrap.side is None else Via(wrap.side.body, point(wrap.side.place))
    return Wrap(wrap.body, wrap.radius, point(wrap.position), axis, side, wrap.through)
