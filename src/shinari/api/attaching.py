"""Rows of attachments: between which particles, or particles and bodies, with which parameters."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, Motion, pose_at, rotation_matrix
from shinari.scene.body import Body
from shinari.scene.handle import BodyHandle, Handle
from shinari.scene.objects import BodyRows

if TYPE_CHECKING:
    from shinari.scene.contents import Contents

# Nearer than this two particles are at the same place [m]; so are a particle and a place nearer than this part of the
# edges there.
TOGETHER = 1e-9
TOGETHER_PART = 1e-6

# Types of rows that hold a particle at a place, and at a distance from it, by the corners of what the place lies in.
HELD = {1: "coincidence", 2: "attachment_segment", 3: "attachment_triangle", 4: "attachment_tetrahedron"}
KEPT = {
    1: "distance",
    2: "attachment_distance_segment",
    3: "attachment_distance_triangle",
    4: "attachment_distance_tetrahedron",
}


@dataclass(frozen=True)
class AttachmentRows:
    """Rows of an attachment.

    Attributes:
        type: Type of the rows.
        indices: Global particle indices, (M, points).
        parameters: Parameters of the type.
        motion: Moving target.
    """

    type: str
    indices: np.ndarray
    parameters: dict[str, np.ndarray] = field(default_factory=dict)
    motion: Motion | None = None


def is_body(value: Any) -> bool:
    """Whether a side of an attachment is a rigid body, or a place on one."""
    return isinstance(value, BodyHandle) or (
        isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], BodyHandle)
    )


def to_body(scene: "Contents", first: np.ndarray, second: Any, reach: float | None) -> BodyRows:
    """Rows that attach particles (M,) to a body, or to places on it.

    Raises:
        SceneError: The body belongs to another scene, the points are no points, or a particle is out of reach.
    """
    handle, where = (second, None) if isinstance(second, BodyHandle) else second
    handle = scene.find("attach", "second", handle, BodyHandle)
    if (
        where is not None
        and check.shaped("attach", "second", where).dtype.kind in "iu"
        and np.ndim(where) < 2
        and np.size(where) != 3
    ):
        raise SceneError(f"attach: second: {handle.name!r} has no particles; give a point of the world as floats")
    body, at = scene.bodies[handle.index], scene.positions[first]
    points = at if where is None else _points("second", where, len(first))
    apart = np.linalg.norm(at - points, axis=1)
    if reach is not None:
        reach = check.number("attach", "reach", reach, above=0.0)
        _check_reach(handle.name, points, _distances(body, points), np.full(len(first), reach))
    places = (points - body.position) @ rotation_matrix(body.rotation)
    return BodyRows(handle.index, first, places, np.where(apart <= TOGETHER, 0.0, apart))


def _distances(body: Body, points: np.ndarray) -> np.ndarray:
    """How far points (M, 3) of the world are from the surface of a body, 0 inside [m], (M,)."""
    from shinari.shapes.kernels.encode import signed_distance

    local = (points - body.position) @ rotation_matrix(body.rotation)
    nearest = np.full(len(points), np.inf)
    for piece in body.pieces:
        there = (local - piece.position) @ rotation_matrix(piece.rotation)
        nearest = np.minimum(nearest, signed_distance(piece.shape, there))
    return np.maximum(nearest, 0.0)


def particles_of(scene: "Contents", what: str, value: Any) -> np.ndarray:
    """Global indices (M,) of `(handle, index)` or `(handle, indices)`.

    Raises:
        SceneError: It is neither, or an index is out of range.
    """
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Handle)):
        raise SceneError(f"attach: {what}: expected (handle, index) or (handle, indices), got {check.short(value)}")
    handle = _own(scene, what, value[0])
    local = check.indices("attach", what, value[1], len(handle.particles))
    if len(local) == 0:
        raise SceneError(f"attach: {what}: no particles of {handle.name!r} were given")
    return local + handle.particles.start


def attachment_rows(scene: "Contents", first: np.ndarray, second: Any, reach: float | None) -> AttachmentRows:
    """The rows that attach particles (M,) to the second argument; see `Scene.attach`.

    Raises:
        SceneError: It is nothing that a particle can be attached to, or out of reach.
    """
    other, where = (second, None) if isinstance(second, Handle) else (None, None)
    if isinstance(second, tuple) and len(second) == 2 and isinstance(second[0], Handle):
        other, where = second
    if reach is not None:
        reach = check.number("attach", "reach", reach, above=0.0)
    if other is None:
        if reach is not None:
            raise SceneError("attach: reach: is of attachments to a point on an object, and second is none")
        return _to_world(first, second)
    other = _own(scene, "second", other)
    if where is None:
        return _to_places(scene, first, other, scene.positions[first], reach)
    if check.shaped("attach", "second", where).dtype.kind in "iu":
        if reach is not None:
            raise SceneError("attach: reach: is of attachments to a point on an object, and second gives its particles")
        return _to_particles(scene, first, particles_of(scene, "second", (other, where)))
    return _to_places(scene, first, other, _points("second", where, len(first)), reach)


def _own(scene: "Contents", what: str, handle: Handle) -> Handle:
    return scene.find("attach", what, handle, Handle)


def _points(what: str, value: Any, count: int) -> np.ndarray:
    """One point [m], (3,), or one for each particle, (M, 3)."""
    single = check.dimensions("attach", what, value) == 1
    points = check.array("attach", what, value, (3,) if single else (count, 3))
    return np.array(np.broadcast_to(points, (count, 3)))


def _to_world(first: np.ndarray, second: Any) -> AttachmentRows:
    """Rows to points of the world, or to a moving target."""
    motion = check.function("attach", "second", second) if callable(second) else None
    target = second if motion is None else pose_at(motion, 0.0, NO_ROTATION, "attach: second")[0]
    return AttachmentRows("attachment", first[:, None], {"target": _points("second", target, len(first))}, motion)


def _to_particles(scene: "Contents", first: np.ndarray, second: np.ndarray) -> AttachmentRows:
    """Rows to other particles, one by one or all to the same."""
    if len(second) not in (1, len(first)):
        raise SceneError(
            f"attach: second: {len(second)} particles for {len(first)} of first; give one each or one for all, and "
            f"write a point as floats"
        )
    second = np.array(np.broadcast_to(second, first.shape))
    same = first == second
    if same.any():
        which = f": {int(first[np.argmax(same)])}" if len(first) > 1 else ""
        raise SceneError(f"attach: second: is the same particle as first{which}")
    apart = np.linalg.norm(scene.positions[first] - scene.positions[second], axis=1)
    kind = HELD[1] if (apart < TOGETHER).all() else KEPT[1]
    return AttachmentRows(kind, np.stack([first, second], axis=1))


def _to_places(
    scene: "Contents", first: np.ndarray, other: Handle, points: np.ndarray, reach: float | None
) -> AttachmentRows:
    """Rows to the points of an object that are nearest to points (M, 3)."""
    from shinari.api.nearest import elements_of, longest_edges, nearest_places

    obj = next(obj for obj in scene.particle_objects if obj.name == other.name)
    elements = elements_of(obj)
    start = other.particles.start
    inside = (first >= start) & (first < other.particles.stop)
    own = np.where(inside, first - start, -1)
    found, weights, distances = nearest_places(points, obj.positions, elements, own)
    if (found < 0).any():
        raise SceneError(f"attach: second: {other.name!r} has no place beside the particle itself")
    sizes = longest_edges(obj.positions, elements)[found]
    if elements.shape[1] == 1 and reach is None:
        raise SceneError(f"attach: reach: {other.name!r} is made of loose particles; say how far the nearest may be")
    limits = sizes if reach is None else np.full(len(first), reach)
    _check_reach(other.name, points, distances, limits)
    corners = elements[found]
    places = np.einsum("mk,mkd->md", weights, obj.positions[corners])
    apart = np.linalg.norm(scene.positions[first] - places, axis=1)
    together = (apart <= np.maximum(TOGETHER_PART * sizes, TOGETHER)).all()
    kind = (HELD if together else KEPT)[elements.shape[1]]
    parameters = {} if elements.shape[1] == 1 else {"weights": np.ascontiguousarray(weights[:, 1:])}
    if not together:
        parameters["rest_length"] = apart[:, None]
    return AttachmentRows(kind, np.concatenate([first[:, None], corners + start], axis=1), parameters)


def _check_reach(name: str, points: np.ndarray, distances: np.ndarray, limits: np.ndarray) -> None:
    far = np.flatnonzero(distances > limits)
    if not far.size:
        return
    worst = int(far[np.argmax(distances[far])])
    more = f" (and {far.size - 1} more points are too far)" if far.size > 1 else ""
    raise SceneError(
        f"attach: second: out of reach: the point {np.round(points[worst], 6).tolist()} is {distances[worst]:.4g} m "
        f"from {name!r}, more than {limits[worst]:.4g} m{more}; move it or give a reach"
    )
