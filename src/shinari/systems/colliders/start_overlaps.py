"""What starts inside a solid: a scene that was probably not meant so."""

from collections.abc import Iterator

import numpy as np

from shinari.errors import ContactWarning, warn_of_several
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.scene.contents import Contents
from shinari.scene.objects import Collider, ParticleObject
from shinari.shapes.plane import Plane

# Part of its radius that a particle may start inside, and part of a coordinate that is rounding in single precision.
ALLOWED, ROUNDING = 0.05, 1e-6


def warn_of_starts_inside(scene: Contents, pinned: np.ndarray) -> None:
    """Warn of particles that start inside a collider, and of fluids and grains that start inside a rigid body.

    They are pushed out at the depenetration speed.

    Args:
        scene: The scene.
        pinned: Which particles cannot move, as added, (N,) bool.

    Warns:
        ContactWarning: A particle is deeper than 5 % of its radius.
    """
    start, pieces = 0, list(_pieces(scene))
    found: list[tuple[float, str]] = []
    for obj in scene.particle_objects:
        end = start + len(obj.positions)
        free = ~pinned[start:end]
        if obj.emitter is not None:  # those behind the first layer wait in the same places
            free[len(obj.emitter.places) :] = False
        solids = [("collider", collider) for collider in scene.colliders]
        solids += [("body", piece) for piece in pieces if obj.kind in ("fluid", "grains")]
        for what, solid in solids:
            if {obj.name, solid.name} not in scene.ignored:
                found += _inside(obj, what, solid, free)
        start = end
    warn_of_several(found, ContactWarning, "they are pushed out at the depenetration speed")


def _pieces(scene: Contents) -> Iterator[Collider]:
    """The shapes of the rigid bodies, where they start."""
    for body in scene.bodies:
        turn = rotation_matrix(body.rotation)
        for piece in body.pieces:
            rotation = quaternion_product(body.rotation, piece.rotation)
            yield Collider(body.name, piece.shape, body.position + turn @ piece.position, rotation, body.surface)


def _inside(obj: ParticleObject, what: str, collider: Collider, free: np.ndarray) -> list[tuple[float, str]]:
    """Depth of the particles of an object that start inside a solid, in words; none where none does."""
    from shinari.shapes.kernels.encode import signed_distance

    low, high = collider.shape.bounds()
    local = (obj.positions - collider.position) @ rotation_matrix(collider.rotation)
    reach = obj.radii[:, None]
    near = np.flatnonzero(free & ((local > low - reach) & (local < high + reach)).all(axis=1))
    if len(near) == 0:
        return []
    shape = collider.shape
    if isinstance(shape, Plane):  # most scenes have one: nothing to compile
        gaps = local[near] @ np.array(shape.normal) - shape.offset
    else:
        gaps = signed_distance(shape, local[near])
    depth = obj.radii[near] - gaps
    size = np.abs(obj.positions[near]).max(axis=1) + np.abs(local[near]).max(axis=1)
    deep = depth > np.maximum(ALLOWED * obj.radii[near], ROUNDING * size)
    if not deep.any():
        return []
    worst = int(np.argmax(np.where(deep, depth, -np.inf)))
    text = (
        f"{obj.name!r} starts inside {what} {collider.name!r}: {int(deep.sum())} particles, the deepest is particle "
        f"{int(near[worst])} with {depth[worst]:.3g} m"
    )
    return [(float(depth[worst]), text)]
