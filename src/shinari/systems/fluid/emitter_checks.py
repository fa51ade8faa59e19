"""Emitters of a scene: none may start inside a solid, and nothing may hold what flows."""

from collections.abc import Iterator

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.scene.contents import Contents
from shinari.shapes.base import Shape


def check_emitters(scene: Contents) -> None:
    """Refuse emitters inside a solid, and particles of emitters that are pinned or attached.

    Raises:
        SceneError: A particle of the nozzle of an emitter begins with its middle in a collider or a body; the message
            names both and the depth. Or one of its particles is pinned, or in a row of a constraint.
    """
    stop = 0
    for obj in scene.particle_objects:
        start, stop = stop, stop + len(obj.positions)
        if obj.emitter is None:
            continue
        _check_free(scene, obj.name, range(start, stop))
        nozzle = obj.positions[: len(obj.emitter.places)]
        for name, shape, position, matrix in _solids(scene):
            if {obj.name, name} not in scene.ignored:
                depth = _depth(shape, (nozzle - position) @ matrix)
                if depth > 1e-6 * obj.radii[0]:
                    raise SceneError(f"emitter {obj.name!r}: position: its nozzle is {depth:.3g} m inside {name!r}")


def _check_free(scene: Contents, name: str, particles: range) -> None:
    """Refuse particles of an emitter that something holds."""
    tables = [(f"in a row of type {rows.type!r}", rows.indices) for rows in scene.rows]
    tables += [(f"attached to {scene.bodies[rows.body].name!r}", rows.particles) for rows in scene.body_rows]
    tables.append(("pinned", np.array(sorted(scene.pinned), np.int64)))
    for what, indices in tables:
        held = indices[(indices >= particles.start) & (indices < particles.stop)]
        if held.size:
            raise SceneError(
                f"emitter {name!r}: particle {int(held.flat[0]) - particles.start} is {what}; particles of "
                f"emitters and sinks cannot be fixed"
            )


def _solids(scene: Contents) -> Iterator[tuple[str, Shape, np.ndarray, np.ndarray]]:
    """Name, shape, place and rotation matrix of each solid at the start."""
    for collider in scene.colliders:
        yield collider.name, collider.shape, collider.position, rotation_matrix(collider.rotation)
    for body in scene.bodies:
        turn = rotation_matrix(body.rotation)
        for piece in body.pieces:
            yield body.name, piece.shape, body.position + turn @ piece.position, turn @ rotation_matrix(piece.rotation)


def _depth(shape: Shape, points: np.ndarray) -> float:
    """How deep the deepest of points in the axes of a shape lies in it [m]; at most 0 when none does."""
    from shinari.shapes.kernels.encode import signed_distance

    low, high = shape.bounds()
    near = points[((points > low) & (points < high)).all(axis=1)]
    return -float(signed_distance(shape, near).min()) if len(near) else 0.0
