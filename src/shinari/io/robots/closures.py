"""What closes loops in a compiled robot: connections and welds of bodies."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.mechanism import Mechanism

CONNECT, WELD, JOINT = 0, 1, 2
OF_FLEX = (4, 5, 6)
BODY, SITE_OBJECT = 1, 6
"""Kinds of what an equality constraint holds together."""
ATTACHED = "attached"
"""Kind of what holds a point of a flexible part."""
TOGETHER = 1e-5
"""Places that are farther apart than this are not one [m]."""
ALIGNED = 1e-3
"""Axes that are turned by more than this are not those of one weld [rad]."""


def closing_joints(mechanism: Mechanism, point: Callable[[Any], np.ndarray]) -> list[tuple[str, dict[str, Any]]]:
    """Joints that stand for equality constraints between bodies; those without one are listed as skipped.

    Args:
        mechanism: The robot.
        point: Where a place of the file is in the scene.

    Returns:
        The name of each and what `Scene.add_joint` takes; `a` and `b` are numbers of bodies, 0 the world.
    """
    found = []
    for index in range(int(mechanism.model.neq)):
        label = mechanism.model.equality(index).name or f"equality_{index + 1}"
        options = _equality(mechanism, index, f"equality {label!r}", point)
        if options is not None:
            found.append((label, options))
    return found


def _equality(m: Mechanism, index: int, label: str, point: Callable) -> dict[str, Any] | None:
    model, kind = m.model, int(m.model.eq_type[index])
    if kind == JOINT:
        # see `couplings`
        return None
    if not model.eq_active0[index]:
        m.skipped.append(f"{label}: it is not active at the start")
        return None
    if kind not in (CONNECT, WELD):
        if kind not in OF_FLEX:
            # that of a flexible part is read with it
            m.skipped.append(f"{label}: it is of tendons or keeps a distance")
        return None
    ids = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    if int(model.eq_objtype[index]) == SITE_OBJECT:
        bodies = tuple(int(model.site_bodyid[i]) for i in ids)
        places = [np.array(m.data.site_xpos[i]) for i in ids]
    else:
        bodies, data = ids, np.array(model.eq_data[index])
        # a connection has both anchors; a weld that of the second body, and its place in the first
        local = (data[0:3], data[3:6]) if kind == CONNECT else (data[3:6] + _turned(data[6:10], data[0:3]), data[0:3])
        places = [_place(m, body, at) for body, at in zip(bodies, local, strict=True)]
    apart = float(np.linalg.norm(places[0] - places[1]))
    if apart > TOGETHER:
        m.skipped.append(f"{label}: at the start its ends are {apart:.3g} m apart; joints here hold from the start on")
        return None
    if any(body in m.flexes.points for body in bodies):
        return _of_points(m, bodies, label)
    # a weld without moments is a connection
    held = kind == WELD and float(model.eq_data[index][10]) > 0.0
    turned = _turn_of(m, index, ids) if held else 0.0
    if turned > ALIGNED:
        m.skipped.append(f"{label}: at the start it is turned by {turned:.3g} rad; joints here hold from the start on")
        return None
    return {"kind": "fixed" if held else "ball", "a": bodies[0], "b": bodies[1], "anchor": point(places[0])}


def _turn_of(m: Mechanism, index: int, ids: tuple[int, int]) -> float:
    """By how much a weld is turned at the start from where it holds its ends [rad]."""
    model, data = m.model, m.data
    if int(model.eq_objtype[index]) == SITE_OBJECT:
        first, second = (np.array(data.site_xmat[i]).reshape(3, 3) for i in ids)
    else:
        first, second = (rotation_matrix(np.array(data.xquat[i])) for i in ids)
        wanted = np.array(model.eq_data[index][6:10])
        first = first @ rotation_matrix(wanted / np.linalg.norm(wanted))
    return float(np.arccos(np.clip(0.5 * (np.trace(first.T @ second) - 1.0), -1.0, 1.0)))


def _of_points(m: Mechanism, bodies: tuple[int, ...], label: str) -> dict[str, Any] | None:
    """What holds a point of a flexible part at a body or at another point."""
    if any(body in m.flexes.points and body not in m.flexes.point_of for body in bodies):
        m.skipped.append(f"{label}: it is of a node of a flexible part")
        return None
    return {"kind": ATTACHED, "a": bodies[0], "b": bodies[1]}


def _turned(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    size = float(np.linalg.norm(quaternion))
    return vector if size == 0.0 else rotation_matrix(quaternion / size) @ vector


def _place(m: Mechanism, body: int, local: np.ndarray) -> np.ndarray:
    return np.array(m.data.xpos[body]) + rotation_matrix(np.array(m.data.xquat[body])) @ local
