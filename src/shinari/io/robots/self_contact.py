"""Which parts of a robot pass through each other.

A URDF has no list of the links that do. Tools beside it keep one, in which those that lie in each other at the start
are the first: without it they would be pushed apart against their joints for ever. An MJCF has such lists, and its
parts are in contact as they are in MuJoCo.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from shinari.api.scene import Scene
from shinari.collision.pair_distances import is_measured, pair_distances
from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.geometry import Geom, may_touch
from shinari.io.robots.mechanism import Mechanism
from shinari.scene.handle import BodyHandle, ColliderHandle
from shinari.shapes.base import Shape

ALLOWED = 0.01
"""Part of the size of the smaller shape by which two may overlap: that from which on a scene warns of it."""


def filter_contacts(
    scene: Scene,
    m: Mechanism,
    handles: Mapping[int, BodyHandle],
    solid: Mapping[int, Sequence[Geom]],
    colliders: Mapping[str, ColliderHandle],
) -> None:
    """Let pass through each other what does in the file: what is joined, listed pairs, by masks, by overlaps of a URDF.

    Args:
        scene: The scene.
        m: The robot.
        handles: Its bodies by number.
        solid: Geoms of each body that touch something.
        colliders: Colliders by the names of their geoms.
    """
    pairs = {(int(pair) >> 16, int(pair) & 0xFFFF) for pair in m.model.exclude_signature}
    bodies, meeting = [body for body in handles if solid[body]], []
    for k, a in enumerate(bodies):
        for b in bodies[:k]:
            if m.static[a] and m.static[b]:
                continue
            listed = (a, b) in pairs or (b, a) in pairs
            if m.joined(a, b) or listed or not may_touch(list(solid[a]), list(solid[b])):
                scene.ignore_contact(handles[a], handles[b])
            else:
                meeting.append((b, a))
        for geom in m.geoms[0]:
            outside = (0, a) in pairs or (a, 0) in pairs or not may_touch([geom], list(solid[a]))
            if geom.touches and outside and not m.static[a]:
                scene.ignore_contact(handles[a], colliders[geom.name])
    found = overlapping(solid, meeting) if m.source.urdf else {}
    for a, b in found:
        scene.ignore_contact(handles[a], handles[b])
    if found:
        told = [f"{m.body_name(a)!r} and {m.body_name(b)!r} by {depth:.2g} m" for (a, b), depth in found.items()]
        m.source.repair(f"links that lie in each other at the start pass through each other: {', '.join(told)}")


def overlapping(solid: Mapping[int, Sequence[Geom]], pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """How deep some pairs of bodies lie in each other at the start [m]; without those that do not.

    Args:
        solid: Geoms of each body that touch something.
        pairs: Two bodies each.
    """
    geoms = [(body, geom) for body, own in solid.items() for geom in own if _is_bounded(geom.shape)]
    places: dict[int, list[int]] = {}
    for k, (body, _) in enumerate(geoms):
        places.setdefault(body, []).append(k)
    boxes = np.array([_box(geom) for _, geom in geoms]).reshape(-1, 2, 3)
    candidates = [
        (i, j)
        for a, b in pairs
        for i in places.get(a, ())
        for j in places.get(b, ())
        if (boxes[i, 0] < boxes[j, 1]).all() and (boxes[j, 0] < boxes[i, 1]).all()
    ]
    if not candidates:
        return {}
    shapes = [geom.shape for _, geom in geoms if geom.shape is not None]
    distances, _, _ = pair_distances(shapes, [(geom.position, geom.rotation) for _, geom in geoms], candidates)
    result: dict[tuple[int, int], float] = {}
    for (i, j), distance in zip(candidates, distances.tolist(), strict=True):
        if -distance > ALLOWED * min(_size(shapes[i]), _size(shapes[j])):
            two = geoms[i][0], geoms[j][0]
            result[two] = max(-distance, result.get(two, 0.0))
    return result


def _is_bounded(shape: Shape | None) -> bool:
    return shape is not None and not shape.endless and is_measured(shape)


def _size(shape: Shape) -> float:
    """Half the diagonal of its box [m]."""
    low, high = shape.bounds()
    return 0.5 * float(np.linalg.norm(np.subtract(high, low)))


def _box(geom: Geom) -> tuple[np.ndarray, np.ndarray]:
    """The box around a geom in the world of the file [m]."""
    assert geom.shape is not None
    low, high = (np.asarray(corner) for corner in geom.shape.bounds())
    turn = rotation_matrix(geom.rotation)
    middle, reach = geom.position + turn @ (0.5 * (low + high)), np.abs(turn) @ (0.5 * (high - low))
    return middle - reach, middle + reach
